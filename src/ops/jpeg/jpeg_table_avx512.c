/* SPDX-License-Identifier: MIT
 *
 * jpeg_table_avx512.c: joins entries of Huffman tables, eight at a time, as join() in jpeg_table.c. */
#if defined(__x86_64__)
#include "jpeg_dsp.h"

#include <immintrin.h>

typedef __m512i V;

static inline V set(uint64_t x)
{
    return _mm512_set1_epi64((long long)x);
}

/* (x >> by) & 63 */
static inline V field(V x, unsigned by)
{
    return _mm512_and_si512(_mm512_srli_epi64(x, by), set(63));
}

static inline V or3(V a, V b, V c)
{
    return _mm512_ternarylogic_epi64(a, b, c, 0xfe);
}

/* leat_jpeg_signed_bits() of the first symbol, at bit 32 */
static inline V first_value(V entry, V index)
{
    const V word = _mm512_slli_epi64(index, 64 - LEAT_JPEG_LOOKUP_BITS);
    const V bits = _mm512_sllv_epi64(word, field(entry, 8));
    const V value = _mm512_xor_si512(_mm512_srai_epi64(bits, 1), set(1ull << 63));
    const V cut = _mm512_srav_epi64(value, field(entry, 16));
    return _mm512_slli_epi64(_mm512_and_si512(cut, set(0xffff)), 32);
}

static inline V join_8(V entry, V index, const uint64_t *next)
{
    const V used = field(entry, 0), mask = set((1u << LEAT_JPEG_LOOKUP_BITS) - 1);
    const V second =
        _mm512_i64gather_epi64(_mm512_and_si512(_mm512_sllv_epi64(index, used), mask), next, 8);
    const V total = _mm512_add_epi64(used, field(second, 0));
    const V shown = _mm512_add_epi64(used, field(second, 48));
    const V start = _mm512_add_epi64(used, field(second, 8));
    const V advance = _mm512_add_epi64(_mm512_srli_epi64(entry, 56), _mm512_srli_epi64(second, 56));
    const __mmask8 is_fine = _mm512_testn_epi64_mask(entry, set(LEAT_JPEG_EOB)) &
                             _mm512_cmplt_epu64_mask(used, set(LEAT_JPEG_LOOKUP_BITS)) &
                             _mm512_cmple_epu64_mask(shown, set(LEAT_JPEG_LOOKUP_BITS)) &
                             _mm512_cmple_epu64_mask(total, set(LEAT_JPEG_FAST_BITS)) &
                             _mm512_cmplt_epu64_mask(advance, set(128));
    const V low = or3(total, _mm512_and_si512(second, set(LEAT_JPEG_EOB | 0xff0000)),
                      _mm512_slli_epi64(start, 8));
    const V middle = or3(_mm512_and_si512(entry, set(0xff000000)), first_value(entry, index),
                         _mm512_slli_epi64(shown, 48));
    const V joined = or3(low, middle, _mm512_slli_epi64(advance, 56));
    return _mm512_mask_mov_epi64(entry, is_fine, joined);
}

void leat_jpeg_join_avx512(uint64_t *out, const uint64_t *first, const uint64_t *next)
{
    V index = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    for (int i = 0; i < 1 << LEAT_JPEG_LOOKUP_BITS; i += 8) {
        _mm512_storeu_si512(out + i, join_8(_mm512_loadu_si512(first + i), index, next));
        index = _mm512_add_epi64(index, set(8));
    }
}
#endif
