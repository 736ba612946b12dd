/* SPDX-License-Identifier: MIT
 *
 * resample_avx2.c: the weights of an axis of uint8 (resample_simd.inc), 4 outputs at a time. */
#if defined(__x86_64__)
#include <immintrin.h>

#include "resample_impl.h"

typedef __m256d V;
typedef __m128i I;
#define FILL           leat_resample_fill_avx2
#define v_set(x)       _mm256_set1_pd(x)
#define v_load         _mm256_loadu_pd
#define v_store        _mm256_storeu_pd
#define v_add          _mm256_add_pd
#define v_sub          _mm256_sub_pd
#define v_mul          _mm256_mul_pd
#define v_div          _mm256_div_pd
#define v_min          _mm256_min_pd
#define v_max          _mm256_max_pd
#define v_abs(x)       _mm256_andnot_pd(_mm256_set1_pd(-0.0), x)
#define v_to_int       _mm256_cvttpd_epi32
#define v_of_int       _mm256_cvtepi32_pd
#define i_set          _mm_set1_epi32
#define i_sub          _mm_sub_epi32
#define i_store(to, x) _mm_storeu_si128((I *)(void *)(to), x)

/* x where first <= at < end, else 0 */
static inline V v_between(V x, V first, V at, V end)
{
    return _mm256_and_pd(
        x, _mm256_and_pd(_mm256_cmp_pd(at, first, _CMP_GE_OQ), _mm256_cmp_pd(at, end, _CMP_LT_OQ)));
}

#include "resample_simd.inc"
#endif
