/* SPDX-License-Identifier: MIT
 *
 * jpeg_unstuff_avx2.c: removes stuffed zeros, 32 bytes at a time. */
#if defined(__x86_64__)
#include "jpeg_dsp.h"

#include <immintrin.h>

size_t leat_jpeg_unstuff_avx2(const uint8_t *src, const uint8_t *end, uint8_t *dst,
                              const uint8_t **stop)
{
    uint8_t *const start = dst;
    const __m256i ff = _mm256_set1_epi8(-1);
    while (end - src > 32) { /* one more, because the byte after an FF is read */
        const __m256i bytes = _mm256_loadu_si256((const __m256i *)src);
        const unsigned found = (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, ff));
        _mm256_storeu_si256((__m256i *)dst, bytes);
        if (!found) {
            src += 32;
            dst += 32;
            continue;
        }
        const unsigned at = (unsigned)__builtin_ctz(found);
        if (src[at + 1]) {
            *stop = src + at;
            return (size_t)(dst - start) + at;
        }
        src += at + 2;
        dst += at + 1;
    }
    return (size_t)(dst - start) + leat_jpeg_unstuff_c(src, end, dst, stop);
}
#endif
