/* SPDX-License-Identifier: MIT
 *
 * train_decide.h: what `leat train` does after an evaluation: it keeps the best weights, lowers the learning rate, ends
 * the run. */
#ifndef LEAT_TRAIN_DECIDE_H
#define LEAT_TRAIN_DECIDE_H

#include "train_epoch.h"
#include "train_run.h"

/* Takes in the evaluation of a whole epoch, and saves the weights if they are the best. */
int leat_train_decide(leat_train_run *t, leat_train_epoch *e, leat_error *err);
/* A line about it, under the row of the epoch. */
void leat_train_decide_print(const leat_train_run *t, const leat_train_epoch *e);

/* At the end: which epoch was the best, and where its weights are. */
void leat_train_decide_end(const leat_train_run *t);
/* The same: null, or an object. Owned by the caller. */
json_t *leat_train_decide_json(const leat_train_run *t);

#endif
