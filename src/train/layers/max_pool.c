/* SPDX-License-Identifier: MIT
 *
 * max_pool: the largest value of each window, per channel. */
#include "train/layers.h"

const leat_option leat_pool_table[] = {
    LEAT_OPTION_I64S(leat_pool_options, size, "2", 1, 1024, "window, [height, width] in px"),
    LEAT_OPTION_I64S(leat_pool_options, stride, "[]", 1, 1024,
                     "step, [height, width] in px; empty: the window's size"),
    LEAT_OPTION_ENUM(leat_pool_options, padding, "valid", leat_padding_names,
                     "same: windows reach over the edge, so that every pixel is used"),
    LEAT_OPTION_END
};

int leat_pool_sliding(const leat_pool_options *o, const leat_shape *in, const char *what,
                      leat_sliding *out, leat_error *err)
{
    return leat_sliding_make(in, &o->size, &o->stride, (leat_padding)o->padding, what, out, err);
}

int leat_pool_shape(const leat_pool_options *o, const leat_shape *in, const char *what,
                    leat_shape *out, leat_error *err)
{
    leat_sliding s;
    const int rc = leat_pool_sliding(o, in, what, &s, err);
    if (rc == LEAT_OK)
        *out = leat_shape_make(LEAT_F32, 3, (int64_t[]){ s.out[0], s.out[1], in->dims[2] });
    return rc;
}

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    return leat_pool_shape(opts, in, "max_pool", out, err);
}

const leat_layer leat_layer_max_pool = {
    .kind = { "max_pool", "the largest value of each window", leat_pool_table },
    .options_size = sizeof(leat_pool_options),
    .shape = shape,
};
