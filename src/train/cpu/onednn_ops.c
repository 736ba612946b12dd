/* SPDX-License-Identifier: MIT
 *
 * onednn_ops.c: a constructor for each operation: its shapes and options as oneDNN describes them.
 *
 * DESIGN. Layouts that are not given are left open (`any`), and oneDNN chooses; the rest is the same for
 * all operations: leat_onednn_make(). */
#include <string.h>

#include "onednn_impl.h"

static dnnl_memory_desc_t any_layout(int rank, const int64_t *dims)
{
    dnnl_memory_desc_t md;
    memset(&md, 0, sizeof md);
    (void)dnnl_memory_desc_init_by_tag(&md, rank, dims, dnnl_f32, dnnl_format_tag_any);
    return md;
}

static dnnl_memory_desc_t plain(int64_t rows, int64_t n)
{
    dnnl_memory_desc_t md;
    memset(&md, 0, sizeof md);
    (void)dnnl_memory_desc_init_by_tag(&md, 2, (dnnl_dims_t){ rows, n }, dnnl_f32, dnnl_nc);
    return md;
}

static dnnl_memory_desc_t vector(int64_t n)
{
    dnnl_memory_desc_t md;
    memset(&md, 0, sizeof md);
    (void)dnnl_memory_desc_init_by_tag(&md, 1, (dnnl_dims_t){ n }, dnnl_f32, dnnl_x);
    return md;
}

static dnnl_memory_desc_t image(int64_t rows, int64_t channels, const int64_t size[2])
{
    return any_layout(4, (dnnl_dims_t){ rows, channels, size[0], size[1] });
}

/* The window's pairs as oneDNN's arrays. */
typedef struct window_dims {
    dnnl_dims_t size, stride, low, high;
} window_dims;

static window_dims dims_of(const leat_onednn_window *w)
{
    window_dims d = { 0 };
    for (int i = 0; i < 2; i++) {
        d.size[i] = w->size[i];
        d.stride[i] = w->stride[i];
        d.low[i] = w->pad_low[i];
        d.high[i] = w->pad_high[i];
    }
    return d;
}

static dnnl_prop_kind_t forward_kind(bool training)
{
    return training ? dnnl_forward_training : dnnl_forward_inference;
}

/* --- convolution ----------------------------------------------------------------------------- */

static dnnl_memory_desc_t conv_weights(const leat_onednn_window *w)
{
    return any_layout(4, (dnnl_dims_t){ w->out_channels, w->in_channels, w->size[0], w->size[1] });
}

int leat_onednn_conv(leat_onednn *dn, const leat_onednn_window *w, bool bias, bool relu,
                     bool training, const leat_onednn_layout *src,
                     const leat_onednn_layout *weights, leat_onednn_prim **out, leat_error *err)
{
    const window_dims d = dims_of(w);
    const dnnl_memory_desc_t from = src ? src->md : image(w->rows, w->in_channels, w->in);
    const dnnl_memory_desc_t by = weights ? weights->md : conv_weights(w);
    const dnnl_memory_desc_t plus = vector(w->out_channels);
    const dnnl_memory_desc_t to = image(w->rows, w->out_channels, w->out);
    dnnl_convolution_desc_t desc;
    const dnnl_status_t made = dnnl_convolution_forward_desc_init(
        &desc, forward_kind(training), dnnl_convolution_direct, &from, &by, bias ? &plus : NULL,
        &to, d.stride, d.low, d.high);
    return leat_onednn_make(dn, "convolution", made, &desc, relu, NULL, out, err);
}

int leat_onednn_conv_backward_data(leat_onednn *dn, const leat_onednn_window *w,
                                   const leat_onednn_prim *forward, leat_onednn_prim **out,
                                   leat_error *err)
{
    const window_dims d = dims_of(w);
    const dnnl_memory_desc_t from = image(w->rows, w->in_channels, w->in);
    const dnnl_memory_desc_t by = conv_weights(w);
    const dnnl_memory_desc_t to = image(w->rows, w->out_channels, w->out);
    dnnl_convolution_desc_t desc;
    const dnnl_status_t made = dnnl_convolution_backward_data_desc_init(
        &desc, dnnl_convolution_direct, &from, &by, &to, d.stride, d.low, d.high);
    return leat_onednn_make(dn, "convolution, gradient of data", made, &desc, false, forward, out,
                            err);
}

int leat_onednn_conv_backward_weights(leat_onednn *dn, const leat_onednn_window *w, bool bias,
                                      const leat_onednn_layout *src,
                                      const leat_onednn_prim *forward, leat_onednn_prim **out,
                                      leat_error *err)
{
    const window_dims d = dims_of(w);
    const dnnl_memory_desc_t from = src ? src->md : image(w->rows, w->in_channels, w->in);
    const dnnl_memory_desc_t by = conv_weights(w);
    const dnnl_memory_desc_t plus = vector(w->out_channels);
    const dnnl_memory_desc_t to = image(w->rows, w->out_channels, w->out);
    dnnl_convolution_desc_t desc;
    const dnnl_status_t made = dnnl_convolution_backward_weights_desc_init(
        &desc, dnnl_convolution_direct, &from, &by, bias ? &plus : NULL, &to, d.stride, d.low,
        d.high);
    return leat_onednn_make(dn, "convolution, gradient of weights", made, &desc, false, forward,
                            out, err);
}

/* --- dense ----------------------------------------------------------------------------------- */

int leat_onednn_dense(leat_onednn *dn, int64_t rows, int64_t n_in, int64_t n_out, bool bias,
                      bool relu, bool training, const leat_onednn_layout *weights,
                      leat_onednn_prim **out, leat_error *err)
{
    const dnnl_memory_desc_t from = plain(rows, n_in), to = plain(rows, n_out);
    const dnnl_memory_desc_t by =
        weights ? weights->md : any_layout(2, (dnnl_dims_t){ n_out, n_in });
    const dnnl_memory_desc_t plus = vector(n_out);
    dnnl_inner_product_desc_t desc;
    const dnnl_status_t made = dnnl_inner_product_forward_desc_init(
        &desc, forward_kind(training), &from, &by, bias ? &plus : NULL, &to);
    return leat_onednn_make(dn, "dense", made, &desc, relu, NULL, out, err);
}

int leat_onednn_dense_backward_data(leat_onednn *dn, int64_t rows, int64_t n_in, int64_t n_out,
                                    const leat_onednn_prim *forward, leat_onednn_prim **out,
                                    leat_error *err)
{
    const dnnl_memory_desc_t from = plain(rows, n_in), to = plain(rows, n_out);
    const dnnl_memory_desc_t by = any_layout(2, (dnnl_dims_t){ n_out, n_in });
    dnnl_inner_product_desc_t desc;
    const dnnl_status_t made = dnnl_inner_product_backward_data_desc_init(&desc, &from, &by, &to);
    return leat_onednn_make(dn, "dense, gradient of data", made, &desc, false, forward, out, err);
}

int leat_onednn_dense_backward_weights(leat_onednn *dn, int64_t rows, int64_t n_in, int64_t n_out,
                                       bool bias, const leat_onednn_prim *forward,
                                       leat_onednn_prim **out, leat_error *err)
{
    const dnnl_memory_desc_t from = plain(rows, n_in), to = plain(rows, n_out);
    const dnnl_memory_desc_t by = any_layout(2, (dnnl_dims_t){ n_out, n_in });
    const dnnl_memory_desc_t plus = vector(n_out);
    dnnl_inner_product_desc_t desc;
    const dnnl_status_t made =
        dnnl_inner_product_backward_weights_desc_init(&desc, &from, &by, bias ? &plus : NULL, &to);
    return leat_onednn_make(dn, "dense, gradient of weights", made, &desc, false, forward, out,
                            err);
}

/* --- pooling --------------------------------------------------------------------------------- */

static dnnl_alg_kind_t pooling(leat_onednn_pooling kind)
{
    return kind == LEAT_DN_POOL_MAX ? dnnl_pooling_max : dnnl_pooling_avg_exclude_padding;
}

int leat_onednn_pool(leat_onednn *dn, const leat_onednn_window *w, leat_onednn_pooling kind,
                     bool training, const leat_onednn_layout *src, leat_onednn_prim **out,
                     leat_error *err)
{
    const window_dims d = dims_of(w);
    const dnnl_memory_desc_t to = image(w->rows, w->out_channels, w->out);
    dnnl_pooling_desc_t desc;
    const dnnl_status_t made =
        dnnl_pooling_forward_desc_init(&desc, forward_kind(training), pooling(kind), &src->md, &to,
                                       d.stride, d.size, d.low, d.high);
    return leat_onednn_make(dn, "pooling", made, &desc, false, NULL, out, err);
}

int leat_onednn_pool_backward(leat_onednn *dn, const leat_onednn_window *w,
                              leat_onednn_pooling kind, const leat_onednn_layout *diff_src,
                              const leat_onednn_prim *forward, leat_onednn_prim **out,
                              leat_error *err)
{
    const window_dims d = dims_of(w);
    const dnnl_memory_desc_t to = image(w->rows, w->out_channels, w->out);
    dnnl_pooling_desc_t desc;
    const dnnl_status_t made = dnnl_pooling_backward_desc_init(
        &desc, pooling(kind), &diff_src->md, &to, d.stride, d.size, d.low, d.high);
    return leat_onednn_make(dn, "pooling, gradient", made, &desc, false, forward, out, err);
}

/* --- element by element --------------------------------------------------------------------- */

/* Forms whose gradient needs only the output. */
static const dnnl_alg_kind_t eltwise[] = {
    [LEAT_DN_RELU] = dnnl_eltwise_relu_use_dst_for_bwd,
    [LEAT_DN_SIGMOID] = dnnl_eltwise_logistic_use_dst_for_bwd,
};

int leat_onednn_elementwise(leat_onednn *dn, leat_onednn_eltwise kind, bool training,
                            const leat_onednn_layout *layout, leat_onednn_prim **out,
                            leat_error *err)
{
    dnnl_eltwise_desc_t desc;
    const dnnl_status_t made = dnnl_eltwise_forward_desc_init(&desc, forward_kind(training),
                                                              eltwise[kind], &layout->md, 0, 0);
    return leat_onednn_make(dn, "elementwise", made, &desc, false, NULL, out, err);
}

int leat_onednn_elementwise_backward(leat_onednn *dn, leat_onednn_eltwise kind,
                                     const leat_onednn_layout *layout,
                                     const leat_onednn_prim *forward, leat_onednn_prim **out,
                                     leat_error *err)
{
    dnnl_eltwise_desc_t desc;
    const dnnl_status_t made =
        dnnl_eltwise_backward_desc_init(&desc, eltwise[kind], &layout->md, &layout->md, 0, 0);
    return leat_onednn_make(dn, "elementwise, gradient", made, &desc, false, forward, out, err);
}
