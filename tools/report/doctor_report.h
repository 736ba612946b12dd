/* SPDX-License-Identifier: MIT
 *
 * doctor_report.h: what `leat doctor` prints: one screen for a beginner, and everything as JSON. */
#ifndef LEAT_DOCTOR_REPORT_H
#define LEAT_DOCTOR_REPORT_H

#include "json.h"
#include "leat/doctor.h"

/* At most 40 lines of 80 columns on standard output. */
void leat_doctor_report_print(const leat_doctor_result *result, const char *config);
json_t *leat_doctor_report_json(const leat_doctor_result *result, const char *config);

/* The exit code that stands for a verdict in `--fail-if`. */
int leat_doctor_report_code(const char *verdict);

#endif
