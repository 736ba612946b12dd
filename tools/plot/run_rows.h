/* SPDX-License-Identifier: MIT
 *
 * run_rows.h: reads what a training run logged, and picks the points of curves from it, for `leat plot` and `leat report`.
 * Logs are log.jsonl of `leat train --log` (docs/json.md) and event files of TensorBoard. */
#ifndef LEAT_RUN_ROWS_H
#define LEAT_RUN_ROWS_H

#include <jansson.h>

#include "chart/chart.h"
#include "leat/error.h"

/* Lists of objects with "step", "time_s" and the numbers logged at that moment (null: NaN, infinite or not known), in the
 * order of the log. What a resumed run logged anew is there once. */
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

/* --- curves --- */

/* What the horizontal axis shows. */
enum { LEAT_RUN_CURVES_STEP, LEAT_RUN_CURVES_EPOCH, LEAT_RUN_CURVES_TIME };

/* Adds a line of the rows of steps that have the key, or else of those of epochs; "step/KEY" and "epoch/KEY" name one
 * of them. Its points are in the order of x. NULL: no row has both values, or there are too many lines. */
leat_chart_line *leat_run_curves_add(const leat_run_rows *rows, const char *key, int32_t x,
                                     const char *name, leat_lines *lines);

/* What the rows have of a key: nothing; only nulls (and numbers that cannot be drawn); numbers. */
enum { LEAT_RUN_CURVES_NO_KEY, LEAT_RUN_CURVES_NO_NUMBER, LEAT_RUN_CURVES_NUMBERS };

/* returns  one of these; key: as above */
int leat_run_curves_state(const leat_run_rows *rows, const char *key);

/* Adds all keys of numbers, each once, to an object of nulls. */
void leat_run_curves_keys(const leat_run_rows *rows, json_t *keys);

#endif
