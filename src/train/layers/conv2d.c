/* SPDX-License-Identifier: MIT
 *
 * conv2d: slides `filters` learned windows over an image (cross-correlation, as everywhere). */
#include "train/layers.h"

static const leat_option options[] = {
    LEAT_OPTION_I64(leat_conv2d_options, filters, NULL, 1, 1 << 20, "channels of the output"),
    LEAT_OPTION_I64S(leat_conv2d_options, kernel, "3", 1, 1024, "window, [height, width] in px"),
    LEAT_OPTION_I64S(leat_conv2d_options, stride, "1", 1, 1024, "step, [height, width] in px"),
    LEAT_OPTION_ENUM(leat_conv2d_options, padding, "valid", leat_padding_names,
                     "same: pad with zeros, so that the output size is the input size / stride"),
    LEAT_OPTION_BOOL(leat_conv2d_options, bias, "true",
                     "add a learned number per channel; not needed before batch_norm"),
    LEAT_OPTION_END
};

int leat_conv2d_sliding(const leat_conv2d_options *o, const leat_shape *in, leat_sliding *out,
                        leat_error *err)
{
    return leat_sliding_make(in, &o->kernel, &o->stride, (leat_padding)o->padding, "conv2d", out,
                             err);
}

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const leat_conv2d_options *o = opts;
    leat_sliding s;
    const int rc = leat_conv2d_sliding(o, in, &s, err);
    if (rc == LEAT_OK)
        *out = leat_shape_make(LEAT_F32, 3, (int64_t[]){ s.out[0], s.out[1], o->filters });
    return rc;
}

static int32_t params(const void *opts, const leat_shape *in, const leat_shape *out,
                      leat_param to[LEAT_LAYER_MAX_PARAMS])
{
    const leat_conv2d_options *o = opts;
    leat_sliding s;
    (void)out;
    if (leat_conv2d_sliding(o, in, &s, NULL) < 0)
        return 0;
    const int64_t dims[4] = { s.size[0], s.size[1], in->dims[2], o->filters };
    const int64_t window = dims[0] * dims[1];
    to[0] = (leat_param){ "weight",         leat_shape_make(LEAT_F32, 4, dims),
                          LEAT_INIT_WEIGHT, window * dims[2],
                          window * dims[3], true };
    to[1] = (leat_param){ "bias", leat_shape_make(LEAT_F32, 1, &o->filters), LEAT_INIT_ZERO, 0, 0,
                          true };
    return o->bias ? 2 : 1;
}

static void cost(const void *opts, const leat_shape *in, const leat_shape *out, int64_t rows,
                 leat_layer_cost *to)
{
    const leat_conv2d_options *o = opts;
    leat_sliding s;
    if (leat_conv2d_sliding(o, in, &s, NULL) < 0)
        return;
    const double weights = (double)(s.size[0] * s.size[1] * in->dims[2]) * (double)o->filters;
    const double flops = 2.0 * (double)rows * (double)(s.out[0] * s.out[1]) * weights;
    const double bytes = 4 * weights + leat_layer_bytes(in, rows) + leat_layer_bytes(out, rows);
    to->forward = to->backward_data = to->backward_weights = (leat_cost){ flops, bytes };
}

const leat_layer leat_layer_conv2d = {
    .kind = { "conv2d", "convolution over an image", options },
    .options_size = sizeof(leat_conv2d_options),
    .shape = shape,
    .params = params,
    .cost = cost,
};
