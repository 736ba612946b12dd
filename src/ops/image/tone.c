/* SPDX-License-Identifier: MIT
 *
 * tone.c: the colour operations of the augmentation policies (tone.h). augment.c calls it. */
#include "tone.h"

#include <string.h>

void leat_tone_posterize(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels,
                         int32_t amount)
{
    leat_color_tables tables;
    for (int32_t x = 0; x < 256; x++)
        tables.of[0][x] = (uint8_t)(x & (0xff00 >> amount));
    leat_color_map_all(to, from, n_px, channels, &tables);
}

void leat_tone_solarize(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels,
                        int32_t amount)
{
    leat_color_tables tables;
    for (int32_t x = 0; x < 256; x++)
        tables.of[0][x] = (uint8_t)(x >= amount ? 255 - x : x);
    leat_color_map_all(to, from, n_px, channels, &tables);
}

typedef struct histograms {
    size_t n[4][256];
} histograms;

static void count(histograms *h, const uint8_t *from, size_t n_px, size_t channels)
{
    memset(h, 0, sizeof *h);
    for (size_t i = 0; i < n_px; i++)
        for (size_t c = 0; c < leat_color_n_colors(channels); c++)
            h->n[c][from[i * channels + c]]++;
}

void leat_tone_autocontrast(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels,
                            int32_t amount)
{
    leat_color_tables tables;
    histograms h;
    (void)amount;
    count(&h, from, n_px, channels);
    for (size_t c = 0; c < leat_color_n_colors(channels); c++) {
        int32_t least = 0, most = 255;
        while (least < 255 && !h.n[c][least])
            least++;
        while (most > 0 && !h.n[c][most])
            most--;
        const int32_t range = most - least;
        for (int32_t x = 0; x < 256; x++)
            tables.of[c][x] =
                range > 0 ? leat_color_clamp(((x - least) * 255 + range / 2) / range) : (uint8_t)x;
    }
    leat_color_map(to, from, n_px, channels, &tables);
}

void leat_tone_equalize(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels,
                        int32_t amount)
{
    leat_color_tables tables;
    histograms h;
    (void)amount;
    count(&h, from, n_px, channels);
    for (size_t c = 0; c < leat_color_n_colors(channels); c++) {
        size_t most = 255, below = 0;
        while (most > 0 && !h.n[c][most])
            most--;
        const size_t step = (n_px - h.n[c][most]) / 255;
        for (size_t x = 0; x < 256; below += h.n[c][x++])
            tables.of[c][x] =
                step ? leat_color_clamp((int64_t)((below + step / 2) / step)) : (uint8_t)x;
    }
    leat_color_map(to, from, n_px, channels, &tables);
}

void leat_tone_sharpness(uint8_t *to, const uint8_t *from, size_t height, size_t width,
                         size_t channels, int32_t factor)
{
    const size_t stride = width * channels, n_colors = leat_color_n_colors(channels);
    memcpy(to, from, height * stride);
    for (size_t y = 1; y + 1 < height; y++)
        for (size_t x = 1; x + 1 < width; x++)
            for (size_t c = 0; c < n_colors; c++) {
                const uint8_t *at = from + y * stride + x * channels + c;
                int32_t sum = 4 * *at; /* the loop below adds it a fifth time */
                for (const uint8_t *row = at - stride; row <= at + stride; row += stride)
                    sum += *(row - channels) + row[0] + row[channels];
                to[y * stride + x * channels + c] = leat_color_blend(*at, (sum + 6) / 13, factor);
            }
}
