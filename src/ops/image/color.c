/* SPDX-License-Identifier: MIT
 *
 * color.c: integer arithmetic on the colours of uint8 images (color.h). Colour ops and augment.c call it. RGB
 * images go to the loops of the CPU level. */
#include "color.h"

#include <math.h>
#include <string.h>

#include "color_loops.h"

void leat_color_map(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels,
                    const leat_color_tables *tables)
{
    const size_t n_colors = leat_color_n_colors(channels);
    if (channels == 3) {
        leat_color_loops_now()->map(to, from, n_px, tables);
        return;
    }
    for (size_t i = 0; i < n_px; i++, to += channels, from += channels) {
        for (size_t c = 0; c < n_colors; c++)
            to[c] = tables->of[c][from[c]];
        if (n_colors < channels)
            to[n_colors] = from[n_colors];
    }
}

void leat_color_map_all(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels,
                        leat_color_tables *tables)
{
    for (size_t c = 1; c < leat_color_n_colors(channels); c++)
        memcpy(tables->of[c], tables->of[0], sizeof tables->of[0]);
    leat_color_map(to, from, n_px, channels, tables);
}

void leat_color_brightness(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels,
                           int32_t amount)
{
    static const int32_t half[3] = { LEAT_COLOR_ONE / 2, LEAT_COLOR_ONE / 2, LEAT_COLOR_ONE / 2 };
    leat_color_tables tables;
    if (channels == 3) {
        leat_color_loops_now()->affine(to, from, n_px, amount, half);
        return;
    }
    for (int32_t x = 0; x < 256; x++)
        tables.of[0][x] = leat_color_blend(x, 0, amount);
    leat_color_map_all(to, from, n_px, channels, &tables);
}

void leat_color_contrast_table(uint8_t table[256], int64_t mean, int64_t factor)
{
    for (int64_t x = 0; x < 256; x++)
        table[x] = leat_color_contrast_value(x, mean, factor);
}

void leat_color_contrast_3(uint8_t *to, const uint8_t *from, size_t n_px, const int64_t means[3],
                           int32_t factor)
{
    int32_t add[3];
    for (size_t c = 0; c < 3; c++)
        add[c] = leat_color_contrast_add(means[c], factor);
    leat_color_loops_now()->affine(to, from, n_px, factor, add);
}

void leat_color_contrast(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels,
                         int32_t amount)
{
    leat_color_tables tables;
    uint64_t sum = 0;
    if (channels == 3) {
        const int64_t mean = leat_color_mean(leat_color_loops_now()->sum_gray(from, n_px), n_px);
        leat_color_contrast_3(to, from, n_px, (const int64_t[]){ mean, mean, mean }, amount);
        return;
    }
    for (size_t i = 0; i < n_px; i++)
        sum += channels < 3 ? from[i * channels] : leat_color_gray(from + i * channels);
    leat_color_contrast_table(tables.of[0], leat_color_mean(sum, n_px), amount);
    leat_color_map_all(to, from, n_px, channels, &tables);
}

static void copy(uint8_t *to, const uint8_t *from, size_t n)
{
    if (to != from)
        memcpy(to, from, n);
}

void leat_color_saturation(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels,
                           int32_t amount)
{
    if (channels < 3) {
        copy(to, from, n_px * channels);
    } else if (channels == 3) {
        leat_color_loops_now()->saturation(to, from, n_px, amount);
    } else {
        for (size_t i = 0; i < n_px; i++, to += 4, from += 4) {
            leat_color_loops_c.saturation(to, from, 1, amount);
            to[3] = from[3];
        }
    }
}

int32_t leat_color_turn(float part)
{
    const int32_t turn = (int32_t)rintf(part * LEAT_COLOR_TURN);
    return turn < 0 ? turn + LEAT_COLOR_TURN : turn;
}

void leat_color_hue(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels, int32_t amount)
{
    if (channels < 3 || !amount) {
        copy(to, from, n_px * channels);
    } else if (channels == 3) {
        leat_color_loops_now()->hue(to, from, n_px, amount);
    } else {
        for (size_t i = 0; i < n_px; i++, to += 4, from += 4) {
            leat_color_turn_pixel(to, from, amount);
            to[3] = from[3];
        }
    }
}
