/* SPDX-License-Identifier: MIT
 *
 * jpeg_resize_avx512.c: both passes of a resize with AVX-512. */
#if defined(__x86_64__)
#include "jpeg_dsp_x86.h"

#include <immintrin.h>
#include <string.h>

#include "ops/dsp.h"

typedef __m512i V;

/* Four weights (below 2^15 - 128: see fill_weights() in resample.c) as bytes, w = 256 · high + low with low
 * in [-128, 127]: products of bytes are then summed
 * four at a time, and the sum is the exact one. */
typedef struct four_weights {
    V high, low;
} four_weights;

static inline four_weights split(const int16_t *weights, int32_t n)
{
    uint32_t high = 0, low = 0;
    for (int32_t k = 0; k < n; k++) {
        const int32_t l = (int8_t)weights[k];
        low |= (uint32_t)(l & 255) << 8 * k;
        high |= (uint32_t)((weights[k] - l) >> 8 & 255) << 8 * k;
    }
    return (four_weights){ _mm512_set1_epi32((int)high), _mm512_set1_epi32((int)low) };
}

/* Sums of 64 columns. Part j holds, in each quarter of a vector, its columns 4j … 4j + 3. */
typedef struct sums_64 {
    V high[4], low[4];
} sums_64;

static inline void add_parts(sums_64 *s, V ab, V cd, int j, four_weights w)
{
    const V first = _mm512_unpacklo_epi16(ab, cd), second = _mm512_unpackhi_epi16(ab, cd);
    s->high[j] = _mm512_dpbusd_epi32(s->high[j], first, w.high);
    s->low[j] = _mm512_dpbusd_epi32(s->low[j], first, w.low);
    s->high[j + 1] = _mm512_dpbusd_epi32(s->high[j + 1], second, w.high);
    s->low[j + 1] = _mm512_dpbusd_epi32(s->low[j + 1], second, w.low);
}

/* Adds n = 1 … 4 rows. */
static inline void add_rows(sums_64 *s, const uint8_t *in, size_t in_stride, int32_t n,
                            four_weights w)
{
    const V zero = _mm512_setzero_si512(), a = _mm512_loadu_si512(in);
    const V b = n > 1 ? _mm512_loadu_si512(in + in_stride) : zero;
    const V c = n > 2 ? _mm512_loadu_si512(in + 2 * in_stride) : zero;
    const V d = n > 3 ? _mm512_loadu_si512(in + 3 * in_stride) : zero;
    add_parts(s, _mm512_unpacklo_epi8(a, b), _mm512_unpacklo_epi8(c, d), 0, w);
    add_parts(s, _mm512_unpackhi_epi8(a, b), _mm512_unpackhi_epi8(c, d), 2, w);
}

static inline V finish(const sums_64 *s, int j, __m128i count)
{
    return _mm512_sra_epi32(_mm512_add_epi32(_mm512_slli_epi32(s->high[j], 8), s->low[j]), count);
}

static inline void store_64(int16_t *out, const sums_64 *s, int32_t shift)
{
    const V front = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const V back = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    const __m128i count = _mm_cvtsi32_si128(shift);
    const V even = _mm512_packs_epi32(finish(s, 0, count), finish(s, 1, count));
    const V odd = _mm512_packs_epi32(finish(s, 2, count), finish(s, 3, count));
    _mm512_storeu_si512(out, _mm512_permutex2var_epi64(even, front, odd));
    _mm512_storeu_si512(out + 32, _mm512_permutex2var_epi64(even, back, odd));
}

static inline sums_64 begin(int32_t shift)
{
    const V zero = _mm512_setzero_si512(), half = _mm512_set1_epi32(1 << (shift - 1));
    return (sums_64){ { zero, zero, zero, zero }, { half, half, half, half } };
}

static void mix_64(int16_t *out, const uint8_t *in, size_t in_stride, const int16_t *weights,
                   int32_t n_taps, int32_t shift)
{
    sums_64 s = begin(shift);
    for (int32_t k = 0; k < n_taps; k += 4) {
        const int32_t n = n_taps - k < 4 ? n_taps - k : 4;
        add_rows(&s, in + (size_t)k * in_stride, in_stride, n, split(weights + k, n));
    }
    store_64(out, &s, shift);
}

/* The same for all columns where four rows are enough, as when little is shrunk. */
__attribute__((always_inline)) static inline void mix_few(int16_t *out, const uint8_t *in,
                                                          size_t in_stride, size_t n,
                                                          const int16_t *weights, int32_t n_taps,
                                                          int32_t shift)
{
    const four_weights w = split(weights, n_taps);
    for (size_t i = 0;; i = i + 128 <= n ? i + 64 : n - 64) {
        sums_64 s = begin(shift);
        add_rows(&s, in + i, in_stride, n_taps, w);
        store_64(out + i, &s, shift);
        if (i + 64 == n) /* before, some columns were written twice, the same */
            break;
    }
}

void leat_jpeg_mix_rows_avx512(int16_t *out, const uint8_t *in, size_t in_stride, size_t n,
                               const int16_t *weights, int32_t n_taps, int32_t shift)
{
    if (n < 64) {
        leat_dsp()->mix_rows(out, in, in_stride, n, weights, n_taps, shift);
        return;
    }
    if (n_taps == 2) {
        mix_few(out, in, in_stride, n, weights, 2, shift);
        return;
    }
    if (n_taps == 3) {
        mix_few(out, in, in_stride, n, weights, 3, shift);
        return;
    }
    if (n_taps == 4) {
        mix_few(out, in, in_stride, n, weights, 4, shift);
        return;
    }
    for (size_t i = 0;; i = i + 128 <= n ? i + 64 : n - 64) {
        mix_64(out + i, in + i, in_stride, weights, n_taps, shift);
        if (i + 64 == n)
            break;
    }
}

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
    const __m128i count = _mm_cvtsi32_si128(shift);
    const int16_t *place = sampler->place, *weight = sampler->weight;
    const int32_t *base = sampler->base;
    for (int32_t g = 0; g < sampler->n_groups; g++, out += 16) {
        V sum = half;
        for (int32_t p = 0; p < sampler->n_pairs; p++, place += 32, weight += 32)
            sum = _mm512_dpwssd_epi32(sum, take(in + *base++, place), _mm512_loadu_si512(weight));
        _mm_storeu_si128((__m128i *)out, _mm512_cvtepi32_epi8(_mm512_sra_epi32(sum, count)));
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
#endif
