/* SPDX-License-Identifier: MIT
 *
 * color.h: integer arithmetic on the colours of uint8 images, for the colour ops on CPU and GPU. With 2 or
 * 4 channels the last is alpha and is copied. `to` may be `from`. Results are exact, then rounded once
 * to the nearest (ties up) and saturated. Factors have 16 bits of fraction (LEAT_COLOR_ONE is 1.0) and
 * are at most 100. */
#ifndef LEAT_COLOR_H
#define LEAT_COLOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/host_device.h"

#define LEAT_COLOR_ONE  65536
#define LEAT_COLOR_TURN (6 * 65536) /* a full turn of the hue: six sectors of 65536 */

typedef void leat_color_fn(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels,
                           int32_t amount);

/* x * factor, a blend with black, as in torchvision's adjust_brightness. */
leat_color_fn leat_color_brightness;

/* (x - mean) * factor + mean, as in torchvision's adjust_contrast. The mean is that of the gray image,
 * rounded to 16 bits of fraction. */
leat_color_fn leat_color_contrast;

/* (x - gray) * factor + gray with the gray of each pixel, as in torchvision's adjust_saturation. Gray
 * images do not change. */
leat_color_fn leat_color_saturation;

/* Turns the hue by `amount` / LEAT_COLOR_TURN (0 ≤ amount < LEAT_COLOR_TURN) in the HSV hexcone, as
 * tf.image.adjust_hue and torchvision's adjust_hue do. The largest and smallest value of a pixel stay.
 * Gray images do not change. */
leat_color_fn leat_color_hue;

/* Converts a share of the colour circle (-0.5 to 0.5) to an amount for leat_color_hue. */
int32_t leat_color_turn(float part);

/* Lookup tables of 256 values, one per channel. */
typedef struct leat_color_tables {
    uint8_t of[4][256];
} leat_color_tables;
void leat_color_map(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels,
                    const leat_color_tables *tables);
/* Copies table 0 to all colours, then maps. */
void leat_color_map_all(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels,
                        leat_color_tables *tables);

/* table[x] = (x - mean) * factor + mean. The mean has 16 bits of fraction too. */
void leat_color_contrast_table(uint8_t table[256], int64_t mean, int64_t factor);

/* leat_color_contrast_value() with one mean per channel of RGB pixels. */
void leat_color_contrast_3(uint8_t *to, const uint8_t *from, size_t n_px, const int64_t means[3],
                           int32_t factor);

/* Channels that are not alpha: 1 or 3. */
LEAT_HOST_DEVICE size_t leat_color_n_colors(size_t channels)
{
    return channels < 3 ? 1 : 3;
}

/* Rec. 601 luma as in Pillow's convert("L"), which torchvision uses for PIL images. */
LEAT_HOST_DEVICE uint8_t leat_color_gray(const uint8_t *rgb)
{
    return (uint8_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768u) >> 16);
}

LEAT_HOST_DEVICE uint8_t leat_color_clamp(int64_t x)
{
    return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x);
}

/* (x - to) * factor + to; |x - to| ≤ 255, so that 32 bits hold it. */
LEAT_HOST_DEVICE uint8_t leat_color_blend(int32_t x, int32_t to, int32_t factor)
{
    const int32_t q16 = (x - to) * factor + to * LEAT_COLOR_ONE + LEAT_COLOR_ONE / 2;
    return leat_color_clamp(q16 >> 16);
}

/* Turns the hue of one RGB pixel by `amount`, in 65536ths of a sixth of a turn.
 * DESIGN: a colour with largest value `max` and chroma c = max - min has the hue h / c in sixths of a
 * turn, where h is an integer. After the turn its hue is k + f sixths. Two of its values are max and
 * min. The third is min + f c if k is even and max - f c if k is odd, so only f c is rounded. `to` may
 * be `from`. */
LEAT_HOST_DEVICE void leat_color_turn_pixel(uint8_t *to, const uint8_t *from, int32_t amount)
{
    const int32_t r = from[0], g = from[1], b = from[2];
    const int32_t max = r > g ? (r > b ? r : b) : (g > b ? g : b);
    const int32_t min = r < g ? (r < b ? r : b) : (g < b ? g : b);
    const int32_t c = max - min;
    int32_t h = max == r ? g - b : max == g ? 2 * c + b - r : 4 * c + r - g;
    if (!c) {
        to[0] = to[1] = to[2] = (uint8_t)r;
        return;
    }
    h = (h < 0 ? h + 6 * c : h) * 65536 + amount * c;
    h = h >= LEAT_COLOR_TURN * c ? h - LEAT_COLOR_TURN * c : h;
    const int32_t k = h / (65536 * c);
    const int32_t part = (h - k * 65536 * c + 32768) >> 16;
    /* Channel of the largest, the third and the smallest value for each k, packed in two bits each:
     * 0 1 1 2 2 0, 1 0 2 1 0 2, 2 2 0 0 1 1. */
    to[(660 >> (2 * k)) & 3] = (uint8_t)max;
    to[(2145 >> (2 * k)) & 3] = (uint8_t)(k & 1 ? max - part : min + part);
    to[(1290 >> (2 * k)) & 3] = (uint8_t)min;
}

/* The mean of n numbers that sum to `sum`, with 16 bits of fraction. */
LEAT_HOST_DEVICE int64_t leat_color_mean(uint64_t sum, uint64_t n)
{
    return (int64_t)((sum * 65536 + n / 2) / n);
}

/* (x - mean) * factor + mean. The mean has 16 bits of fraction too. */
LEAT_HOST_DEVICE uint8_t leat_color_contrast_value(int64_t x, int64_t mean, int64_t factor)
{
    const int64_t q32 = (x * 65536 - mean) * factor + mean * 65536;
    return leat_color_clamp((q32 + ((int64_t)1 << 31)) >> 32);
}

/* leat_color_contrast_value() is (x * factor + this) >> 16, saturated: the bits of q32 below 2^16 never carry. */
LEAT_HOST_DEVICE int32_t leat_color_contrast_add(int64_t mean, int64_t factor)
{
    return (int32_t)((mean * (65536 - factor) + ((int64_t)1 << 31)) >> 16);
}

#endif
