/* SPDX-License-Identifier: MIT
 *
 * jpeg_idct_avx2.c: the inverse DCT, two blocks at a time. */
#if defined(__x86_64__)
#include "jpeg_dsp.h"

#include <immintrin.h>

typedef __m256i V;
#define v_unpack_lo16 _mm256_unpacklo_epi16
#define v_unpack_hi16 _mm256_unpackhi_epi16
#define v_set32       _mm256_set1_epi32
#define v_madd        _mm256_madd_epi16
#define v_add32       _mm256_add_epi32
#define v_sub32       _mm256_sub_epi32
#define v_sra32       _mm256_srai_epi32
#define v_add16       _mm256_add_epi16
#define v_sub16       _mm256_sub_epi16
#define v_pack32      _mm256_packs_epi32
#define v_pack16      _mm256_packs_epi16
#define v_unpack_lo8  _mm256_unpacklo_epi8
#define v_unpack_hi8  _mm256_unpackhi_epi8
#include "jpeg_idct_simd.inc"

/* Byte shuffles from zigzag order to rows: the values of a row in zigzag positions 8i … 8i + 7. */
#define BYTES(i, z)                                                                                \
    (char)((z) / 8 == (i) ? 2 * ((z) % 8) : -1), (char)((z) / 8 == (i) ? 2 * ((z) % 8) + 1 : -1)
#define MASK(i, a, b, c, d, e, f, g, h)                                                            \
    _mm256_broadcastsi128_si256(_mm_setr_epi8(BYTES(i, a), BYTES(i, b), BYTES(i, c), BYTES(i, d),  \
                                              BYTES(i, e), BYTES(i, f), BYTES(i, g), BYTES(i, h)))
#define ROW0(i)           MASK(i, 0, 1, 5, 6, 14, 15, 27, 28)
#define ROW1(i)           MASK(i, 2, 4, 7, 13, 16, 26, 29, 42)
#define ROW2(i)           MASK(i, 3, 8, 12, 17, 25, 30, 41, 43)
#define ROW3(i)           MASK(i, 9, 11, 18, 24, 31, 40, 44, 53)
#define ROW4(i)           MASK(i, 10, 19, 23, 32, 39, 45, 52, 54)
#define ROW5(i)           MASK(i, 20, 22, 33, 38, 46, 51, 55, 60)
#define ROW6(i)           MASK(i, 21, 34, 37, 47, 50, 56, 59, 61)
#define ROW7(i)           MASK(i, 35, 36, 48, 49, 57, 58, 62, 63)
#define PICK(r, i)        _mm256_shuffle_epi8(in[i], ROW##r(i))
#define PICK3(r, i, j, k) _mm256_or_si256(PICK(r, i), _mm256_or_si256(PICK(r, j), PICK(r, k)))
#define PICK5(r, i, j, k, l, m)                                                                    \
    _mm256_or_si256(_mm256_or_si256(PICK(r, l), PICK(r, m)), PICK3(r, i, j, k))

/* Positions 8i … 8i + 7 of two blocks, with corrected values. */
static inline V load_two(const int16_t *block, int i)
{
    const V stored = _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(block + 8 * i))),
        _mm_loadu_si128((const __m128i *)(block + 64 + 8 * i)), 1);
    return _mm256_sub_epi16(stored, _mm256_srai_epi16(stored, 15));
}

static inline void load_rows(const int16_t *block, const int16_t *quant, V d[8])
{
    V in[8];
    UNROLLED
    for (int i = 0; i < 8; i++)
        in[i] = load_two(block, i);
    d[0] = PICK3(0, 0, 1, 3);
    d[1] = PICK5(1, 0, 1, 2, 3, 5);
    d[2] = PICK5(2, 0, 1, 2, 3, 5);
    d[3] = PICK5(3, 1, 2, 3, 5, 6);
    d[4] = PICK5(4, 1, 2, 4, 5, 6);
    d[5] = PICK5(5, 2, 4, 5, 6, 7);
    d[6] = PICK5(6, 2, 4, 5, 6, 7);
    d[7] = PICK3(7, 4, 6, 7);
    UNROLLED
    for (int i = 0; i < 8; i++)
        d[i] = _mm256_mullo_epi16(
            d[i], _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(quant + 8 * i))));
}

/* Rows r and r + 1 of both blocks, 16 bytes each */
static inline void store_rows(V bytes, uint8_t *out, ptrdiff_t stride)
{
    const V rows = _mm256_permute4x64_epi64(_mm256_xor_si256(bytes, _mm256_set1_epi8(-128)), 0xd8);
    _mm_storeu_si128((__m128i *)out, _mm256_castsi256_si128(rows));
    _mm_storeu_si128((__m128i *)(out + stride), _mm256_extracti128_si256(rows, 1));
}

static uint32_t largest_of(V peak)
{
    uint16_t values[16];
    uint32_t largest = 0;
    _mm256_storeu_si256((__m256i *)values, peak);
    for (int i = 0; i < 16; i++)
        largest = values[i] > largest ? values[i] : largest;
    return largest;
}

/* Two blocks a round: n_blocks is a multiple of 4. */
uint32_t leat_jpeg_idct_avx2(const int16_t *blocks, int n_blocks, const int16_t *quant,
                             uint8_t *out, ptrdiff_t stride)
{
    V peak = _mm256_setzero_si256();
    for (int b = 0; b < n_blocks; b += 2, blocks += 128, out += 16) {
        V d[8];
        load_rows(blocks, quant, d);
        peak = _mm256_max_epu16(peak, _mm256_abs_epi16(d[0]));
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
