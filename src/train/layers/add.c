/* SPDX-License-Identifier: MIT
 *
 * add: the sum of several inputs of one shape; with `from: [a, b]` a residual connection. */
#include "train/export_onnx.h"
#include "train/nn_text.h"
#include "train/program.h"

static int shape(const void *opts, const leat_shape *in, int32_t n, leat_shape *out,
                 leat_error *err)
{
    char a[96], b[96];
    (void)opts;
    if (n < 2)
        return leat_fail(err, LEAT_E_CONFIG, "add needs two inputs or more, such as from: [a, b]");
    for (int32_t i = 1; i < n; i++)
        if (!leat_shape_equal(&in[0], &in[i]))
            return leat_fail(err, LEAT_E_CONFIG, "add: its inputs have different shapes: %s and %s",
                             leat_nn_dims_text(&in[0], a, sizeof a),
                             leat_nn_dims_text(&in[i], b, sizeof b));
    *out = in[0];
    return LEAT_OK;
}

static void forward(leat_program *p, int32_t i)
{
    const leat_model_layer *l = &p->model->layers[i];
    int32_t sum = leat_program_in(p, i, 0);
    for (int32_t k = 1; k < l->n_inputs; k++) {
        const int32_t y = leat_program_tensor_new(p, &l->out);
        leat_prim_op *op =
            leat_program_op(p, LEAT_PRIM_SUM, i, sum, leat_program_in(p, i, k), -1, y);
        if (k + 1 == l->n_inputs)
            leat_program_fuse(p, i, op);
        sum = y;
    }
    leat_program_set_out(p, i, sum);
}

static void backward(leat_program *p, int32_t i)
{
    for (int32_t k = 0; k < p->model->layers[i].n_inputs; k++)
        leat_program_give(p, i, k, leat_program_grad(p, i));
}

static void export_onnx(leat_export_onnx *e, int32_t i, const char *const *in, const char *out)
{
    (void)i;
    leat_export_onnx_node(e, "Sum", in, out, NULL, 0);
}

const leat_layer leat_layer_add = {
    .kind = { "add", "the sum of several inputs (residual connections)", leat_layer_no_options },
    .options_size = sizeof(leat_layer_common),
    .merges = true,
    .fuse = LEAT_FUSE_RELU,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .export_onnx = export_onnx,
};
