/* SPDX-License-Identifier: MIT
 *
 * pixels_avx2.h: interleaves the channels of RGB pixels with AVX2, for color_avx2.c and jpeg_color_avx2.c. Each
 * lane of 128 bits holds 16 pixels, which are 48 bytes one after the other. */
#ifndef LEAT_PIXELS_AVX2_H
#define LEAT_PIXELS_AVX2_H

#include <immintrin.h>
#include <stdint.h>

/* Byte p of the lane is that of v0, v1 or v2, as p modulo 3 is 0, 1 or 2. */
static inline __m256i leat_thirds_avx2(__m256i v0, __m256i v1, __m256i v2)
{
    const __m256i is_1 = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0));
    const __m256i is_2 = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0));
    return _mm256_blendv_epi8(_mm256_blendv_epi8(v0, v1, is_1), v2, is_2);
}

/* Bytes 16 i … 16 i + 15 of the 48 of each lane. */
static inline void leat_store_part_avx2(uint8_t *to, int i, __m256i x)
{
    _mm256_storeu2_m128i((__m128i *)(void *)(to + 48 + 16 * i), (__m128i *)(void *)(to + 16 * i),
                         x);
}

#endif
