/* SPDX-License-Identifier: MIT
 *
 * perm_avx512.c: the rounds of perm.c for eight positions at a time. perm_span.c calls it. */
#if defined(__x86_64__)
#include <immintrin.h>

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

void leat_perm_rounds_avx512(const leat_perm *perm, uint64_t i, uint64_t out[8])
{
    const V a = _mm512_set1_epi64((int64_t)perm->a), b = _mm512_set1_epi64((int64_t)perm->b);
    const uint64_t l0 = i / perm->b;
    /* b exceeds 7, so that positions reach one line of b further at most. */
    V r = _mm512_add_epi64(_mm512_set1_epi64((int64_t)(i - l0 * perm->b)),
                           _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
    const __mmask8 wraps = _mm512_cmpge_epu64_mask(r, b);
    V l = _mm512_set1_epi64((int64_t)l0);
    l = _mm512_mask_add_epi64(l, wraps, l, _mm512_set1_epi64(1));
    r = _mm512_mask_sub_epi64(r, wraps, r, b);
    for (int round = 0; round < LEAT_PERM_ROUNDS; round += 2) {
        l = add_8(l, keyed_8(perm->keys[round], r, a), a);
        r = add_8(r, keyed_8(perm->keys[round + 1], l, b), b);
    }
    _mm512_storeu_si512(out, _mm512_add_epi64(_mm512_mullo_epi64(l, b), r));
}
#endif
