/* SPDX-License-Identifier: MIT
 *
 * train_end.h: what `leat train` says of a whole run, on the screen and in JSON. */
#ifndef LEAT_TRAIN_END_H
#define LEAT_TRAIN_END_H

#include "command.h"
#include "train_run.h"

/* log: the folder of --log, or NULL. */
void leat_train_end_print(const leat_train_run *t, const char *config, const char *log,
                          double seconds);
/* Takes the list of epochs. resumed: the checkpoint that the run went on from; "": none. Owned by the caller. */
json_t *leat_train_end_json(leat_train_run *t, const leat_call *call, const char *resumed,
                            double seconds);

#endif
