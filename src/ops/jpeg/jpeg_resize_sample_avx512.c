/* SPDX-License-Identifier: MIT
 *
 * jpeg_resize_sample_avx512.c: the horizontal pass of a resize with AVX-512. */
#if defined(__x86_64__)
#include <immintrin.h>

#include "jpeg_dsp.h"
#include "jpeg_resize.h"

typedef __m512i V;

/* The 32 values that start at `from`, or 64, in the order of a pair of taps. */
static inline V take_near(const int16_t *from, const int16_t *place)
{
    return _mm512_permutexvar_epi8(_mm512_loadu_si512(place), _mm512_loadu_si512(from));
}

static inline V take_far(const int16_t *from, const int16_t *place)
{
    return _mm512_permutex2var_epi16(_mm512_loadu_si512(from), _mm512_loadu_si512(place),
                                     _mm512_loadu_si512(from + 32));
}

__attribute__((always_inline)) static inline void
sample(uint8_t *out, const int16_t *in, const leat_jpeg_sampler *sampler, int32_t shift,
       V (*take)(const int16_t *, const int16_t *))
{
    const V half = _mm512_set1_epi32(1 << (shift - 1));
    const V count = _mm512_set1_epi32(shift); /* a vector of counts shifts with one micro-op less */
    const int16_t *place = sampler->place, *weight = sampler->weight;
    const int32_t *base = sampler->base;
    for (int32_t g = 0; g < sampler->n_groups; g++, out += 16) {
        V sum = half;
        for (int32_t p = 0; p < sampler->n_pairs; p++, place += 32, weight += 32)
            sum = _mm512_dpwssd_epi32(sum, take(in + *base++, place), _mm512_loadu_si512(weight));
        const V x = _mm512_max_epi32(_mm512_srav_epi32(sum, count), _mm512_setzero_si512());
        _mm_storeu_si128((__m128i *)out, _mm512_cvtusepi32_epi8(x));
    }
}

void leat_jpeg_sample_row_avx512(uint8_t *out, const int16_t *in, const leat_jpeg_sampler *sampler,
                                 int32_t shift)
{
    if (sampler->is_near)
        sample(out, in, sampler, shift, take_near);
    else
        sample(out, in, sampler, shift, take_far);
}

/* The constants of a group for rows of floats. */
typedef struct group_end {
    __m512 scale, shift;
    __mmask16 mask; /* values inside the row */
    int streams;
} group_end;

/* Weighted values at `from` for a pair of taps. */
__attribute__((always_inline)) static inline V weigh(V sum, const int16_t *from, V place, V weight,
                                                     int is_near)
{
    const V first = _mm512_loadu_si512(from);
    return _mm512_dpwssd_epi32(
        sum,
        is_near ? _mm512_permutexvar_epi8(place, first)
                : _mm512_permutex2var_epi16(first, place, _mm512_loadu_si512(from + 32)),
        weight);
}

static inline void store_floats(float *out, V sum, V count, const group_end *end)
{
    const __m512 x = _mm512_cvtepi32_ps(_mm512_srav_epi32(sum, count));
    const __m512 y = _mm512_add_ps(_mm512_mul_ps(x, end->scale), end->shift);
    if (end->streams)
        _mm512_stream_ps(out, y);
    else
        _mm512_mask_storeu_ps(out, end->mask, y);
}

/* Alternates between four rows, so that they share the loads of the sampler. */
__attribute__((always_inline)) static inline void
sample_floats(float *out, size_t n, const int16_t *in, size_t in_stride, const leat_jpeg_sampler *s,
              int32_t n_pairs, int is_near, int32_t shift, const leat_jpeg_floats *floats)
{
    const V half = _mm512_set1_epi32(1 << (shift - 1));
    const V count = _mm512_set1_epi32(shift); /* a vector of counts shifts with one micro-op less */
    const int16_t *place = s->place, *weight = s->weight;
    const int32_t *base = s->base;
    int32_t phase = 0;
    for (size_t i = 0; i < n; i += 16) {
        V a = half, b = half, c = half, d = half;
        const group_end end = { _mm512_loadu_ps(floats->scale[phase]),
                                _mm512_loadu_ps(floats->shift[phase]),
                                (__mmask16)(n - i < 16 ? (1 << (n - i)) - 1 : 0xffff),
                                floats->streams };
        for (int32_t p = 0; p < n_pairs; p++, place += 32, weight += 32) {
            const int16_t *from = in + *base++;
            const V at = _mm512_loadu_si512(place), w = _mm512_loadu_si512(weight);
            a = weigh(a, from, at, w, is_near);
            b = weigh(b, from + in_stride, at, w, is_near);
            c = weigh(c, from + 2 * in_stride, at, w, is_near);
            d = weigh(d, from + 3 * in_stride, at, w, is_near);
        }
        store_floats(out + i, a, count, &end);
        store_floats(out + n + i, b, count, &end);
        store_floats(out + 2 * n + i, c, count, &end);
        store_floats(out + 3 * n + i, d, count, &end);
        phase = phase + 1 < floats->n_phases ? phase + 1 : 0;
    }
}

void leat_jpeg_fence_avx512(void)
{
    _mm_sfence();
}

void leat_jpeg_sample_floats_avx512(float *out, size_t n, const int16_t *in, size_t in_stride,
                                    const leat_jpeg_sampler *sampler, int32_t shift,
                                    const leat_jpeg_floats *floats)
{
    const int32_t n_pairs = sampler->n_pairs;
    if (!sampler->is_near)
        sample_floats(out, n, in, in_stride, sampler, n_pairs, 0, shift, floats);
    else if (n_pairs == 1)
        sample_floats(out, n, in, in_stride, sampler, 1, 1, shift, floats);
    else if (n_pairs == 2)
        sample_floats(out, n, in, in_stride, sampler, 2, 1, shift, floats);
    else
        sample_floats(out, n, in, in_stride, sampler, n_pairs, 1, shift, floats);
}
#endif
