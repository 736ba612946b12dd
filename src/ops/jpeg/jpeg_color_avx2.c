/* SPDX-License-Identifier: MIT
 *
 * jpeg_color_avx2.c: chroma upsampling and YCbCr to RGB with AVX2. Plain C does the samples that do not fill
 * a vector. Constants above 1 in 16-bit fixed point are split: 1.402 = 1 + 0.402,
 * 1.772 = 2 - 0.228, -0.71414 = -1 + 0.28586. */
#if defined(__x86_64__)
#include "jpeg_dsp.h"

#include <immintrin.h>

typedef __m256i V;

static inline V load_words(const uint8_t *p)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p));
}

/* (3 near + far + bias) >> shift of words */
static inline V blend(V near, V far, int bias, int shift)
{
    const V three = _mm256_add_epi16(_mm256_add_epi16(near, near), near);
    const V sum = _mm256_add_epi16(_mm256_add_epi16(three, far), _mm256_set1_epi16((short)bias));
    return _mm256_srli_epi16(sum, shift);
}

/* Words of at most 255, alternately from even and odd */
static inline V interleave(V even, V odd)
{
    return _mm256_or_si256(even, _mm256_slli_epi16(odd, 8));
}

void leat_jpeg_up_h2_avx2(const uint8_t *in, uint8_t *out, int n)
{
    int i = 1;
    leat_jpeg_up_h2_c(in, out,
                      n < 3 ? n : 2); /* sample 0 is final, sample 1 is written again below */
    for (; i + 16 < n; i += 16) {
        const V here = load_words(in + i);
        const V even = blend(here, load_words(in + i - 1), 1, 2);
        const V odd = blend(here, load_words(in + i + 1), 2, 2);
        _mm256_storeu_si256((__m256i *)(out + 2 * i), interleave(even, odd));
    }
    for (; i < n; i++) {
        const int right = in[i < n - 1 ? i + 1 : i];
        out[2 * i] = (uint8_t)((3 * in[i] + in[i - 1] + 1) >> 2);
        out[2 * i + 1] = (uint8_t)((3 * in[i] + right + 2) >> 2);
    }
}

/* 3 near + far */
static inline V column(const uint8_t *near, const uint8_t *far)
{
    return blend(load_words(near), load_words(far), 0, 0);
}

void leat_jpeg_up_h2v2_avx2(const uint8_t *near, const uint8_t *far, uint8_t *out, int n)
{
    int i = 1;
    leat_jpeg_up_h2v2_c(near, far, out, n < 3 ? n : 2);
    for (; i + 16 < n; i += 16) {
        const V here = column(near + i, far + i);
        const V even = blend(here, column(near + i - 1, far + i - 1), 8, 4);
        const V odd = blend(here, column(near + i + 1, far + i + 1), 7, 4);
        _mm256_storeu_si256((__m256i *)(out + 2 * i), interleave(even, odd));
    }
    for (; i < n; i++) {
        const int next = i < n - 1 ? i + 1 : i, here = 3 * near[i] + far[i];
        const int left = 3 * near[i - 1] + far[i - 1], right = 3 * near[next] + far[next];
        out[2 * i] = (uint8_t)((3 * here + left + 8) >> 4);
        out[2 * i + 1] = (uint8_t)((3 * here + right + 7) >> 4);
    }
}

void leat_jpeg_up_v2_avx2(const uint8_t *near, const uint8_t *far, uint8_t *out, int n, int bias)
{
    int i = 0;
    for (; i + 16 <= n; i += 16) {
        const V words = blend(load_words(near + i), load_words(far + i), bias, 2);
        const V bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(words, words), 0x08);
        _mm_storeu_si128((__m128i *)(out + i), _mm256_castsi256_si128(bytes));
    }
    leat_jpeg_up_v2_c(near + i, far + i, out + i, n - i, bias);
}

/* (2x × factor / 2^16 + 1) / 2, rounded down at each step: x × factor / 2^16, rounded */
static inline V scale(V twice, int factor)
{
    const V product = _mm256_mulhi_epi16(twice, _mm256_set1_epi16((short)factor));
    return _mm256_srai_epi16(_mm256_add_epi16(product, _mm256_set1_epi16(1)), 1);
}

static inline V green_part(V b_and_r)
{
    const V factors = _mm256_set1_epi32((int)(18734u << 16 | (0xffffu & (unsigned)-22554)));
    const V sum = _mm256_add_epi32(_mm256_madd_epi16(b_and_r, factors), _mm256_set1_epi32(32768));
    return _mm256_srai_epi32(sum, 16);
}

/* 16 pixels to words of red, green, blue before clamping */
static inline void convert(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, V rgb[3])
{
    const V luma = load_words(y), centre = _mm256_set1_epi16(128);
    const V b = _mm256_sub_epi16(load_words(cb), centre);
    const V r = _mm256_sub_epi16(load_words(cr), centre);
    const V b2 = _mm256_add_epi16(b, b), r2 = _mm256_add_epi16(r, r);
    const V green = _mm256_packs_epi32(green_part(_mm256_unpacklo_epi16(b, r)),
                                       green_part(_mm256_unpackhi_epi16(b, r)));
    rgb[0] = _mm256_add_epi16(luma, _mm256_add_epi16(r, scale(r2, 26345)));
    rgb[1] = _mm256_add_epi16(luma, _mm256_sub_epi16(green, r));
    rgb[2] = _mm256_add_epi16(luma, _mm256_add_epi16(b2, scale(b2, -14942)));
}

/* 16 bytes each of red, green, blue to 48 bytes of pixels */
static inline void store_pixels(__m128i r, __m128i g, __m128i b, uint8_t *out)
{
    const char _ = -1;
    const __m128i r0 = _mm_setr_epi8(0, _, _, 1, _, _, 2, _, _, 3, _, _, 4, _, _, 5);
    const __m128i g0 = _mm_setr_epi8(_, 0, _, _, 1, _, _, 2, _, _, 3, _, _, 4, _, _);
    const __m128i b0 = _mm_setr_epi8(_, _, 0, _, _, 1, _, _, 2, _, _, 3, _, _, 4, _);
    const __m128i r1 = _mm_setr_epi8(_, _, 6, _, _, 7, _, _, 8, _, _, 9, _, _, 10, _);
    const __m128i g1 = _mm_setr_epi8(5, _, _, 6, _, _, 7, _, _, 8, _, _, 9, _, _, 10);
    const __m128i b1 = _mm_setr_epi8(_, 5, _, _, 6, _, _, 7, _, _, 8, _, _, 9, _, _);
    const __m128i r2 = _mm_setr_epi8(_, 11, _, _, 12, _, _, 13, _, _, 14, _, _, 15, _, _);
    const __m128i g2 = _mm_setr_epi8(_, _, 11, _, _, 12, _, _, 13, _, _, 14, _, _, 15, _);
    const __m128i b2 = _mm_setr_epi8(10, _, _, 11, _, _, 12, _, _, 13, _, _, 14, _, _, 15);
#define MIX(m)                                                                                     \
    _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(r, r##m), _mm_shuffle_epi8(g, g##m)),               \
                 _mm_shuffle_epi8(b, b##m))
    _mm_storeu_si128((__m128i *)out, MIX(0));
    _mm_storeu_si128((__m128i *)(out + 16), MIX(1));
    _mm_storeu_si128((__m128i *)(out + 32), MIX(2));
#undef MIX
}

void leat_jpeg_rgb_avx2(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *out, int n)
{
    int i = 0;
    for (; i + 16 <= n; i += 16) {
        V rgb[3];
        __m128i bytes[3];
        convert(y + i, cb + i, cr + i, rgb);
        for (int c = 0; c < 3; c++) {
            const V packed = _mm256_packus_epi16(rgb[c], rgb[c]);
            bytes[c] = _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
        }
        store_pixels(bytes[0], bytes[1], bytes[2], out + 3 * i);
    }
    leat_jpeg_rgb_c(y + i, cb + i, cr + i, out + 3 * i, n - i);
}
#endif
