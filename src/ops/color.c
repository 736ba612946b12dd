/* SPDX-License-Identifier: MIT */
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

/* The same table for all colours. */
static void map_all(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels,
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
    map_all(to, from, n_px, channels, &tables);
}

void leat_color_contrast_table(uint8_t table[256], int64_t mean, int64_t factor)
{
    for (int64_t x = 0; x < 256; x++) {
        const int64_t q32 = (x * 65536 - mean) * factor + mean * 65536;
        table[x] = leat_color_clamp((q32 + ((int64_t)1 << 31)) >> 32);
    }
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
    leat_color_contrast_table(tables.of[0], (int64_t)((sum * 65536 + n_px / 2) / n_px), amount);
    map_all(to, from, n_px, channels, &tables);
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

/* DESIGN: a colour of largest value `max` and chroma c = max - min stands at h / c sixths of a turn
 * with a whole number h. Turned, it stands at a sixth k and a part f of the next; its values are then
 * max, min, and min + f c where they rise (k even) or max - f c where they fall (k odd). So only f c
 * is rounded. */
static void turn_pixel(uint8_t *to, const uint8_t *from, int32_t amount)
{
    /* places of the largest, the moving and the smallest value in each sixth */
    static const uint8_t places[6][3] = { { 0, 1, 2 }, { 1, 0, 2 }, { 1, 2, 0 },
                                          { 2, 1, 0 }, { 2, 0, 1 }, { 0, 2, 1 } };
    const int32_t r = from[0], g = from[1], b = from[2];
    const int32_t max = r > g ? (r > b ? r : b) : (g > b ? g : b);
    const int32_t min = r < g ? (r < b ? r : b) : (g < b ? g : b);
    const int32_t c = max - min;
    int32_t h = max == r ? g - b : max == g ? 2 * c + b - r : 4 * c + r - g;
    if (!c) {
        memmove(to, from, 3);
        return;
    }
    h = (h < 0 ? h + 6 * c : h) * 65536 + amount * c;
    h = h >= LEAT_COLOR_TURN * c ? h - LEAT_COLOR_TURN * c : h;
    const int32_t k = h / (65536 * c);
    const int32_t part = (h - k * 65536 * c + 32768) >> 16;
    to[places[k][0]] = (uint8_t)max;
    to[places[k][1]] = (uint8_t)(k & 1 ? max - part : min + part);
    to[places[k][2]] = (uint8_t)min;
}

void leat_color_hue(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels, int32_t amount)
{
    if (channels < 3 || !amount) {
        copy(to, from, n_px * channels);
        return;
    }
    for (size_t i = 0; i < n_px; i++, to += channels, from += channels) {
        turn_pixel(to, from, amount);
        if (channels == 4)
            to[3] = from[3];
    }
}
