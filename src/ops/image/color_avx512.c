/* SPDX-License-Identifier: MIT
 *
 * color_avx512.c: the loops of color_loops.h, 64 pixels at a time. */
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "color_loops.h"

typedef __m512i V;
#define LEVEL                  leat_color_loops_avx512
#define V_BYTES                64 /* that v_rotate turns */
#define v_set16                _mm512_set1_epi16
#define v_set32                _mm512_set1_epi32
#define v_unpack_lo8           _mm512_unpacklo_epi8
#define v_unpack_hi8           _mm512_unpackhi_epi8
#define v_unpack_lo16          _mm512_unpacklo_epi16
#define v_unpack_hi16          _mm512_unpackhi_epi16
#define v_packus16             _mm512_packus_epi16
#define v_pack32               _mm512_packs_epi32
#define v_madd                 _mm512_madd_epi16
#define v_mullo16              _mm512_mullo_epi16
#define v_mulhi16              _mm512_mulhi_epi16
#define v_mulhi_u16            _mm512_mulhi_epu16
#define v_avg16                _mm512_avg_epu16
#define v_add16                _mm512_add_epi16
#define v_sub16                _mm512_sub_epi16
#define v_add32                _mm512_add_epi32
#define v_add64                _mm512_add_epi64
#define v_srl32                _mm512_srli_epi32
#define v_srl16                _mm512_srli_epi16
#define v_sra16                _mm512_srai_epi16
#define v_sll16                _mm512_slli_epi16
#define v_and                  _mm512_and_si512
#define v_andnot               _mm512_andnot_si512
#define v_sad8                 _mm512_sad_epu8
#define v_shuffle8             _mm512_shuffle_epi8
#define v_set64                _mm512_set1_epi64
#define v_max8                 _mm512_max_epu8
#define v_min8                 _mm512_min_epu8
#define v_eq16(a, b)           _mm512_movm_epi16(_mm512_cmpeq_epi16_mask(a, b))
#define v_gt16(a, b)           _mm512_movm_epi16(_mm512_cmpgt_epi16_mask(a, b))
#define v_pick(mask, yes, no)  _mm512_ternarylogic_epi64(mask, yes, no, 0xca)
#define v_load(from)           _mm512_loadu_si512(from)
#define v_store(to, x)         _mm512_storeu_si512(to, x)
#define v_load_part(from, i)   _mm512_loadu_si512((from) + 64 * (i))
#define v_store_part(to, i, x) _mm512_storeu_si512((to) + 64 * (i), x)

static const uint8_t count[64] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
};

/* Byte p of the result is byte p + n of x, around its end. */
static inline V v_rotate(V x, int n)
{
    const V places = _mm512_add_epi8(_mm512_loadu_si512(count), _mm512_set1_epi8((char)n));
    return _mm512_permutexvar_epi8(places, x);
}

/* Red of pixel i is byte 3 i of its 192, and so byte 3 i modulo 64 of the vector. */
static inline void v_store_grouped(uint8_t *to, V x)
{
    const V i = _mm512_loadu_si512(count), places = _mm512_add_epi8(i, _mm512_add_epi8(i, i));
    _mm512_storeu_si512(to, _mm512_permutexvar_epi8(places, x));
}

/* Byte p is that of v0, v1 or v2, as p modulo 3 is 0, 1 or 2. */
static inline V v_thirds(V v0, V v1, V v2)
{
    const __mmask64 is_0 = 0x9249249249249249u, is_1 = is_0 << 1;
    return _mm512_mask_blend_epi8(is_1, _mm512_mask_blend_epi8(is_0, v2, v0), v1);
}

static inline V lookup(const uint8_t table[256], V x)
{
    const V lower =
        _mm512_permutex2var_epi8(_mm512_loadu_si512(table), x, _mm512_loadu_si512(table + 64));
    const V upper = _mm512_permutex2var_epi8(_mm512_loadu_si512(table + 128), x,
                                             _mm512_loadu_si512(table + 192));
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), lower, upper);
}

#include "color_simd.inc"
#endif
