/* SPDX-License-Identifier: MIT
 *
 * train_stop.h: the report of `leat train` when a signal stopped it: the position, what was saved, and
 * the command that resumes the run. */
#ifndef LEAT_TRAIN_STOP_H
#define LEAT_TRAIN_STOP_H

#include "command.h"
#include "train_run.h"

/* On standard error. */
void leat_train_stop_print(const leat_train_run *t, const leat_call *call);
/* An object; null if the run was not stopped. Owned by the caller. */
json_t *leat_train_stop_json(const leat_train_run *t, const leat_call *call);

#endif
