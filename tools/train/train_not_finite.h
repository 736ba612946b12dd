/* SPDX-License-Identifier: MIT
 *
 * train_not_finite.h: a loss of `leat train` that is not finite: where it arose, and whether the data are the reason. */
#ifndef LEAT_TRAIN_NOT_FINITE_H
#define LEAT_TRAIN_NOT_FINITE_H

#include "train_epoch.h"
#include "train_run.h"

/* Fails at an epoch's loss that is not finite: later steps and weights would be useless. */
int leat_train_loss_check(leat_train_run *t, const leat_train_epoch *e, leat_error *err);
/* Returns rc, the error of a step on this batch. If it is about the loss, *err also says why, and which records were
 * in the batch. */
int leat_train_loss_explain(leat_train_run *t, int64_t batch, int64_t epoch, int rc,
                            leat_error *err);

#endif
