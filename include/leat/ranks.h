/* SPDX-License-Identifier: MIT
 *
 * ranks.h: processes that train one model together, each on its rows of every batch.
 *
 * On one machine, one process opens the group and forks the others, before it starts threads. Each then joins with its
 * number, opens its plan with `engine: {rank: r, ranks: n}` and its trainer with leat_trainer_open_ranks(). All make the
 * same calls in the same order:
 *
 *     leat_ranks_open(n, &ranks, &err);
 *     for (r = n - 1; r > 0 && fork() != 0; r--)
 *         ;                                              // rank 0 is the process that forked
 *     leat_ranks_join(ranks, r, &err);
 *     ...
 *     while ((rc = leat_ranks_agree(ranks, leat_loader_next(loader, &batch, &err), NULL, &err)) == LEAT_OK)
 *         if ((rc = leat_trainer_step(trainer, batch, &err)) < 0)
 *             break;
 *     // a rank that has a batch when another one fails to get its own releases it: leat_batch_release()
 *
 * On several machines, mpirun or srun starts the processes, and each calls leat_ranks_open_mpi() in place of the first four
 * lines.
 *
 * On the CPU the weights are the same bits for every number of ranks that divides train.micro_batches. */
#ifndef LEAT_RANKS_H
#define LEAT_RANKS_H

#include "leat/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_ranks leat_ranks;

/* Makes the memory that the processes share.
 * ranks    1 to 256
 * out      owned by the caller; after a fork by each process
 * returns  LEAT_OK, LEAT_E_ARGUMENT, LEAT_E_NOMEM */
LEAT_API int leat_ranks_open(int32_t ranks, leat_ranks **out, leat_error *err);
/* Takes part as the process of this number of those that MPI's launcher started (MPI_COMM_WORLD); has joined then. Loads
 * MPI through the plugin libleat-mpi.so, which is looked for beside libleat, or is the file that the environment variable
 * LEAT_MPI_PLUGIN names. The group is closed once, at the end of the process, because MPI cannot begin again.
 * rank, n  NULL, or set
 * returns  LEAT_OK; LEAT_E_UNSUPPORTED: no plugin, or not this MPI; LEAT_E_IO: MPI failed */
LEAT_API int leat_ranks_open_mpi(leat_ranks **out, int32_t *rank, int32_t *n, leat_error *err);
/* Ends the wait for a rank that does not come for this long, with LEAT_E_IO and its name: it is stopped, hangs, or its
 * machine is gone. 0, which is set at first, and 9e9 or more: never. A late rank of the same machine is killed. Before the first exchange,
 * the same in all ranks; takes NULL. */
LEAT_API void leat_ranks_deadline(leat_ranks *ranks, double seconds);
/* Whether each rank exchanges gradients on a thread of its own, during the backward pass, and not after it. The weights are the
 * same bits. Before the trainer is opened, the same in all ranks; takes NULL.
 * on  1, 0; -1, which is set at first: where ranks are on several machines, or a network is simulated */
LEAT_API void leat_ranks_overlap(leat_ranks *ranks, int on);
/* A group whose other ranks are simulated, to predict what a step of one would take: this process has joined as rank 0, and the
 * others come as soon as it does. Their statistics, losses and errors are those of rank 0, and their gradients zero, so that
 * weights are of no use. *out: leat_ranks_close(). Returns LEAT_OK, LEAT_E_ARGUMENT, LEAT_E_NOMEM. */
LEAT_API int leat_ranks_open_simulated(int32_t ranks, leat_ranks **out, leat_error *err);
/* Makes every exchange take as much longer as on a network, also between processes of one machine: the latency, and the bytes
 * that a rank sends to all others over its link's rate. Before the first exchange, the same in all ranks.
 * bytes_per_s  INFINITY: any
 * returns      LEAT_OK, LEAT_E_ARGUMENT */
LEAT_API int leat_ranks_network(leat_ranks *ranks, double latency_s, double bytes_per_s,
                                leat_error *err);
/* Takes part, once in each process, as number `rank` from 0. Returns LEAT_OK, LEAT_E_ARGUMENT. */
LEAT_API int leat_ranks_join(leat_ranks *ranks, int32_t rank, leat_error *err);
/* Waits until all ranks have come here, and tells each how the others fare.
 * ranks    NULL: the only one
 * rc       LEAT_OK, or the error of this rank, which *err describes
 * flag     1 if any rank gave 1, as when one has caught a signal; NULL: gives 0, and does not ask
 * returns  LEAT_OK if all gave that; otherwise the code of the lowest rank that gave another, with its *err; LEAT_E_IO: a
 *          rank has ended
 * threads  one at a time */
LEAT_API int leat_ranks_agree(leat_ranks *ranks, int rc, int32_t *flag, leat_error *err);
/* As leat_ranks_agree() without a flag; after LEAT_OK each of the n counts is the sum of those that all ranks gave. */
LEAT_API int leat_ranks_total(leat_ranks *ranks, int rc, uint64_t *counts, int32_t n,
                              leat_error *err);
/* Compares what each rank says of itself, in lines of text. All ranks call it.
 * returns  LEAT_OK; LEAT_E_ARGUMENT: a rank's text is not rank 0's, with the rank and the first line that differs; an
 *          error of a rank, as leat_ranks_agree() has it */
LEAT_API int leat_ranks_same(leat_ranks *ranks, int rc, const char *text, leat_error *err);
/* 1: this process says what all have to say, which is rank 0's task unless it is late; NULL: 1. */
LEAT_API int leat_ranks_is_reporter(const leat_ranks *ranks);
/* Where the time of a rank went, as shares: input + others + exchange + compute is 1. */
typedef struct leat_ranks_time {
    char name[96];   /* "rank 2 of 4 (its machine)" */
    double input;    /* it waited for its batches */
    double others;   /* it waited for ranks that came later than it to an exchange */
    double exchange; /* all had come: communication, until it had the bytes of all */
    double compute;  /* the rest */
    double late;     /* the others waited for it, which came last; mean over them */
} leat_ranks_time;

/* The times since the first training step, of ranks from 0 on; the same in all ranks.
 * out      at most n are filled
 * returns  the number of ranks; 0: ranks is NULL, or there was no second step */
LEAT_API int32_t leat_ranks_times(const leat_ranks *ranks, leat_ranks_time *out, int32_t n);
/* Leaves, so that ranks that wait for this one fail; frees. After the trainer is closed. With MPI it waits for all ranks;
 * but after an exchange that failed because a rank is late or gone, it ends all of them (MPI_Abort), this one too; one that
 * leaves the message to another first waits for up to a minute, with SIGTERM as at first (SIG_DFL). Takes NULL. */
LEAT_API void leat_ranks_close(leat_ranks **ranks);

#ifdef __cplusplus
}
#endif
#endif
