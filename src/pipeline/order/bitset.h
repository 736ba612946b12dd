/* SPDX-License-Identifier: MIT
 *
 * bitset.h: a set of numbers 0 … n-1 that finds its i-th member; 1.25 bits per number. Filters and
 * buckets use it. Fill it, finish it; after that it never changes.
 *
 * DESIGN. One bit per number. For every block of 512 numbers: the count of members before it (64 bits).
 * For every 512 members: the block of the first of them (64 bits). A lookup is a binary search between
 * two such blocks, then a bit count in eight words. */
#ifndef LEAT_BITSET_H
#define LEAT_BITSET_H

#include <stdbool.h>
#include <stdint.h>

#include "leat/error.h"

typedef struct leat_bitset {
    uint64_t n, n_members;
    uint64_t *words;  /* one bit per number, whole blocks */
    uint64_t *before; /* per block: members before it */
    uint64_t *blocks; /* per 512 members: block of the first */
} leat_bitset;

/* Opens an empty set. LEAT_E_NOMEM. */
int leat_bitset_open(leat_bitset **out, uint64_t n, leat_error *err);
void leat_bitset_close(leat_bitset **set);
/* Adds i < n. Call it before leat_bitset_finish. */
void leat_bitset_add(leat_bitset *set, uint64_t i);
static inline bool leat_bitset_has(const leat_bitset *set, uint64_t i)
{
    return set->words[i / 64] >> i % 64 & 1;
}
/* Call it after the last member was added: builds the lookup tables. LEAT_E_NOMEM. */
int leat_bitset_finish(leat_bitset *set, leat_error *err);
/* A digest of the members of a finished set. */
uint64_t leat_bitset_digest(const leat_bitset *set);
/* Memory of a finished set. */
uint64_t leat_bitset_bytes(const leat_bitset *set);
/* Returns the i-th smallest member, i < n_members. Any thread. */
uint64_t leat_bitset_member(const leat_bitset *set, uint64_t i);

#endif
