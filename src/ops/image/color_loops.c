/* SPDX-License-Identifier: MIT
 *
 * color_loops.c: the loops of color_loops.h in plain C, and the choice of a level. */
#include "color_loops.h"

#include <string.h>

#include "base/cpu.h"

static void map(uint8_t *to, const uint8_t *from, size_t n_px, const leat_color_tables *tables)
{
    for (size_t i = 0; i < n_px; i++, to += 3, from += 3)
        for (size_t c = 0; c < 3; c++)
            to[c] = tables->of[c][from[c]];
}

/* From some pixels on tables are faster. */
static void affine(uint8_t *to, const uint8_t *from, size_t n_px, int32_t factor,
                   const int32_t add[3])
{
    leat_color_tables tables;
    if (n_px < 256) {
        for (size_t i = 0; i < 3 * n_px; i++)
            to[i] = leat_color_clamp((from[i] * factor + add[i % 3]) >> 16);
        return;
    }
    for (size_t c = 0; c < 3; c++)
        for (int32_t x = 0; x < 256; x++)
            tables.of[c][x] = leat_color_clamp((x * factor + add[c]) >> 16);
    map(to, from, n_px, &tables);
}

static void gray(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels)
{
    for (size_t i = 0; i < n_px; i++, to += channels, from += 3) {
        const uint8_t value = leat_color_gray(from);
        for (size_t c = 0; c < channels; c++)
            to[c] = value;
    }
}

static void saturation(uint8_t *to, const uint8_t *from, size_t n_px, int32_t amount)
{
    for (size_t i = 0; i < n_px; i++, to += 3, from += 3) {
        const int32_t value = leat_color_gray(from);
        for (size_t c = 0; c < 3; c++)
            to[c] = leat_color_blend(from[c], value, amount);
    }
}

static void hue(uint8_t *to, const uint8_t *from, size_t n_px, int32_t amount)
{
    for (size_t i = 0; i < n_px; i++, to += 3, from += 3)
        leat_color_turn_pixel(to, from, amount);
}

static void split(uint8_t *const planes[3], const uint8_t *from, size_t n_px)
{
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < n_px; i++)
            planes[c][i] = from[3 * i + c];
}

static uint64_t sum_gray(const uint8_t *from, size_t n_px)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n_px; i++)
        sum += leat_color_gray(from + 3 * i);
    return sum;
}

static void sums(const uint8_t *from, size_t n_px, uint64_t out[3])
{
    out[0] = out[1] = out[2] = 0;
    for (size_t i = 0; i < n_px; i++, from += 3)
        for (size_t c = 0; c < 3; c++)
            out[c] += from[c];
}

static void extend(uint8_t *low, uint8_t *high, const uint8_t *from, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        low[k] = from[k] < low[k] ? from[k] : low[k];
        high[k] = from[k] > high[k] ? from[k] : high[k];
    }
}

/* Compilers make vectors of 48 bytes, which are 16 pixels. */
static void range(const uint8_t *from, size_t n_px, uint8_t least[3], uint8_t most[3])
{
    uint8_t low[48], high[48];
    memset(low, 255, sizeof low);
    memset(high, 0, sizeof high);
    for (; n_px >= 16; n_px -= 16, from += 48)
        extend(low, high, from, 48);
    extend(low, high, from, 3 * n_px);
    for (size_t k = 3; k < 48; k++) {
        low[k % 3] = low[k] < low[k % 3] ? low[k] : low[k % 3];
        high[k % 3] = high[k] > high[k % 3] ? high[k] : high[k % 3];
    }
    memcpy(least, low, 3);
    memcpy(most, high, 3);
}

static void sharpen(uint8_t *to, const uint8_t *const rows[3], size_t n, size_t step,
                    int32_t factor)
{
    for (size_t i = 0; i < n; i++) {
        int32_t sum = 4 * rows[1][i]; /* the loop below adds it a fifth time */
        for (size_t k = 0; k < 3; k++) {
            const uint8_t *const at = rows[k] + i;
            sum += *(at - step) + at[0] + at[step];
        }
        to[i] = leat_color_blend(rows[1][i], (sum + 6) / 13, factor);
    }
}

const leat_color_loops leat_color_loops_c = {
    .affine = affine,
    .map = map,
    .gray = gray,
    .saturation = saturation,
    .hue = hue,
    .split = split,
    .sum_gray = sum_gray,
    .sums = sums,
    .range = range,
    .sharpen = sharpen,
};

const leat_color_loops *leat_color_loops_level(int level)
{
#if defined(__x86_64__)
    if (level >= LEAT_CPU_AVX512)
        return &leat_color_loops_avx512;
    if (level >= LEAT_CPU_AVX2)
        return &leat_color_loops_avx2;
#endif
    (void)level;
    return &leat_color_loops_c;
}

const leat_color_loops *leat_color_loops_now(void)
{
    return leat_color_loops_level(leat_cpu_level());
}
