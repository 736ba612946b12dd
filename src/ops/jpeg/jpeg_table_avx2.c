/* SPDX-License-Identifier: MIT
 *
 * jpeg_table_avx2.c: joins entries of Huffman tables, four at a time, as join() in jpeg_table.c. */
#if defined(__x86_64__)
#include "jpeg_dsp.h"

#include <immintrin.h>

typedef __m256i V;

static inline V set(uint64_t x)
{
    return _mm256_set1_epi64x((long long)x);
}

/* (x >> by) & 63 */
static inline V field(V x, int by)
{
    return _mm256_and_si256(_mm256_srli_epi64(x, by), set(63));
}

static inline V or3(V a, V b, V c)
{
    return _mm256_or_si256(a, _mm256_or_si256(b, c));
}

/* leat_jpeg_signed_bits() of the first symbol, at bit 32. There is no arithmetic shift of 64 bits, so the sign is
 * extended afterwards. */
static inline V first_value(V entry, V index)
{
    const V top = set(1ull << 63), cut = field(entry, 16), sign = _mm256_srlv_epi64(top, cut);
    const V word = _mm256_slli_epi64(index, 64 - LEAT_JPEG_LOOKUP_BITS);
    const V bits = _mm256_sllv_epi64(word, field(entry, 8));
    const V value = _mm256_or_si256(_mm256_srli_epi64(bits, 1), _mm256_andnot_si256(bits, top));
    const V shifted = _mm256_xor_si256(_mm256_srlv_epi64(value, cut), sign);
    return _mm256_slli_epi64(_mm256_and_si256(_mm256_sub_epi64(shifted, sign), set(0xffff)), 32);
}

static inline V join_4(V entry, V index, const uint64_t *next)
{
    const V used = field(entry, 0), mask = set((1u << LEAT_JPEG_LOOKUP_BITS) - 1);
    const V second =
        _mm256_i64gather_epi64((const long long *)(const void *)next,
                               _mm256_and_si256(_mm256_sllv_epi64(index, used), mask), 8);
    const V total = _mm256_add_epi64(used, field(second, 0));
    const V shown = _mm256_add_epi64(used, field(second, 48));
    const V start = _mm256_add_epi64(used, field(second, 8));
    const V advance = _mm256_add_epi64(_mm256_srli_epi64(entry, 56), _mm256_srli_epi64(second, 56));
    const V is_bad = _mm256_or_si256(
        or3(_mm256_cmpgt_epi64(used, set(LEAT_JPEG_LOOKUP_BITS - 1)),
            _mm256_cmpgt_epi64(shown, set(LEAT_JPEG_LOOKUP_BITS)),
            _mm256_cmpgt_epi64(total, set(LEAT_JPEG_FAST_BITS))),
        or3(_mm256_cmpgt_epi64(advance, set(127)),
            _mm256_cmpgt_epi64(_mm256_and_si256(entry, set(LEAT_JPEG_EOB)), set(0)), set(0)));
    const V low = or3(total, _mm256_and_si256(second, set(LEAT_JPEG_EOB | 0xff0000)),
                      _mm256_slli_epi64(start, 8));
    const V middle = or3(_mm256_and_si256(entry, set(0xff000000)), first_value(entry, index),
                         _mm256_slli_epi64(shown, 48));
    return _mm256_blendv_epi8(or3(low, middle, _mm256_slli_epi64(advance, 56)), entry, is_bad);
}

void leat_jpeg_join_avx2(uint64_t *out, const uint64_t *first, const uint64_t *next)
{
    V index = _mm256_setr_epi64x(0, 1, 2, 3);
    for (int i = 0; i < 1 << LEAT_JPEG_LOOKUP_BITS; i += 4) {
        const V entry = _mm256_loadu_si256((const V *)(const void *)(first + i));
        _mm256_storeu_si256((V *)(void *)(out + i), join_4(entry, index, next));
        index = _mm256_add_epi64(index, set(4));
    }
}
#endif
