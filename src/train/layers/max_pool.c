/* SPDX-License-Identifier: MIT
 *
 * max_pool: the largest value of each window, per channel. */
#include "train/export_onnx.h"
#include "train/program.h"

static int shape(const void *opts, const leat_shape *in, int32_t n, leat_shape *out,
                 leat_error *err)
{
    (void)n;
    return leat_pool_shape(opts, in, "max_pool", out, err);
}

static int forward(leat_program *p, int32_t i)
{
    const leat_model_layer *l = &p->model->layers[i];
    leat_sliding s;
    (void)leat_pool_sliding(l->options, &l->in, "max_pool", &s, NULL);
    return leat_pool_forward(p, i, LEAT_PRIM_MAX_POOL, &s);
}

static int backward(leat_program *p, int32_t i)
{
    const leat_model_layer *l = &p->model->layers[i];
    leat_sliding s;
    (void)leat_pool_sliding(l->options, &l->in, "max_pool", &s, NULL);
    return leat_pool_backward(p, i, LEAT_PRIM_MAX_POOL_GRAD, &s);
}

static void export_onnx(leat_export_onnx *e, int32_t i, const char *const *in, const char *out)
{
    leat_pool_export_onnx(e, i, "MaxPool", in, out);
}

const leat_layer leat_layer_max_pool = {
    .kind = { "max_pool", "the largest value of each window", leat_pool_table },
    .options_size = sizeof(leat_pool_options),
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .export_onnx = export_onnx,
};
