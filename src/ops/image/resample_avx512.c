/* SPDX-License-Identifier: MIT
 *
 * resample_avx512.c: the weights of an axis of uint8, as fill_axis() in resample.c, 8 outputs at a time. */
#if defined(__x86_64__)
#include <immintrin.h>

#include "resample_impl.h"

typedef __m512d V;

/* Weights of the taps from `start` on. Returns their totals. */
static inline V weigh(leat_resample_lanes *weights, int32_t n_taps, const leat_resample_block *b,
                      __m256i start, V support)
{
    const V one = _mm512_set1_pd(1), half = _mm512_set1_pd(0.5), zero = _mm512_setzero_pd();
    const V center = _mm512_load_pd(b->center), first = _mm512_load_pd(b->first);
    const V end = _mm512_load_pd(b->end);
    V at = _mm512_cvtepi32_pd(start), total = zero;
    for (int32_t k = 0; k < n_taps; k++) {
        const V distance = _mm512_abs_pd(_mm512_add_pd(_mm512_sub_pd(at, center), half));
        const V weight = _mm512_max_pd(_mm512_sub_pd(one, _mm512_div_pd(distance, support)), zero);
        const __mmask8 is_used =
            _mm512_cmp_pd_mask(at, first, _CMP_GE_OQ) & _mm512_cmp_pd_mask(at, end, _CMP_LT_OQ);
        const V used = _mm512_maskz_mov_pd(is_used, weight);
        _mm512_storeu_pd(weights[k], used);
        total = _mm512_add_pd(total, used);
        at = _mm512_add_pd(at, one);
    }
    return total;
}

static inline void put(int16_t *to, int32_t stride, __m256i values)
{
    _Alignas(32) int32_t step[LEAT_RESAMPLE_LANES];
    _mm256_store_si256((__m256i *)step, values);
    for (int32_t j = 0; j < LEAT_RESAMPLE_LANES; j++)
        to[j * stride] = (int16_t)step[j];
}

/* Rounds the running sums. */
static inline void put_all(const leat_axis *axis, int16_t *to, leat_resample_lanes *weights,
                           V total)
{
    const V one = _mm512_set1_pd(1 << axis->bits), half = _mm512_set1_pd(0.5);
    V sum = _mm512_setzero_pd();
    __m256i before = _mm256_setzero_si256();
    for (int32_t k = 0; k < axis->n_taps - 1; k++) {
        sum = _mm512_add_pd(sum, _mm512_loadu_pd(weights[k]));
        const V share = _mm512_mul_pd(_mm512_div_pd(sum, total), one);
        const __m256i upto = _mm512_cvttpd_epi32(_mm512_add_pd(share, half));
        put(to++, axis->stride, _mm256_sub_epi32(upto, before));
        before = upto;
    }
    put(to, axis->stride, _mm256_sub_epi32(_mm256_set1_epi32(1 << axis->bits), before));
}

void leat_resample_fill_avx512(leat_axis *axis, const leat_resample_block *b, double support,
                               leat_resample_lanes *weights)
{
    const V last = _mm512_set1_pd(axis->n_in - axis->n_taps), wide = _mm512_set1_pd(support);
    for (int32_t i = 0; i < axis->n_out; i += LEAT_RESAMPLE_LANES, b++) {
        const __m256i start = _mm512_cvttpd_epi32(_mm512_min_pd(_mm512_load_pd(b->first), last));
        _mm256_storeu_si256((__m256i *)(axis->start + i), start);
        const V total = weigh(weights, axis->n_taps, b, start, wide);
        put_all(axis, axis->weights + (ptrdiff_t)i * axis->stride, weights, total);
    }
}
#endif
