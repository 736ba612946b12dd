/* SPDX-License-Identifier: MIT
 *
 * taps.h: the taps of one output of a resampling: which inputs it reads, and their weights (resample.h has
 * the method). This is the definition, and kernels use it. resample.c does several outputs at a time. */
#ifndef LEAT_TAPS_H
#define LEAT_TAPS_H

#include <math.h>
#include <stdint.h>

#include "host_device.h"

enum {
    LEAT_TAPS_BASE_BITS = 14,
    LEAT_TAPS_MOST_BITS = 20,
    LEAT_TAPS_MOST_FRACTION_BITS = 7,
    LEAT_TAPS_SUM_BITS = 22,
    LEAT_TAPS_STORED = 8
};

/* Output i weighs the inputs [first, first + n). */
typedef struct leat_taps {
    double center, support;
    int32_t first, n;
} leat_taps;

LEAT_HOST_DEVICE leat_taps leat_taps_of(int64_t n_in, int64_t n_out, int32_t i)
{
    leat_taps taps;
    const double scale = (double)n_in / (double)n_out;
    taps.center = (i + 0.5) * scale;
    taps.support = scale > 1 ? scale : 1;
    const double low = taps.center - taps.support + 0.5;
    const double high = taps.center + taps.support + 0.5;
    taps.first = low > 0 ? (int32_t)low : 0;
    taps.n = (high < (double)n_in ? (int32_t)high : (int32_t)n_in) - taps.first;
    return taps;
}

LEAT_HOST_DEVICE double leat_taps_weight(const leat_taps *taps, int32_t k)
{
    const double px = fabs(taps->first + k - taps->center + 0.5);
    const double distance = taps->support > 1 ? px / taps->support : px;
    return distance < 1 ? 1 - distance : 0;
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
LEAT_HOST_DEVICE int32_t leat_taps_bits(int64_t n_in, int64_t n_out)
{
    int32_t bits = LEAT_TAPS_BASE_BITS;
    for (int64_t n = n_in; n >= 2 * n_out && bits < LEAT_TAPS_MOST_BITS; n /= 2)
        bits++;
    return bits;
}

/* Bits of fraction kept between the passes, from the bits of the horizontal axis. */
LEAT_HOST_DEVICE int32_t leat_taps_fraction_bits(int32_t horizontal_bits)
{
    const int32_t left = LEAT_TAPS_SUM_BITS - horizontal_bits; /* a sum is below 2^(8 + SUM_BITS) */
    return left < LEAT_TAPS_MOST_FRACTION_BITS ? left : LEAT_TAPS_MOST_FRACTION_BITS;
}

#endif
