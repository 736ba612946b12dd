/* SPDX-License-Identifier: MIT
 *
 * batch_norm: (x - mean) / sqrt(variance + epsilon) * scale + shift, per channel. In training mean
 * and variance are those of the batch's rows (the variance divides by their number), and
 * running = momentum * running + (1 - momentum) * batch; evaluation uses the running ones. Where those are frozen,
 * training uses and keeps them, too. */
#include "train/export_onnx.h"
#include "train/program.h"

static const leat_option options[] = {
    LEAT_OPTION_F32(leat_batch_norm_options, momentum, "0.9", 0, 1,
                    "share of the running statistics kept at each step"),
    LEAT_OPTION_F32(leat_batch_norm_options, epsilon, "1e-5", 1e-12, 1, "added to the variance"),
    LEAT_OPTION_BOOL(leat_batch_norm_options, scale, "true",
                     "learn the scale; false: it stays at scale_initial"),
    LEAT_OPTION_BOOL(leat_batch_norm_options, shift, "true", "learn the shift; false: it stays 0"),
    LEAT_OPTION_F32(leat_batch_norm_options, scale_initial, "1", 0, 1,
                    "initial scale, 0 or 1; 0 in the last batch_norm of a residual block makes the "
                    "block begin as the identity"),
    LEAT_LAYER_COMMON(leat_batch_norm_options),
    LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, int32_t n, leat_shape *out,
                 leat_error *err)
{
    const leat_batch_norm_options *o = opts;
    if (o->scale_initial > 0 && o->scale_initial < 1)
        return leat_fail(err, LEAT_E_CONFIG, "batch_norm: scale_initial is 0 or 1, not %g",
                         (double)o->scale_initial);
    return leat_layer_same_shape(opts, in, n, out, err);
}

static int32_t params(const void *opts, const leat_shape *in, const leat_shape *out,
                      leat_param to[LEAT_LAYER_MAX_PARAMS])
{
    const leat_batch_norm_options *o = opts;
    const leat_shape channels = leat_shape_make(LEAT_F32, 1, &in->dims[in->rank - 1]);
    (void)out;
    to[0] = (leat_param){ .part = "scale",
                          .shape = channels,
                          .init = o->scale_initial > 0 ? LEAT_INIT_ONE : LEAT_INIT_ZERO,
                          .trained = o->scale,
                          .constant = !o->scale };
    to[1] = (leat_param){ .part = "shift",
                          .shape = channels,
                          .init = LEAT_INIT_ZERO,
                          .trained = o->shift,
                          .constant = !o->shift };
    to[2] = (leat_param){
        .part = "mean", .shape = channels, .init = LEAT_INIT_ZERO, .statistic = true
    };
    to[3] = (leat_param){
        .part = "variance", .shape = channels, .init = LEAT_INIT_ONE, .statistic = true
    };
    return 4;
}

/* Forward reads twice (statistics, then values) and writes once; backward reads input and gradient
 * twice and writes once. */
static void cost(const void *opts, const leat_shape *in, const leat_shape *out, int64_t rows,
                 leat_layer_cost *to)
{
    const double bytes = leat_layer_bytes(in, rows);
    (void)opts;
    (void)out;
    to->forward = (leat_cost){ 7 * bytes / 4, 3 * bytes };
    to->backward_data = (leat_cost){ 11 * bytes / 4, 5 * bytes };
}

static void forward(leat_program *p, int32_t i)
{
    const leat_model_layer *l = &p->model->layers[i];
    const bool fixed = !p->training || leat_layer_is_fixed(l);
    leat_prim_op *op = leat_program_forward_op(p, fixed ? LEAT_PRIM_NORM_FIXED : LEAT_PRIM_NORM, i);
    leat_program_fuse(p, i, op);
    if (!fixed)
        op->saved = leat_program_statistics_new(p, l->out.dims[l->out.rank - 1]);
}

/* Statistics that are kept are constants. */
static void backward_fixed(leat_program *p, int32_t i)
{
    const leat_model_layer *l = &p->model->layers[i];
    const int32_t dx = leat_program_wants(p, i, 0) ? leat_program_tensor_new(p, &l->in) : -1;
    const int32_t x = leat_program_learns(p, i) ? leat_program_in(p, i, 0) : -1;
    const int32_t saved = leat_program_statistics_new(p, l->in.dims[l->in.rank - 1]);
    leat_program_op(p, LEAT_PRIM_NORM_FIXED_GRAD, i, leat_program_grad(p, i), x, -1, dx)->saved =
        saved;
    if (dx >= 0)
        leat_program_give(p, i, 0, dx);
}

static void backward(leat_program *p, int32_t i)
{
    if (leat_layer_is_fixed(&p->model->layers[i])) {
        backward_fixed(p, i);
        return;
    }
    const leat_shape *in = &p->model->layers[i].in;
    const int32_t dx = leat_program_tensor_new(p, in);
    leat_prim_op *op = leat_program_op(p, LEAT_PRIM_NORM_GRAD, i, leat_program_grad(p, i),
                                       leat_program_in(p, i, 0), leat_program_out(p, i), dx);
    leat_program_fuse(p, i, op);
    op->saved = leat_program_statistics_of(p, i);
    leat_program_give(p, i, 0, dx);
}

static void export_onnx(leat_export_onnx *e, int32_t i, const char *const *in, const char *out)
{
    const leat_batch_norm_options *o = leat_export_onnx_layer(e, i)->options;
    const leat_onnx_attribute attributes[] = { LEAT_ONNX_F("epsilon", o->epsilon) };
    char names[4][LEAT_EXPORT_ONNX_NAME];
    for (int k = 0; k < 4; k++)
        leat_export_onnx_vector(e, i, k, names[k]);
    leat_export_onnx_node(
        e, "BatchNormalization",
        (const char *const[]){ in[0], names[0], names[1], names[2], names[3], NULL }, out,
        attributes, 1);
}

const leat_layer leat_layer_batch_norm = {
    .kind = { "batch_norm",
              "normalize each channel to mean 0 and variance 1, then apply a learned scale and "
              "shift",
              options },
    .options_size = sizeof(leat_batch_norm_options),
    .fuse = LEAT_FUSE_ALL,
    .normalizes = true,
    .shape = shape,
    .params = params,
    .cost = cost,
    .forward = forward,
    .backward = backward,
    .export_onnx = export_onnx,
};
