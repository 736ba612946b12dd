/* SPDX-License-Identifier: MIT
 *
 * op_plans.h: what ops decide, as it stands in their 64 bytes, for those whose plans are executed by
 * kernels too. Crops, resizes of a box and erasing decide on a leat_image_box (image.h). */
#ifndef LEAT_OP_PLANS_H
#define LEAT_OP_PLANS_H

#include <stdint.h>

typedef struct leat_flip_plan {
    int32_t mirror;
} leat_flip_plan;

typedef struct leat_brightness_plan {
    float delta;
    int32_t delta_u8;
} leat_brightness_plan;

typedef struct leat_contrast_plan {
    float factor;
    int32_t factor_q16;
} leat_contrast_plan;

typedef struct leat_saturation_plan {
    int32_t factor_q16;
} leat_saturation_plan;

typedef struct leat_hue_plan {
    int32_t turn; /* 0 … LEAT_COLOR_TURN - 1 */
} leat_hue_plan;

enum {
    LEAT_JITTER_BRIGHTNESS,
    LEAT_JITTER_CONTRAST,
    LEAT_JITTER_SATURATION,
    LEAT_JITTER_HUE,
    LEAT_N_JITTERS
};
typedef struct leat_jitter_plan {
    int32_t amounts[LEAT_N_JITTERS]; /* factors of 16 bits of fraction; the turn of the hue */
    uint8_t order[LEAT_N_JITTERS];
} leat_jitter_plan;

#endif
