/* SPDX-License-Identifier: MIT
 *
 * avg_pool: the mean of each window, per channel; pixels outside the image do not count. */
#include "train/export_onnx.h"
#include "train/program.h"

const leat_option leat_pool_table[] = {
    LEAT_OPTION_I64S(leat_pool_options, size, "2", 1, 255, "window, [height, width] in px"),
    LEAT_OPTION_I64S(leat_pool_options, stride, "[]", 1, 1024,
                     "step, [height, width] in px; empty: the window's size"),
    LEAT_OPTION_I64_OR(
        leat_pool_options, padding, "valid", 0, 255, leat_padding_words,
        "how far windows reach over the edge; valid: not at all; same: so far that every pixel "
        "is used; a number: px on every side"),
    LEAT_LAYER_COMMON(leat_pool_options), LEAT_OPTION_END
};

int leat_pool_sliding(const leat_pool_options *o, const leat_shape *in, const char *what,
                      leat_sliding *out, leat_error *err)
{
    return leat_sliding_make(in, &o->size, &o->stride, NULL, o->padding, what, out, err);
}

int leat_pool_shape(const leat_pool_options *o, const leat_shape *in, const char *what,
                    leat_shape *out, leat_error *err)
{
    leat_sliding s;
    const int rc = leat_pool_sliding(o, in, what, &s, err);
    if (rc == LEAT_OK)
        *out = leat_shape_make(LEAT_F32, 3, (int64_t[]){ s.out[0], s.out[1], in->dims[2] });
    return rc;
}

/* max_pool also writes the place of each maximum. */
void leat_pool_slide(leat_program *p, int32_t i, leat_prim prim, const leat_sliding *window)
{
    leat_prim_op *op = leat_program_forward_op(p, prim, i);
    op->window = *window;
    if (prim == LEAT_PRIM_MAX_POOL)
        op->out[1] = leat_program_tensor_typed(p, &p->model->layers[i].out, LEAT_PRIM_U16);
}

void leat_pool_slide_back(leat_program *p, int32_t i, leat_prim prim, const leat_sliding *window)
{
    const int32_t dx = leat_program_tensor_new(p, &p->model->layers[i].in);
    const int32_t places =
        prim == LEAT_PRIM_MAX_POOL_GRAD ? leat_program_out(p, i) + 1 : -1; /* see forward */
    leat_prim_op *op = leat_program_op(p, prim, i, leat_program_grad(p, i), places, -1, dx);
    op->window = *window;
    leat_program_give(p, i, 0, dx);
}

static bool is_max(const leat_model_layer *l)
{
    return l->layer == &leat_layer_max_pool;
}

void leat_pool_forward(leat_program *p, int32_t i)
{
    const leat_model_layer *l = &p->model->layers[i];
    leat_sliding s;
    (void)leat_pool_sliding(l->options, &l->in, l->layer->kind.name, &s, NULL);
    leat_pool_slide(p, i, is_max(l) ? LEAT_PRIM_MAX_POOL : LEAT_PRIM_AVG_POOL, &s);
}

void leat_pool_backward(leat_program *p, int32_t i)
{
    const leat_model_layer *l = &p->model->layers[i];
    leat_sliding s;
    (void)leat_pool_sliding(l->options, &l->in, l->layer->kind.name, &s, NULL);
    leat_pool_slide_back(p, i, is_max(l) ? LEAT_PRIM_MAX_POOL_GRAD : LEAT_PRIM_AVG_POOL_GRAD, &s);
}

void leat_pool_export_onnx(leat_export_onnx *e, int32_t i, const char *const *in, const char *out)
{
    const leat_model_layer *l = leat_export_onnx_layer(e, i);
    leat_sliding s;
    if (leat_pool_sliding(l->options, &l->in, l->layer->kind.name, &s, NULL) < 0)
        return;
    const int64_t pads[] = { s.pad_low[0], s.pad_low[1], s.pad_high[0], s.pad_high[1] };
    const leat_onnx_attribute attributes[] = { LEAT_ONNX_IS("kernel_shape", s.size, 2),
                                               LEAT_ONNX_IS("pads", pads, 4),
                                               LEAT_ONNX_IS("strides", s.stride, 2) };
    leat_export_onnx_node(e, is_max(l) ? "MaxPool" : "AveragePool", in, out, attributes, 3);
}

static int shape(const void *opts, const leat_shape *in, int32_t n, leat_shape *out,
                 leat_error *err)
{
    (void)n;
    return leat_pool_shape(opts, in, "avg_pool", out, err);
}

const leat_layer leat_layer_avg_pool = {
    .kind = { "avg_pool", "the mean of each window; pixels of the padding do not count",
              leat_pool_table },
    .options_size = sizeof(leat_pool_options),
    .shape = shape,
    .forward = leat_pool_forward,
    .backward = leat_pool_backward,
    .export_onnx = leat_pool_export_onnx,
};
