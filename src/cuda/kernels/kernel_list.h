/* SPDX-License-Identifier: MIT
 *
 * kernel_list.h: every op with kernels, one line each, and the names of all kernels. An op here has
 * LEAT_OP_KERNEL in its flags. */
#ifndef LEAT_KERNEL_LIST_H
#define LEAT_KERNEL_LIST_H

#include "op_colors.h"
#include "op_contrast.h"
#include "op_crop.h"
#include "op_erasing.h"
#include "op_flip.h"
#include "op_keep.h"
#include "op_resample.h"
#include "op_values.h"

/* X(op, sizes, region, bytes of aux, passes) */
#define LEAT_KERNEL_OP_LIST(X)                                                                     \
    X(resize, LEAT_ANY_SIZE, NULL, leat_resample_aux_bytes,                                        \
      { { "leat_resize_weigh", LEAT_PER_LINE }, { "leat_resize", LEAT_PER_PIXEL } })               \
    X(center_crop, LEAT_ANY_SIZE, leat_center_crop_region, NULL,                                   \
      { { "leat_center_crop", LEAT_PER_PIXEL } })                                                  \
    X(random_crop, LEAT_ANY_SIZE, leat_random_crop_region, NULL,                                   \
      { { "leat_random_crop", LEAT_PER_PIXEL } })                                                  \
    X(random_resized_crop, LEAT_ANY_SIZE, leat_resized_crop_region, leat_resample_aux_bytes,       \
      { { "leat_resized_crop_weigh", LEAT_PER_LINE }, { "leat_resized_crop", LEAT_PER_PIXEL } })   \
    X(random_flip, LEAT_ONE_SIZE, NULL, NULL, { { "leat_random_flip", LEAT_PER_PIXEL } })          \
    X(random_erasing, LEAT_ONE_SIZE, NULL, NULL, { { "leat_random_erasing", LEAT_PER_PIXEL } })    \
    X(random_brightness, LEAT_ONE_SIZE, NULL, NULL,                                                \
      { { "leat_random_brightness", LEAT_PER_VALUE } })                                            \
    X(random_contrast, LEAT_ONE_SIZE, NULL, leat_contrast_aux_bytes,                               \
      { { "leat_contrast_begin", LEAT_PER_ROW },                                                   \
        { "leat_contrast_sum", LEAT_PER_STRIP },                                                   \
        { "leat_contrast", LEAT_PER_VALUE } })                                                     \
    X(random_saturation, LEAT_ONE_SIZE, NULL, NULL,                                                \
      { { "leat_random_saturation", LEAT_PER_PIXEL } })                                            \
    X(random_hue, LEAT_ONE_SIZE, NULL, NULL, { { "leat_random_hue", LEAT_PER_PIXEL } })            \
    X(color_jitter, LEAT_ONE_SIZE, NULL, leat_jitter_aux_bytes,                                    \
      { { "leat_jitter_begin", LEAT_PER_ROW },                                                     \
        { "leat_jitter_sum", LEAT_PER_STRIP },                                                     \
        { "leat_color_jitter", LEAT_PER_PIXEL } })                                                 \
    X(cast, LEAT_ONE_SIZE, NULL, NULL, { { "leat_cast", LEAT_PER_VALUE } })                        \
    X(normalize, LEAT_ONE_SIZE, NULL, NULL, { { "leat_affine", LEAT_PER_VALUE } })                 \
    X(scale, LEAT_ONE_SIZE, NULL, NULL, { { "leat_affine", LEAT_PER_VALUE } })

/* X(kernel) stands for leat_<kernel>. */
#define LEAT_KERNEL_LIST(X)                                                                        \
    X(resize_weigh)                                                                                \
    X(resize)                                                                                      \
    X(resized_crop_weigh)                                                                          \
    X(resized_crop)                                                                                \
    X(center_crop)                                                                                 \
    X(random_crop)                                                                                 \
    X(random_flip)                                                                                 \
    X(random_erasing)                                                                              \
    X(random_brightness)                                                                           \
    X(contrast_begin)                                                                              \
    X(contrast_sum)                                                                                \
    X(contrast)                                                                                    \
    X(random_saturation)                                                                           \
    X(random_hue)                                                                                  \
    X(jitter_begin)                                                                                \
    X(jitter_sum)                                                                                  \
    X(color_jitter)                                                                                \
    X(cast)                                                                                        \
    X(affine)                                                                                      \
    X(keep)

#endif
