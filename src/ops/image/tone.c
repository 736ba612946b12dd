/* SPDX-License-Identifier: MIT
 *
 * tone.c: the colour operations of the augmentation policies. augment.c calls it. Alpha, `to` and rounding are as in
 * color.h. The formulas are those of Pillow's ImageOps and torchvision. */
#include "augment.h"

#include <string.h>

#include "color_loops.h"

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

static void range(const uint8_t *from, size_t n_px, size_t channels, uint8_t least[3],
                  uint8_t most[3])
{
    if (channels == 3) {
        leat_color_loops_now()->range(from, n_px, least, most);
        return;
    }
    for (size_t c = 0; c < leat_color_n_colors(channels); c++)
        least[c] = most[c] = from[c];
    for (size_t i = 0; i < n_px; i++)
        for (size_t c = 0; c < leat_color_n_colors(channels); c++) {
            const uint8_t x = from[i * channels + c];
            least[c] = x < least[c] ? x : least[c];
            most[c] = x > most[c] ? x : most[c];
        }
}

void leat_tone_autocontrast(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels,
                            int32_t amount)
{
    leat_color_tables tables;
    uint8_t least[3], most[3];
    (void)amount;
    range(from, n_px, channels, least, most);
    for (size_t c = 0; c < leat_color_n_colors(channels); c++) {
        const int32_t width = most[c] - least[c];
        for (int32_t x = 0; x < 256; x++)
            tables.of[c][x] = width > 0
                                  ? leat_color_clamp(((x - least[c]) * 255 + width / 2) / width)
                                  : (uint8_t)x;
    }
    leat_color_map(to, from, n_px, channels, &tables);
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
    const size_t stride = width * channels;
    memcpy(to, from, height * stride);
    if (width < 3)
        return;
    for (size_t y = 1; y + 1 < height; y++) {
        const uint8_t *const at = from + y * stride + channels;
        const uint8_t *const rows[3] = { at - stride, at, at + stride };
        leat_color_loops_now()->sharpen(to + (at - from), rows, (width - 2) * channels, channels,
                                        factor);
    }
    if (leat_color_n_colors(channels) < channels)
        for (size_t i = channels - 1; i < height * stride; i += channels)
            to[i] = from[i]; /* alpha */
}
