/* SPDX-License-Identifier: MIT
 *
 * net_make_layers.c: convolution, dense and norms: what the libraries do, and the norms that kernels of ours do
 * where those cannot. See net_make.h. */
#include "net_make.h"

#include <stdlib.h>

/* --- the libraries --------------------------------------------------------------------------- */

static leat_gpu_lib_spec leat_net_make_spec_of(const leat_net_maker *m, leat_gpu_lib_kind kind)
{
    const leat_sliding *const s = &m->op->window;
    const leat_shape *const in = &m->layer->in, *const out = &m->layer->out;
    leat_gpu_lib_spec spec = { .kind = kind,
                               .type = m->net->model->precision,
                               .deterministic = true,
                               .rows = m->plan->rows,
                               .in = { 1, 1, in->dims[in->rank - 1] },
                               .out = { 1, 1, out->dims[out->rank - 1] } };
    if (kind > LEAT_GPU_LIB_CONV_GRAD_WEIGHTS)
        return spec; /* dense; norm sets its own */
    for (int k = 0; k < 2; k++) {
        spec.in[k] = s->in[k];
        spec.out[k] = s->out[k];
        spec.size[k] = s->size[k];
        spec.stride[k] = s->stride[k];
        spec.dilation[k] = s->dilation[k];
        spec.pad_low[k] = s->pad_low[k];
        spec.pad_high[k] = s->pad_high[k];
    }
    if (m->p->padded && (m->op->in[0] == m->p->input_tensor || m->op->in[1] == m->p->input_tensor))
        spec.in[2] = LEAT_EIGHT;
    spec.groups = ((const leat_conv2d_options *)m->layer->options)->groups;
    return spec;
}

static int leat_net_make_add_lib(const leat_net_maker *m, const leat_gpu_lib_spec *spec,
                                 const leat_gpu_lib_args *args)
{
    leat_gpu_lib_op_bytes bytes = { 0 };
    leat_net_call *const c = leat_net_add(&m->plan->calls, LEAT_NET_each, m->err);
    if (!c)
        return LEAT_E_NOMEM;
    c->layer = m->op->layer;
    c->lib = *args;
    const int rc = leat_gpu_lib_functions.op_open(
        m->net->lib, spec, leat_gpu_stream_cuda(m->net->own), &c->op, &bytes, m->err);
    if (rc < 0) {
        m->plan->calls.n--;
        return rc;
    }
    return leat_net_workspace(m->net, bytes.workspace, m->err);
}

/* --- convolution and dense --------------------------------------------------------------------- */

static int forward(const leat_net_maker *m, leat_gpu_lib_kind kind)
{
    leat_gpu_lib_spec spec = leat_net_make_spec_of(m, kind);
    spec.bias = m->layer->n_params > 1;
    spec.relu = m->op->act == LEAT_ACT_relu;
    const leat_gpu_lib_args args = { .x = leat_net_make_address(m, m->op->in[0]),
                                     .w = leat_net_make_copy_of(m, LEAT_WEIGHT),
                                     .bias = spec.bias ? leat_net_make_copy_of(m, LEAT_BIAS) : NULL,
                                     .y = leat_net_make_address(m, m->op->out[0]) };
    return leat_net_make_add_lib(m, &spec, &args);
}

static int make_conv(const leat_net_maker *m)
{
    return forward(m, LEAT_GPU_LIB_CONV);
}

static int make_dense(const leat_net_maker *m)
{
    return forward(m, LEAT_GPU_LIB_DENSE);
}

static int grad_data(const leat_net_maker *m, leat_gpu_lib_kind kind)
{
    leat_gpu_lib_spec spec = leat_net_make_spec_of(m, kind);
    const leat_gpu_lib_args args = { .dy = leat_net_make_address(m, m->op->in[0]),
                                     .w = leat_net_make_copy_of(m, LEAT_WEIGHT),
                                     .dx = leat_net_make_address(m, m->op->out[0]) };
    spec.add = kind == LEAT_GPU_LIB_CONV_GRAD_DATA && m->op->in[1] >= 0;
    if (spec.add && leat_net_make_address(m, m->op->in[1]) != args.dx) {
        const int64_t n = leat_net_make_n_elements(m, m->op->out[0]);
        leat_net_call *const c = leat_net_make_add(m, LEAT_NET_each, leat_net_make_eights(n));
        if (!c)
            return LEAT_E_NOMEM;
        c->args.train.in[0] = c->args.train.in[1];
        c->args.train.in[1] = NULL;
        c->args.train.mode = LEAT_EACH_COPY;
        c->args.train.row_n = n;
    }
    return leat_net_make_add_lib(m, &spec, &args);
}

static int make_conv_grad_data(const leat_net_maker *m)
{
    return grad_data(m, LEAT_GPU_LIB_CONV_GRAD_DATA);
}

static int make_dense_grad_data(const leat_net_maker *m)
{
    return grad_data(m, LEAT_GPU_LIB_DENSE_GRAD_DATA);
}

static int make_conv_grad_weights(const leat_net_maker *m)
{
    const leat_gpu_lib_spec spec = leat_net_make_spec_of(m, LEAT_GPU_LIB_CONV_GRAD_WEIGHTS);
    const leat_train_pack *const pack =
        leat_net_pack_of(m->net, m->layer->first_param + LEAT_WEIGHT);
    const int rc = leat_net_make_grad_of(m, LEAT_BIAS) ? leat_net_make_bias_grad(m) : LEAT_OK;
    if (rc < 0 || !leat_net_make_grad_of(m, LEAT_WEIGHT))
        return rc;
    const leat_gpu_lib_args args = { .dy = leat_net_make_address(m, m->op->in[0]),
                                     .x = leat_net_make_address(m, m->op->in[1]),
                                     .dw = m->net->grad_copies + pack->at };
    return leat_net_make_add_lib(m, &spec, &args);
}

static int make_dense_grad_weights(const leat_net_maker *m)
{
    leat_gpu_lib_spec spec = leat_net_make_spec_of(m, LEAT_GPU_LIB_DENSE_GRAD_WEIGHTS);
    spec.bias = leat_net_make_grad_of(m, LEAT_BIAS) != NULL;
    if (!leat_net_make_grad_of(m, LEAT_WEIGHT))
        return spec.bias ? leat_net_make_bias_grad(m) : LEAT_OK;
    const leat_gpu_lib_args args = { .dy = leat_net_make_address(m, m->op->in[0]),
                                     .x = leat_net_make_address(m, m->op->in[1]),
                                     .dw = leat_net_make_grad_of(m, LEAT_WEIGHT),
                                     .dbias = leat_net_make_grad_of(m, LEAT_BIAS) };
    return leat_net_make_add_lib(m, &spec, &args);
}

/* --- batch_norm, layer_norm ------------------------------------------------------------------- */

static leat_train_args norm_args(const leat_net_maker *m, float *saved)
{
    leat_net_call *const c = leat_net_make_add(m, LEAT_NET_norm, 0);
    leat_train_args args = { .n = -1 };
    if (!c)
        return args;
    args = c->args.train;
    m->plan->calls.n--; /* only its arguments were wanted */
    args.n = 0;
    args.scale = leat_net_make_weight_of(m, LEAT_SCALE);
    args.shift = leat_net_make_weight_of(m, LEAT_SHIFT);
    args.mean = saved;
    args.inverse = saved + leat_net_padded(args.channels);
    args.factors = saved + 2 * leat_net_padded(args.channels);
    args.dscale = leat_net_make_grad_of(m, LEAT_SCALE);
    args.dshift = leat_net_make_grad_of(m, LEAT_SHIFT);
    return args;
}

static int apply(const leat_net_maker *m, leat_net_kernel kernel, const leat_train_args *args,
                 int64_t n)
{
    leat_net_call *const c = leat_net_make_add(m, kernel, n);
    if (!c)
        return LEAT_E_NOMEM;
    c->args.train = *args;
    c->args.train.n = n;
    return LEAT_OK;
}

static float *saved_of(const leat_net_maker *m)
{
    return m->net->saved + m->net->saved_at[m->op->saved];
}

static leat_train_args batch_norm_args(const leat_net_maker *m, float *saved)
{
    const leat_batch_norm_options *const o = m->layer->options;
    leat_train_args args = norm_args(m, saved);
    args.momentum = o->momentum;
    args.epsilon = (double)o->epsilon;
    args.running_mean = leat_net_make_weight_of(m, LEAT_MEAN);
    args.running_variance = leat_net_make_weight_of(m, LEAT_VARIANCE);
    return args;
}

static leat_gpu_lib_spec norm_spec(const leat_net_maker *m, leat_gpu_lib_kind kind)
{
    const leat_shape *const in = &m->layer->in;
    leat_gpu_lib_spec spec = leat_net_make_spec_of(m, kind);
    for (int k = 0; k < 2; k++)
        spec.in[k] = spec.out[k] = in->rank == 3 ? in->dims[k] : 1;
    spec.relu = m->op->act == LEAT_ACT_relu;
    const bool forward = kind == LEAT_GPU_LIB_NORM;
    spec.add = forward ? m->op->in[1] >= 0 : m->op->out[1] >= 0;
    spec.mask = forward && m->op->out[1] >= 0;
    spec.epsilon = (double)((const leat_batch_norm_options *)m->layer->options)->epsilon;
    return spec;
}

/* What libraries can do at all: no masks, no other activation, gradients of both parameters. */
static bool may_use_lib_norm(const leat_net_maker *m)
{
    const bool act = m->op->act == LEAT_ACT_NONE || m->op->act == LEAT_ACT_relu;
    return m->net->lib && !m->plan->own_norm && act;
}

static bool norm_ahead(const leat_net_maker *m, leat_gpu_lib_spec *spec)
{
    const bool forward = m->op->prim == LEAT_PRIM_NORM;
    *spec = norm_spec(m, forward ? LEAT_GPU_LIB_NORM : LEAT_GPU_LIB_NORM_GRAD);
    return may_use_lib_norm(m) && (forward || (leat_net_make_grad_of(m, LEAT_SCALE) &&
                                               leat_net_make_grad_of(m, LEAT_SHIFT)));
}

/* LEAT_E_UNSUPPORTED: kernels of ours do it. */
static int lib_norm(const leat_net_maker *m, const leat_train_args *a)
{
    if (!may_use_lib_norm(m))
        return LEAT_E_UNSUPPORTED;
    const leat_gpu_lib_spec spec = norm_spec(m, LEAT_GPU_LIB_NORM);
    const leat_gpu_lib_args args = { .x = a->in[0],
                                     .add = a->in[1],
                                     .scale = a->scale,
                                     .shift = a->shift,
                                     .y = a->out[0],
                                     .mean = a->mean,
                                     .inverse = a->inverse,
                                     .mask = a->out[1] };
    const int rc = leat_net_make_add_lib(m, &spec, &args);
    m->net->lib_norm |= rc == LEAT_OK;
    return rc;
}

/* A mask is for whoever wrote it. */
static int lib_norm_grad(const leat_net_maker *m, const leat_train_args *a)
{
    if (!may_use_lib_norm(m) || !a->dscale || !a->dshift || (a->out[1] && m->plan->own_masks))
        return LEAT_E_UNSUPPORTED;
    const leat_gpu_lib_spec spec = norm_spec(m, LEAT_GPU_LIB_NORM_GRAD);
    const leat_gpu_lib_args args = { .dy = a->in[0],
                                     .x = a->in[1],
                                     .scale = a->scale,
                                     .shift = a->shift,
                                     .mean = a->mean,
                                     .inverse = a->inverse,
                                     .dx = a->out[0],
                                     .dscale = a->dscale,
                                     .dshift = a->dshift,
                                     .mask = a->out[1] ? (void *)(uintptr_t)a->in[2] : NULL,
                                     .dadd = a->out[1] };
    const int rc = leat_net_make_add_lib(m, &spec, &args);
    m->net->lib_norm |= rc == LEAT_OK;
    return rc;
}

/* Where the mask is made or read by kernels of ours. */
static int mask(const leat_net_maker *m, int32_t mode, const void *from, const void *bytes,
                void *to)
{
    const int64_t n = leat_net_make_n_elements(m, m->op->out[0]);
    leat_net_call *const c = leat_net_make_add(m, LEAT_NET_each, leat_net_make_eights(n));
    if (!c)
        return LEAT_E_NOMEM;
    c->args.train.in[0] = from;
    c->args.train.in[1] = NULL;
    c->args.train.in[2] = bytes;
    c->args.train.out[0] = to;
    c->args.train.mode = mode;
    c->args.train.row_n = n;
    return LEAT_OK;
}

/* As two ops: without the sum, which follows in place. And the mask, if one is wanted. */
static int norm_then_sum(const leat_net_maker *m)
{
    leat_prim_op norm = *m->op, sum = *m->op;
    leat_net_maker part = *m;
    norm.in[1] = norm.out[1] = sum.out[1] = -1;
    norm.act = LEAT_ACT_NONE;
    sum.prim = LEAT_PRIM_SUM;
    sum.in[0] = sum.out[0];
    part.op = &norm;
    int rc = leat_net_prim_norm.make(&part);
    part.op = &sum;
    if (rc == LEAT_OK)
        rc = leat_net_prim_sum.make(&part);
    if (rc < 0 || m->op->out[1] < 0)
        return rc;
    m->plan->own_masks = true;
    return mask(m, LEAT_EACH_MASK, leat_net_make_address(m, m->op->out[0]), NULL,
                leat_net_make_address(m, m->op->out[1]));
}

int leat_net_make_running(leat_net_plan *plan, leat_error *err)
{
    if (!plan->running)
        return LEAT_OK;
    leat_net_call *const c = leat_net_add(&plan->calls, LEAT_NET_norm_running, err);
    if (!c)
        return LEAT_E_NOMEM;
    c->args.running = plan->running;
    c->blocks[0] = (unsigned)plan->n_running;
    plan->running = NULL;
    plan->n_running = 0;
    return LEAT_OK;
}

/* One launch renews the running statistics of many norms. */
static int add_running(const leat_net_maker *m, const leat_train_args *a)
{
    leat_net_plan *const plan = m->plan;
    if (!plan->running && !(plan->running = calloc(1, sizeof *plan->running)))
        return leat_gpu_fail(m->err, LEAT_E_NOMEM, "training: no memory for a plan");
    plan->running->norms[plan->n_running++] =
        (leat_train_running){ .mean = a->mean,
                              .inverse = a->inverse,
                              .running_mean = a->running_mean,
                              .running_variance = a->running_variance,
                              .epsilon = a->epsilon,
                              .momentum = a->momentum,
                              .channels = a->channels };
    return plan->n_running == LEAT_RUNNING_MOST ? leat_net_make_running(plan, m->err) : LEAT_OK;
}

static int make_norm(const leat_net_maker *m)
{
    const leat_train_args args = batch_norm_args(m, saved_of(m));
    if (args.n < 0)
        return LEAT_E_NOMEM;
    const int by_library = lib_norm(m, &args); /* it leaves the running statistics to us */
    if (by_library != LEAT_E_UNSUPPORTED)
        return by_library < 0 ? by_library : add_running(m, &args);
    if (m->op->in[1] >= 0)
        return norm_then_sum(m);
    const int rc = leat_net_make_add_sums(m, &args, LEAT_SUMS_STATISTICS);
    return rc < 0 ? rc
                  : apply(m, LEAT_NET_norm, &args, leat_net_make_eights(args.rows * args.row_n));
}

static int make_norm_fixed(const leat_net_maker *m)
{
    leat_train_args args = batch_norm_args(m, m->net->fixed);
    if (args.n < 0)
        return LEAT_E_NOMEM;
    args.factors = NULL; /* of the gradient */
    const int rc = apply(m, LEAT_NET_norm_fix, &args, args.channels);
    return rc < 0 ? rc
                  : apply(m, LEAT_NET_norm, &args, leat_net_make_eights(args.rows * args.row_n));
}

/* As two ops: relu's gradient, then that of the norm alone. */
static int mask_then_norm_grad(const leat_net_maker *m, const leat_train_args *a)
{
    leat_prim_op norm = *m->op;
    leat_net_maker part = *m;
    const int rc = mask(m, LEAT_EACH_MASK_GRAD, a->in[0], a->in[2], a->out[1]);
    norm.in[0] = m->op->out[1];
    norm.in[2] = norm.out[1] = -1;
    norm.act = LEAT_ACT_NONE;
    part.op = &norm;
    return rc < 0 ? rc : leat_net_prim_norm_grad.make(&part);
}

static int make_norm_grad(const leat_net_maker *m)
{
    const leat_train_args args = batch_norm_args(m, saved_of(m));
    if (args.n < 0)
        return LEAT_E_NOMEM;
    const int own = lib_norm_grad(m, &args);
    if (own != LEAT_E_UNSUPPORTED)
        return own;
    if (m->op->out[1] >= 0)
        return mask_then_norm_grad(m, &args);
    const int rc = leat_net_make_add_sums(m, &args, LEAT_SUMS_GRAD);
    return rc < 0
               ? rc
               : apply(m, LEAT_NET_norm_grad, &args, leat_net_make_eights(args.rows * args.row_n));
}

static int make_norm_fixed_grad(const leat_net_maker *m)
{
    const leat_train_args args = batch_norm_args(m, saved_of(m));
    if (args.n < 0)
        return LEAT_E_NOMEM;
    int rc = apply(m, LEAT_NET_norm_fix, &args, args.channels);
    if (rc == LEAT_OK)
        rc = leat_net_make_add_sums(m, &args, LEAT_SUMS_FIXED);
    return rc < 0 || m->op->out[0] < 0
               ? rc
               : apply(m, LEAT_NET_norm_grad, &args, leat_net_make_eights(args.rows * args.row_n));
}

static int make_layer_norm(const leat_net_maker *m)
{
    leat_train_args args = norm_args(m, m->net->fixed);
    if (args.n < 0)
        return LEAT_E_NOMEM;
    args.epsilon = (double)m->op->epsilon;
    args.mean = args.inverse = args.factors = NULL;
    return apply(m, LEAT_NET_layer_norm, &args, args.pixels);
}

/* Mean and inverse of every pixel again, sums per channel, then the gradient. */
static int make_layer_norm_grad(const leat_net_maker *m)
{
    leat_train_args args = norm_args(m, m->net->fixed);
    if (args.n < 0)
        return LEAT_E_NOMEM;
    args.epsilon = (double)m->op->epsilon;
    args.mean = m->net->fixed;
    args.inverse = m->net->fixed + args.pixels;
    args.factors = NULL;
    leat_train_args again = args;
    again.in[0] = args.in[1];
    again.in[1] = again.in[2] = again.out[0] = NULL;
    int rc = apply(m, LEAT_NET_layer_norm, &again, args.pixels);
    if (rc == LEAT_OK)
        rc = leat_net_make_add_sums(m, &args, LEAT_SUMS_LAYER);
    return rc < 0 ? rc : apply(m, LEAT_NET_layer_norm_grad, &args, args.pixels);
}

/* --- the rows -------------------------------------------------------------------------------- */

static int64_t channels(const leat_program_tensor *in, int64_t rows)
{
    (void)rows;
    return leat_net_make_channels_of(&in->shape);
}

static int64_t pixels(const leat_program_tensor *in, int64_t rows)
{
    return in->n * rows / leat_net_make_channels_of(&in->shape);
}

const leat_net_prim leat_net_prim_conv = { .make = make_conv };
const leat_net_prim leat_net_prim_dense = { .make = make_dense };
const leat_net_prim leat_net_prim_conv_grad_data = { .make = make_conv_grad_data };
const leat_net_prim leat_net_prim_dense_grad_data = { .make = make_dense_grad_data };
const leat_net_prim leat_net_prim_conv_grad_weights = { .make = make_conv_grad_weights };
const leat_net_prim leat_net_prim_dense_grad_weights = { .make = make_dense_grad_weights };
const leat_net_prim leat_net_prim_norm = { .make = make_norm, .ahead = norm_ahead };
const leat_net_prim leat_net_prim_norm_fixed = { .make = make_norm_fixed, .n_fixed = channels };
const leat_net_prim leat_net_prim_norm_fixed_grad = { .make = make_norm_fixed_grad };
const leat_net_prim leat_net_prim_norm_grad = { .make = make_norm_grad, .ahead = norm_ahead };
const leat_net_prim leat_net_prim_layer_norm = { .make = make_layer_norm };
const leat_net_prim leat_net_prim_layer_norm_grad = { .make = make_layer_norm_grad,
                                                      .n_fixed = pixels };
