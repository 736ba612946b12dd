/* SPDX-License-Identifier: MIT
 *
 * global_avg_pool: the mean of each channel over the whole image; gives a vector. */
#include "train/layers.h"
#include "train/nn_text.h"

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    (void)opts;
    *out = leat_shape_make(LEAT_F32, 1, &in->dims[2]);
    return leat_nn_want_image(in, "global_avg_pool", err);
}

const leat_layer leat_layer_global_avg_pool = {
    .kind = { "global_avg_pool", "the mean of each channel, as a vector", leat_layer_no_options },
    .shape = shape,
};
