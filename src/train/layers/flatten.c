/* SPDX-License-Identifier: MIT
 *
 * flatten: turns an image into a vector, height outermost, channels innermost. */
#include "train/layers.h"

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const int64_t n = leat_shape_elements(in);
    (void)opts;
    (void)err;
    *out = leat_shape_make(LEAT_F32, 1, &n);
    return LEAT_OK;
}

/* Images have this order already, so there is nothing to do. */
static void cost(const void *opts, const leat_shape *in, const leat_shape *out, int64_t rows,
                 leat_layer_cost *to)
{
    (void)opts;
    (void)in;
    (void)out;
    (void)rows;
    *to = (leat_layer_cost){ 0 };
}

const leat_layer leat_layer_flatten = {
    .kind = { "flatten", "an image as a vector", leat_layer_no_options },
    .shape = shape,
    .cost = cost,
};
