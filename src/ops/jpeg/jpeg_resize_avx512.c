/* SPDX-License-Identifier: MIT
 *
 * jpeg_resize_avx512.c: both passes of a resize with AVX-512. */
#if defined(__x86_64__)
#include "jpeg_dsp_x86.h"

#include <immintrin.h>
#include <string.h>

#include "ops/dsp.h"

typedef __m512i V;

/* Byte 4c of part j is column c' of the first row, byte 4c + 2 of the second, and the others 0: pairs
 * of words for 16 columns, chosen so that packing parts 0 and 1 (2 and 3) puts 32 in order. */
#define PAIR(c) (c), 0, 64 + (c), 0
#define FOUR(c) PAIR(c), PAIR((c) + 1), PAIR((c) + 2), PAIR((c) + 3)
#define PART(c)                                                                                    \
    {                                                                                              \
        FOUR(c), FOUR((c) + 8), FOUR((c) + 16), FOUR((c) + 24)                                     \
    }
static const uint8_t order[4][64]
    __attribute__((aligned(64))) = { PART(0), PART(4), PART(32), PART(36) };

static inline V weight_pair(const int16_t *weights)
{
    int pair;
    memcpy(&pair, weights, sizeof pair);
    return _mm512_set1_epi32(pair);
}

static inline void mix_64(int16_t *out, const uint8_t *in, size_t in_stride, const int16_t *weights,
                          int32_t n_taps, int32_t shift)
{
    const V half = _mm512_set1_epi32(1 << (shift - 1));
    const __m128i count = _mm_cvtsi32_si128(shift);
    V s0 = half, s1 = half, s2 = half, s3 = half;
    for (int32_t k = 0; k < n_taps; k += 2) {
        const uint8_t *row = in + (size_t)k * in_stride;
        const V w = weight_pair(weights + k), a = _mm512_loadu_si512(row);
        const V b = k + 1 < n_taps ? _mm512_loadu_si512(row + in_stride) : _mm512_setzero_si512();
#define PARTS(j)                                                                                   \
    _mm512_madd_epi16(                                                                             \
        _mm512_maskz_permutex2var_epi8(0x5555555555555555, a, _mm512_load_si512(order[j]), b), w)
        s0 = _mm512_add_epi32(s0, PARTS(0));
        s1 = _mm512_add_epi32(s1, PARTS(1));
        s2 = _mm512_add_epi32(s2, PARTS(2));
        s3 = _mm512_add_epi32(s3, PARTS(3));
#undef PARTS
    }
    _mm512_storeu_si512(
        out, _mm512_packs_epi32(_mm512_sra_epi32(s0, count), _mm512_sra_epi32(s1, count)));
    _mm512_storeu_si512(
        out + 32, _mm512_packs_epi32(_mm512_sra_epi32(s2, count), _mm512_sra_epi32(s3, count)));
}

void leat_jpeg_mix_rows_avx512(int16_t *out, const uint8_t *in, size_t in_stride, size_t n,
                               const int16_t *weights, int32_t n_taps, int32_t shift)
{
    if (n < 64) {
        leat_dsp()->mix_rows(out, in, in_stride, n, weights, n_taps, shift);
        return;
    }
    for (size_t i = 0; i + 64 <= n; i += 64)
        mix_64(out + i, in + i, in_stride, weights, n_taps, shift);
    if (n % 64) /* the last 64 once more: some columns are written twice, the same */
        mix_64(out + n - 64, in + n - 64, in_stride, weights, n_taps, shift);
}

void leat_jpeg_sample_row_avx512(uint8_t *out, const int16_t *in, const leat_jpeg_sampler *sampler,
                                 int32_t shift)
{
    const V half = _mm512_set1_epi32(1 << (shift - 1));
    const __m128i count = _mm_cvtsi32_si128(shift);
    const int16_t *place = sampler->place, *weight = sampler->weight;
    const int32_t *base = sampler->base;
    for (int32_t g = 0; g < sampler->n_groups; g++, out += 16) {
        V sum = half;
        for (int32_t p = 0; p < sampler->n_pairs; p++, place += 32, weight += 32) {
            const int16_t *from = in + *base++;
            const V pairs = _mm512_permutex2var_epi16(
                _mm512_loadu_si512(from), _mm512_loadu_si512(place), _mm512_loadu_si512(from + 32));
            sum = _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_loadu_si512(weight)));
        }
        _mm_storeu_si128((__m128i *)out, _mm512_cvtepi32_epi8(_mm512_sra_epi32(sum, count)));
    }
}
#endif
