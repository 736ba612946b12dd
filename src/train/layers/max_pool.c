/* SPDX-License-Identifier: MIT
 *
 * max_pool: the largest value of each window, per channel. */
#include "train/program.h"

static int shape(const void *opts, const leat_shape *in, int32_t n, leat_shape *out,
                 leat_error *err)
{
    (void)n;
    return leat_pool_shape(opts, in, "max_pool", out, err);
}

const leat_layer leat_layer_max_pool = {
    .kind = { "max_pool", "the largest value of each window", leat_pool_table },
    .options_size = sizeof(leat_pool_options),
    .shape = shape,
    .forward = leat_pool_forward,
    .backward = leat_pool_backward,
    .export_onnx = leat_pool_export_onnx,
};
