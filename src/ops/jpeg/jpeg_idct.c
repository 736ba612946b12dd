/* SPDX-License-Identifier: MIT
 *
 * jpeg_idct.c: the inverse DCT and the removal of stuffed zeros in plain C, which define the results of all
 * levels. It is the 13-bit "accurate integer" DCT (Loeffler, Ligtenberg, Moschytz) with the 16-bit
 * intermediate values of libjpeg-turbo's SIMD kernels, which wrap or saturate. So it equals them even on
 * coefficients that no encoder writes. The only exception is libjpeg-turbo's short cut for blocks without
 * AC rows, so the function returns the largest magnitude of first rows, for the caller to check. */
#include "jpeg_dsp.h"

#include <string.h>

/* Constants × 2^13 */
enum {
    F0298 = 2446,
    F0390 = 3196,
    F0541 = 4433,
    F0765 = 6270,
    F0899 = 7373,
    F1175 = 9633,
    F1501 = 12299,
    F1847 = 15137,
    F1961 = 16069,
    F2053 = 16819,
    F2562 = 20995,
    F3072 = 25172
};

static int16_t wrap16(int32_t v)
{
    return (int16_t)(uint16_t)(uint32_t)v;
}

static int32_t clamp(int32_t v, int32_t low, int32_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* 32-bit sums wrap. */
static int32_t add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static int32_t sub(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

static int16_t descale(int32_t v, int shift)
{
    return (int16_t)clamp(add(v, 1 << (shift - 1)) >> shift, -32768, 32767);
}

/* Eight values, `step` apart, in place. */
static void idct_1d(int16_t *d, int step, int shift)
{
    const int32_t d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step],
                  d5 = d[5 * step], d6 = d[6 * step], d7 = d[7 * step];
    const int32_t even0 = wrap16(d0 + d4) * 8192, even1 = wrap16(d0 - d4) * 8192;
    const int32_t even2 = d2 * F0541 + d6 * (F0541 - F1847);
    const int32_t even3 = d2 * (F0541 + F0765) + d6 * F0541;
    const int32_t e0 = add(even0, even3), e3 = sub(even0, even3);
    const int32_t e1 = add(even1, even2), e2 = sub(even1, even2);
    const int32_t z3 = wrap16(d7 + d3), z4 = wrap16(d5 + d1);
    const int32_t y3 = z3 * (F1175 - F1961) + z4 * F1175;
    const int32_t y4 = z3 * F1175 + z4 * (F1175 - F0390);
    const int32_t o0 = add(d7 * (F0298 - F0899) - d1 * F0899, y3);
    const int32_t o1 = add(d5 * (F2053 - F2562) - d3 * F2562, y4);
    const int32_t o2 = add(d3 * (F3072 - F2562) - d5 * F2562, y3);
    const int32_t o3 = add(d1 * (F1501 - F0899) - d7 * F0899, y4);
    d[0] = descale(add(e0, o3), shift);
    d[step] = descale(add(e1, o2), shift);
    d[2 * step] = descale(add(e2, o1), shift);
    d[3 * step] = descale(add(e3, o0), shift);
    d[4 * step] = descale(sub(e3, o0), shift);
    d[5 * step] = descale(sub(e2, o1), shift);
    d[6 * step] = descale(sub(e1, o2), shift);
    d[7 * step] = descale(sub(e0, o3), shift);
}

uint32_t leat_jpeg_idct_c(const int16_t *blocks, int n_blocks, const int16_t *quant, uint8_t *out,
                          ptrdiff_t stride)
{
    uint32_t largest = 0;
    for (int b = 0; b < n_blocks; b++, blocks += 64, out += 8) {
        int16_t d[64];
        for (int i = 0; i < 64; i++) {
            const int at = leat_jpeg_natural[i];
            d[at] = wrap16(leat_jpeg_coefficient(blocks[i]) * quant[at]);
        }
        for (int i = 0; i < 8; i++) {
            const uint32_t magnitude = (uint32_t)(d[i] < 0 ? -d[i] : d[i]);
            largest = magnitude > largest ? magnitude : largest;
        }
        for (int i = 0; i < 8; i++)
            idct_1d(d + i, 8, LEAT_IDCT_COLUMN_SHIFT);
        for (int i = 0; i < 8; i++) {
            idct_1d(d + 8 * i, 1, LEAT_IDCT_ROW_SHIFT);
            for (int x = 0; x < 8; x++)
                out[i * stride + x] = (uint8_t)(clamp(d[8 * i + x], -128, 127) + 128);
        }
    }
    return largest;
}

size_t leat_jpeg_unstuff_c(const uint8_t *src, const uint8_t *end, uint8_t *dst,
                           const uint8_t **stop)
{
    uint8_t *const start = dst;
    for (;;) {
        const uint8_t *ff = memchr(src, 0xff, (size_t)(end - src));
        const size_t n = (size_t)((ff ? ff : end) - src);
        memcpy(dst, src, n);
        dst += n;
        if (!ff || ff + 1 == end || ff[1]) {
            *stop = ff ? ff : end;
            return (size_t)(dst - start);
        }
        *dst++ = 0xff;
        src = ff + 2;
    }
}
