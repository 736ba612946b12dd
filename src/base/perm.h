/* SPDX-License-Identifier: MIT
 *
 * perm.h: a keyed permutation of 0 … n-1. It computes any place without a table of n entries. Shuffles, replacements of
 * bad rows and draws use it. */
#ifndef LEAT_PERM_H
#define LEAT_PERM_H

#include <stdint.h>

#define LEAT_PERM_ROUNDS 10
#define LEAT_PERM_SMALL  64 /* for n up to this, a table is used */

typedef struct leat_perm {
    uint64_t n;
    uint64_t a, b; /* a · b ≥ n, a ≈ b ≈ √n */
    uint64_t keys[LEAT_PERM_ROUNDS];
    uint8_t table[LEAT_PERM_SMALL];
} leat_perm;

/* Makes a permutation. With n = 0 it must not be used.
 * purpose  makes permutations of one seed and epoch differ (records, blocks, a second attempt, …) */
leat_perm leat_perm_make(uint64_t n, uint64_t seed, uint64_t epoch, uint32_t purpose);
/* Returns the record at position i < n. */
uint64_t leat_perm_at(const leat_perm *perm, uint64_t i);
/* Writes the records at n_out positions from i on, as leat_perm_at() gives them, but several at a time. */
void leat_perm_span(const leat_perm *perm, uint64_t i, uint64_t n_out, uint64_t *out);

#endif
