/* SPDX-License-Identifier: MIT
 *
 * train_ranks.h: the processes of `leat train --ranks`: forked from the one that the user started, which is rank 0, or
 * started by mpirun or srun. Rank 0 alone prints and writes. */
#ifndef LEAT_TRAIN_RANKS_H
#define LEAT_TRAIN_RANKS_H

#include <stdbool.h>

#include "leat/leat.h"

typedef struct leat_train_ranks {
    leat_ranks *group; /* NULL: one process */
    int32_t rank, n;
    int32_t n_children; /* of rank 0, that it has not waited for */
    bool mpi;
    int error_fd; /* of ranks above 0: where errors go if rank 0 cannot say them */
} leat_train_ranks;

/* Values of --ranks: the words, and numbers from 1. */
enum {
    LEAT_TRAIN_RANKS_AUTO = LEAT_OPTION_CHOICE(0), /* 1 */
    LEAT_TRAIN_RANKS_MPI = LEAT_OPTION_CHOICE(1)
};
extern const char *const leat_train_ranks_words[];

/* n: of --ranks. Forks n - 1 processes, and returns in all of them; or joins those of MPI. 1: does nothing. Before threads
 * are started and files are opened. */
int leat_train_ranks_start(leat_train_ranks *ranks, int64_t n, double deadline, leat_error *err);
/* Sets engine.rank and engine.ranks; whole: as of one process, which a plan for evaluation is for. */
int leat_train_ranks_config(const leat_train_ranks *ranks, leat_config *config, bool whole,
                            leat_error *err);
/* All ranks begin at the same place, make as many steps, and evaluate the same. steps < 1: to the end; eval NULL: nothing. */
int leat_train_ranks_same_run(const leat_train_ranks *ranks, int rc, int64_t first_batch,
                              int64_t steps, const leat_plan *eval, leat_error *err);
/* 1 in the process that says errors; it then has standard error. */
int leat_train_ranks_speaks(const leat_train_ranks *ranks);
/* Leaves; rank 0 waits for the others. After the trainer is closed. */
void leat_train_ranks_end(leat_train_ranks *ranks);

#endif
