/* SPDX-License-Identifier: MIT
 *
 * net_plan.c: compiles a program for a number of rows into calls; one function per primitive of prim.h. See
 * net_cuda.h. */
#include <stdlib.h>
#include <string.h>

#include "gpu_launch.h"
#include "net_cuda.h"

_Static_assert(LEAT_TRAIN_F32 == (int)LEAT_PRIM_F32 && LEAT_TRAIN_BF16 == (int)LEAT_PRIM_BF16 &&
                   LEAT_TRAIN_U8 == (int)LEAT_PRIM_U8 && LEAT_TRAIN_U16 == (int)LEAT_PRIM_U16,
               "kernels and primitives number their types alike");

/* What is being compiled. */
typedef struct maker {
    leat_net *net;
    leat_net_program *p;
    leat_net_plan *plan;
    const leat_prim_op *op;
    const leat_model_layer *layer; /* NULL where op->layer is -1 */
    leat_error *err;
} maker;

/* --- lists of calls -------------------------------------------------------------------------- */

leat_net_call *leat_net_add(leat_net_calls *calls, leat_net_kernel kernel, leat_error *err)
{
    if (calls->n == calls->room) {
        const int32_t room = calls->room ? 2 * calls->room : 16;
        leat_net_call *const list = realloc(calls->list, (size_t)room * sizeof *list);
        if (!list) {
            leat_gpu_fail(err, LEAT_E_NOMEM, "training: no memory for a plan");
            return NULL;
        }
        calls->list = list;
        calls->room = room;
    }
    leat_net_call *const call = &calls->list[calls->n++];
    memset(call, 0, sizeof *call);
    call->kernel = kernel;
    call->blocks[1] = 1;
    call->layer = -1;
    return call;
}

void leat_net_calls_close(leat_net_calls *calls)
{
    for (int32_t i = 0; i < calls->n; i++)
        if (calls->list[i].op)
            leat_gpu_lib_functions.op_close(&calls->list[i].op);
    free(calls->list);
    *calls = (leat_net_calls){ .list = NULL };
}

/* Threads take several calls where there are more than fill the device. */
unsigned leat_net_blocks(int64_t n)
{
    const int64_t blocks = (n + LEAT_TRAIN_THREADS - 1) / LEAT_TRAIN_THREADS;
    return (unsigned)(blocks < 8192 ? blocks : 8192);
}

/* --- helpers --------------------------------------------------------------------------------- */

static const leat_program_tensor *tensor(const maker *m, int32_t t)
{
    return &m->p->program->tensors[t];
}

static void *address(const maker *m, int32_t t)
{
    return t == m->p->input_tensor ? m->p->input
           : t >= 0                ? m->net->memory + tensor(m, t)->at
                                   : NULL;
}

static int32_t channels_of(const leat_shape *shape)
{
    return (int32_t)shape->dims[shape->rank - 1];
}

static float *weight_of(const maker *m, int32_t k)
{
    const leat_model_param *const p = &m->net->model->params[m->layer->first_param + k];
    return m->net->slots[LEAT_SLOT_WEIGHT] + p->at;
}

/* Where the gradient of parameter k of the layer goes; NULL: it is not trained. */
static float *grad_of(const maker *m, int32_t k)
{
    const leat_model_param *const p = &m->net->model->params[m->layer->first_param + k];
    return k < m->layer->n_params && m->layer->params[k].trained ? m->net->grads + p->at : NULL;
}

/* What libraries read as the weight: the packed copy, or the arena. */
static const void *copy_of(const maker *m, int32_t k)
{
    const leat_train_pack *const p = leat_net_pack_of(m->net, m->layer->first_param + k);
    return p ? m->net->copies + p->at : (void *)weight_of(m, k);
}

/* A kernel call with everything that the op says. */
static leat_net_call *add(const maker *m, leat_net_kernel kernel, int64_t n)
{
    leat_net_call *const c = leat_net_add(&m->plan->calls, kernel, m->err);
    if (!c)
        return NULL;
    leat_train_args *const a = &c->args.train;
    const int32_t first = m->op->in[0], out = m->op->out[0];
    for (int k = 0; k < LEAT_PRIM_MAX_IN; k++)
        a->in[k] = address(m, m->op->in[k]);
    for (int k = 0; k < LEAT_PRIM_MAX_OUT; k++)
        a->out[k] = address(m, m->op->out[k]);
    a->in_type = first >= 0 ? (int32_t)tensor(m, first)->type : 0;
    a->out_type = out >= 0 ? (int32_t)tensor(m, out)->type : a->in_type;
    a->act = (int32_t)m->op->act;
    a->alpha = m->op->alpha;
    a->layer = m->op->layer;
    a->rows = m->plan->rows;
    a->row_n = tensor(m, out >= 0 ? out : first)->n;
    a->channels = channels_of(&tensor(m, out >= 0 ? out : first)->shape);
    a->pixels = a->rows * a->row_n / a->channels;
    a->step = m->net->step;
    a->valid = m->net->valid;
    a->partial = m->net->partial;
    a->n = n;
    c->blocks[0] = leat_net_blocks(n);
    c->layer = m->op->layer;
    return c;
}

static int64_t elements(const maker *m, int32_t t)
{
    return tensor(m, t)->n * m->plan->rows;
}

static int64_t eights(int64_t n)
{
    return (n + LEAT_EIGHT - 1) / LEAT_EIGHT;
}

/* --- value by value -------------------------------------------------------------------------- */

static int each(const maker *m, int32_t mode)
{
    const int64_t n = elements(m, m->op->out[0]);
    leat_net_call *const c = add(m, LEAT_NET_each, eights(n));
    if (!c)
        return LEAT_E_NOMEM;
    c->args.train.mode = mode;
    c->args.train.row_n = n;
    return LEAT_OK;
}

static int convert(const maker *m)
{
    return each(m, LEAT_EACH_COPY);
}

static int act(const maker *m)
{
    return each(m, LEAT_EACH_ACT);
}

static int act_grad(const maker *m)
{
    return each(m, LEAT_EACH_ACT_GRAD);
}

static int sum(const maker *m)
{
    return each(m, LEAT_EACH_SUM);
}

static int scale(const maker *m)
{
    return each(m, LEAT_EACH_SCALE);
}

static int dropout(const maker *m)
{
    const int64_t n = eights(tensor(m, m->op->out[0])->n) * m->plan->rows;
    leat_net_call *const c = add(m, LEAT_NET_dropout, n);
    const uint64_t seed = m->net->model->seed;
    if (!c)
        return LEAT_E_NOMEM;
    c->args.train.key[0] = (uint32_t)seed;
    c->args.train.key[1] = (uint32_t)(seed >> 32);
    return LEAT_OK;
}

static int softmax(const maker *m)
{
    const leat_program_tensor *const t = tensor(m, m->op->out[0]);
    const bool grad = m->op->prim == LEAT_PRIM_SOFTMAX_GRAD;
    return add(m, grad ? LEAT_NET_softmax_grad : LEAT_NET_softmax,
               t->n * m->plan->rows / channels_of(&t->shape))
               ? LEAT_OK
               : LEAT_E_NOMEM;
}

/* Tensors may be seen flattened by the layers around, so widths are those of the op's own layer. */
static int channels(const maker *m)
{
    const bool part = m->op->prim == LEAT_PRIM_PART;
    const int32_t narrow = part ? m->op->out[0] : m->op->in[0];
    const int32_t wide_channels = channels_of(&m->layer->out);
    const int64_t pixels = leat_gpu_launch_elements(&m->layer->out) / wide_channels;
    leat_net_call *const c = add(m, LEAT_NET_channels, elements(m, narrow));
    if (!c)
        return LEAT_E_NOMEM;
    c->args.train.mode = part;
    c->args.train.channel = m->op->channel;
    c->args.train.channels = (int32_t)(tensor(m, narrow)->n / pixels);
    c->args.train.row_n = wide_channels;
    return LEAT_OK;
}

/* --- pooling --------------------------------------------------------------------------------- */

static int pool(const maker *m)
{
    static const leat_net_kernel kernels[LEAT_N_PRIMS] = {
        [LEAT_PRIM_MAX_POOL] = LEAT_NET_max_pool,
        [LEAT_PRIM_MAX_POOL_GRAD] = LEAT_NET_max_pool_grad,
        [LEAT_PRIM_AVG_POOL] = LEAT_NET_avg_pool,
        [LEAT_PRIM_AVG_POOL_GRAD] = LEAT_NET_avg_pool_grad,
    };
    const int32_t n_channels = (int32_t)m->layer->in.dims[2];
    const int32_t lanes = n_channels % LEAT_EIGHT ? 1 : LEAT_EIGHT;
    leat_net_call *const c = add(m, kernels[m->op->prim], elements(m, m->op->out[0]) / lanes);
    const leat_sliding *const s = &m->op->window;
    if (!c)
        return LEAT_E_NOMEM;
    leat_train_window *const w = &c->args.train.window;
    for (int k = 0; k < 2; k++) {
        w->in[k] = (int32_t)s->in[k];
        w->out[k] = (int32_t)s->out[k];
        w->size[k] = (int32_t)s->size[k];
        w->stride[k] = (int32_t)s->stride[k];
        w->low[k] = (int32_t)s->pad_low[k];
    }
    c->args.train.channels = n_channels;
    c->args.train.lanes = lanes;
    return LEAT_OK;
}

/* --- sums per channel ------------------------------------------------------------------------ */

/* How sums over pixels are divided: a function of the shape alone. */
typedef struct division {
    int32_t lanes, n_chunks;
    int64_t chunk_pixels;
    unsigned blocks;
} division;

static division divide(int64_t pixels, int32_t n_channels)
{
    enum { BLOCKS = 528 };
    const int64_t groups = eights(n_channels);
    division d = { .lanes = 1 };
    while (d.lanes < 32 && d.lanes < groups)
        d.lanes *= 2;
    d.blocks = (unsigned)((groups + d.lanes - 1) / d.lanes);
    const int64_t most = (pixels * d.lanes + 2 * LEAT_TRAIN_THREADS - 1) / (2 * LEAT_TRAIN_THREADS);
    int64_t n = BLOCKS / d.blocks ? BLOCKS / d.blocks : 1;
    n = n < most ? n : most;
    d.chunk_pixels = (pixels + n - 1) / n;
    d.n_chunks = (int32_t)((pixels + d.chunk_pixels - 1) / d.chunk_pixels);
    return d;
}

/* Both kernels with the arguments of `like`. */
static int add_sums(const maker *m, const leat_train_args *like, int32_t mode)
{
    const division d = divide(like->pixels, like->channels);
    leat_net_call *c = add(m, LEAT_NET_channel_sums, 0);
    if (!c)
        return LEAT_E_NOMEM;
    c->args.train = *like;
    c->args.train.mode = mode;
    c->args.train.lanes = d.lanes;
    c->args.train.n_chunks = d.n_chunks;
    c->args.train.chunk_pixels = d.chunk_pixels;
    c->blocks[0] = d.blocks;
    c->blocks[1] = (unsigned)d.n_chunks;
    const leat_train_args args = c->args.train;
    if (!(c = add(m, LEAT_NET_channel_finish, 0)))
        return LEAT_E_NOMEM;
    c->args.train = args;
    c->blocks[0] = (unsigned)eights(args.channels);
    return LEAT_OK;
}

void leat_net_plan_room(const leat_net *net, const leat_program *p, size_t *partial, size_t *fixed)
{
    for (int32_t i = 0; i < p->n_tensors; i++) {
        const int32_t n = channels_of(&p->tensors[i].shape);
        const int64_t pixels = p->tensors[i].n * net->model->batch_size / n;
        const size_t sums = (size_t)divide(pixels, n).n_chunks * 2 * (size_t)n;
        *partial = *partial > sums ? *partial : sums;
    }
    for (int32_t i = 0; i < p->n_ops; i++) {
        const leat_prim_op *const op = &p->ops[i];
        size_t n = 0;
        if (op->prim == LEAT_PRIM_NORM_FIXED)
            n = (size_t)channels_of(&p->tensors[op->in[0]].shape);
        else if (op->prim == LEAT_PRIM_LAYER_NORM_GRAD)
            n = (size_t)(p->tensors[op->in[0]].n * net->model->batch_size /
                         channels_of(&p->tensors[op->in[0]].shape));
        n = 2 * (size_t)leat_net_padded((int64_t)n);
        *fixed = *fixed > n ? *fixed : n;
    }
}

static int bias_grad(const maker *m)
{
    leat_net_call *const c = add(m, LEAT_NET_channel_sums, 0);
    if (!c)
        return LEAT_E_NOMEM;
    leat_train_args args = c->args.train;
    m->plan->calls.n--; /* only its arguments were wanted */
    const int32_t dy = m->op->in[0];
    args.row_n = tensor(m, dy)->n;
    args.channels = channels_of(&m->layer->out);
    args.pixels = args.rows * args.row_n / args.channels;
    args.dshift = grad_of(m, 1);
    return add_sums(m, &args, LEAT_SUMS_BIAS);
}

/* --- the libraries --------------------------------------------------------------------------- */

enum { WEIGHT, BIAS };

static leat_gpu_lib_spec spec_of(const maker *m, leat_gpu_lib_kind kind)
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

static int add_lib(const maker *m, const leat_gpu_lib_spec *spec, const leat_gpu_lib_args *args)
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

/* --- batch_norm, layer_norm ------------------------------------------------------------------- */

enum { SCALE, SHIFT, MEAN, VARIANCE };

static leat_train_args norm_args(const maker *m, float *saved)
{
    leat_net_call *const c = add(m, LEAT_NET_norm, 0);
    leat_train_args args = { .n = -1 };
    if (!c)
        return args;
    args = c->args.train;
    m->plan->calls.n--; /* only its arguments were wanted */
    args.n = 0;
    args.scale = weight_of(m, SCALE);
    args.shift = weight_of(m, SHIFT);
    args.mean = saved;
    args.inverse = saved + leat_net_padded(args.channels);
    args.factors = saved + 2 * leat_net_padded(args.channels);
    args.dscale = grad_of(m, SCALE);
    args.dshift = grad_of(m, SHIFT);
    return args;
}

static int apply(const maker *m, leat_net_kernel kernel, const leat_train_args *args, int64_t n)
{
    leat_net_call *const c = add(m, kernel, n);
    if (!c)
        return LEAT_E_NOMEM;
    c->args.train = *args;
    c->args.train.n = n;
    return LEAT_OK;
}

static float *saved_of(const maker *m)
{
    return m->net->saved + m->net->saved_at[m->op->saved];
}

static leat_train_args batch_norm_args(const maker *m, float *saved)
{
    const leat_batch_norm_options *const o = m->layer->options;
    leat_train_args args = norm_args(m, saved);
    args.momentum = o->momentum;
    args.epsilon = (double)o->epsilon;
    args.running_mean = weight_of(m, MEAN);
    args.running_variance = weight_of(m, VARIANCE);
    return args;
}

static leat_gpu_lib_spec norm_spec(const maker *m, leat_gpu_lib_kind kind)
{
    const leat_shape *const in = &m->layer->in;
    leat_gpu_lib_spec spec = spec_of(m, kind);
    for (int k = 0; k < 2; k++)
        spec.in[k] = spec.out[k] = in->rank == 3 ? in->dims[k] : 1;
    spec.relu = m->op->act == LEAT_ACT_relu;
    spec.epsilon = (double)((const leat_batch_norm_options *)m->layer->options)->epsilon;
    return spec;
}

/* What libraries can do at all: no masks, no other activation, gradients of both parameters. */
static bool may_use_lib_norm(const maker *m)
{
    const bool act = m->op->act == LEAT_ACT_NONE || m->op->act == LEAT_ACT_relu;
    return m->net->lib && !m->plan->own_norm && act;
}

/* LEAT_E_UNSUPPORTED: kernels of ours do it. */
static int lib_norm(const maker *m, const leat_train_args *a)
{
    if (!may_use_lib_norm(m))
        return LEAT_E_UNSUPPORTED;
    const leat_gpu_lib_spec spec = norm_spec(m, LEAT_GPU_LIB_NORM);
    const leat_gpu_lib_args args = { .x = a->in[0],
                                     .scale = a->scale,
                                     .shift = a->shift,
                                     .y = a->out[0],
                                     .mean = a->mean,
                                     .inverse = a->inverse };
    const int rc = add_lib(m, &spec, &args);
    m->net->lib_norm |= rc == LEAT_OK;
    return rc;
}

static int lib_norm_grad(const maker *m, const leat_train_args *a)
{
    if (!may_use_lib_norm(m) || !a->dscale || !a->dshift)
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
                                     .dshift = a->dshift };
    const int rc = add_lib(m, &spec, &args);
    m->net->lib_norm |= rc == LEAT_OK;
    return rc;
}

static int norm(const maker *m)
{
    const leat_train_args args = batch_norm_args(m, saved_of(m));
    if (args.n < 0)
        return LEAT_E_NOMEM;
    const int own = lib_norm(m, &args);
    if (own != LEAT_E_UNSUPPORTED)
        return own < 0 ? own : apply(m, LEAT_NET_norm_running, &args, args.channels);
    const int rc = add_sums(m, &args, LEAT_SUMS_STATISTICS);
    return rc < 0 ? rc : apply(m, LEAT_NET_norm, &args, eights(args.rows * args.row_n));
}

static int norm_fixed(const maker *m)
{
    leat_train_args args = batch_norm_args(m, m->net->fixed);
    if (args.n < 0)
        return LEAT_E_NOMEM;
    args.factors = NULL; /* of the gradient */
    const int rc = apply(m, LEAT_NET_norm_fix, &args, args.channels);
    return rc < 0 ? rc : apply(m, LEAT_NET_norm, &args, eights(args.rows * args.row_n));
}

static int norm_grad(const maker *m)
{
    const leat_train_args args = batch_norm_args(m, saved_of(m));
    if (args.n < 0)
        return LEAT_E_NOMEM;
    const int own = lib_norm_grad(m, &args);
    if (own != LEAT_E_UNSUPPORTED)
        return own;
    const int rc = add_sums(m, &args, LEAT_SUMS_GRAD);
    return rc < 0 ? rc : apply(m, LEAT_NET_norm_grad, &args, eights(args.rows * args.row_n));
}

static int layer_norm(const maker *m)
{
    leat_train_args args = norm_args(m, m->net->fixed);
    if (args.n < 0)
        return LEAT_E_NOMEM;
    args.epsilon = (double)((const leat_layer_norm_options *)m->layer->options)->epsilon;
    args.mean = args.inverse = args.factors = NULL;
    return apply(m, LEAT_NET_layer_norm, &args, args.pixels);
}

/* Mean and inverse of every pixel again, sums per channel, then the gradient. */
static int layer_norm_grad(const maker *m)
{
    leat_train_args args = norm_args(m, m->net->fixed);
    if (args.n < 0)
        return LEAT_E_NOMEM;
    args.epsilon = (double)((const leat_layer_norm_options *)m->layer->options)->epsilon;
    args.mean = m->net->fixed;
    args.inverse = m->net->fixed + args.pixels;
    args.factors = NULL;
    leat_train_args again = args;
    again.in[0] = args.in[1];
    again.in[1] = again.in[2] = again.out[0] = NULL;
    int rc = apply(m, LEAT_NET_layer_norm, &again, args.pixels);
    if (rc == LEAT_OK)
        rc = add_sums(m, &args, LEAT_SUMS_LAYER);
    return rc < 0 ? rc : apply(m, LEAT_NET_layer_norm_grad, &args, args.pixels);
}

/* --- convolution and dense --------------------------------------------------------------------- */

static int forward(const maker *m, leat_gpu_lib_kind kind)
{
    leat_gpu_lib_spec spec = spec_of(m, kind);
    spec.bias = m->layer->n_params > 1;
    spec.relu = m->op->act == LEAT_ACT_relu;
    const leat_gpu_lib_args args = { .x = address(m, m->op->in[0]),
                                     .w = copy_of(m, WEIGHT),
                                     .bias = spec.bias ? copy_of(m, BIAS) : NULL,
                                     .y = address(m, m->op->out[0]) };
    return add_lib(m, &spec, &args);
}

static int conv(const maker *m)
{
    return forward(m, LEAT_GPU_LIB_CONV);
}

static int dense(const maker *m)
{
    return forward(m, LEAT_GPU_LIB_DENSE);
}

static int grad_data(const maker *m, leat_gpu_lib_kind kind)
{
    const leat_gpu_lib_spec spec = spec_of(m, kind);
    const leat_gpu_lib_args args = { .dy = address(m, m->op->in[0]),
                                     .w = copy_of(m, WEIGHT),
                                     .dx = address(m, m->op->out[0]) };
    return add_lib(m, &spec, &args);
}

static int conv_grad_data(const maker *m)
{
    return grad_data(m, LEAT_GPU_LIB_CONV_GRAD_DATA);
}

static int dense_grad_data(const maker *m)
{
    return grad_data(m, LEAT_GPU_LIB_DENSE_GRAD_DATA);
}

static int conv_grad_weights(const maker *m)
{
    const leat_gpu_lib_spec spec = spec_of(m, LEAT_GPU_LIB_CONV_GRAD_WEIGHTS);
    const leat_train_pack *const pack = leat_net_pack_of(m->net, m->layer->first_param + WEIGHT);
    const int rc = grad_of(m, BIAS) ? bias_grad(m) : LEAT_OK;
    if (rc < 0 || !grad_of(m, WEIGHT))
        return rc;
    const leat_gpu_lib_args args = { .dy = address(m, m->op->in[0]),
                                     .x = address(m, m->op->in[1]),
                                     .dw = m->net->grad_copies + pack->at };
    return add_lib(m, &spec, &args);
}

static int dense_grad_weights(const maker *m)
{
    leat_gpu_lib_spec spec = spec_of(m, LEAT_GPU_LIB_DENSE_GRAD_WEIGHTS);
    spec.bias = grad_of(m, BIAS) != NULL;
    if (!grad_of(m, WEIGHT))
        return spec.bias ? bias_grad(m) : LEAT_OK;
    const leat_gpu_lib_args args = { .dy = address(m, m->op->in[0]),
                                     .x = address(m, m->op->in[1]),
                                     .dw = grad_of(m, WEIGHT),
                                     .dbias = grad_of(m, BIAS) };
    return add_lib(m, &spec, &args);
}

/* --- loss ------------------------------------------------------------------------------------ */

static int32_t target_type(const leat_model *model)
{
    switch (model->target.dtype) {
    case LEAT_U8:
        return LEAT_TARGET_U8;
    case LEAT_I32:
        return LEAT_TARGET_I32;
    case LEAT_I64:
        return LEAT_TARGET_I64;
    default:
        return LEAT_TARGET_F32;
    }
}

static int loss(const maker *m)
{
    leat_net_call *c = add(m, LEAT_NET_loss, 0);
    if (!c)
        return LEAT_E_NOMEM;
    leat_train_args *const a = &c->args.train;
    const leat_program_tensor *const logits = tensor(m, m->op->in[0]);
    a->target = m->net->target;
    a->target_type = target_type(m->net->model);
    a->loss = m->net->loss;
    a->sums = m->net->sums;
    a->class_weights = m->net->class_weights;
    if (a->loss == LEAT_LOSS_SOFTMAX) {
        a->smoothing = ((const leat_softmax_options *)m->net->model->loss_options)->label_smoothing;
    } else if (a->loss != LEAT_LOSS_SQUARED) {
        const leat_binary_options *const o = m->net->model->loss_options;
        a->smoothing = o->label_smoothing;
        a->positive = o->positive_weight;
    }
    a->channels = (int32_t)logits->n;
    a->row_n = logits->n;
    c->blocks[0] = (unsigned)((a->rows + LEAT_LOSS_ROWS - 1) / LEAT_LOSS_ROWS);
    const leat_train_args args = *a;
    if (!(c = add(m, LEAT_NET_loss_finish, 0)))
        return LEAT_E_NOMEM;
    c->args.train = args;
    c->blocks[0] = 1;
    return LEAT_OK;
}

/* --- the table ------------------------------------------------------------------------------- */

typedef int make_fn(const maker *m);

static make_fn *const makers[LEAT_N_PRIMS] = {
    [LEAT_PRIM_CONVERT] = convert,
    [LEAT_PRIM_CONV] = conv,
    [LEAT_PRIM_CONV_GRAD_DATA] = conv_grad_data,
    [LEAT_PRIM_CONV_GRAD_WEIGHTS] = conv_grad_weights,
    [LEAT_PRIM_DENSE] = dense,
    [LEAT_PRIM_DENSE_GRAD_DATA] = dense_grad_data,
    [LEAT_PRIM_DENSE_GRAD_WEIGHTS] = dense_grad_weights,
    [LEAT_PRIM_NORM] = norm,
    [LEAT_PRIM_NORM_FIXED] = norm_fixed,
    [LEAT_PRIM_NORM_GRAD] = norm_grad,
    [LEAT_PRIM_LAYER_NORM] = layer_norm,
    [LEAT_PRIM_LAYER_NORM_GRAD] = layer_norm_grad,
    [LEAT_PRIM_ACT] = act,
    [LEAT_PRIM_ACT_GRAD] = act_grad,
    [LEAT_PRIM_MAX_POOL] = pool,
    [LEAT_PRIM_MAX_POOL_GRAD] = pool,
    [LEAT_PRIM_AVG_POOL] = pool,
    [LEAT_PRIM_AVG_POOL_GRAD] = pool,
    [LEAT_PRIM_DROPOUT] = dropout,
    [LEAT_PRIM_SOFTMAX] = softmax,
    [LEAT_PRIM_SOFTMAX_GRAD] = softmax,
    [LEAT_PRIM_SUM] = sum,
    [LEAT_PRIM_SCALE] = scale,
    [LEAT_PRIM_JOIN] = channels,
    [LEAT_PRIM_PART] = channels,
    [LEAT_PRIM_LOSS] = loss,
};

static int make(maker *m, const leat_prim_op *op)
{
    m->op = op;
    m->layer = op->layer >= 0 ? &m->net->model->layers[op->layer] : NULL;
    const int rc = makers[op->prim](m);
    if (rc < 0 && m->layer && m->err) {
        const leat_error inner = *m->err;
        return leat_gpu_fail(m->err, rc, "%s: %.400s", m->layer->name, inner.message);
    }
    return rc;
}

static int compile(leat_net *net, leat_net_program *p, leat_net_plan *plan, leat_error *err)
{
    maker m = { .net = net, .p = p, .plan = plan, .err = err };
    int rc = LEAT_OK;
    for (int32_t i = 0; i < p->program->n_ops && rc == LEAT_OK; i++)
        if (i != p->skipped)
            rc = make(&m, &p->program->ops[i]);
    if (rc == LEAT_OK && !p->program->training) {
        const leat_prim_op op = { .prim = LEAT_PRIM_LOSS,
                                  .layer = -1,
                                  .in = { p->program->logits, -1, -1 },
                                  .out = { -1, -1 },
                                  .saved = -1 };
        rc = make(&m, &op);
    }
    return rc;
}

/* The calls of a plan may still be in the queue, so the caller's stream is waited for before they go. */
static int clear(leat_net *net, leat_net_program *p, leat_net_plan *plan, leat_error *err)
{
    if (!plan->rows)
        return LEAT_OK;
    const cudaError_t rc = net->stream ? cudaStreamSynchronize(net->stream) : cudaSuccess;
    if (p == &net->train && plan->rows == net->model->batch_size)
        leat_net_graphs_close(net);
    leat_net_calls_close(&plan->calls);
    plan->rows = 0;
    return leat_gpu_check(net->gpu, rc, "waiting for steps", err);
}

int leat_net_plan_for(leat_net *net, leat_net_program *p, int64_t rows, bool masked,
                      leat_net_plan **out, leat_error *err)
{
    /* Batch norms of the libraries know no masks, and are compiled for a number of rows, which would hold up a
     * short last batch for seconds. */
    const bool own_norm = net->lib_norm && (masked || rows != net->model->batch_size);
    leat_net_plan *oldest = &p->plans[0];
    for (int i = 0; i < LEAT_NET_PLANS; i++) {
        leat_net_plan *const plan = &p->plans[i];
        if (plan->rows == rows && plan->own_norm == own_norm) {
            plan->last_use = ++net->uses;
            *out = plan;
            return LEAT_OK;
        }
        if (!plan->rows || (oldest->rows && plan->last_use < oldest->last_use))
            oldest = plan;
    }
    int rc = clear(net, p, oldest, err);
    if (rc < 0)
        return rc;
    oldest->rows = rows;
    oldest->own_norm = own_norm;
    oldest->last_use = ++net->uses;
    if ((rc = compile(net, p, oldest, err)) < 0) {
        leat_net_calls_close(&oldest->calls);
        oldest->rows = 0;
    }
    *out = oldest;
    return rc;
}
