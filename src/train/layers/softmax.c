/* SPDX-License-Identifier: MIT
 *
 * softmax: exp(x) / sum of exp(x) over the channels. Losses that need it include it. */
#include "train/export_onnx.h"
#include "train/program.h"

static void forward(leat_program *p, int32_t i)
{
    leat_program_forward_op(p, LEAT_PRIM_SOFTMAX, i);
}

static void backward(leat_program *p, int32_t i)
{
    const int32_t dx = leat_program_tensor_new(p, &p->model->layers[i].in);
    leat_program_op(p, LEAT_PRIM_SOFTMAX_GRAD, i, leat_program_grad(p, i), leat_program_out(p, i),
                    -1, dx);
    leat_program_give(p, i, 0, dx);
}

static void export_onnx(leat_export_onnx *e, int32_t i, const char *const *in, const char *out)
{
    const leat_onnx_attribute axis[] = { LEAT_ONNX_I("axis", 1) };
    (void)i;
    leat_export_onnx_node(e, "Softmax", in, out, axis, 1);
}

const leat_layer leat_layer_softmax = {
    .kind = { "softmax", "shares of exp(x) over the channels (softmax_cross_entropy includes it)",
              leat_layer_no_options },
    .options_size = sizeof(leat_layer_common),
    .shape = leat_layer_same_shape,
    .forward = forward,
    .backward = backward,
    .export_onnx = export_onnx,
};
