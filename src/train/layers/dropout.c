/* SPDX-License-Identifier: MIT
 *
 * dropout: in training, makes each value 0 with probability `rate` and divides the others by
 * 1 - rate; in evaluation, nothing. */
#include "train/export_onnx.h"
#include "train/program.h"

static const leat_option options[] = { LEAT_OPTION_F32(leat_dropout_options, rate, "0.5", 0, 0.99,
                                                       "probability of setting a value to 0"),
                                       LEAT_LAYER_COMMON(leat_dropout_options), LEAT_OPTION_END };

static int32_t append(leat_program *p, int32_t i, int32_t from)
{
    const leat_dropout_options *o = p->model->layers[i].options;
    const int32_t to = leat_program_tensor_new(p, &p->model->layers[i].out);
    leat_program_op(p, LEAT_PRIM_DROPOUT, i, from, -1, -1, to)->alpha = o->rate;
    return to;
}

static void forward(leat_program *p, int32_t i)
{
    const int32_t x = leat_program_in(p, i, 0);
    leat_program_set_out(p, i, p->training ? append(p, i, x) : x);
}

static void backward(leat_program *p, int32_t i)
{
    leat_program_give(p, i, 0, append(p, i, leat_program_grad(p, i)));
}

static void export_onnx(leat_export_onnx *e, int32_t i, const char *const *in, const char *out)
{
    (void)i;
    leat_export_onnx_node1(e, "Identity", in[0], out);
}

const leat_layer leat_layer_dropout = {
    .kind = { "dropout", "set random values to 0 while training", options },
    .options_size = sizeof(leat_dropout_options),
    .shape = leat_layer_same_shape,
    .forward = forward,
    .backward = backward,
    .export_onnx = export_onnx,
};
