/* SPDX-License-Identifier: MIT
 *
 * dense: y = x W + b. */
#include "train/export_onnx.h"
#include "train/nn_text.h"
#include "train/program.h"

static const leat_option options[] = {
    LEAT_OPTION_I64(leat_dense_options, units, NULL, 1, 1 << 24, "length of the output"),
    LEAT_OPTION_BOOL(leat_dense_options, bias, "true", "add a learned vector"),
    LEAT_OPTION_ENUM(leat_dense_options, init, "auto", leat_init_names,
                     "initial weights; auto: he before an activation of the relu family, else "
                     "glorot"),
    LEAT_OPTION_BOOL(leat_dense_options, frozen, "false",
                     "keep the weight (not the bias) as it is"),
    LEAT_LAYER_COMMON(leat_dense_options),
    LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, int32_t n, leat_shape *out,
                 leat_error *err)
{
    const leat_dense_options *o = opts;
    (void)n;
    *out = leat_shape_make(LEAT_F32, 1, &o->units);
    if (o->init + LEAT_INIT_AUTO > LEAT_INIT_GLOROT)
        return leat_fail(err, LEAT_E_CONFIG, "dense: init: %s is for conv2d",
                         leat_init_names[o->init]);
    return leat_nn_want_vector(in, "dense", err);
}

static int32_t params(const void *opts, const leat_shape *in, const leat_shape *out,
                      leat_param to[LEAT_LAYER_MAX_PARAMS])
{
    const leat_dense_options *o = opts;
    const int64_t dims[2] = { in->dims[0], o->units };
    to[0] = (leat_param){ .part = "weight",
                          .shape = leat_shape_make(LEAT_F32, 2, dims),
                          .init = (leat_init)(o->init + LEAT_INIT_AUTO),
                          .fan_in = dims[0],
                          .fan_out = dims[1],
                          .trained = true,
                          .frozen = o->frozen };
    to[1] = (leat_param){ .part = "bias", .shape = *out, .trained = true };
    return o->bias ? 2 : 1;
}

static void cost(const void *opts, const leat_shape *in, const leat_shape *out, int64_t rows,
                 leat_layer_cost *to)
{
    (void)opts;
    const double weights = 4.0 * (double)in->dims[0] * (double)out->dims[0];
    const double flops = 2.0 * (double)rows * (double)in->dims[0] * (double)out->dims[0];
    const double bytes = weights + leat_layer_bytes(in, rows) + leat_layer_bytes(out, rows);
    to->forward = to->backward_data = to->backward_weights = (leat_cost){ flops, bytes };
}

static void forward(leat_program *p, int32_t i)
{
    leat_program_fuse(p, i, leat_program_forward_op(p, LEAT_PRIM_DENSE, i));
}

static void backward(leat_program *p, int32_t i)
{
    const int32_t x = leat_program_in(p, i, 0), dy = leat_program_grad(p, i);
    if (leat_program_learns(p, i))
        leat_program_op(p, LEAT_PRIM_DENSE_GRAD_WEIGHTS, i, dy, x, -1, -1);
    if (leat_program_wants(p, i, 0)) {
        const int32_t dx = leat_program_tensor_new(p, &p->model->layers[i].in);
        leat_program_op(p, LEAT_PRIM_DENSE_GRAD_DATA, i, dy, -1, -1, dx);
        leat_program_give(p, i, 0, dx);
    }
}

static void export_onnx(leat_export_onnx *e, int32_t i, const char *const *in, const char *out)
{
    char weight[LEAT_EXPORT_ONNX_NAME], bias[LEAT_EXPORT_ONNX_NAME] = "";
    leat_export_onnx_vector(e, i, 0, weight);
    if (leat_export_onnx_layer(e, i)->n_params > 1)
        leat_export_onnx_vector(e, i, 1, bias);
    leat_export_onnx_node(
        e, "Gemm", (const char *const[]){ in[0], weight, *bias ? bias : NULL, NULL }, out, NULL, 0);
}

const leat_layer leat_layer_dense = {
    .kind = { "dense", "weighted sums of all inputs", options },
    .options_size = sizeof(leat_dense_options),
    .fuse = LEAT_FUSE_RELU,
    .shape = shape,
    .params = params,
    .cost = cost,
    .forward = forward,
    .backward = backward,
    .export_onnx = export_onnx,
};
