/* SPDX-License-Identifier: MIT
 *
 * perm_impl.h: the steps of a round, for perm.c (one position, and back) and perm_span.c (several). */
#ifndef LEAT_PERM_IMPL_H
#define LEAT_PERM_IMPL_H

#include "perm.h"

/* Returns the high half of h · m, m ≤ 2^32. */
static inline uint64_t high_half(uint64_t h, uint64_t m)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide; /* one instruction */
    return (uint64_t)((wide)h * m >> 64);
#else
    return ((h >> 32) * m + ((h & 0xffffffffu) * m >> 32)) >> 32;
#endif
}

/* Returns a keyed hash of `half`, below m. */
static inline uint64_t keyed(uint64_t key, uint64_t half, uint64_t m)
{
    uint64_t h = (half ^ key) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return high_half(h, m);
}

static inline uint64_t add_modulo(uint64_t x, uint64_t y, uint64_t m)
{
    const uint64_t sum = x + y;
    return sum >= m ? sum - m : sum;
}

#if defined(__x86_64__)
#define LEAT_PERM_LANES 32
/* perm_avx512.c: the rounds of leat_perm_at() for that many positions from i on, not repeated for results >= n.
 * a and b must be below 2^32, and b above 7. */
void leat_perm_rounds_avx512(const leat_perm *perm, uint64_t i, uint64_t out[LEAT_PERM_LANES]);
#endif

#endif
