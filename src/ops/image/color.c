/* SPDX-License-Identifier: MIT
 *
 * color.c: integer arithmetic on the colours of uint8 images (color.h). Colour ops and augment.c call it. */
#include "color.h"

#include <math.h>
#include <string.h>

void leat_color_map(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels,
                    const leat_color_tables *tables)
{
    const size_t n_colors = leat_color_n_colors(channels);
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
    leat_color_tables tables;
    for (int32_t x = 0; x < 256; x++)
        tables.of[0][x] = leat_color_blend(x, 0, amount);
    leat_color_map_all(to, from, n_px, channels, &tables);
}

void leat_color_contrast_table(uint8_t table[256], int64_t mean, int64_t factor)
{
    for (int64_t x = 0; x < 256; x++)
        table[x] = leat_color_contrast_value(x, mean, factor);
}

void leat_color_contrast(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels,
                         int32_t amount)
{
    leat_color_tables tables;
    uint64_t sum = 0;
    if (channels < 3)
        for (size_t i = 0; i < n_px; i++)
            sum += from[i * channels];
    else
        for (size_t i = 0; i < n_px; i++)
            sum += leat_color_gray(from + i * channels);
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
        return;
    }
    for (size_t i = 0; i < n_px; i++, to += channels, from += channels) {
        const int32_t gray = leat_color_gray(from);
        for (size_t c = 0; c < 3; c++)
            to[c] = leat_color_blend(from[c], gray, amount);
        if (channels == 4)
            to[3] = from[3];
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
        return;
    }
    for (size_t i = 0; i < n_px; i++, to += channels, from += channels) {
        leat_color_turn_pixel(to, from, amount);
        if (channels == 4)
            to[3] = from[3];
    }
}
