/* SPDX-License-Identifier: MIT
 *
 * jpeg_color_avx512.c: YCbCr to RGB, 64 pixels at a time, with the arithmetic of jpeg_color_avx2.c. It reads
 * whole vectors, since planes are padded, but writes only the bytes of the row. */
#if defined(__x86_64__)
#include "jpeg_dsp.h"

#include <immintrin.h>

#if defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 4")
#endif

typedef __m512i V;

static inline V load_words(const uint8_t *p)
{
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)p));
}

static inline V scale(V twice, int factor)
{
    const V product = _mm512_mulhi_epi16(twice, _mm512_set1_epi16((short)factor));
    return _mm512_srai_epi16(_mm512_add_epi16(product, _mm512_set1_epi16(1)), 1);
}

static inline V green_part(V b_and_r)
{
    const V factors = _mm512_set1_epi32((int)(18734u << 16 | (0xffffu & (unsigned)-22554)));
    const V sum = _mm512_add_epi32(_mm512_madd_epi16(b_and_r, factors), _mm512_set1_epi32(32768));
    return _mm512_srai_epi32(sum, 16);
}

static inline void convert(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, V rgb[3])
{
    const V luma = load_words(y), centre = _mm512_set1_epi16(128);
    const V b = _mm512_sub_epi16(load_words(cb), centre);
    const V r = _mm512_sub_epi16(load_words(cr), centre);
    const V b2 = _mm512_add_epi16(b, b), r2 = _mm512_add_epi16(r, r);
    const V green = _mm512_packs_epi32(green_part(_mm512_unpacklo_epi16(b, r)),
                                       green_part(_mm512_unpackhi_epi16(b, r)));
    rgb[0] = _mm512_add_epi16(luma, _mm512_add_epi16(r, scale(r2, 26345)));
    rgb[1] = _mm512_add_epi16(luma, _mm512_sub_epi16(green, r));
    rgb[2] = _mm512_add_epi16(luma, _mm512_add_epi16(b2, scale(b2, -14942)));
}

/* Byte k of output vector v is colour (64v + k) % 3 of pixel (64v + k) / 3. One permutation takes red (0 …
 * 63) and green (64 … 127). A second one puts blue into the bytes of is_blue. */
#define AT(v, k) ((64 * (v) + (k)) / 3 + ((64 * (v) + (k)) % 3 == 1 ? 64 : 0))
#define AT8(v, k)                                                                                  \
    AT(v, k), AT(v, k + 1), AT(v, k + 2), AT(v, k + 3), AT(v, k + 4), AT(v, k + 5), AT(v, k + 6),  \
        AT(v, k + 7)
#define AT64(v)                                                                                    \
    {                                                                                              \
        AT8(v, 0), AT8(v, 8), AT8(v, 16), AT8(v, 24), AT8(v, 32), AT8(v, 40), AT8(v, 48),          \
            AT8(v, 56)                                                                             \
    }
static const uint8_t from[3][64] __attribute__((aligned(64))) = { AT64(0), AT64(1), AT64(2) };
static const uint64_t is_blue[3] = { 0x4924924924924924, 0x2492492492492492, 0x9249249249249249 };

static inline V mixed(const V colour[3], int v)
{
    const V index = _mm512_load_si512(from[v]);
    const V two = _mm512_permutex2var_epi8(colour[0], index, colour[1]);
    return _mm512_mask_permutexvar_epi8(two, is_blue[v], index, colour[2]);
}

/* 64 pixels, colour by colour */
static inline void colours_of(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, V colour[3])
{
    const V order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    V left[3], right[3];
    convert(y, cb, cr, left);
    convert(y + 32, cb + 32, cr + 32, right);
    UNROLLED
    for (int c = 0; c < 3; c++)
        colour[c] = _mm512_permutexvar_epi64(order, _mm512_packus_epi16(left[c], right[c]));
}

void leat_jpeg_rgb_avx512(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *out,
                          int n)
{
    V colour[3];
    int i = 0;
    for (; i + 64 <= n; i += 64, out += 192) {
        colours_of(y + i, cb + i, cr + i, colour);
        UNROLLED
        for (int v = 0; v < 3; v++)
            _mm512_storeu_si512(out + 64 * v, mixed(colour, v));
    }
    if (i == n)
        return;
    colours_of(y + i, cb + i, cr + i, colour);
    const int bytes = 3 * (n - i);
    for (int v = 0; 64 * v < bytes; v++) {
        const int rest = bytes - 64 * v;
        const __mmask64 mask = rest >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << rest) - 1;
        _mm512_mask_storeu_epi8(out + 64 * v, mask, mixed(colour, v));
    }
}
#endif
