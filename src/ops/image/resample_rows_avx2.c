/* SPDX-License-Identifier: MIT
 *
 * resample_rows_avx2.c: the vertical and the horizontal pass of a resize with AVX2, for dsp_avx2.c. */
#include "dsp_impl.h"

#if defined(__AVX2__)
#include <immintrin.h>
#include <string.h>

typedef __m256i V;
#define v_set16      _mm256_set1_epi16
#define v_unpack_lo8 _mm256_unpacklo_epi8
#define v_unpack_hi8 _mm256_unpackhi_epi8
#define v_maddubs    _mm256_maddubs_epi16
#define v_mulhrs     _mm256_mulhrs_epi16
#define v_add16      _mm256_add_epi16

static inline V v_load(const void *at)
{
    return _mm256_loadu_si256((const V *)at);
}

static inline void v_store_words(int16_t *to, V even, V odd)
{
    _mm256_storeu_si256((V *)(void *)to, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256((V *)(void *)(to + 16), _mm256_permute2x128_si256(even, odd, 0x31));
}

#include "mix_words.inc"

#define INLINE __attribute__((always_inline)) static inline

static inline __m128i load_half(const void *at)
{
    return _mm_loadu_si128((const __m128i *)at);
}

static V weight_pair(const int16_t *weights)
{
    int32_t pair;
    memcpy(&pair, weights, sizeof pair);
    return _mm256_set1_epi32(pair);
}

/* 32 columns. Pairs of rows are interleaved, so that one multiply-add does two taps. */
static void mix_32(int16_t *out, const uint8_t *in, size_t in_stride, const int16_t *weights,
                   int32_t n_taps, int32_t shift)
{
    const V zero = _mm256_setzero_si256();
    const __m128i count = _mm_cvtsi32_si128(shift);
    V sums[4];
    for (int i = 0; i < 4; i++)
        sums[i] = _mm256_set1_epi32(1 << (shift - 1));
    for (int32_t k = 0; k < n_taps; k += 2) {
        const uint8_t *row = in + (size_t)k * in_stride;
        const V w = weight_pair(weights + k);
        const V a = v_load(row);
        const V b = k + 1 < n_taps ? v_load(row + in_stride) : zero;
        const V low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);
        const V parts[4] = { _mm256_unpacklo_epi8(low, zero), _mm256_unpackhi_epi8(low, zero),
                             _mm256_unpacklo_epi8(high, zero), _mm256_unpackhi_epi8(high, zero) };
        for (int i = 0; i < 4; i++)
            sums[i] = _mm256_add_epi32(sums[i], _mm256_madd_epi16(parts[i], w));
    }
    for (int i = 0; i < 4; i++)
        sums[i] = _mm256_sra_epi32(sums[i], count);
    v_store_words(out, _mm256_packs_epi32(sums[0], sums[1]), _mm256_packs_epi32(sums[2], sums[3]));
}

void leat_mix_rows_avx2(int16_t *out, const uint8_t *in, size_t in_stride, size_t n,
                        const int16_t *weights, int32_t n_taps, int32_t shift)
{
    size_t i = 0;
    if (n >= 32 && mix_as_words(out, in, in_stride, n, weights, n_taps, shift))
        return;
    for (; i + 32 <= n; i += 32)
        mix_32(out + i, in + i, in_stride, weights, n_taps, shift);
    if (i == n)
        return;
    if (n >= 32) /* the last 32 overlap: some columns are written twice with the same values */
        mix_32(out + n - 32, in + n - 32, in_stride, weights, n_taps, shift);
    else
        leat_dsp_c.mix_rows(out, in, in_stride, n, weights, n_taps, shift);
}

/* The pixels of two outputs, one per half, weighted. `order` moves the values of two neighbouring pixels next
 * to each other per channel. */
static inline V weigh_2(const int16_t *a, const int16_t *b, V order, V w)
{
    const V pixels = _mm256_inserti128_si256(_mm256_castsi128_si256(load_half(a)), load_half(b), 1);
    return _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, order), w);
}

static inline const int16_t *first_of(const int16_t *in, const leat_dsp_axis *axis, int32_t i,
                                      int32_t channels)
{
    return in + (size_t)axis->start[i] * (size_t)channels;
}

/* Sums of outputs i and j, one per half. Each has four, one per channel. */
static inline V sample_2(const int16_t *in, const leat_dsp_axis *axis, int32_t i, int32_t j,
                         int32_t channels, V order, V half)
{
    const int16_t *a = first_of(in, axis, i, channels), *b = first_of(in, axis, j, channels);
    const int16_t *weights_a = axis->weights + (size_t)i * (size_t)axis->stride;
    const int16_t *weights_b = axis->weights + (size_t)j * (size_t)axis->stride;
    V sum = half;
    for (int32_t k = 0; k < axis->n_taps; k += 2, a += 2 * channels, b += 2 * channels) {
        const V w =
            _mm256_blend_epi32(weight_pair(weights_a + k), weight_pair(weights_b + k), 0xf0);
        sum = _mm256_add_epi32(sum, weigh_2(a, b, order, w));
    }
    return sum;
}

/* Sums of outputs i and i + 2, and of i + 1 and i + 3. */
typedef struct sums_4 {
    V even, odd;
} sums_4;

/* With one pair of taps or two: one load takes the weights of all four outputs. */
INLINE sums_4 sample_few(const int16_t *in, const leat_dsp_axis *axis, int32_t i, int32_t channels,
                         int32_t n_pairs, V order, V half)
{
    const int16_t *weights = axis->weights + 2 * (size_t)i * (size_t)n_pairs;
    const int16_t *a = first_of(in, axis, i, channels), *b = first_of(in, axis, i + 1, channels);
    const int16_t *c = first_of(in, axis, i + 2, channels);
    const int16_t *d = first_of(in, axis, i + 3, channels);
    const V w = n_pairs == 1 ? _mm256_cvtepu32_epi64(load_half(weights)) : v_load(weights);
    sums_4 s = {
        _mm256_add_epi32(half, weigh_2(a, c, order, _mm256_shuffle_epi32(w, 0x00))),
        _mm256_add_epi32(half, weigh_2(b, d, order, _mm256_shuffle_epi32(w, 0xaa))),
    };
    if (n_pairs > 1) {
        const int32_t on = 2 * channels;
        const V w_even = _mm256_shuffle_epi32(w, 0x55), w_odd = _mm256_shuffle_epi32(w, 0xff);
        s.even = _mm256_add_epi32(s.even, weigh_2(a + on, c + on, order, w_even));
        s.odd = _mm256_add_epi32(s.odd, weigh_2(b + on, d + on, order, w_odd));
    }
    return s;
}

/* Four outputs of 4 bytes each. With 3 channels the fourth byte is unused. */
INLINE __m128i sample_4(const int16_t *in, const leat_dsp_axis *axis, int32_t i, int32_t channels,
                        int32_t n_pairs, V order, int32_t shift)
{
    const V half = _mm256_set1_epi32(1 << (shift - 1));
    const __m128i count = _mm_cvtsi32_si128(shift);
    sums_4 s;
    if (n_pairs <= 2)
        s = sample_few(in, axis, i, channels, n_pairs, order, half);
    else
        s = (sums_4){ sample_2(in, axis, i, i + 2, channels, order, half),
                      sample_2(in, axis, i + 1, i + 3, channels, order, half) };
    const V words =
        _mm256_packs_epi32(_mm256_sra_epi32(s.even, count), _mm256_sra_epi32(s.odd, count));
    const V bytes = _mm256_packus_epi16(words, words);
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(bytes, 0x08));
}

static void sample_tail(uint8_t *out, const int16_t *in, const leat_dsp_axis *axis, int32_t from,
                        int32_t channels, int32_t shift)
{
    leat_dsp_axis tail = *axis;
    tail.n_out -= from;
    tail.start += from;
    tail.weights += (size_t)from * (size_t)axis->stride;
    leat_dsp_c.sample_row(out + (size_t)from * (size_t)channels, in, &tail, channels, shift);
}

/* Return the outputs done. */
INLINE int32_t sample_row_3(uint8_t *out, const int16_t *in, const leat_dsp_axis *axis,
                            int32_t n_pairs, int32_t shift)
{
    const V order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1));
    const __m128i close_up = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    int32_t i = 0;
    for (; i + 4 <= axis->n_out; i += 4, out += 12) {
        const __m128i x =
            _mm_shuffle_epi8(sample_4(in, axis, i, 3, n_pairs, order, shift), close_up);
        const int32_t last = _mm_extract_epi32(x, 2);
        _mm_storel_epi64((__m128i *)(void *)out, x);
        memcpy(out + 8, &last, sizeof last);
    }
    return i;
}

INLINE int32_t sample_row_4(uint8_t *out, const int16_t *in, const leat_dsp_axis *axis,
                            int32_t n_pairs, int32_t shift)
{
    const V order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
    int32_t i = 0;
    for (; i + 4 <= axis->n_out; i += 4, out += 16)
        _mm_storeu_si128((__m128i *)(void *)out, sample_4(in, axis, i, 4, n_pairs, order, shift));
    return i;
}

void leat_sample_row_avx2(uint8_t *out, const int16_t *in, const leat_dsp_axis *axis,
                          int32_t channels, int32_t shift)
{
    const int32_t n_pairs = axis->stride / 2;
    int32_t done = 0;
    if (channels == 3)
        done = n_pairs == 1   ? sample_row_3(out, in, axis, 1, shift)
               : n_pairs == 2 ? sample_row_3(out, in, axis, 2, shift)
                              : sample_row_3(out, in, axis, n_pairs, shift);
    else if (channels == 4)
        done = sample_row_4(out, in, axis, n_pairs, shift);
    sample_tail(out, in, axis, done, channels, shift);
}
#endif
