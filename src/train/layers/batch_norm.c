/* SPDX-License-Identifier: MIT
 *
 * batch_norm: (x - mean) / sqrt(variance + epsilon) * scale + shift, per channel. In training mean
 * and variance are those of the batch's rows (the variance divides by their number), and
 * running = momentum * running + (1 - momentum) * batch; evaluation uses the running ones. */
#include "train/layers.h"

static const leat_option options[] = {
    LEAT_OPTION_F32(leat_batch_norm_options, momentum, "0.9", 0, 1,
                    "share of the running statistics kept at each step"),
    LEAT_OPTION_F32(leat_batch_norm_options, epsilon, "1e-5", 1e-12, 1, "added to the variance"),
    LEAT_OPTION_END
};

static int32_t params(const void *opts, const leat_shape *in, const leat_shape *out,
                      leat_param to[LEAT_LAYER_MAX_PARAMS])
{
    const leat_shape channels = leat_shape_make(LEAT_F32, 1, &in->dims[in->rank - 1]);
    (void)opts;
    (void)out;
    to[0] = (leat_param){ "scale", channels, LEAT_INIT_ONE, 0, 0, true };
    to[1] = (leat_param){ "shift", channels, LEAT_INIT_ZERO, 0, 0, true };
    to[2] = (leat_param){ "mean", channels, LEAT_INIT_ZERO, 0, 0, false };
    to[3] = (leat_param){ "variance", channels, LEAT_INIT_ONE, 0, 0, false };
    return 4;
}

/* Forward reads twice (statistics, then values) and writes once; backward reads input and gradient
 * twice and writes once. */
static void cost(const void *opts, const leat_shape *in, const leat_shape *out, int64_t rows,
                 leat_layer_cost *to)
{
    const double bytes = leat_layer_bytes(in, rows);
    (void)opts;
    (void)out;
    to->forward = (leat_cost){ 7 * bytes / 4, 3 * bytes };
    to->backward_data = (leat_cost){ 11 * bytes / 4, 5 * bytes };
}

const leat_layer leat_layer_batch_norm = {
    .kind = { "batch_norm",
              "normalize each channel to mean 0 and variance 1, then apply a learned scale and "
              "shift",
              options },
    .options_size = sizeof(leat_batch_norm_options),
    .shape = leat_layer_same_shape,
    .params = params,
    .cost = cost,
};
