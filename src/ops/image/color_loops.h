/* SPDX-License-Identifier: MIT
 *
 * color_loops.h: the loops of color.c and tone.c over interleaved RGB pixels and rows, per CPU level. Plain C
 * (color_loops.c) is the definition, the other levels give the same bytes. `to` may be `from`. */
#ifndef LEAT_COLOR_LOOPS_H
#define LEAT_COLOR_LOOPS_H

#include "color.h"

typedef struct leat_color_loops {
    /* to = (from * factor + add of its channel) >> 16, saturating; |factor| ≤ 100 * LEAT_COLOR_ONE and
     * results before saturation fit in 16 bits */
    void (*affine)(uint8_t *to, const uint8_t *from, size_t n_px, int32_t factor,
                   const int32_t add[3]);
    /* The table of each channel. */
    void (*map)(uint8_t *to, const uint8_t *from, size_t n_px, const leat_color_tables *tables);
    /* leat_color_gray() of each pixel, `channels` (1 or 3) times. Only with 3 may `to` be `from`. */
    void (*gray)(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels);
    /* leat_color_saturation() and leat_color_hue() */
    void (*saturation)(uint8_t *to, const uint8_t *from, size_t n_px, int32_t amount);
    void (*hue)(uint8_t *to, const uint8_t *from, size_t n_px, int32_t amount);
    /* The values of each channel one after the other. */
    void (*split)(uint8_t *const planes[3], const uint8_t *from, size_t n_px);
    /* Sums of leat_color_gray() and of each channel; least and largest value of each channel. */
    uint64_t (*sum_gray)(const uint8_t *from, size_t n_px);
    void (*sums)(const uint8_t *from, size_t n_px, uint64_t sums[3]);
    void (*range)(const uint8_t *from, size_t n_px, uint8_t least[3], uint8_t most[3]);
    /* leat_tone_sharpness() of n bytes of a row, whatever the channels. rows: the row above, the row, the
     * row below; values `step` bytes before and behind are read too. `to` is no part of them. */
    void (*sharpen)(uint8_t *to, const uint8_t *const rows[3], size_t n, size_t step,
                    int32_t factor);
} leat_color_loops;

/* The loops of a level, and of the level in use. Any thread. */
const leat_color_loops *leat_color_loops_level(int level);
const leat_color_loops *leat_color_loops_now(void);

extern const leat_color_loops leat_color_loops_c;
#if defined(__x86_64__)
extern const leat_color_loops leat_color_loops_avx2, leat_color_loops_avx512;
#endif

#endif
