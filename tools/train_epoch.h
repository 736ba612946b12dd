/* SPDX-License-Identifier: MIT
 *
 * train_epoch.h: what `leat train` says of an epoch. */
#ifndef LEAT_TRAIN_EPOCH_H
#define LEAT_TRAIN_EPOCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "leat/leat.h"

/* What is known at the end of an epoch. */
typedef struct leat_train_epoch {
    int64_t number, steps;
    double seconds;
    leat_metrics train, eval;
    bool has_eval, has_meter, steady;
    leat_meter meter;
} leat_train_epoch;

/* Owned by the caller. */
json_t *leat_train_epoch_json(const leat_train_epoch *e);
/* A line of standard output. */
void leat_train_epoch_print(const leat_train_epoch *e, int64_t n_epochs, bool simulated);

#endif
