/* SPDX-License-Identifier: MIT
 *
 * op_list.h: every built-in op, one line each. X(name) stands for `leat_op_<name>` in
 * `src/ops/<name>.c` or `src/ops/decode/<name>.c`. Config, help, reference, tests and fuzzing loop over
 * this list, so that a new op means one file and one line. */
#ifndef LEAT_OP_LIST_H
#define LEAT_OP_LIST_H

#include "leat/op.h"

#define LEAT_OP_LIST(X)                                                                            \
    X(decode_image)                                                                                \
    X(decode_jpeg)                                                                                 \
    X(decode_png)                                                                                  \
    X(decode_webp)                                                                                 \
    X(decode_bmp)                                                                                  \
    X(decode_pnm)                                                                                  \
    X(decode_raw)                                                                                  \
    X(parse_csv)                                                                                   \
    X(reshape)                                                                                     \
    X(resize)                                                                                      \
    X(center_crop)                                                                                 \
    X(random_crop)                                                                                 \
    X(random_resized_crop)                                                                         \
    X(random_flip)                                                                                 \
    X(random_rotation)                                                                             \
    X(random_erasing)                                                                              \
    X(pad)                                                                                         \
    X(random_brightness)                                                                           \
    X(random_contrast)                                                                             \
    X(random_saturation)                                                                           \
    X(random_hue)                                                                                  \
    X(color_jitter)                                                                                \
    X(grayscale)                                                                                   \
    X(rand_augment)                                                                                \
    X(trivial_augment)                                                                             \
    X(cast)                                                                                        \
    X(normalize)                                                                                   \
    X(layout)                                                                                      \
    X(scale)                                                                                       \
    X(one_hot)                                                                                     \
    X(sleep)

#define LEAT_OP_DECLARE(name) extern const leat_op leat_op_##name;
LEAT_OP_LIST(LEAT_OP_DECLARE)
#undef LEAT_OP_DECLARE

#endif
