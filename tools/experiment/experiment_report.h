/* SPDX-License-Identifier: MIT
 *
 * experiment_report.h: what `leat experiment` prints and writes. */
#ifndef LEAT_EXPERIMENT_REPORT_H
#define LEAT_EXPERIMENT_REPORT_H

#include <jansson.h>

#include "experiment_rows.h"

/* Prints figures, curves, findings and notes, in 80 columns. */
void leat_experiment_print(const leat_experiment_run *run);

/* A new object; keys: docs/json.md. */
json_t *leat_experiment_json(const leat_experiment_run *run);

#endif
