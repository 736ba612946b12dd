/* SPDX-License-Identifier: MIT
 *
 * concat: the channels of several inputs side by side. */
#include "train/export_onnx.h"
#include "train/nn_text.h"
#include "train/program.h"

static int shape(const void *opts, const leat_shape *in, int32_t n, leat_shape *out,
                 leat_error *err)
{
    const int32_t last = in[0].rank - 1;
    char a[96], b[96];
    (void)opts;
    if (n < 2)
        return leat_fail(err, LEAT_E_CONFIG,
                         "concat needs two inputs or more, such as from: [a, b]");
    *out = in[0];
    for (int32_t i = 1; i < n; i++) {
        leat_shape same = in[i];
        if (same.rank == in[0].rank)
            same.dims[last] = in[0].dims[last];
        if (!leat_shape_equal(&in[0], &same))
            return leat_fail(err, LEAT_E_CONFIG,
                             "concat: its inputs differ in more than their channels: %s and %s",
                             leat_nn_dims_text(&in[0], a, sizeof a),
                             leat_nn_dims_text(&in[i], b, sizeof b));
        out->dims[last] += in[i].dims[last];
    }
    return LEAT_OK;
}

static int64_t channels_of(const leat_program *p, int32_t i, int32_t k)
{
    const int32_t from = p->model->layers[i].inputs[k];
    const leat_shape *of = from < 0 ? &p->model->input : &p->model->layers[from].out;
    /* what is no image is read as a vector */
    return of->rank == 3 ? of->dims[2] : leat_shape_elements(of);
}

static void append(leat_program *p, leat_prim prim, int32_t i, int32_t in, int32_t out,
                   int64_t channel, int64_t width)
{
    leat_prim_op *op = leat_program_op(p, prim, i, in, -1, -1, out);
    op->channel = (int32_t)channel;
    op->width = (int32_t)width;
}

static void forward(leat_program *p, int32_t i)
{
    const leat_model_layer *l = &p->model->layers[i];
    const int32_t y = leat_program_tensor_new(p, &l->out);
    int64_t channel = 0;
    for (int32_t k = 0; k < l->n_inputs; channel += channels_of(p, i, k++))
        append(p, LEAT_PRIM_JOIN, i, leat_program_in(p, i, k), y, channel, channels_of(p, i, k));
    leat_program_set_out(p, i, y);
}

static void backward(leat_program *p, int32_t i)
{
    const leat_model_layer *l = &p->model->layers[i];
    int64_t channel = 0;
    for (int32_t k = 0; k < l->n_inputs; channel += channels_of(p, i, k++)) {
        leat_shape part = l->out;
        if (!leat_program_wants(p, i, k))
            continue;
        part.dims[part.rank - 1] = channels_of(p, i, k);
        const int32_t dx = leat_program_tensor_new(p, &part);
        append(p, LEAT_PRIM_PART, i, leat_program_grad(p, i), dx, channel, channels_of(p, i, k));
        leat_program_give(p, i, k, dx);
    }
}

static void export_onnx(leat_export_onnx *e, int32_t i, const char *const *in, const char *out)
{
    const leat_onnx_attribute axis[] = { LEAT_ONNX_I("axis", 1) };
    (void)i;
    leat_export_onnx_node(e, "Concat", in, out, axis, 1);
}

const leat_layer leat_layer_concat = {
    .kind = { "concat", "the channels of several inputs side by side", leat_layer_no_options },
    .options_size = sizeof(leat_layer_common),
    .merges = true,
    .shape = shape,
    .forward = forward,
    .backward = backward,
    .export_onnx = export_onnx,
};
