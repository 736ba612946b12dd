/* SPDX-License-Identifier: MIT
 *
 * multiply: multiplies by a constant. */
#include "train/export_onnx.h"
#include "train/program.h"

static const leat_option options[] = { LEAT_OPTION_F32(leat_multiply_options, factor, NULL, -1e6,
                                                       1e6, "constant to multiply by"),
                                       LEAT_LAYER_COMMON(leat_multiply_options), LEAT_OPTION_END };

static int32_t append(leat_program *p, int32_t i, int32_t from)
{
    const leat_multiply_options *o = p->model->layers[i].options;
    const int32_t to = leat_program_tensor_new(p, &p->model->layers[i].out);
    leat_program_op(p, LEAT_PRIM_SCALE, i, from, -1, -1, to)->alpha = o->factor;
    return to;
}

static void forward(leat_program *p, int32_t i)
{
    leat_program_set_out(p, i, append(p, i, leat_program_in(p, i, 0)));
}

static void backward(leat_program *p, int32_t i)
{
    leat_program_give(p, i, 0, append(p, i, leat_program_grad(p, i)));
}

static void export_onnx(leat_export_onnx *e, int32_t i, const char *const *in, const char *out)
{
    char factor[LEAT_EXPORT_ONNX_NAME];
    snprintf(factor, sizeof factor, "%s.factor", leat_export_onnx_layer(e, i)->name);
    leat_export_onnx_scalar(
        e, factor, ((const leat_multiply_options *)leat_export_onnx_layer(e, i)->options)->factor);
    leat_export_onnx_node(e, "Mul", (const char *const[]){ in[0], factor, NULL }, out, NULL, 0);
}

const leat_layer leat_layer_multiply = {
    .kind = { "multiply", "multiply by a constant", options },
    .options_size = sizeof(leat_multiply_options),
    .shape = leat_layer_same_shape,
    .forward = forward,
    .backward = backward,
    .export_onnx = export_onnx,
};
