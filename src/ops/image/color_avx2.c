/* SPDX-License-Identifier: MIT
 *
 * color_avx2.c: the loops of color_loops.h, 32 pixels at a time. Each lane of 128 bits holds 16 pixels, which
 * are 48 bytes one after the other. */
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "color_loops.h"
#include "pixels_avx2.inc"

typedef __m256i V;
#define LEVEL                 leat_color_loops_avx2
#define V_BYTES               16 /* that v_rotate turns */
#define v_set16               _mm256_set1_epi16
#define v_set32               _mm256_set1_epi32
#define v_unpack_lo8          _mm256_unpacklo_epi8
#define v_unpack_hi8          _mm256_unpackhi_epi8
#define v_unpack_lo16         _mm256_unpacklo_epi16
#define v_unpack_hi16         _mm256_unpackhi_epi16
#define v_packus16            _mm256_packus_epi16
#define v_pack32              _mm256_packs_epi32
#define v_madd                _mm256_madd_epi16
#define v_mullo16             _mm256_mullo_epi16
#define v_mulhi16             _mm256_mulhi_epi16
#define v_mulhi_u16           _mm256_mulhi_epu16
#define v_avg16               _mm256_avg_epu16
#define v_add16               _mm256_add_epi16
#define v_sub16               _mm256_sub_epi16
#define v_add32               _mm256_add_epi32
#define v_add64               _mm256_add_epi64
#define v_srl32               _mm256_srli_epi32
#define v_srl16               _mm256_srli_epi16
#define v_sra16               _mm256_srai_epi16
#define v_sll16               _mm256_slli_epi16
#define v_and                 _mm256_and_si256
#define v_andnot              _mm256_andnot_si256
#define v_sad8                _mm256_sad_epu8
#define v_shuffle8            _mm256_shuffle_epi8
#define v_set64               _mm256_set1_epi64x
#define v_max8                _mm256_max_epu8
#define v_min8                _mm256_min_epu8
#define v_eq16                _mm256_cmpeq_epi16
#define v_gt16                _mm256_cmpgt_epi16
#define v_thirds              leat_thirds_avx2
#define v_store_part          leat_store_part_avx2
#define v_rotate(x, n)        _mm256_alignr_epi8(x, x, n)
#define v_pick(mask, yes, no) _mm256_blendv_epi8(no, yes, mask)

static inline V v_load(const uint8_t *from)
{
    return _mm256_loadu_si256((const V *)(const void *)from);
}

static inline void v_store(uint8_t *to, V x)
{
    _mm256_storeu_si256((V *)(void *)to, x);
}

static inline V v_load_part(const uint8_t *from, int i)
{
    return _mm256_loadu2_m128i((const __m128i *)(const void *)(from + 48 + 16 * i),
                               (const __m128i *)(const void *)(from + 16 * i));
}

/* Red of pixel i is byte 3 i of its 48, and so byte 3 i modulo 16 of the lane. */
static inline void v_store_grouped(uint8_t *to, V x)
{
    const V places = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14, 1, 4, 7, 10, 13));
    v_store(to, _mm256_shuffle_epi8(x, places));
}

#if defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif

/* The lower four bits choose in each of 16 parts of the table, the upper four among these. */
static inline V lookup(const uint8_t table[256], V x)
{
    const V at = _mm256_and_si256(x, _mm256_set1_epi8(15));
    V v[16];
    UNROLLED
    for (int k = 0; k < 16; k++)
        v[k] = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(
                                       (const __m128i *)(const void *)(table + 16 * k))),
                                   at);
    UNROLLED
    for (int bit = 4; bit < 8; bit++) { /* v_pick looks at bit 7 */
        const V mask = _mm256_slli_epi16(x, 7 - bit);
        UNROLLED
        for (int k = 0; k < 128 >> bit; k++)
            v[k] = v_pick(mask, v[2 * k + 1], v[2 * k]);
    }
    return v[0];
}

#include "color_simd.inc"
#endif
