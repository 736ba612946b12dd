/* SPDX-License-Identifier: MIT
 *
 * jpeg_resize_avx512.c: the vertical pass of a resize with AVX-512. */
#if defined(__x86_64__)
#include "jpeg_dsp.h"

#include <immintrin.h>
#include <string.h>

#include "ops/image/dsp.h"

typedef __m512i V;
#define v_set16      _mm512_set1_epi16
#define v_unpack_lo8 _mm512_unpacklo_epi8
#define v_unpack_hi8 _mm512_unpackhi_epi8
#define v_maddubs    _mm512_maddubs_epi16
#define v_mulhrs     _mm512_mulhrs_epi16
#define v_add16      _mm512_add_epi16
#define v_load(from) _mm512_loadu_si512(from)

static inline void v_store_words(int16_t *to, V even, V odd)
{
    const V front = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const V back = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi64(even, front, odd));
    _mm512_storeu_si512(to + 32, _mm512_permutex2var_epi64(even, back, odd));
}

#include "ops/image/mix_words.inc"

/* Four weights (below 2^15 - 128: see fill_u8() in resample.c) as bytes: w = 256 · high + low with low in
 * [-128, 127]. Products of bytes are summed four at a time, and the sum is exact. */
typedef struct four_weights {
    uint32_t high, low;
} four_weights;

enum { MOST_FOURS = 64 };

static inline four_weights split(const int16_t *weights, int32_t n)
{
    uint32_t high = 0, low = 0;
    for (int32_t k = 0; k < n; k++) {
        const int32_t l = (int8_t)weights[k];
        low |= (uint32_t)(l & 255) << 8 * k;
        high |= (uint32_t)((weights[k] - l) >> 8 & 255) << 8 * k;
    }
    return (four_weights){ high, low };
}

/* Sums of 64 columns. Part j holds columns 4j … 4j + 3 of each quarter of a vector. */
typedef struct sums_64 {
    V high[4], low[4];
} sums_64;

static inline void add_parts(sums_64 *s, V ab, V cd, int j, V w_high, V w_low)
{
    const V first = _mm512_unpacklo_epi16(ab, cd), second = _mm512_unpackhi_epi16(ab, cd);
    s->high[j] = _mm512_dpbusd_epi32(s->high[j], first, w_high);
    s->low[j] = _mm512_dpbusd_epi32(s->low[j], first, w_low);
    s->high[j + 1] = _mm512_dpbusd_epi32(s->high[j + 1], second, w_high);
    s->low[j + 1] = _mm512_dpbusd_epi32(s->low[j + 1], second, w_low);
}

/* Adds n = 1 … 4 rows. */
static inline void add_rows(sums_64 *s, const uint8_t *in, size_t in_stride, int32_t n,
                            four_weights w)
{
    const V high = _mm512_set1_epi32((int)w.high), low = _mm512_set1_epi32((int)w.low);
    const V zero = _mm512_setzero_si512(), a = _mm512_loadu_si512(in);
    const V b = n > 1 ? _mm512_loadu_si512(in + in_stride) : zero;
    const V c = n > 2 ? _mm512_loadu_si512(in + 2 * in_stride) : zero;
    const V d = n > 3 ? _mm512_loadu_si512(in + 3 * in_stride) : zero;
    add_parts(s, _mm512_unpacklo_epi8(a, b), _mm512_unpacklo_epi8(c, d), 0, high, low);
    add_parts(s, _mm512_unpackhi_epi8(a, b), _mm512_unpackhi_epi8(c, d), 2, high, low);
}

static inline V finish(const sums_64 *s, int j, __m128i count)
{
    return _mm512_sra_epi32(_mm512_add_epi32(_mm512_slli_epi32(s->high[j], 8), s->low[j]), count);
}

static inline void store_64(int16_t *out, const sums_64 *s, int32_t shift)
{
    const __m128i count = _mm_cvtsi32_si128(shift);
    v_store_words(out, _mm512_packs_epi32(finish(s, 0, count), finish(s, 1, count)),
                  _mm512_packs_epi32(finish(s, 2, count), finish(s, 3, count)));
}

static inline sums_64 begin(int32_t shift)
{
    const V zero = _mm512_setzero_si512(), half = _mm512_set1_epi32(1 << (shift - 1));
    return (sums_64){ { zero, zero, zero, zero }, { half, half, half, half } };
}

/* 64 columns: the weighted sum of n_taps rows. */
static void sum_rows_64(int16_t *out, const uint8_t *in, size_t in_stride,
                        const four_weights *weights, int32_t n_taps, int32_t shift)
{
    sums_64 s = begin(shift);
    for (; n_taps >= 4; n_taps -= 4, in += 4 * in_stride)
        add_rows(&s, in, in_stride, 4, *weights++);
    if (n_taps)
        add_rows(&s, in, in_stride, n_taps, *weights);
    store_64(out, &s, shift);
}

void leat_jpeg_mix_rows_avx512(int16_t *out, const uint8_t *in, size_t in_stride, size_t n,
                               const int16_t *weights, int32_t n_taps, int32_t shift)
{
    if (n < 64 || n_taps > 4 * MOST_FOURS) {
        leat_dsp()->mix_rows(out, in, in_stride, n, weights, n_taps, shift);
        return;
    }
    if (mix_as_words(out, in, in_stride, n, weights, n_taps, shift))
        return;
    four_weights fours[MOST_FOURS];
    for (int32_t k = 0; k < n_taps; k += 4)
        fours[k / 4] = split(weights + k, n_taps - k < 4 ? n_taps - k : 4);
    for (size_t i = 0;; i = i + 128 <= n ? i + 64 : n - 64) {
        sum_rows_64(out + i, in + i, in_stride, fours, n_taps, shift);
        if (i + 64 == n)
            break;
    }
}
#endif
