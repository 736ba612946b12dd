/* SPDX-License-Identifier: MIT
 *
 * train_ranks.h: the processes of `leat train --ranks`. Rank 0 is the one that the user started: it alone prints and
 * writes. */
#ifndef LEAT_TRAIN_RANKS_H
#define LEAT_TRAIN_RANKS_H

#include <stdbool.h>

#include "leat/leat.h"

typedef struct leat_train_ranks {
    leat_ranks *group; /* NULL: one process */
    int32_t rank, n;
    int32_t n_children; /* of rank 0, that it has not waited for */
} leat_train_ranks;

/* Forks n - 1 processes; returns in all of them. n 1: does nothing. Before threads are started and files are opened. */
int leat_train_ranks_start(leat_train_ranks *ranks, int32_t n, leat_error *err);
/* Sets engine.rank and engine.ranks; whole: as of one process, which a plan for evaluation is for. */
int leat_train_ranks_config(const leat_train_ranks *ranks, leat_config *config, bool whole,
                            leat_error *err);
/* Leaves; rank 0 waits for the others. After the trainer is closed. */
void leat_train_ranks_end(leat_train_ranks *ranks);

#endif
