/* SPDX-License-Identifier: MIT
 *
 * program.c: makes a program from a model, and what layers append to it. See program.h. */
#include "program.h"

#include <stdlib.h>

#include "formats/grow.h"

size_t leat_prim_type_bytes(leat_prim_type type)
{
    static const size_t bytes[] = { 4, 2, 1, 2 };
    return bytes[type];
}

/* --- growing -------------------------------------------------------------------------------- */

/* Room for one more of `size` bytes. A failure is reported at the end, so that layers need not check each append: after it
 * ops go to p->spare, and new tensors are 0. */
static void *grow(leat_program *p, void *list, int32_t n, size_t size)
{
    void *grown = leat_grow(list, (size_t)n, size);
    p->failed |= !grown;
    return grown ? grown : list;
}

leat_prim_op *leat_program_op(leat_program *p, leat_prim prim, int32_t i, int32_t in0, int32_t in1,
                              int32_t in2, int32_t out0)
{
    p->ops = grow(p, p->ops, p->n_ops, sizeof *p->ops);
    leat_prim_op *op = p->failed ? &p->spare : &p->ops[p->n_ops++];
    *op = (leat_prim_op){ .prim = prim,
                          .layer = i,
                          .in = { in0, in1, in2 },
                          .out = { out0, -1 },
                          .saved = -1,
                          .norm = -1 };
    return op;
}

int32_t leat_program_tensor_typed(leat_program *p, const leat_shape *shape, leat_prim_type type)
{
    p->tensors = grow(p, p->tensors, p->n_tensors, sizeof *p->tensors);
    if (p->failed)
        return 0;
    p->tensors[p->n_tensors] = (leat_program_tensor){
        .shape = *shape, .type = type, .n = leat_shape_elements(shape), .first = -1, .last = -1
    };
    return p->n_tensors++;
}

static leat_prim_type type_of(const leat_program *p)
{
    return p->model->precision == LEAT_PRECISION_BF16 ? LEAT_PRIM_BF16 : LEAT_PRIM_F32;
}

int32_t leat_program_tensor_new(leat_program *p, const leat_shape *shape)
{
    return leat_program_tensor_typed(p, shape, type_of(p));
}

int32_t leat_program_statistics_new(leat_program *p, int64_t n_channels)
{
    p->saved = grow(p, p->saved, p->n_saved, sizeof *p->saved);
    if (p->failed)
        return 0;
    p->saved[p->n_saved] = n_channels;
    return p->n_saved++;
}

int32_t leat_program_statistics_of(const leat_program *p, int32_t i)
{
    for (int32_t k = 0; k < p->n_ops; k++)
        if (p->ops[k].layer == i && p->ops[k].saved >= 0)
            return p->ops[k].saved;
    return -1;
}

/* --- what layers ask ------------------------------------------------------------------------- */

int32_t leat_program_in(const leat_program *p, int32_t i, int32_t k)
{
    const int32_t from = p->model->layers[i].inputs[k];
    return p->out[from + 1];
}

int32_t leat_program_out(const leat_program *p, int32_t i)
{
    return p->out[i + 1];
}

void leat_program_set_out(leat_program *p, int32_t i, int32_t tensor)
{
    p->out[i + 1] = tensor;
}

leat_prim_op *leat_program_forward_op(leat_program *p, leat_prim prim, int32_t i)
{
    const int32_t y = leat_program_tensor_new(p, &p->model->layers[i].out);
    leat_program_set_out(p, i, y);
    return leat_program_op(p, prim, i, leat_program_in(p, i, 0), -1, -1, y);
}

void leat_program_fuse(const leat_program *p, int32_t i, leat_prim_op *op)
{
    for (int32_t k = i + 1; k < p->model->end; k++)
        if (p->fused[k] == i) {
            op->act = p->model->layers[k].layer->act;
            op->alpha = leat_layer_act_slope(&p->model->layers[k]);
        }
}

int32_t leat_program_grad(const leat_program *p, int32_t i)
{
    return p->grad[i];
}

bool leat_program_learns(const leat_program *p, int32_t i)
{
    const leat_model_layer *l = &p->model->layers[i];
    for (int32_t k = 0; k < l->n_params; k++)
        if (l->params[k].trained)
            return true;
    return false;
}

bool leat_program_wants(const leat_program *p, int32_t i, int32_t k)
{
    return leat_model_needs_gradient(p->model, p->model->layers[i].inputs[k]);
}

void leat_program_give(leat_program *p, int32_t i, int32_t k, int32_t tensor)
{
    const int32_t to = p->model->layers[i].inputs[k];
    if (to < 0 || !leat_model_needs_gradient(p->model, to))
        return;
    if (p->grad[to] >= 0) {
        const leat_shape shape = p->tensors[tensor].shape;
        const int32_t sum = leat_program_tensor_typed(p, &shape, p->tensors[tensor].type);
        leat_program_op(p, LEAT_PRIM_SUM, to, p->grad[to], tensor, -1, sum);
        tensor = sum;
    }
    p->grad[to] = tensor;
}

/* --- making ---------------------------------------------------------------------------------- */

/* The gradient of a batch_norm with fixed statistics leaves the activation's to an op of its own. */
static leat_fuse fuse_of(const leat_program *p, int32_t i)
{
    const leat_model_layer *l = &p->model->layers[i];
    return p->training && leat_layer_is_fixed(l) ? LEAT_FUSE_RELU : l->layer->fuse;
}

static bool can_fuse(const leat_program *p, int32_t i, const int32_t *readers)
{
    const leat_model *model = p->model;
    const leat_model_layer *l = &model->layers[i];
    const int32_t from = l->inputs[0];
    if (l->layer->act == LEAT_ACT_NONE || from < model->first || readers[from] != 1)
        return false;
    const leat_fuse fuse = fuse_of(p, from);
    return fuse == LEAT_FUSE_ALL || (fuse == LEAT_FUSE_RELU && l->layer->act == LEAT_ACT_relu);
}

static int find_fused(leat_program *p)
{
    const leat_model *model = p->model;
    int32_t *readers = calloc((size_t)model->n_layers, sizeof *readers);
    if (!readers)
        return LEAT_E_NOMEM;
    for (int32_t i = 0; i < model->n_layers; i++)
        for (int32_t k = 0; k < model->layers[i].n_inputs; k++)
            if (model->layers[i].inputs[k] >= 0)
                readers[model->layers[i].inputs[k]]++;
    for (int32_t i = model->first; i < model->end; i++)
        p->fused[i] = can_fuse(p, i, readers) ? model->layers[i].inputs[0] : -1;
    free(readers);
    return LEAT_OK;
}

static void make_input(leat_program *p)
{
    const leat_model *model = p->model;
    const leat_shape *in = &model->input;
    const leat_prim_type from = in->dtype == LEAT_U8 ? LEAT_PRIM_U8 : LEAT_PRIM_F32;
    const int32_t input = leat_program_tensor_typed(p, in, from);
    p->out[model->first] = input;
    if (from != type_of(p) || model->normalize.n) {
        p->out[model->first] = leat_program_tensor_new(p, in);
        leat_program_op(p, LEAT_PRIM_CONVERT, -1, input, -1, -1, p->out[model->first]);
    }
}

/* A tensor as float32; shape: its own. */
static int32_t as_floats(leat_program *p, int32_t tensor, const leat_shape *shape)
{
    if (p->failed || p->tensors[tensor].type == LEAT_PRIM_F32)
        return tensor;
    const int32_t floats = leat_program_tensor_typed(p, shape, LEAT_PRIM_F32);
    leat_program_op(p, LEAT_PRIM_CONVERT, -1, tensor, -1, -1, floats);
    return floats;
}

static void make_forward(leat_program *p)
{
    const leat_model *model = p->model;
    make_input(p);
    for (int32_t i = model->first; i < model->end && !p->failed; i++) {
        if (p->fused[i] >= 0)
            leat_program_set_out(p, i, leat_program_out(p, p->fused[i]));
        else
            model->layers[i].layer->forward(p, i);
    }
    p->logits =
        as_floats(p, leat_program_out(p, model->end - 1), &model->layers[model->end - 1].out);
}

static void make_backward(leat_program *p)
{
    const leat_model *model = p->model;
    const int32_t last = model->end - 1;
    const leat_shape *shape = &model->layers[last].out;
    if (!leat_model_ends(model) && !model->layers[last].learns)
        return;
    int32_t grad = leat_program_tensor_typed(p, shape, LEAT_PRIM_F32);
    leat_program_op(p, LEAT_PRIM_LOSS, -1, p->logits, -1, -1, grad);
    if (type_of(p) != LEAT_PRIM_F32) {
        const int32_t converted = leat_program_tensor_new(p, shape);
        leat_program_op(p, LEAT_PRIM_CONVERT, -1, grad, -1, -1, converted);
        grad = converted;
    }
    p->grad[last] = grad;
    for (int32_t i = last; i >= model->first && !p->failed; i--) {
        const leat_model_layer *l = &model->layers[i];
        if (p->grad[i] < 0 || (!leat_program_learns(p, i) && !leat_model_needs_gradient(model, i)))
            continue;
        if (p->fused[i] >= 0 && fuse_of(p, p->fused[i]) == LEAT_FUSE_ALL)
            leat_program_give(p, i, 0, p->grad[i]);
        else
            l->layer->backward(p, i);
    }
    const int32_t before = model->first - 1;
    if (before >= 0 && p->grad[before] >= 0)
        p->input_grad = as_floats(p, p->grad[before], &model->layers[before].out);
}

static int make(leat_program *p, leat_error *err)
{
    const size_t n = (size_t)p->model->n_layers;
    p->out = malloc((n + 1) * sizeof *p->out);
    p->grad = malloc(n * sizeof *p->grad);
    p->fused = malloc(n * sizeof *p->fused);
    if (!p->out || !p->grad || !p->fused || find_fused(p) < 0)
        p->failed = true;
    for (size_t i = 0; i < n && !p->failed; i++)
        p->grad[i] = p->out[i + 1] = -1;
    if (!p->failed)
        make_forward(p);
    p->n_forward = p->n_ops;
    if (!p->failed && p->training)
        make_backward(p);
    return p->failed
               ? leat_fail(err, LEAT_E_NOMEM, "training: no memory for a plan of %zu layers", n)
               : LEAT_OK;
}

int leat_program_open(const leat_model *model, bool training, leat_program **out, leat_error *err)
{
    leat_program *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p)
        return leat_fail(err, LEAT_E_NOMEM, "training: %zu bytes", sizeof *p);
    p->model = model;
    p->training = training;
    p->input_grad = -1;
    const int rc = make(p, err);
    if (rc < 0)
        leat_program_close(&p);
    *out = p;
    return rc;
}

void leat_program_close(leat_program **out)
{
    leat_program *p = *out;
    if (!p)
        return;
    free(p->ops);
    free(p->tensors);
    free(p->out);
    free(p->grad);
    free(p->fused);
    free(p->saved);
    free(p);
    *out = NULL;
}
