/* SPDX-License-Identifier: MIT
 *
 * op_draws.h: what ops that have kernels draw, shared by CPU and GPU. Crops and random_erasing have a
 * leat_image_box (image.h) as theirs. */
#ifndef LEAT_OP_DRAWS_H
#define LEAT_OP_DRAWS_H

#include <stdint.h>

typedef struct leat_flip_draw {
    int32_t mirror;
} leat_flip_draw;

typedef struct leat_brightness_draw {
    float delta;
    int32_t delta_u8;
} leat_brightness_draw;

typedef struct leat_contrast_draw {
    float factor;
    int32_t factor_q16;
} leat_contrast_draw;

typedef struct leat_saturation_draw {
    int32_t factor_q16;
} leat_saturation_draw;

typedef struct leat_hue_draw {
    int32_t turn; /* 0 … LEAT_COLOR_TURN - 1 */
} leat_hue_draw;

enum {
    LEAT_JITTER_BRIGHTNESS,
    LEAT_JITTER_CONTRAST,
    LEAT_JITTER_SATURATION,
    LEAT_JITTER_HUE,
    LEAT_N_JITTERS
};
typedef struct leat_jitter_draw {
    int32_t amounts[LEAT_N_JITTERS]; /* factors with 16 bits of fraction; for hue, the turn */
    uint8_t order[LEAT_N_JITTERS];
} leat_jitter_draw;

#endif
