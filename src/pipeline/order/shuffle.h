/* SPDX-License-Identifier: MIT
 *
 * shuffle.h: three shuffles as arithmetic: which input element stands at output position p.
 *
 * DESIGN. All are bijections of 0 … n-1 for every n, made of keyed permutations (perm.h), so any
 * place can be asked for at any time, by any thread, without memory.
 *
 *   global   every element may come anywhere
 *   block    for slow disks. Blocks of K neighbours are permuted; then the elements of each window of
 *            M blocks are: while a window lasts, only M stretches of the data are read.
 *            w = x / MK, y = perm_w(x mod MK), out = perm_blocks(wM + y / K) · K + y mod K. The last
 *            block may be short: a result ≥ n is sent through again until it is not. One block of all is global
 *   window   for data that must stay near its place. Windows of W elements are permuted, then, shifted
 *            by W / 2, once more, which mixes over their borders: nothing moves by 1.5 W or more */
#ifndef LEAT_SHUFFLE_H
#define LEAT_SHUFFLE_H

#include <stdbool.h>

#include "base/perm.h"

typedef struct leat_shuffle {
    uint64_t seed;
    bool reshuffle;  /* a new order in every epoch */
    uint64_t block;  /* elements of a block; 0: no blocks */
    uint64_t window; /* elements of a window, a multiple of block; 0: global */
} leat_shuffle;

/* One thread's memory of the permutations last used; zero it before the first use. */
typedef struct leat_shuffle_perm {
    bool valid;
    uint32_t purpose;
    uint64_t epoch, part;
    leat_perm perm;
} leat_shuffle_perm;
typedef struct leat_shuffle_cache {
    leat_shuffle_perm perms[3];
} leat_shuffle_cache;

/* The input element at output position p < n.
 * n        elements; UINT64_MAX (endless) only where windows stand in a row, without blocks
 * purpose  below 2^28: tells the shuffles of one plan apart */
uint64_t leat_shuffle_at(const leat_shuffle *shuffle, uint64_t n, uint32_t purpose, uint64_t epoch,
                         leat_shuffle_cache *cache, uint64_t p);

#endif
