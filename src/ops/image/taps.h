/* SPDX-License-Identifier: MIT
 *
 * taps.h: the taps of one output of a resampling: which inputs it reads, and their weights (resample.h has
 * the method). This is the definition, and kernels use it. resample.c does several outputs at a time. All
 * numbers come from sums, products and quotients, so that they are the same bits everywhere. */
#ifndef LEAT_TAPS_H
#define LEAT_TAPS_H

#include <math.h>
#include <stdint.h>

#include "base/host_device.h"

enum {
    LEAT_TAPS_BASE_BITS = 14,
    LEAT_TAPS_MOST_BITS = 20,
    LEAT_TAPS_MOST_FRACTION_BITS = 7,
    LEAT_TAPS_SUM_BITS = 22,
    LEAT_TAPS_STORED = 8,
    LEAT_TAPS_SIGNED_BITS = 1 /* fewer, where negative weights make sums larger than white */
};

/* The filters are Pillow's. */
enum { LEAT_BILINEAR, LEAT_NEAREST, LEAT_BICUBIC, LEAT_LANCZOS };

/* Inputs on each side of the centre of an output; they get more when the image shrinks. */
LEAT_HOST_DEVICE int32_t leat_taps_radius(int32_t interpolation)
{
    return interpolation == LEAT_BICUBIC ? 2 : interpolation == LEAT_LANCZOS ? 3 : 1;
}

#define LEAT_TAPS_PI_3 1.04719755119659774615 /* pi / 3 */

/* sin(pi x / 3)^2 for 0 <= x < 3: the series of the sine up to a quarter turn, from either end. */
LEAT_HOST_DEVICE double leat_taps_sin2(double x)
{
    const double t = LEAT_TAPS_PI_3 * (x < 1.5 ? x : 3 - x), u = t * t;
    const double series =
        1 -
        u / 6 *
            (1 -
             u / 20 *
                 (1 -
                  u / 42 *
                      (1 - u / 72 *
                               (1 - u / 110 *
                                        (1 - u / 156 *
                                                 (1 - u / 210 * (1 - u / 272 * (1 - u / 342))))))));
    return u * (series * series);
}

/* The weight at a distance from the centre, in pixels of the smaller image. */
LEAT_HOST_DEVICE double leat_taps_filter(int32_t interpolation, double x)
{
    switch (interpolation) {
    case LEAT_NEAREST:
        return 1;
    case LEAT_BICUBIC: /* Keys' convolution with a = -1/2 */
        return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0;
    case LEAT_LANCZOS: /* sinc(x) sinc(x / 3), t = pi x / 3, sin(3 t) = 3 sin(t) - 4 sin(t)^3 */ {
        const double s = leat_taps_sin2(x), t = LEAT_TAPS_PI_3 * x;
        return x < 1e-6 ? 1 : x < 3 ? s * (3 - 4 * s) / (3 * t * t) : 0;
    }
    default:
        return x < 1 ? 1 - x : 0;
    }
}

/* NEAREST: the input that holds the centre of output i; on the border of two the second. In integers, as a quotient that is
 * not exact would end in either. */
LEAT_HOST_DEVICE int32_t leat_taps_nearest(int64_t n_in, int64_t n_out, int32_t i)
{
    return (int32_t)((2 * (int64_t)i + 1) * n_in / (2 * n_out));
}

/* Output i weighs the inputs [first, first + n). */
typedef struct leat_taps {
    double center, scale; /* scale: at least 1 */
    int32_t first, n, interpolation;
} leat_taps;

LEAT_HOST_DEVICE leat_taps leat_taps_of(int64_t n_in, int64_t n_out, int32_t i,
                                        int32_t interpolation)
{
    leat_taps taps;
    const double scale = (double)n_in / (double)n_out;
    taps.interpolation = interpolation;
    taps.center = (i + 0.5) * scale;
    taps.scale = scale > 1 ? scale : 1;
    if (interpolation == LEAT_NEAREST) {
        taps.first = leat_taps_nearest(n_in, n_out, i);
        taps.n = 1;
        return taps;
    }
    const double support = taps.scale * leat_taps_radius(interpolation);
    const double low = taps.center - support + 0.5;
    const double high = taps.center + support + 0.5;
    taps.first = low > 0 ? (int32_t)low : 0;
    taps.n = (high < (double)n_in ? (int32_t)high : (int32_t)n_in) - taps.first;
    return taps;
}

LEAT_HOST_DEVICE double leat_taps_weight(const leat_taps *taps, int32_t k)
{
    const double px = fabs(taps->first + k - taps->center + 0.5);
    return leat_taps_filter(taps->interpolation, px / taps->scale);
}

LEAT_HOST_DEVICE double leat_taps_total(const leat_taps *taps)
{
    double total = 0;
    for (int32_t k = 0; k < taps->n; k++)
        total += leat_taps_weight(taps, k);
    return total;
}

/* Weights of the n taps for uint8 images. Rounds the running sum, not each weight, so that the weights
 * sum to exactly 1 << bits. */
LEAT_HOST_DEVICE void leat_taps_fill_u8(const leat_taps *taps, int32_t bits, int16_t *weights)
{
    double first[LEAT_TAPS_STORED], total = 0, sum = 0; /* the first weights, computed only once */
    int32_t before = 0;
    for (int32_t k = 0; k < taps->n; k++) {
        const double weight = leat_taps_weight(taps, k);
        if (k < LEAT_TAPS_STORED)
            first[k] = weight;
        total += weight;
    }
    for (int32_t k = 0; k < taps->n; k++) {
        int32_t upto = 1 << bits; /* for the last tap, where the sum is the total */
        if (k < taps->n - 1) {
            sum += k < LEAT_TAPS_STORED ? first[k] : leat_taps_weight(taps, k);
            upto = (int32_t)(sum / total * (double)(1 << bits) + 0.5);
        }
        weights[k] = (int16_t)(upto - before);
        before = upto;
    }
}

/* The same for float32 images. */
LEAT_HOST_DEVICE void leat_taps_fill_f32(const leat_taps *taps, float *weights)
{
    const double total = leat_taps_total(taps);
    for (int32_t k = 0; k < taps->n; k++)
        weights[k] = (float)(leat_taps_weight(taps, k) / total);
}

/* Bits of the weights of an axis: one more per halving of the size. */
LEAT_HOST_DEVICE int32_t leat_taps_bits(int64_t n_in, int64_t n_out, int32_t interpolation)
{
    int32_t bits = LEAT_TAPS_BASE_BITS;
    if (interpolation == LEAT_NEAREST)
        return bits;
    for (int64_t n = n_in; n >= 2 * n_out && bits < LEAT_TAPS_MOST_BITS; n /= 2)
        bits++;
    return bits;
}

/* Bits of fraction kept between the passes, from the bits of the horizontal axis. */
LEAT_HOST_DEVICE int32_t leat_taps_fraction_bits(int32_t horizontal_bits, int32_t interpolation)
{
    const int32_t fewer = leat_taps_radius(interpolation) > 1 ? LEAT_TAPS_SIGNED_BITS : 0;
    const int32_t most = LEAT_TAPS_MOST_FRACTION_BITS - fewer;
    const int32_t left = /* a sum is below 2^(8 + SUM_BITS) */
        LEAT_TAPS_SUM_BITS - fewer - horizontal_bits;
    return left < most ? left : most;
}

LEAT_HOST_DEVICE uint8_t leat_taps_clamp(int32_t x)
{
    return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x);
}

#endif
