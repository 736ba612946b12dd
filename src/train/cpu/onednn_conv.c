/* SPDX-License-Identifier: MIT
 *
 * onednn_conv.c: oneDNN's convolutions, and copies between layouts. See onednn.h. */
#include "onednn_impl.h"

/* --- convolution ----------------------------------------------------------------------------- */

static void set_window(const leat_sliding *w, leat_dn_conv_descs *d)
{
    for (int i = 0; i < 2; i++) {
        d->stride[i] = w->stride[i];
        d->dilation[i] = w->dilation[i] - 1;
        d->low[i] = w->pad_low[i];
        /* oneDNN's padding may be negative where the window does not reach the edge */
        d->high[i] = (w->out[i] - 1) * w->stride[i] + (w->size[i] - 1) * w->dilation[i] + 1 -
                     w->in[i] - w->pad_low[i];
    }
}

/* oneDNN's AVX2 code for windows of 1 x 1 with a stride first gathers the pixels that it reads, in whole vectors: with
 * other numbers of channels it writes behind its scratch memory (seen in 2.6.3 with 1 and 3 channels, stride 2). */
static bool gathers_too_much(const leat_dn_conv_spec *s)
{
    const leat_sliding *w = &s->window;
    return w->size[0] == 1 && w->size[1] == 1 && (w->stride[0] > 1 || w->stride[1] > 1) &&
           s->in_channels % 16;
}

/* In any layout, or in the one that the spec gives. */
static dnnl_status_t describe_weights(const leat_dn_conv_spec *s, dnnl_data_type_t type,
                                      const leat_dn_layout *layout, leat_dn_desc *out)
{
    const int one = s->groups == 1;
    const dnnl_dims_t dims = { s->groups, s->out_channels / s->groups, s->in_channels / s->groups,
                               s->window.size[0], s->window.size[1] };
    return layout ? leat_dn_desc_copy(out, layout->md)
                  : leat_dn_desc_by_tag(out, 5 - one, dims + one, type, dnnl_format_tag_any);
}

static void free_descs(leat_dn_conv_descs *d)
{
    leat_dn_desc_free(d->src);
    leat_dn_desc_free(d->weights);
    leat_dn_desc_free(d->bias);
    leat_dn_desc_free(d->dst);
}

/* All but the weights. */
static dnnl_status_t describe(const leat_dn_conv_spec *s, leat_dn_conv_descs *d)
{
    const leat_sliding *w = &s->window;
    const dnnl_data_type_t type = s->bf16 ? dnnl_bf16 : dnnl_f32;
    const dnnl_dims_t src = { s->rows, s->in_channels, w->in[0], w->in[1] };
    const dnnl_dims_t dst = { s->rows, s->out_channels, w->out[0], w->out[1] };
    const dnnl_dims_t bias = { s->out_channels };
    set_window(w, d);
    d->not_1x1 = gathers_too_much(s);
    dnnl_status_t status = leat_dn_desc_by_tag(&d->src, 4, src, type, dnnl_nhwc);
    if (status == dnnl_success)
        status = leat_dn_desc_by_tag(&d->dst, 4, dst, type, dnnl_nhwc);
    if (status == dnnl_success && s->bias)
        status = leat_dn_desc_by_tag(&d->bias, 1, bias, dnnl_f32, dnnl_a);
    return status;
}

/* The backward passes want a forward primitive's descriptor as a hint, with weights of the images' type in any
 * layout. */
static dnnl_status_t make_hint(leat_dn *dn, const leat_dn_conv_spec *s, leat_dn_conv_descs *d,
                               const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out)
{
    dnnl_status_t status = describe_weights(s, s->bf16 ? dnnl_bf16 : dnnl_f32, NULL, &d->weights);
    if (status == dnnl_success)
        status = leat_dn_conv_desc(out, dn->engine, LEAT_DN_FORWARD, dnnl_forward_training, d, NULL,
                                   attr);
    leat_dn_desc_free(d->weights);
    d->weights = NULL;
    return status;
}

static dnnl_status_t make_desc(leat_dn *dn, const leat_dn_conv_spec *s,
                               const_dnnl_primitive_attr_t attr, dnnl_primitive_desc_t *out)
{
    const bool half = s->bf16 && s->pass != LEAT_DN_GRAD_WEIGHTS;
    leat_dn_conv_descs d = { 0 };
    dnnl_primitive_desc_t hint = NULL;
    dnnl_status_t status = describe(s, &d);
    if (status == dnnl_success && s->pass != LEAT_DN_FORWARD)
        status = make_hint(dn, s, &d, attr, &hint);
    if (status == dnnl_success)
        status = describe_weights(s, half ? dnnl_bf16 : dnnl_f32, s->weights, &d.weights);
    if (status == dnnl_success)
        status =
            leat_dn_conv_desc(out, dn->engine, s->pass, dnnl_forward_inference, &d, hint, attr);
    if (hint)
        leat_onednn.primitive_desc_destroy(hint);
    free_descs(&d);
    return status;
}

static const int conv_args[3][LEAT_DN_MAX_ARGS] = {
    { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD },
    { DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DIFF_DST, DNNL_ARG_SCRATCHPAD },
    { DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS, DNNL_ARG_DIFF_DST,
      DNNL_ARG_SCRATCHPAD },
};

/* A convolution that is being made. */
typedef struct conv_making {
    const leat_dn_conv_spec *spec;
    const leat_dn_layout *weights;
} conv_making;

static dnnl_status_t describe_conv(leat_dn *dn, void *arg, const_dnnl_primitive_attr_t attr,
                                   dnnl_primitive_desc_t *out)
{
    conv_making *const conv = arg;
    const int weights = conv_args[conv->spec->pass][1];
    const dnnl_status_t status = make_desc(dn, conv->spec, attr, out);
    if (status != dnnl_success)
        return status;
    conv->weights = leat_dn_intern(
        dn, leat_onednn.primitive_desc_query_md(*out, dnnl_query_exec_arg_md, weights));
    return conv->weights ? dnnl_success : dnnl_out_of_memory;
}

int leat_dn_conv_open(leat_dn *dn, const leat_dn_conv_spec *spec, leat_dn_primitive **out,
                      leat_error *err)
{
    static const char *const passes[] = { "convolution", "convolution, gradient of data",
                                          "convolution, gradient of weights" };
    conv_making conv = { .spec = spec };
    const leat_dn_making how = { .what = passes[spec->pass],
                                 .numbers = conv_args[spec->pass],
                                 .n_numbers = LEAT_DN_MAX_ARGS,
                                 .relu = spec->relu && spec->pass == LEAT_DN_FORWARD,
                                 .describe = describe_conv,
                                 .arg = &conv };
    const int rc = leat_dn_primitive_open(dn, &how, out, err);
    if (rc == LEAT_OK)
        (*out)->weights = conv.weights;
    return rc;
}

const leat_dn_layout *leat_dn_conv_weights(const leat_dn_primitive *conv)
{
    return conv->weights;
}

int leat_dn_conv_run(leat_dn_primitive *conv, int32_t thread, const leat_dn_conv_args *a,
                     leat_error *err)
{
    void *const data[LEAT_DN_MAX_ARGS] = { a->src, a->weights, a->bias, a->dst, a->scratch };
    return leat_dn_primitive_run(conv, thread, data, err);
}

/* --- copies ---------------------------------------------------------------------------------- */

static dnnl_status_t describe_copy(leat_dn *dn, void *arg, const_dnnl_primitive_attr_t attr,
                                   dnnl_primitive_desc_t *out)
{
    const leat_dn_layout *const *const layouts = arg;
    return leat_onednn.reorder_primitive_desc_create(out, layouts[0]->md, dn->engine,
                                                     layouts[1]->md, dn->engine, attr);
}

int leat_dn_copy_open(leat_dn *dn, const leat_dn_layout *from, const leat_dn_layout *to,
                      leat_dn_primitive **out, leat_error *err)
{
    static const int numbers[] = { DNNL_ARG_FROM, DNNL_ARG_TO, DNNL_ARG_SCRATCHPAD };
    const leat_dn_layout *layouts[] = { from, to };
    return leat_dn_primitive_open(dn,
                                  &(leat_dn_making){ .what = "copy of weights",
                                                     .numbers = numbers,
                                                     .n_numbers = sizeof numbers / sizeof *numbers,
                                                     .describe = describe_copy,
                                                     .arg = layouts },
                                  out, err);
}

int leat_dn_copy_run(leat_dn_primitive *copy, int32_t thread, const void *from, void *to,
                     void *scratch, leat_error *err)
{
    void *const data[] = { (void *)(uintptr_t)from, to, scratch };
    return leat_dn_primitive_run(copy, thread, data, err);
}
