/* SPDX-License-Identifier: MIT
 *
 * train_epoch.h: the report of `leat train` about an epoch. */
#ifndef LEAT_TRAIN_EPOCH_H
#define LEAT_TRAIN_EPOCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "leat/leat.h"

/* Results of an epoch. */
typedef struct leat_train_epoch {
    int64_t number, steps;
    double seconds;
    leat_metrics train, eval;
    bool has_eval, has_meter, steady;
    bool eval_stopped; /* by a signal, so that there is no has_eval */
    leat_meter meter;
    double flops_per_sample; /* of the model */
    double rate;             /* of learning, at its end */
    leat_train_decision decided;
} leat_train_epoch;

/* Owned by the caller. */
json_t *leat_train_epoch_json(const leat_train_epoch *e);
/* A table on standard output, 80 columns wide: its head, and a row per epoch. */
void leat_train_epoch_head(bool has_eval, bool simulated);
void leat_train_epoch_print(const leat_train_epoch *e, int64_t n_epochs, bool simulated);

#endif
