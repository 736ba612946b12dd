/* SPDX-License-Identifier: MIT
 *
 * jpeg_bands_avx2.c: the loops of jpeg_bands.inc for CPUs with BMI2 and AVX2. */
#if defined(__x86_64__)
#include "jpeg_dsp.h"

#include <immintrin.h>

/* All ones in the lanes whose bits are set. */
static inline __m256i lanes(uint64_t bits)
{
    const __m256i bit = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096,
                                          8192, 16384, -32768);
    const __m256i all = _mm256_set1_epi16((int16_t)(uint16_t)bits);
    return _mm256_cmpeq_epi16(_mm256_and_si256(all, bit), bit);
}

static inline void change(int16_t *block, uint64_t more, uint64_t fresh, uint64_t negative,
                          int16_t one)
{
    const __m256i ones = _mm256_set1_epi16(one);
    for (; more | fresh; more >>= 16, fresh >>= 16, negative >>= 16, block += 16) {
        const __m256i old = _mm256_loadu_si256((const __m256i *)(const void *)block);
        const __m256i sign = _mm256_srai_epi16(old, 15);
        const __m256i by = _mm256_sub_epi16(_mm256_xor_si256(ones, sign), sign);
        const __m256i larger = _mm256_add_epi16(old, _mm256_and_si256(by, lanes(more)));
        const __m256i fresh_one =
            _mm256_and_si256(_mm256_xor_si256(ones, lanes(negative)), lanes(fresh));
        _mm256_storeu_si256((__m256i *)(void *)block, _mm256_or_si256(larger, fresh_one));
    }
}

#define BAND_NAME   leat_jpeg_band_avx2
#define REFINE_NAME leat_jpeg_refine_avx2
#define BAND_SPREAD _pdep_u64
#define BAND_CHANGE change
#include "jpeg_bands.inc"
#endif
