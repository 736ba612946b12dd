/* SPDX-License-Identifier: MIT
 *
 * train_weights.h: what `leat train` says of train.weights. */
#ifndef LEAT_TRAIN_WEIGHTS_H
#define LEAT_TRAIN_WEIGHTS_H

#include "leat/leat.h"
#include "print/json.h"

/* A line, and a table of the tensors that were not taken. Nothing, if nothing was loaded. */
void leat_train_weights_print(const leat_trainer *trainer);
/* Of the JSON of a run; null, if nothing was loaded. */
json_t *leat_train_weights_json(const leat_trainer *trainer);

#endif
