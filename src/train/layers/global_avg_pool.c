/* SPDX-License-Identifier: MIT
 *
 * global_avg_pool: the mean of each channel over the whole image; gives a vector. */
#include "train/export_onnx.h"
#include "train/nn_text.h"
#include "train/program.h"

static int shape(const void *opts, const leat_shape *in, int32_t n, leat_shape *out,
                 leat_error *err)
{
    (void)opts;
    (void)n;
    *out = leat_shape_make(LEAT_F32, 1, &in->dims[2]);
    return leat_nn_want_image(in, "global_avg_pool", err);
}

static void forward(leat_program *p, int32_t i)
{
    const leat_sliding s = leat_sliding_whole(&p->model->layers[i].in);
    leat_pool_slide(p, i, LEAT_PRIM_AVG_POOL, &s);
}

static void backward(leat_program *p, int32_t i)
{
    const leat_sliding s = leat_sliding_whole(&p->model->layers[i].in);
    leat_pool_slide_back(p, i, LEAT_PRIM_AVG_POOL_GRAD, &s);
}

static void export_onnx(leat_export_onnx *e, int32_t i, const char *const *in, const char *out)
{
    char pooled[LEAT_EXPORT_ONNX_NAME];
    snprintf(pooled, sizeof pooled, "%s.pooled", leat_export_onnx_layer(e, i)->name);
    leat_export_onnx_node1(e, "GlobalAveragePool", in[0], pooled);
    leat_export_onnx_node1(e, "Flatten", pooled, out);
}

const leat_layer leat_layer_global_avg_pool = {
    .kind = { "global_avg_pool", "the mean of each channel, as a vector", leat_layer_no_options },
    .options_size = sizeof(leat_layer_common),
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .export_onnx = export_onnx,
};
