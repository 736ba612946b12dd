/* SPDX-License-Identifier: MIT
 *
 * nn_cpu_layers.c: the row of each layer, and helpers that the rows share. nn_cpu_plan.c calls the rows. */
#include "base/check.h"
#include "nn_cpu.h"

const leat_model_layer *leat_cpu_spec(const leat_cpu_plan *plan, int32_t i)
{
    return &plan->lane->net->model->layers[i];
}

leat_onednn_window leat_cpu_window(const leat_cpu_plan *plan, const leat_sliding *s,
                                   int64_t in_channels, int64_t out_channels)
{
    return (leat_onednn_window){
        .rows = plan->rows,
        .in_channels = in_channels,
        .out_channels = out_channels,
        .in = { s->in[0], s->in[1] },
        .out = { s->out[0], s->out[1] },
        .size = { s->size[0], s->size[1] },
        .stride = { s->stride[0], s->stride[1] },
        .pad_low = { s->pad_low[0], s->pad_low[1] },
        .pad_high = { s->pad_high[0], s->pad_high[1] },
    };
}

/* True if the next layer is a relu that this layer's primitive can compute. */
bool leat_cpu_relu_follows(const leat_cpu_plan *plan, int32_t i)
{
    return i + 1 < plan->lane->net->model->n_layers &&
           leat_cpu_spec(plan, i + 1)->layer == &leat_layer_relu;
}

/* plan->at as float32, in the order it lies in. */
int leat_cpu_want_floats(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    const int rc =
        plan->at.bytes
            ? leat_cpu_want(plan, &plan->forward, &plan->at,
                            leat_cpu_plain(plan, &leat_cpu_spec(plan, i)->in, LEAT_F32), NULL, err)
            : LEAT_OK;
    plan->layers[i].in = plan->at;
    return rc;
}

/* plan->grad in a layout, in the other gradient buffer where it has to move. */
int leat_cpu_want_grad(leat_cpu_plan *plan, const leat_onednn_layout *layout, leat_error *err)
{
    if (leat_onednn_layout_same(plan->grad.layout, layout))
        return LEAT_OK;
    if (!layout)
        return leat_cpu_no_memory(err, 0);
    leat_cpu_memory *to =
        leat_cpu_memory_grad(plan, plan->grad.memory, leat_onednn_layout_bytes(layout));
    return leat_cpu_want(plan, &plan->backward, &plan->grad, layout, to, err);
}

/* New memory for what a primitive writes into `arg`. */
int leat_cpu_new_output(leat_cpu_plan *plan, leat_onednn_prim *prim, leat_onednn_arg arg,
                        leat_cpu_tensor *out, leat_error *err)
{
    *out = (leat_cpu_tensor){ .layout = leat_onednn_wants(prim, arg) };
    if (!out->layout)
        return leat_fail(err, LEAT_E_INTERNAL, "oneDNN: a primitive has no output");
    out->memory = leat_cpu_memory_next(plan, leat_onednn_layout_bytes(out->layout));
    return leat_cpu_bind(plan, prim, arg, out->memory, err);
}

/* The gradient of the layer's input goes into the other buffer. */
int leat_cpu_new_grad(leat_cpu_plan *plan, leat_onednn_prim *prim, leat_error *err)
{
    const leat_onednn_layout *layout = leat_onednn_wants(prim, LEAT_DN_DIFF_SRC);
    leat_cpu_memory *to =
        leat_cpu_memory_grad(plan, plan->grad.memory, leat_onednn_layout_bytes(layout));
    plan->grad = (leat_cpu_tensor){ .layout = layout, .memory = to };
    return leat_cpu_bind(plan, prim, LEAT_DN_DIFF_SRC, to, err);
}

/* --- the rows --------------------------------------------------------------------------------- */

#define ROW(kind, actions)                                                                         \
    .layer = &leat_layer_##kind, .forward = leat_cpu_##actions##_forward,                          \
    .backward = leat_cpu_##actions##_backward

static const leat_cpu_layer rows[] = {
    { ROW(dense, dense) },
    { ROW(conv2d, conv) },
    { ROW(relu, eltwise), .eltwise = LEAT_DN_RELU },
    { ROW(sigmoid, eltwise), .eltwise = LEAT_DN_SIGMOID },
    { ROW(max_pool, pool), .pooling = LEAT_DN_POOL_MAX },
    { ROW(avg_pool, pool), .pooling = LEAT_DN_POOL_MEAN },
    { ROW(global_avg_pool, global_pool), .pooling = LEAT_DN_POOL_MEAN },
    { ROW(flatten, flatten) },
    { ROW(dropout, dropout) },
    { ROW(batch_norm, norm) },
};

const leat_cpu_layer *leat_cpu_layer_for(const leat_layer *layer)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].layer == layer)
            return &rows[i];
    return NULL;
}

const leat_cpu_layer *leat_cpu_row(const leat_cpu_plan *plan, int32_t i)
{
    const leat_cpu_layer *const row = leat_cpu_layer_for(leat_cpu_spec(plan, i)->layer);
    leat_check(row); /* a plan has no layer without a row */
    return row;
}
