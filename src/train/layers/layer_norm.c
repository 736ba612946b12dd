/* SPDX-License-Identifier: MIT
 *
 * layer_norm: each pixel (or the whole vector) over its channels: (x - mean) / sqrt(variance + epsilon) *
 * scale + shift; the same in training and evaluation. */
#include "train/export_onnx.h"
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

static float epsilon_of(const leat_program *p, int32_t i)
{
    return ((const leat_layer_norm_options *)p->model->layers[i].options)->epsilon;
}

static void forward(leat_program *p, int32_t i)
{
    leat_program_forward_op(p, LEAT_PRIM_LAYER_NORM, i)->epsilon = epsilon_of(p, i);
}

static void backward(leat_program *p, int32_t i)
{
    const int32_t dx = leat_program_tensor_new(p, &p->model->layers[i].in);
    leat_program_op(p, LEAT_PRIM_LAYER_NORM_GRAD, i, leat_program_grad(p, i),
                    leat_program_in(p, i, 0), leat_program_out(p, i), dx)
        ->epsilon = epsilon_of(p, i);
    leat_program_give(p, i, 0, dx);
}

/* Normalises each pixel over its channels: the last dim, in a layout with channels last. */
static void export_onnx(leat_export_onnx *e, int32_t i, const char *const *in, const char *out)
{
    const leat_model_layer *l = leat_export_onnx_layer(e, i);
    const leat_layer_norm_options *o = l->options;
    const leat_onnx_attribute attributes[] = { LEAT_ONNX_I("axis", -1),
                                               LEAT_ONNX_F("epsilon", o->epsilon) };
    char names[2][LEAT_EXPORT_ONNX_NAME], before[LEAT_EXPORT_ONNX_NAME],
        after[LEAT_EXPORT_ONNX_NAME];
    const bool image = l->in.rank == 3;
    for (int k = 0; k < 2; k++)
        leat_export_onnx_vector(e, i, k, names[k]);
    snprintf(before, sizeof before, "%s.nhwc_in", l->name);
    snprintf(after, sizeof after, "%s.nhwc_out", l->name);
    if (image)
        leat_export_onnx_transpose(e, in[0], before, true);
    leat_export_onnx_node(e, "LayerNormalization",
                          (const char *const[]){ image ? before : in[0], names[0], names[1], NULL },
                          image ? after : out, attributes, 2);
    if (image)
        leat_export_onnx_transpose(e, after, out, false);
}

const leat_layer leat_layer_layer_norm = {
    .kind = { "layer_norm", "normalize each pixel over its channels, then scale and shift",
              options },
    .options_size = sizeof(leat_layer_norm_options),
    .normalizes = true,
    .shape = leat_layer_same_shape,
    .params = params,
    .cost = cost,
    .forward = forward,
    .backward = backward,
    .export_onnx = export_onnx,
};
