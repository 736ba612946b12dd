/* SPDX-License-Identifier: MIT
 *
 * jpeg_color_avx2.c: chroma upsampling and YCbCr to RGB with AVX2. Plain C does the samples that do not fill
 * a vector. Constants above 1 in 16-bit fixed point are split: 1.402 = 1 + 0.402,
 * 1.772 = 2 - 0.228, -0.71414 = -1 + 0.28586. */
#if defined(__x86_64__)
#include "jpeg_dsp.h"

#include <immintrin.h>

#include "ops/image/pixels_avx2.inc"

#if defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 3")
#endif

typedef __m256i V;

static inline V load(const uint8_t *p)
{
    return _mm256_loadu_si256((const V *)p);
}

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

/* Words of luma and chroma of 16 pixels to those of red, green, blue before clamping */
static inline void convert(V luma, V cb, V cr, V rgb[3])
{
    const V centre = _mm256_set1_epi16(128);
    const V b = _mm256_sub_epi16(cb, centre), r = _mm256_sub_epi16(cr, centre);
    const V b2 = _mm256_add_epi16(b, b), r2 = _mm256_add_epi16(r, r);
    const V green = _mm256_packs_epi32(green_part(_mm256_unpacklo_epi16(b, r)),
                                       green_part(_mm256_unpackhi_epi16(b, r)));
    rgb[0] = _mm256_add_epi16(luma, _mm256_add_epi16(r, scale(r2, 26345)));
    rgb[1] = _mm256_add_epi16(luma, _mm256_sub_epi16(green, r));
    rgb[2] = _mm256_add_epi16(luma, _mm256_add_epi16(b2, scale(b2, -14942)));
}

/* Channel c of pixel i becomes byte (3 i + c) modulo 16 of its lane. */
static inline V spread(V bytes, int c)
{
    const __m128i i = _mm_setr_epi8(0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10, 5);
    const V places = _mm256_broadcastsi128_si256(_mm_sub_epi8(i, _mm_set1_epi8((char)(11 * c))));
    return _mm256_shuffle_epi8(bytes, _mm256_and_si256(places, _mm256_set1_epi8(15)));
}

/* 32 pixels */
static inline void rgb_32(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *out)
{
    const V zero = _mm256_setzero_si256(), luma = load(y), blue = load(cb), red = load(cr);
    V low[3], high[3], at[3];
    convert(_mm256_unpacklo_epi8(luma, zero), _mm256_unpacklo_epi8(blue, zero),
            _mm256_unpacklo_epi8(red, zero), low);
    convert(_mm256_unpackhi_epi8(luma, zero), _mm256_unpackhi_epi8(blue, zero),
            _mm256_unpackhi_epi8(red, zero), high);
    UNROLLED
    for (int c = 0; c < 3; c++)
        at[c] = spread(_mm256_packus_epi16(low[c], high[c]), c);
    leat_store_part_avx2(out, 0, leat_thirds_avx2(at[0], at[1], at[2]));
    leat_store_part_avx2(out, 1, leat_thirds_avx2(at[1], at[2], at[0]));
    leat_store_part_avx2(out, 2, leat_thirds_avx2(at[2], at[0], at[1]));
}

void leat_jpeg_rgb_avx2(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *out, int n)
{
    int i = 0;
    for (; i + 32 <= n; i += 32)
        rgb_32(y + i, cb + i, cr + i, out + 3 * i);
    if (i == n)
        return;
    if (i) { /* the last 32 overlap: some pixels are written twice with the same values */
        i = n - 32;
        rgb_32(y + i, cb + i, cr + i, out + 3 * i);
        return;
    }
    leat_jpeg_rgb_c(y, cb, cr, out, n);
}
#endif
