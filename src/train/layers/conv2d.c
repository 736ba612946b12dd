/* SPDX-License-Identifier: MIT
 *
 * conv2d: slides `filters` learned windows over an image (cross-correlation, as everywhere). With groups,
 * each group of filters reads its own part of the channels; groups = channels is a depthwise convolution. */
#include "train/export_onnx.h"
#include "train/program.h"

static const leat_option options[] = {
    LEAT_OPTION_I64(leat_conv2d_options, filters, NULL, 1, 1 << 20, "channels of the output"),
    LEAT_OPTION_I64S(leat_conv2d_options, kernel, "3", 1, 1024, "window, [height, width] in px"),
    LEAT_OPTION_I64S(leat_conv2d_options, stride, "1", 1, 1024, "step, [height, width] in px"),
    LEAT_OPTION_I64_OR(leat_conv2d_options, padding, "valid", 0, 1024, leat_padding_words,
                       "zeros around the image; valid: none; same: the output size is the input "
                       "size / stride; a number: px on every side"),
    LEAT_OPTION_I64S(leat_conv2d_options, dilation, "1", 1, 1024,
                     "distance between taps of the window, [height, width] in px"),
    LEAT_OPTION_I64(leat_conv2d_options, groups, "1", 1, 1 << 20,
                    "parts of the channels that are convolved separately"),
    LEAT_OPTION_BOOL(leat_conv2d_options, bias, "true",
                     "add a learned number per channel; not needed before batch_norm"),
    LEAT_OPTION_ENUM(leat_conv2d_options, init, "auto", leat_init_names,
                     "initial weights; auto: he before an activation of the relu family, else "
                     "glorot; dirac: pass the first channels on; whiten: decorrelate patches of "
                     "the first training batch"),
    LEAT_OPTION_BOOL(leat_conv2d_options, frozen, "false",
                     "keep the weight (not the bias) as it is"),
    LEAT_LAYER_COMMON(leat_conv2d_options),
    LEAT_OPTION_END
};

int leat_conv2d_sliding(const leat_conv2d_options *o, const leat_shape *in, leat_sliding *out,
                        leat_error *err)
{
    return leat_sliding_make(in, &o->kernel, &o->stride, &o->dilation, o->padding, "conv2d", out,
                             err);
}

static int check_groups(const leat_conv2d_options *o, const leat_shape *in, leat_error *err)
{
    if (in->dims[2] % o->groups == 0 && o->filters % o->groups == 0)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_CONFIG,
                     "conv2d: %lld groups do not divide %lld input channels and %lld filters",
                     (long long)o->groups, (long long)in->dims[2], (long long)o->filters);
}

static int check_init(const leat_conv2d_options *o, const leat_sliding *s, const leat_shape *in,
                      leat_error *err)
{
    const int64_t directions = s->size[0] * s->size[1] * in->dims[2];
    if (o->init + LEAT_INIT_AUTO != LEAT_INIT_WHITEN)
        return LEAT_OK;
    if (o->groups == 1 && o->filters <= 2 * directions)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_CONFIG,
                     "conv2d: init: whiten needs groups: 1 and at most %lld filters (two for each "
                     "of the %lld values of a window)",
                     (long long)(2 * directions), (long long)directions);
}

static int shape(const void *opts, const leat_shape *in, int32_t n, leat_shape *out,
                 leat_error *err)
{
    const leat_conv2d_options *o = opts;
    leat_sliding s;
    int rc = leat_conv2d_sliding(o, in, &s, err);
    (void)n;
    if (rc < 0 || (rc = check_groups(o, in, err)) < 0 || (rc = check_init(o, &s, in, err)) < 0)
        return rc;
    *out = leat_shape_make(LEAT_F32, 3, (int64_t[]){ s.out[0], s.out[1], o->filters });
    return rc;
}

static int32_t params(const void *opts, const leat_shape *in, const leat_shape *out,
                      leat_param to[LEAT_LAYER_MAX_PARAMS])
{
    const leat_conv2d_options *o = opts;
    leat_sliding s;
    (void)out;
    if (leat_conv2d_sliding(o, in, &s, NULL) < 0)
        return 0;
    const int64_t dims[4] = { s.size[0], s.size[1], in->dims[2] / o->groups, o->filters };
    const int64_t window = dims[0] * dims[1];
    to[0] = (leat_param){ .part = "weight",
                          .shape = leat_shape_make(LEAT_F32, 4, dims),
                          .init = (leat_init)(o->init + LEAT_INIT_AUTO),
                          .fan_in = window * dims[2],
                          .fan_out = window * dims[3] / o->groups,
                          .trained = true,
                          .frozen = o->frozen };
    to[1] = (leat_param){ .part = "bias",
                          .shape = leat_shape_make(LEAT_F32, 1, &o->filters),
                          .trained = true };
    return o->bias ? 2 : 1;
}

static void cost(const void *opts, const leat_shape *in, const leat_shape *out, int64_t rows,
                 leat_layer_cost *to)
{
    const leat_conv2d_options *o = opts;
    leat_sliding s;
    if (leat_conv2d_sliding(o, in, &s, NULL) < 0)
        return;
    const double weights =
        (double)(s.size[0] * s.size[1] * in->dims[2] / o->groups) * (double)o->filters;
    const double flops = 2.0 * (double)rows * (double)(s.out[0] * s.out[1]) * weights;
    const double bytes = 4 * weights + leat_layer_bytes(in, rows) + leat_layer_bytes(out, rows);
    to->forward = to->backward_data = to->backward_weights = (leat_cost){ flops, bytes };
}

static void set_window(const leat_program *p, int32_t i, leat_prim_op *op)
{
    const leat_model_layer *l = &p->model->layers[i];
    (void)leat_conv2d_sliding(l->options, &l->in, &op->window, NULL);
}

static void forward(leat_program *p, int32_t i)
{
    leat_prim_op *op = leat_program_forward_op(p, LEAT_PRIM_CONV, i);
    set_window(p, i, op);
    leat_program_fuse(p, i, op);
}

static void backward(leat_program *p, int32_t i)
{
    const leat_model_layer *l = &p->model->layers[i];
    const int32_t x = leat_program_in(p, i, 0), dy = leat_program_grad(p, i);
    if (leat_program_learns(p, i))
        set_window(p, i, leat_program_op(p, LEAT_PRIM_CONV_GRAD_WEIGHTS, i, dy, x, -1, -1));
    if (leat_program_wants(p, i, 0)) {
        const int32_t dx = leat_program_tensor_new(p, &l->in);
        set_window(p, i, leat_program_op(p, LEAT_PRIM_CONV_GRAD_DATA, i, dy, -1, -1, dx));
        leat_program_give(p, i, 0, dx);
    }
}

static void export_onnx(leat_export_onnx *e, int32_t i, const char *const *in, const char *out)
{
    const leat_model_layer *l = leat_export_onnx_layer(e, i);
    const leat_conv2d_options *o = l->options;
    char weight[LEAT_EXPORT_ONNX_NAME], bias[LEAT_EXPORT_ONNX_NAME] = "";
    leat_sliding s;
    if (leat_conv2d_sliding(o, &l->in, &s, NULL) < 0)
        return;
    const int64_t pads[] = { s.pad_low[0], s.pad_low[1], s.pad_high[0], s.pad_high[1] };
    const leat_onnx_attribute attributes[] = { LEAT_ONNX_IS("dilations", s.dilation, 2),
                                               LEAT_ONNX_I("group", o->groups),
                                               LEAT_ONNX_IS("kernel_shape", s.size, 2),
                                               LEAT_ONNX_IS("pads", pads, 4),
                                               LEAT_ONNX_IS("strides", s.stride, 2) };
    leat_export_onnx_conv_weight(e, i, 0, weight);
    if (l->n_params > 1)
        leat_export_onnx_vector(e, i, 1, bias);
    leat_export_onnx_node(e, "Conv",
                          (const char *const[]){ in[0], weight, *bias ? bias : NULL, NULL }, out,
                          attributes, 5);
}

const leat_layer leat_layer_conv2d = {
    .kind = { "conv2d", "convolution over an image", options },
    .options_size = sizeof(leat_conv2d_options),
    .fuse = LEAT_FUSE_RELU,
    .shape = shape,
    .params = params,
    .cost = cost,
    .forward = forward,
    .backward = backward,
    .export_onnx = export_onnx,
};
