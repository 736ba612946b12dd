/* SPDX-License-Identifier: MIT
 *
 * cudnn_ops.c: each primitive of train_lib.h as a graph of cuDNN's operations. cuDNN names dims N, C, H, W
 * whatever their order in memory, which is that of the strides: channels innermost. */
#include "cudnn_build.h"

/* What every graph of one spec needs. */
typedef struct maker {
    leat_cudnn_build *b;
    const leat_gpu_lib_spec *spec;
    int type;                       /* T */
    int64_t in[4], out[4], each[4]; /* x; y of a convolution; a value per channel of x */
} maker;

/* --- tensors ----------------------------------------------------------------------------------- */

/* inside: it has no memory. */
static void *tensor_of(leat_cudnn_build *b, int64_t id, int type, const int64_t dims[4],
                       bool inside, bool on_host)
{
    const int64_t strides[4] = { dims[1] * dims[2] * dims[3], 1, dims[3] * dims[1], dims[1] };
    const int64_t alignment = 16;
    void *const d = leat_cudnn_make(b, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    leat_cudnn_set(b, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
    leat_cudnn_set_int(b, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
    leat_cudnn_set(b, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims);
    leat_cudnn_set(b, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
    leat_cudnn_set(b, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    leat_cudnn_set(b, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &inside);
    leat_cudnn_set(b, d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &on_host);
    return leat_cudnn_finalize(b, d);
}

/* Call once for each id of a graph. */
static void *tensor(leat_cudnn_build *b, int id, int type, const int64_t dims[4])
{
    b->ids[b->n_ids++] = id;
    return tensor_of(b, id, type, dims, false, false);
}

static void *scalar(leat_cudnn_build *b, int id)
{
    static const int64_t one[4] = { 1, 1, 1, 1 };
    b->ids[b->n_ids++] = id;
    return tensor_of(b, id, CUDNN_DATA_FLOAT, one, false, true);
}

static void *inside(leat_cudnn_build *b, int type, const int64_t dims[4])
{
    return tensor_of(b, CUDNN_ID_INSIDE + b->n_inside++, type, dims, true, false);
}

/* --- operations -------------------------------------------------------------------------------- */

static void add_op(leat_cudnn_build *b, void *op)
{
    if (leat_cudnn_finalize(b, op) && !b->status)
        b->ops[b->n_ops++] = op;
}

static void *make_pointwise(leat_cudnn_build *b, int mode)
{
    void *const d = leat_cudnn_make(b, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    leat_cudnn_set_int(b, d, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
    leat_cudnn_set_int(b, d, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
                       CUDNN_DATA_FLOAT);
    return leat_cudnn_finalize(b, d);
}

/* to = mode(from, other); other may be NULL. */
static void add_pointwise(leat_cudnn_build *b, int mode, void *from, void *other, void *to)
{
    void *const d = make_pointwise(b, mode);
    void *const op = leat_cudnn_make(b, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, d);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, from);
    if (other)
        leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, other);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to);
    add_op(b, op);
}

/* dx = dy where x is positive, else 0 */
static void add_relu_grad(leat_cudnn_build *b, void *dy, void *x, void *dx)
{
    void *const d = make_pointwise(b, CUDNN_POINTWISE_RELU_BWD);
    void *const op = leat_cudnn_make(b, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, d);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, dy);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, dx);
    add_op(b, op);
}

/* --- convolutions ------------------------------------------------------------------------------ */

/* Padding behind that no window reaches is left out or added: more engines take equal padding on both sides. */
static void paddings(const leat_gpu_lib_spec *s, int64_t low[2], int64_t high[2])
{
    for (int i = 0; i < 2; i++) {
        const int64_t extent = (s->size[i] - 1) * s->dilation[i] + 1;
        const int64_t even = (s->in[i] + 2 * s->pad_low[i] - extent) / s->stride[i] + 1;
        low[i] = s->pad_low[i];
        high[i] = even == s->out[i] ? s->pad_low[i] : s->pad_high[i];
    }
}

static void *window(const maker *m)
{
    leat_cudnn_build *const b = m->b;
    const int64_t n_dims = 2;
    int64_t low[2], high[2];
    void *const d = leat_cudnn_make(b, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    paddings(m->spec, low, high);
    leat_cudnn_set(b, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &n_dims);
    leat_cudnn_set_int(b, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                       CUDNN_DATA_FLOAT);
    leat_cudnn_set_int(b, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                       CUDNN_CROSS_CORRELATION);
    leat_cudnn_set(b, d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, low);
    leat_cudnn_set(b, d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, high);
    leat_cudnn_set(b, d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2,
                   m->spec->stride);
    leat_cudnn_set(b, d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, m->spec->dilation);
    return leat_cudnn_finalize(b, d);
}

/* One convolution operation. Its attributes are numbered in the order ALPHA, BETA, CONV_DESC, then three tensors,
 * so they are given by name. */
typedef struct conv_names {
    int kind, alpha, beta, window, first, second, third;
} conv_names;

static void add_conv(const maker *m, const conv_names *n, void *first, void *second, void *third)
{
    const float alpha = 1, beta = m->spec->add ? 1 : 0;
    void *const d = window(m);
    void *const op = leat_cudnn_make(m->b, n->kind);
    leat_cudnn_set_desc(m->b, op, n->window, d);
    leat_cudnn_set_desc(m->b, op, n->first, first);
    leat_cudnn_set_desc(m->b, op, n->second, second);
    leat_cudnn_set_desc(m->b, op, n->third, third);
    leat_cudnn_set(m->b, op, n->alpha, CUDNN_TYPE_FLOAT, 1, &alpha);
    leat_cudnn_set(m->b, op, n->beta, CUDNN_TYPE_FLOAT, 1, &beta);
    add_op(m->b, op);
}

static void weights_dims(const leat_gpu_lib_spec *s, int64_t dims[4])
{
    dims[0] = s->out[2];
    dims[1] = s->in[2] / s->groups;
    dims[2] = s->size[0];
    dims[3] = s->size[1];
}

/* The graph's result if this is its last operation, else something that the next one reads. */
static void *result(const maker *m, bool last)
{
    return last ? tensor(m->b, CUDNN_ID_y, m->type, m->out)
                : inside(m->b, CUDNN_DATA_FLOAT, m->out);
}

static void make_conv(const maker *m)
{
    static const conv_names names = { CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y };
    const bool bias = m->spec->bias, relu = m->spec->relu;
    const int64_t per_channel[4] = { 1, m->out[1], 1, 1 };
    int64_t w[4];
    weights_dims(m->spec, w);
    void *value = result(m, !bias && !relu);
    add_conv(m, &names, tensor(m->b, CUDNN_ID_x, m->type, m->in),
             tensor(m->b, CUDNN_ID_w, m->type, w), value);
    if (bias) {
        void *const sum = result(m, !relu);
        add_pointwise(m->b, CUDNN_POINTWISE_ADD, value,
                      tensor(m->b, CUDNN_ID_bias, m->type, per_channel), sum);
        value = sum;
    }
    if (relu)
        add_pointwise(m->b, CUDNN_POINTWISE_RELU_FWD, value, NULL, result(m, true));
}

static void make_conv_grad_data(const maker *m)
{
    static const conv_names names = { CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX };
    int64_t w[4];
    weights_dims(m->spec, w);
    add_conv(m, &names, tensor(m->b, CUDNN_ID_dy, m->type, m->out),
             tensor(m->b, CUDNN_ID_w, m->type, w), tensor(m->b, CUDNN_ID_dx, m->type, m->in));
}

static void make_conv_grad_weights(const maker *m)
{
    static const conv_names names = {
        CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW
    };
    int64_t w[4];
    weights_dims(m->spec, w);
    add_conv(m, &names, tensor(m->b, CUDNN_ID_dy, m->type, m->out),
             tensor(m->b, CUDNN_ID_x, m->type, m->in), tensor(m->b, CUDNN_ID_dw, m->type, w));
}

/* --- batch norm -------------------------------------------------------------------------------- */

static void *each(const maker *m, int id)
{
    return tensor(m->b, id, CUDNN_DATA_FLOAT, m->each);
}

/* epsilon: NULL with the statistics of an earlier pass. */
static void add_norm(const maker *m, void *x, void *scale, void *shift, void *mean, void *inverse,
                     void *epsilon, void *y)
{
    leat_cudnn_build *const b = m->b;
    void *const op = leat_cudnn_make(b, CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
    leat_cudnn_set_int(b, op, CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE,
                       CUDNN_BATCH_NORM);
    leat_cudnn_set_int(b, op, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE,
                       epsilon ? CUDNN_NORM_FWD_TRAINING : CUDNN_NORM_FWD_INFERENCE);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, x);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, scale);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, shift);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, mean);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, inverse);
    if (epsilon)
        leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, epsilon);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, y);
    add_op(b, op);
}

static void make_norm(const maker *m)
{
    leat_cudnn_build *const b = m->b;
    const leat_gpu_lib_spec *const s = m->spec;
    void *value = s->add || s->relu ? inside(b, CUDNN_DATA_FLOAT, m->in)
                                    : tensor(b, CUDNN_ID_y, m->type, m->in);
    add_norm(m, tensor(b, CUDNN_ID_x, m->type, m->in), each(m, CUDNN_ID_scale),
             each(m, CUDNN_ID_shift), each(m, CUDNN_ID_mean), each(m, CUDNN_ID_inverse),
             scalar(b, CUDNN_ID_EPSILON), value);
    if (s->add) {
        void *const sum =
            s->relu ? inside(b, CUDNN_DATA_FLOAT, m->in) : tensor(b, CUDNN_ID_y, m->type, m->in);
        add_pointwise(b, CUDNN_POINTWISE_ADD, value, tensor(b, CUDNN_ID_add, m->type, m->in), sum);
        value = sum;
    }
    if (!s->relu)
        return;
    void *const y = tensor(b, CUDNN_ID_y, m->type, m->in);
    add_pointwise(b, CUDNN_POINTWISE_RELU_FWD, value, NULL, y);
    if (s->mask) /* of y: engines want one reader of the sum */
        add_pointwise(b, CUDNN_POINTWISE_CMP_GT, y, scalar(b, CUDNN_ID_ZERO),
                      tensor(b, CUDNN_ID_mask, CUDNN_DATA_BOOLEAN, m->in));
}

/* The gradient of what is normalised: dy, behind the mask, or behind the sign of the result, which is computed
 * again. */
static void *gradient(const maker *m, void *x, void *scale, void *mean, void *inverse)
{
    leat_cudnn_build *const b = m->b;
    void *const dy = tensor(b, CUDNN_ID_dy, m->type, m->in);
    if (!m->spec->relu)
        return dy;
    if (m->spec->add) {
        void *const masked = tensor(b, CUDNN_ID_dadd, m->type, m->in);
        add_pointwise(b, CUDNN_POINTWISE_MUL, dy,
                      tensor(b, CUDNN_ID_mask, CUDNN_DATA_BOOLEAN, m->in), masked);
        return masked;
    }
    void *const y = inside(b, CUDNN_DATA_FLOAT, m->in);
    void *const masked = inside(b, m->type, m->in); /* engines want the type of x here */
    add_norm(m, x, scale, each(m, CUDNN_ID_shift), mean, inverse, NULL, y);
    add_relu_grad(b, dy, y, masked);
    return masked;
}

static void make_norm_grad(const maker *m)
{
    leat_cudnn_build *const b = m->b;
    void *const x = tensor(b, CUDNN_ID_x, m->type, m->in);
    void *const scale = each(m, CUDNN_ID_scale);
    void *const mean = each(m, CUDNN_ID_mean);
    void *const inverse = each(m, CUDNN_ID_inverse);
    void *const dy = gradient(m, x, scale, mean, inverse);
    void *const op = leat_cudnn_make(b, CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
    leat_cudnn_set_int(b, op, CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE,
                       CUDNN_BATCH_NORM);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, x);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, dy);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, scale);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, mean);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, inverse);
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, each(m, CUDNN_ID_dscale));
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, each(m, CUDNN_ID_dshift));
    leat_cudnn_set_desc(b, op, CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC,
                        tensor(b, CUDNN_ID_dx, m->type, m->in));
    add_op(b, op);
}

int leat_cudnn_ops(leat_cudnn_build *b, const leat_gpu_lib_spec *s)
{
    static void (*const makers[LEAT_N_GPU_LIB_KINDS])(const maker *) = {
        [LEAT_GPU_LIB_CONV] = make_conv,
        [LEAT_GPU_LIB_CONV_GRAD_DATA] = make_conv_grad_data,
        [LEAT_GPU_LIB_CONV_GRAD_WEIGHTS] = make_conv_grad_weights,
        [LEAT_GPU_LIB_NORM] = make_norm,
        [LEAT_GPU_LIB_NORM_GRAD] = make_norm_grad,
    };
    const maker m = { .b = b,
                      .spec = s,
                      .type =
                          s->type == LEAT_PRECISION_BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT,
                      .in = { s->rows, s->in[2], s->in[0], s->in[1] },
                      .out = { s->rows, s->out[2], s->out[0], s->out[1] },
                      .each = { 1, s->in[2], 1, 1 } };
    if ((unsigned)s->kind >= LEAT_N_GPU_LIB_KINDS || !makers[s->kind])
        return LEAT_E_UNSUPPORTED;
    makers[s->kind](&m);
    return b->status ? LEAT_E_UNSUPPORTED : LEAT_OK;
}
