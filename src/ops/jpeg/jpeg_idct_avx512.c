/* SPDX-License-Identifier: MIT
 *
 * jpeg_idct_avx512.c: the inverse DCT, four blocks at a time. */
#if defined(__x86_64__)
#include "jpeg_dsp.h"

#include <immintrin.h>

typedef __m512i V;
#define v_unpack_lo16 _mm512_unpacklo_epi16
#define v_unpack_hi16 _mm512_unpackhi_epi16
#define v_set32       _mm512_set1_epi32
#define v_madd        _mm512_madd_epi16
#define v_add32       _mm512_add_epi32
#define v_sub32       _mm512_sub_epi32
#define v_sra32       _mm512_srai_epi32
#define v_add16       _mm512_add_epi16
#define v_sub16       _mm512_sub_epi16
#define v_pack32      _mm512_packs_epi32
#define v_pack16      _mm512_packs_epi16
#define v_unpack_lo8  _mm512_unpacklo_epi8
#define v_unpack_hi8  _mm512_unpackhi_epi8
#include "jpeg_idct_simd.inc"

/* Zigzag position of each place in natural order. */
static const uint16_t zigzag[64] __attribute__((aligned(64))) = {
    0,  1,  5,  6,  14, 15, 27, 28, 2,  4,  7,  13, 16, 26, 29, 42, 3,  8,  12, 17, 25, 30,
    41, 43, 9,  11, 18, 24, 31, 40, 44, 53, 10, 19, 23, 32, 39, 45, 52, 54, 20, 22, 33, 38,
    46, 51, 55, 60, 21, 34, 37, 47, 50, 56, 59, 61, 35, 36, 48, 49, 57, 58, 62, 63,
};

static inline V load_true(const int16_t *stored)
{
    const V v = _mm512_loadu_si512(stored);
    return _mm512_sub_epi16(v, _mm512_srai_epi16(v, 15));
}

/* Lanes of four registers to registers of lanes */
static inline void transpose_lanes(const V in[4], V out[4])
{
    const V a = _mm512_shuffle_i32x4(in[0], in[1], 0x44),
            b = _mm512_shuffle_i32x4(in[2], in[3], 0x44);
    const V c = _mm512_shuffle_i32x4(in[0], in[1], 0xee),
            d = _mm512_shuffle_i32x4(in[2], in[3], 0xee);
    out[0] = _mm512_shuffle_i32x4(a, b, 0x88);
    out[1] = _mm512_shuffle_i32x4(a, b, 0xdd);
    out[2] = _mm512_shuffle_i32x4(c, d, 0x88);
    out[3] = _mm512_shuffle_i32x4(c, d, 0xdd);
}

static inline void load_rows(const int16_t *block, const int16_t *quant, V d[8])
{
    const V upper = _mm512_load_si512(zigzag), lower = _mm512_load_si512(zigzag + 32);
    V rows03[4], rows47[4];
    UNROLLED
    for (int b = 0; b < 4; b++) {
        const V first = load_true(block + 64 * b), second = load_true(block + 64 * b + 32);
        rows03[b] = _mm512_permutex2var_epi16(first, upper, second);
        rows47[b] = _mm512_permutex2var_epi16(first, lower, second);
    }
    transpose_lanes(rows03, d);
    transpose_lanes(rows47, d + 4);
    UNROLLED
    for (int i = 0; i < 8; i++)
        d[i] = _mm512_mullo_epi16(
            d[i], _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(quant + 8 * i))));
}

/* Rows r and r + 1 of all blocks, 32 bytes each */
static inline void store_rows(V bytes, uint8_t *out, ptrdiff_t stride)
{
    const V rows = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7),
                                            _mm512_xor_si512(bytes, _mm512_set1_epi8(-128)));
    _mm256_storeu_si256((__m256i *)out, _mm512_castsi512_si256(rows));
    _mm256_storeu_si256((__m256i *)(out + stride), _mm512_extracti64x4_epi64(rows, 1));
}

static uint32_t largest_of(V peak)
{
    uint16_t values[32];
    uint32_t largest = 0;
    _mm512_storeu_si512(values, peak);
    for (int i = 0; i < 32; i++)
        largest = values[i] > largest ? values[i] : largest;
    return largest;
}

uint32_t leat_jpeg_idct_avx512(const int16_t *blocks, int n_blocks, const int16_t *quant,
                               uint8_t *out, ptrdiff_t stride)
{
    V peak = _mm512_setzero_si512();
    for (int b = 0; b < n_blocks; b += 4, blocks += 256, out += 32) {
        V d[8];
        load_rows(blocks, quant, d);
        peak = _mm512_max_epu16(peak, _mm512_abs_epi16(d[0]));
        PASS(d, LEAT_IDCT_COLUMN_SHIFT);
        transpose(d);
        PASS(d, LEAT_IDCT_ROW_SHIFT);
        transpose_bytes(d);
        UNROLLED
        for (int i = 0; i < 4; i++)
            store_rows(d[i], out + 2 * i * stride, stride);
    }
    return largest_of(peak);
}
#endif
