/* SPDX-License-Identifier: MIT
 *
 * ranks_sum.h: the sum of all ranks' gradients, in the order of the tree of one process. cpu_ranks.c calls it.
 *
 * DESIGN: the largest parts of the tree that lie in one rank's micro-batches are summed there, and the rank keeps nothing else. A
 * chunk of these sums is cut into a slice per rank: each rank gets its slice of all parts, adds them up in the order of the
 * tree, and gives the result to all. So each float is added once and not by every rank, and the sum is the same bits for any
 * number of ranks. */
#ifndef LEAT_RANKS_SUM_H
#define LEAT_RANKS_SUM_H

#include "exchange.h"

/* A part of the tree of sums that one rank computes alone. */
typedef struct leat_ranks_branch {
    int32_t first, n; /* micro-batches */
    int32_t rank, at; /* of its rank's parts */
} leat_ranks_branch;

typedef struct leat_ranks_sum {
    leat_ranks *ranks;
    void (*add)(const float *a, const float *b, float *to, size_t n);
    int32_t n_micro, n_parts, most_parts; /* of one rank */
    leat_ranks_branch *parts;
    size_t chunk; /* floats that are exchanged at once: a multiple of 16 × ranks */
    float *sent, *got;
    float *rooms; /* of one slice's piece, for each level of the tree */
} leat_ranks_sum;

/* add: to = a + b. n_floats: of a gradient. */
int leat_ranks_sum_open(leat_ranks_sum *s, leat_ranks *ranks, int32_t n_micro, size_t n_floats,
                        void (*add)(const float *a, const float *b, float *to, size_t n),
                        leat_error *err);
void leat_ranks_sum_close(leat_ranks_sum *s);
/* to[0 … length) = the sum of floats [from, from + length), at most a chunk. grads[part->first] has that of each part of
 * this rank. The ranks have agreed before that none has failed. */
int leat_ranks_sum_chunk(leat_ranks_sum *s, float *const *grads, size_t from, size_t length,
                         float *to, leat_error *err);

/* Micro-batches of the left half of a tree over n: the tree is split at the largest power of two below n. */
static inline int32_t leat_ranks_sum_left(int32_t n)
{
    int32_t p = 1;
    while (2 * p < n)
        p *= 2;
    return p;
}

#endif
