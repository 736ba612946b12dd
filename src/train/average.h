/* SPDX-License-Identifier: MIT
 *
 * average.h: averages of the weights over updates, from `train.average`. The average of every parameter, also of
 * running statistics, is in LEAT_VALUES_AVERAGE of the backend. All other state is the number of updates, so a
 * checkpoint needs only these values. */
#ifndef LEAT_AVERAGE_H
#define LEAT_AVERAGE_H

#include "schedule.h"

typedef enum leat_average_mode {
    LEAT_AVERAGE_NONE,
    LEAT_AVERAGE_EMA,
    LEAT_AVERAGE_LOOKAHEAD
} leat_average_mode;

typedef struct leat_average {
    leat_average_mode mode;
    double decay, power;
    int64_t every;
    bool warmup;
    int64_t length;  /* updates of the run; 0: unknown */
    int64_t batches; /* of the run; 0: unknown */
    bool begun;      /* its values hold an average; a checkpoint that has filled them sets it */
} leat_average;

/* node: `train.average`; NULL: none. Returns LEAT_OK, LEAT_E_CONFIG. */
int leat_average_init(leat_average *average, const leat_node *node, const leat_run_length *run,
                      leat_error *err);
/* The share that the average keeps after update n (from 1); 1 if nothing happens then. */
double leat_average_decay(const leat_average *average, int64_t n);
/* Before a training step: the average begins with the weights. */
int leat_average_before(leat_average *average, const leat_backend *backend, leat_net *net,
                        leat_error *err);
/* After an update. n_of_run: updates done, with those that a run which started later left out. */
int leat_average_after(const leat_average *average, int64_t n_of_run, const leat_backend *backend,
                       leat_net *net, leat_error *err);
/* After the last batch of the run: weights become what lookahead averaged. */
int leat_average_end(const leat_average *average, const leat_backend *backend, leat_net *net,
                     leat_error *err);
/* Exchanges weights and average if evaluation and files use the average; a second call undoes it. */
int leat_average_swap(const leat_average *average, const leat_backend *backend, leat_net *net,
                      leat_error *err);

#endif
