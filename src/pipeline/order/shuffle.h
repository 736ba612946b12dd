/* SPDX-License-Identifier: MIT
 *
 * shuffle.h: three shuffles. Each computes the input element at output position p. order.c and
 * bucket.c call it.
 *
 * DESIGN. Each shuffle is a bijection of 0 … n-1 for every n. It is made of keyed permutations
 * (perm.h), so any thread can ask for any position, and no list is stored.
 *
 *   global   any element can go anywhere
 *   block    for slow disks. Blocks of K neighbours are permuted. Then the elements within each window
 *            of M blocks are permuted, so a window reads only M stretches of the data.
 *            w = x / MK, y = perm_w(x mod MK), out = perm_blocks(wM + y / K) · K + y mod K.
 *            The last block may be short: while the result is ≥ n, the formula is applied again.
 *            A block of all n elements makes the shuffle global
 *            streams: the data is cut into S parts of neighbours, each is shuffled in blocks, and part s gives
 *            rows ⌊s·m/S⌋ to ⌊(s+1)·m/S⌋ - 1 of every batch of m rows. A rank has the rows of whole streams
 *            if their number is a multiple of ranks, so it reads a part of the data of its own
 *   window   elements stay near their place. Windows of W elements are permuted; then windows shifted
 *            by W / 2 are permuted, which mixes across borders. No element moves by 1.5 W or more */
#ifndef LEAT_SHUFFLE_H
#define LEAT_SHUFFLE_H

#include <stdbool.h>

#include "base/perm.h"

#define LEAT_SHUFFLE_BLOCKS 16 /* of a window, if only the block is given */

typedef struct leat_shuffle {
    uint64_t seed;
    bool reshuffle;   /* a new order in every epoch */
    uint64_t block;   /* elements of a block; 0: no blocks */
    uint64_t window;  /* elements of a window, a multiple of block; 0: global */
    uint64_t streams; /* above 1: each has blocks and windows of its own */
    uint64_t rows;    /* of a batch, which the streams share; leat_order_batch() fills it */
} leat_shuffle;

/* The permutations that one thread used last. Zero the cache before the first use. */
typedef struct leat_shuffle_perm {
    bool valid;
    uint32_t purpose;
    uint64_t epoch, part, n, seed;
    leat_perm perm;
} leat_shuffle_perm;
#define LEAT_SHUFFLE_STREAMS 64
typedef struct leat_shuffle_cache {
    leat_shuffle_perm perms[3];
    struct leat_shuffle_cache
        *streams; /* LEAT_SHUFFLE_STREAMS caches for streams. Borrowed; NULL: none */
} leat_shuffle_cache;

/* Returns the input element at output position p < n.
 * n        elements; UINT64_MAX (endless) is allowed only with a window and no block
 * purpose  below 2^28; different for each shuffle of a plan that reshuffles */
uint64_t leat_shuffle_at(const leat_shuffle *shuffle, uint64_t n, uint32_t purpose, uint64_t epoch,
                         leat_shuffle_cache *cache, uint64_t p);

/* Writes the input elements at n_out output positions from p on. */
void leat_shuffle_span(const leat_shuffle *shuffle, uint64_t n, uint32_t purpose, uint64_t epoch,
                       leat_shuffle_cache *cache, uint64_t p, uint64_t n_out, uint64_t *out);

#endif
