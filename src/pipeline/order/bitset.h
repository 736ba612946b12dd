/* SPDX-License-Identifier: MIT
 *
 * bitset.h: a set of numbers 0 … n-1 that knows its i-th member: 1.25 bits per number.
 *
 * DESIGN. One bit per number; for every 512 of them how many members come before (64 bits); for every
 * 512 members which of those blocks the first of them is in (64 bits). The i-th member is found by a
 * binary search between two such blocks, then by counting bits in eight words. */
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

/* No members. LEAT_E_NOMEM. */
int leat_bitset_open(leat_bitset **out, uint64_t n, leat_error *err);
void leat_bitset_close(leat_bitset **set);
/* i < n becomes a member; before leat_bitset_finish. */
void leat_bitset_add(leat_bitset *set, uint64_t i);
/* All are in: counts them. LEAT_E_NOMEM. */
int leat_bitset_finish(leat_bitset *set, leat_error *err);
/* Memory that it takes, once it is finished. */
uint64_t leat_bitset_bytes(const leat_bitset *set);
bool leat_bitset_has(const leat_bitset *set, uint64_t i);
/* The i-th member in order, i < n_members. Any thread. */
uint64_t leat_bitset_member(const leat_bitset *set, uint64_t i);

#endif
