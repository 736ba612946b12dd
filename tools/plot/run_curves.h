/* SPDX-License-Identifier: MIT
 *
 * run_curves.h: picks the points of curves from what a run logged. */
#ifndef LEAT_RUN_CURVES_H
#define LEAT_RUN_CURVES_H

#include <stdbool.h>

#include "curves.h"
#include "run_rows.h"

/* What the horizontal axis shows. */
enum { LEAT_RUN_CURVES_STEP, LEAT_RUN_CURVES_EPOCH, LEAT_RUN_CURVES_TIME };

/* Fills x, y and n from the rows of steps that have the key, or else from those of epochs; "step/KEY" and
 * "epoch/KEY" name one of them. n = 0: no row has both values. free() x and y. Returns LEAT_OK, LEAT_E_NOMEM. */
int leat_run_curves_pick(const leat_run_rows *rows, const char *key, int32_t x, leat_curve *out);

/* All keys of numbers, each once, as an object of nulls; free with json_decref(). */
json_t *leat_run_curves_keys(const leat_run_rows *rows);

#endif
