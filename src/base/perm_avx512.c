/* SPDX-License-Identifier: MIT
 *
 * perm_avx512.c: the rounds of perm.c for many positions at a time. perm_span.c calls it. */
#if defined(__x86_64__)
#include <immintrin.h>
#include <stdbool.h>

#include "perm_impl.h"

typedef __m512i V;

/* Keyed hash of `half`, below m: the upper half of h * m, whose lower 32 bits cannot carry. */
static inline V keyed_8(uint64_t key, V half, V m)
{
    const V first = _mm512_set1_epi64(-0x61c8864680b583ebll);  /* 0x9e3779b97f4a7c15 */
    const V second = _mm512_set1_epi64(-0x2917014799a6026dll); /* 0xd6e8feb86659fd93 */
    V h = _mm512_mullo_epi64(_mm512_xor_si512(half, _mm512_set1_epi64((int64_t)key)), first);
    h = _mm512_mullo_epi64(_mm512_xor_si512(h, _mm512_srli_epi64(h, 32)), second);
    const V upper = _mm512_mul_epu32(_mm512_srli_epi64(h, 32), m);
    const V lower = _mm512_srli_epi64(_mm512_mul_epu32(h, m), 32);
    return _mm512_srli_epi64(_mm512_add_epi64(upper, lower), 32);
}

/* x + y modulo m: below m, x + y - m wraps and is the larger one. */
static inline V add_8(V x, V y, V m)
{
    const V sum = _mm512_add_epi64(x, y);
    return _mm512_min_epu64(sum, _mm512_sub_epi64(sum, m));
}

/* The halves of eight positions. */
typedef struct halves {
    V l, r;
} halves;

/* Splits the positions l0 * b + r0 and behind it. b exceeds 7, so they reach one line of b further at most. */
static inline halves split_8(uint64_t l0, uint64_t r0, V b)
{
    const V l = _mm512_set1_epi64((int64_t)l0);
    const V r =
        _mm512_add_epi64(_mm512_set1_epi64((int64_t)r0), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
    const __mmask8 wraps = _mm512_cmpge_epu64_mask(r, b);
    return (halves){ _mm512_mask_add_epi64(l, wraps, l, _mm512_set1_epi64(1)),
                     _mm512_mask_sub_epi64(r, wraps, r, b) };
}

void leat_perm_rounds_avx512(const leat_perm *perm, uint64_t i, uint64_t out[LEAT_PERM_LANES])
{
    enum { N = LEAT_PERM_LANES / 8 }; /* their chains are independent, so the CPU overlaps them */
    const V a = _mm512_set1_epi64((int64_t)perm->a), b = _mm512_set1_epi64((int64_t)perm->b);
    uint64_t l0 = i / perm->b, r0 = i - l0 * perm->b;
    halves at[N];
#pragma GCC unroll 4 /* without it gcc keeps the halves in memory */
    for (int k = 0; k < N; k++) {
        at[k] = split_8(l0, r0, b);
        const bool wraps = r0 + 8 >= perm->b;
        l0 += wraps;
        r0 = r0 + 8 - (wraps ? perm->b : 0);
    }
    for (int round = 0; round < LEAT_PERM_ROUNDS; round += 2) {
#pragma GCC unroll 4
        for (int k = 0; k < N; k++)
            at[k].l = add_8(at[k].l, keyed_8(perm->keys[round], at[k].r, a), a);
#pragma GCC unroll 4
        for (int k = 0; k < N; k++)
            at[k].r = add_8(at[k].r, keyed_8(perm->keys[round + 1], at[k].l, b), b);
    }
#pragma GCC unroll 4
    for (int k = 0; k < N; k++)
        _mm512_storeu_si512(out + 8 * k, _mm512_add_epi64(_mm512_mullo_epi64(at[k].l, b), at[k].r));
}
#endif
