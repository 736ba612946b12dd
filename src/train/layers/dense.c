/* SPDX-License-Identifier: MIT
 *
 * dense: y = x W + b. */
#include "train/layers.h"

#include "train/nn_text.h"

static const leat_option options[] = {
    LEAT_OPTION_I64(leat_dense_options, units, NULL, 1, 1 << 24, "length of the output"),
    LEAT_OPTION_BOOL(leat_dense_options, bias, "true", "add a learned vector"), LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const leat_dense_options *o = opts;
    *out = leat_shape_make(LEAT_F32, 1, &o->units);
    return leat_nn_want_vector(in, "dense", err);
}

static int32_t params(const void *opts, const leat_shape *in, const leat_shape *out,
                      leat_param to[LEAT_LAYER_MAX_PARAMS])
{
    const leat_dense_options *o = opts;
    const int64_t dims[2] = { in->dims[0], o->units };
    to[0] = (leat_param){ "weight",         leat_shape_make(LEAT_F32, 2, dims),
                          LEAT_INIT_WEIGHT, dims[0],
                          dims[1],          true };
    to[1] = (leat_param){ "bias", *out, LEAT_INIT_ZERO, 0, 0, true };
    return o->bias ? 2 : 1;
}

static void cost(const void *opts, const leat_shape *in, const leat_shape *out, int64_t rows,
                 leat_layer_cost *to)
{
    const double weights = 4.0 * (double)in->dims[0] * (double)out->dims[0];
    const double flops = 2.0 * (double)rows * (double)in->dims[0] * (double)out->dims[0];
    const double bytes = weights + leat_layer_bytes(in, rows) + leat_layer_bytes(out, rows);
    (void)opts;
    to->forward = to->backward_data = to->backward_weights = (leat_cost){ flops, bytes };
}

const leat_layer leat_layer_dense = {
    .kind = { "dense", "weighted sums of all inputs", options },
    .options_size = sizeof(leat_dense_options),
    .shape = shape,
    .params = params,
    .cost = cost,
};
