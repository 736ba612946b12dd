/* SPDX-License-Identifier: MIT
 *
 * run_rows.h: reads what a training run logged, for `leat plot`: log.jsonl of `leat train --log` (docs/json.md),
 * or TensorBoard's event files. */
#ifndef LEAT_RUN_ROWS_H
#define LEAT_RUN_ROWS_H

#include <jansson.h>

#include "leat/error.h"

/* Lists of objects with "step", "time_s" and the numbers logged at that moment, in order. What a resumed run
 * logged anew is there once. */
typedef struct leat_run_rows {
    json_t *steps, *epochs;
    double start_s;     /* time of the first thing logged */
    int n_damaged;      /* lines, or ends of files, that were not read */
    char damaged[1024]; /* the first of them */
} leat_run_rows;

/* path: a folder with log.jsonl or event files, or such a file. In an event file "epoch/KEY" is KEY of a row
 * of epochs, "step/KEY" is KEY of a row of steps; any other tag is a key of its own in a row of steps.
 * returns  LEAT_OK; LEAT_E_IO; LEAT_E_DATA: there is no log at all; LEAT_E_NOMEM. Close it in any case. */
int leat_run_rows_read(const char *path, leat_run_rows *out, leat_error *err);
void leat_run_rows_close(leat_run_rows *rows);

#endif
