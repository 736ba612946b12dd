/* SPDX-License-Identifier: MIT
 *
 * layer_norm: each pixel (or the whole vector) over its channels: (x - mean) / sqrt(variance + epsilon) *
 * scale + shift; the same in training and evaluation. */
#include "train/program.h"

static const leat_option options[] = {
    LEAT_OPTION_F32(leat_layer_norm_options, epsilon, "1e-5", 1e-12, 1, "added to the variance"),
    LEAT_LAYER_COMMON(leat_layer_norm_options), LEAT_OPTION_END
};

static int32_t params(const void *opts, const leat_shape *in, const leat_shape *out,
                      leat_param to[LEAT_LAYER_MAX_PARAMS])
{
    const leat_shape channels = leat_shape_make(LEAT_F32, 1, &in->dims[in->rank - 1]);
    (void)opts;
    (void)out;
    to[0] =
        (leat_param){ .part = "scale", .shape = channels, .init = LEAT_INIT_ONE, .trained = true };
    to[1] =
        (leat_param){ .part = "shift", .shape = channels, .init = LEAT_INIT_ZERO, .trained = true };
    return 2;
}

static void cost(const void *opts, const leat_shape *in, const leat_shape *out, int64_t rows,
                 leat_layer_cost *to)
{
    const double bytes = leat_layer_bytes(in, rows);
    (void)opts;
    (void)out;
    to->forward = (leat_cost){ 7 * bytes / 4, 2 * bytes };
    to->backward_data = (leat_cost){ 11 * bytes / 4, 3 * bytes };
}

static int forward(leat_program *p, int32_t i)
{
    const int32_t y = leat_program_tensor_new(p, &p->model->layers[i].out);
    leat_program_op(p, LEAT_PRIM_LAYER_NORM, i, leat_program_in(p, i, 0), -1, -1, y);
    leat_program_set_out(p, i, y);
    return LEAT_OK;
}

static int backward(leat_program *p, int32_t i)
{
    const int32_t dx = leat_program_tensor_new(p, &p->model->layers[i].in);
    leat_program_op(p, LEAT_PRIM_LAYER_NORM_GRAD, i, leat_program_grad(p, i),
                    leat_program_in(p, i, 0), leat_program_out(p, i), dx);
    leat_program_give(p, i, 0, dx);
    return LEAT_OK;
}

const leat_layer leat_layer_layer_norm = {
    .kind = { "layer_norm", "normalize each pixel over its channels, then scale and shift",
              options },
    .options_size = sizeof(leat_layer_norm_options),
    .shape = leat_layer_same_shape,
    .params = params,
    .cost = cost,
    .forward = forward,
    .backward = backward,
};
