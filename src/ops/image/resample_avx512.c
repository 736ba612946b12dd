/* SPDX-License-Identifier: MIT
 *
 * resample_avx512.c: the weights of an axis of uint8 (resample_simd.inc), 8 outputs at a time. */
#if defined(__x86_64__)
#include <immintrin.h>

#include "resample_impl.h"

typedef __m512d V;
typedef __m256i I;
#define FILL           leat_resample_fill_avx512
#define v_set(x)       _mm512_set1_pd(x)
#define v_load         _mm512_loadu_pd
#define v_store        _mm512_storeu_pd
#define v_add          _mm512_add_pd
#define v_sub          _mm512_sub_pd
#define v_mul          _mm512_mul_pd
#define v_div          _mm512_div_pd
#define v_min          _mm512_min_pd
#define v_max          _mm512_max_pd
#define v_abs          _mm512_abs_pd
#define v_to_int       _mm512_cvttpd_epi32
#define v_of_int       _mm512_cvtepi32_pd
#define i_set          _mm256_set1_epi32
#define i_sub          _mm256_sub_epi32
#define i_store(to, x) _mm256_storeu_si256((I *)(void *)(to), x)

/* x where first <= at < end, else 0 */
static inline V v_between(V x, V first, V at, V end)
{
    const __mmask8 is_used =
        _mm512_cmp_pd_mask(at, first, _CMP_GE_OQ) & _mm512_cmp_pd_mask(at, end, _CMP_LT_OQ);
    return _mm512_maskz_mov_pd(is_used, x);
}

#include "resample_simd.inc"
#endif
