/* SPDX-License-Identifier: MIT
 *
 * avg_pool: the mean of each window, per channel; what lies outside the image does not count. */
#include "train/layers.h"

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    return leat_pool_shape(opts, in, "avg_pool", out, err);
}

const leat_layer leat_layer_avg_pool = {
    .kind = { "avg_pool", "the mean of each window", leat_pool_table },
    .options_size = sizeof(leat_pool_options),
    .shape = shape,
};
