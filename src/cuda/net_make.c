/* SPDX-License-Identifier: MIT
 *
 * net_make.c: primitives that kernels of ours do: value by value, pooling, sums per channel and the loss. See
 * net_make.h. */
#include "net_make.h"

#include "gpu.h"

_Static_assert(LEAT_TRAIN_F32 == (int)LEAT_PRIM_F32 && LEAT_TRAIN_BF16 == (int)LEAT_PRIM_BF16 &&
                   LEAT_TRAIN_U8 == (int)LEAT_PRIM_U8 && LEAT_TRAIN_U16 == (int)LEAT_PRIM_U16,
               "kernels and primitives number their types alike");

leat_net_call *leat_net_make_add(const leat_net_maker *m, leat_net_kernel kernel, int64_t n)
{
    leat_net_call *const c = leat_net_add(&m->plan->calls, kernel, m->err);
    if (!c)
        return NULL;
    leat_train_args *const a = &c->args.train;
    const int32_t first = m->op->in[0], out = m->op->out[0];
    for (int k = 0; k < LEAT_PRIM_MAX_IN; k++)
        a->in[k] = leat_net_make_address(m, m->op->in[k]);
    for (int k = 0; k < LEAT_PRIM_MAX_OUT; k++)
        a->out[k] = leat_net_make_address(m, m->op->out[k]);
    a->in_type = first >= 0 ? (int32_t)leat_net_make_tensor(m, first)->type : 0;
    a->out_type = out >= 0 ? (int32_t)leat_net_make_tensor(m, out)->type : a->in_type;
    a->act = (int32_t)m->op->act;
    a->alpha = m->op->alpha;
    a->layer = m->op->layer;
    a->rows = m->plan->rows;
    a->row_n = leat_net_make_tensor(m, out >= 0 ? out : first)->n;
    a->channels =
        leat_net_make_channels_of(&leat_net_make_tensor(m, out >= 0 ? out : first)->shape);
    a->pixels = a->rows * a->row_n / a->channels;
    a->step = m->net->step;
    a->valid = m->net->valid;
    a->partial = m->net->partial;
    a->n = n;
    c->blocks[0] = leat_net_blocks(n);
    c->layer = m->op->layer;
    return c;
}

/* --- value by value -------------------------------------------------------------------------- */

static int each(const leat_net_maker *m, int32_t mode)
{
    const int64_t n = leat_net_make_n_elements(m, m->op->out[0]);
    leat_net_call *const c = leat_net_make_add(m, LEAT_NET_each, leat_net_make_eights(n));
    if (!c)
        return LEAT_E_NOMEM;
    c->args.train.mode = mode;
    c->args.train.row_n = n;
    return LEAT_OK;
}

static int make_convert(const leat_net_maker *m)
{
    return each(m, LEAT_EACH_COPY);
}

static int make_act(const leat_net_maker *m)
{
    return each(m, LEAT_EACH_ACT);
}

static int make_act_grad(const leat_net_maker *m)
{
    return each(m, LEAT_EACH_ACT_GRAD);
}

static int make_sum(const leat_net_maker *m)
{
    return each(m, LEAT_EACH_SUM);
}

static int make_scale(const leat_net_maker *m)
{
    return each(m, LEAT_EACH_SCALE);
}

static int make_dropout(const leat_net_maker *m)
{
    const int64_t n =
        leat_net_make_eights(leat_net_make_tensor(m, m->op->out[0])->n) * m->plan->rows;
    leat_net_call *const c = leat_net_make_add(m, LEAT_NET_dropout, n);
    const uint64_t seed = m->net->model->seed;
    if (!c)
        return LEAT_E_NOMEM;
    c->args.train.key[0] = (uint32_t)seed;
    c->args.train.key[1] = (uint32_t)(seed >> 32);
    return LEAT_OK;
}

static int make_softmax(const leat_net_maker *m)
{
    const leat_program_tensor *const t = leat_net_make_tensor(m, m->op->out[0]);
    const bool grad = m->op->prim == LEAT_PRIM_SOFTMAX_GRAD;
    return leat_net_make_add(m, grad ? LEAT_NET_softmax_grad : LEAT_NET_softmax,
                             t->n * m->plan->rows / leat_net_make_channels_of(&t->shape))
               ? LEAT_OK
               : LEAT_E_NOMEM;
}

/* Tensors may be seen flattened by the layers around, so widths are those of the op's own layer. */
static int make_channels(const leat_net_maker *m)
{
    const bool part = m->op->prim == LEAT_PRIM_PART;
    const int32_t narrow = part ? m->op->out[0] : m->op->in[0];
    const int32_t wide_channels = leat_net_make_channels_of(&m->layer->out);
    const int64_t pixels = leat_gpu_launch_elements(&m->layer->out) / wide_channels;
    leat_net_call *const c =
        leat_net_make_add(m, LEAT_NET_channels, leat_net_make_n_elements(m, narrow));
    if (!c)
        return LEAT_E_NOMEM;
    c->args.train.mode = part;
    c->args.train.channel = m->op->channel;
    c->args.train.channels = (int32_t)(leat_net_make_tensor(m, narrow)->n / pixels);
    c->args.train.row_n = wide_channels;
    return LEAT_OK;
}

/* --- pooling --------------------------------------------------------------------------------- */

static int make_pool(const leat_net_maker *m)
{
    static const leat_net_kernel kernels[LEAT_N_PRIMS] = {
        [LEAT_PRIM_MAX_POOL] = LEAT_NET_max_pool,
        [LEAT_PRIM_MAX_POOL_GRAD] = LEAT_NET_max_pool_grad,
        [LEAT_PRIM_AVG_POOL] = LEAT_NET_avg_pool,
        [LEAT_PRIM_AVG_POOL_GRAD] = LEAT_NET_avg_pool_grad,
    };
    const int32_t n_channels = (int32_t)m->layer->in.dims[2];
    const int32_t lanes = n_channels % LEAT_EIGHT ? 1 : LEAT_EIGHT;
    leat_net_call *const c = leat_net_make_add(m, kernels[m->op->prim],
                                               leat_net_make_n_elements(m, m->op->out[0]) / lanes);
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
    int32_t lanes, n_chunks, most_chunks; /* most: of this many or fewer pixels */
    int64_t chunk_pixels;
    unsigned blocks;
} division;

static division divide(int64_t pixels, int32_t n_channels)
{
    enum { BLOCKS = 528 };
    const int64_t groups = leat_net_make_eights(n_channels);
    division d = { .lanes = 1 };
    while (d.lanes < 32 && d.lanes < groups)
        d.lanes *= 2;
    d.blocks = (unsigned)((groups + d.lanes - 1) / d.lanes);
    const int64_t most = (pixels * d.lanes + 2 * LEAT_TRAIN_THREADS - 1) / (2 * LEAT_TRAIN_THREADS);
    int64_t n = BLOCKS / d.blocks ? BLOCKS / d.blocks : 1;
    n = n < most ? n : most;
    d.most_chunks = (int32_t)n;
    d.chunk_pixels = (pixels + n - 1) / n;
    d.n_chunks = (int32_t)((pixels + d.chunk_pixels - 1) / d.chunk_pixels);
    return d;
}

/* Both kernels with the arguments of `like`. */
int leat_net_make_add_sums(const leat_net_maker *m, const leat_train_args *like, int32_t mode)
{
    const division d = divide(like->pixels, like->channels);
    leat_net_call *c = leat_net_make_add(m, LEAT_NET_channel_sums, 0);
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
    if (!(c = leat_net_make_add(m, LEAT_NET_channel_finish, 0)))
        return LEAT_E_NOMEM;
    c->args.train = args;
    c->blocks[0] = (unsigned)leat_net_make_eights(args.channels);
    return LEAT_OK;
}

void leat_net_make_sizes(const leat_net *net, const leat_program *p, size_t *partial, size_t *fixed)
{
    for (int32_t i = 0; i < p->n_tensors; i++) {
        const int32_t n = leat_net_make_channels_of(&p->tensors[i].shape);
        const int64_t pixels = p->tensors[i].n * net->model->batch_size / n;
        const size_t sums = (size_t)divide(pixels, n).most_chunks * 2 * (size_t)n;
        *partial = *partial > sums ? *partial : sums;
    }
    for (int32_t i = 0; i < p->n_ops; i++) {
        const leat_prim_op *const op = &p->ops[i];
        const leat_net_prim *const prim = leat_net_prims[op->prim];
        const int64_t pairs =
            prim->n_fixed ? prim->n_fixed(&p->tensors[op->in[0]], net->model->batch_size) : 0;
        const size_t n = 2 * (size_t)leat_net_padded(pairs);
        *fixed = *fixed > n ? *fixed : n;
    }
}

int leat_net_make_bias_grad(const leat_net_maker *m)
{
    leat_net_call *const c = leat_net_make_add(m, LEAT_NET_channel_sums, 0);
    if (!c)
        return LEAT_E_NOMEM;
    leat_train_args args = c->args.train;
    m->plan->calls.n--; /* only its arguments were wanted */
    const int32_t dy = m->op->in[0];
    args.row_n = leat_net_make_tensor(m, dy)->n;
    args.channels = leat_net_make_channels_of(&m->layer->out);
    args.pixels = args.rows * args.row_n / args.channels;
    args.dshift = leat_net_make_grad_of(m, 1);
    return leat_net_make_add_sums(m, &args, LEAT_SUMS_BIAS);
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

/* In a part of a model the step itself puts the gradient there. */
static int make_loss(const leat_net_maker *m)
{
    if (!leat_model_ends(m->net->model))
        return LEAT_OK;
    leat_net_call *c = leat_net_make_add(m, LEAT_NET_loss, 0);
    if (!c)
        return LEAT_E_NOMEM;
    leat_train_args *const a = &c->args.train;
    const leat_program_tensor *const logits = leat_net_make_tensor(m, m->op->in[0]);
    a->target = m->net->target;
    a->target_type = target_type(m->net->model);
    a->sums = m->net->sums;
    a->class_weights = m->net->class_weights;
    a->weights = m->net->weights;
    leat_net_put_loss(m->net, a);
    a->channels = (int32_t)logits->n;
    a->row_n = logits->n;
    c->blocks[0] = (unsigned)((a->rows + LEAT_LOSS_ROWS - 1) / LEAT_LOSS_ROWS);
    const leat_train_args args = *a;
    if (!(c = leat_net_make_add(m, LEAT_NET_loss_finish, 0)))
        return LEAT_E_NOMEM;
    c->args.train = args;
    c->blocks[0] = 1;
    return LEAT_OK;
}

/* --- the rows -------------------------------------------------------------------------------- */

const leat_net_prim leat_net_prim_convert = { .make = make_convert };
const leat_net_prim leat_net_prim_act = { .make = make_act };
const leat_net_prim leat_net_prim_act_grad = { .make = make_act_grad };
const leat_net_prim leat_net_prim_max_pool = { .make = make_pool };
const leat_net_prim leat_net_prim_max_pool_grad = { .make = make_pool };
const leat_net_prim leat_net_prim_avg_pool = { .make = make_pool };
const leat_net_prim leat_net_prim_avg_pool_grad = { .make = make_pool };
const leat_net_prim leat_net_prim_dropout = { .make = make_dropout };
const leat_net_prim leat_net_prim_softmax = { .make = make_softmax };
const leat_net_prim leat_net_prim_softmax_grad = { .make = make_softmax };
const leat_net_prim leat_net_prim_sum = { .make = make_sum };
const leat_net_prim leat_net_prim_scale = { .make = make_scale };
const leat_net_prim leat_net_prim_join = { .make = make_channels };
const leat_net_prim leat_net_prim_part = { .make = make_channels };
const leat_net_prim leat_net_prim_loss = { .make = make_loss };
