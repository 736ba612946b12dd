/* SPDX-License-Identifier: MIT
 *
 * net_plan.c: compiles a program for a number of rows into calls. See net_cuda.h. */
#include <stdlib.h>
#include <string.h>

#include "net_make.h"

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
    for (int32_t i = 0; i < calls->n; i++) {
        leat_net_call *const c = &calls->list[i];
        if (c->op && !c->shared)
            leat_gpu_lib_functions.op_close(&c->op);
        else if (!c->op && c->kernel == LEAT_NET_norm_running)
            free(c->args.running);
    }
    free(calls->list);
    *calls = (leat_net_calls){ .list = NULL };
}

/* Threads take several calls where there are more than fill the device. */
unsigned leat_net_blocks(int64_t n)
{
    const int64_t blocks = (n + LEAT_TRAIN_THREADS - 1) / LEAT_TRAIN_THREADS;
    return (unsigned)(blocks < 8192 ? blocks : 8192);
}

/* --- fusion ---------------------------------------------------------------------------------- */

/* The NORM whose result, tensor t, only op `reader` reads (and NORM_GRAD, which needs none without an activation);
 * -1: none. */
static int32_t norm_for(const leat_program *p, int32_t t, int32_t reader)
{
    int32_t norm = -1;
    for (int32_t i = 0; i < p->n_ops; i++) {
        const leat_prim_op *const op = &p->ops[i];
        if (op->prim == LEAT_PRIM_NORM && op->out[0] == t && op->act == LEAT_ACT_NONE &&
            op->in[1] < 0)
            norm = i;
        else if (i != reader && (op->in[0] == t || op->in[1] == t ||
                                 (op->in[2] == t && op->prim != LEAT_PRIM_NORM_GRAD)))
            return -1;
    }
    return t == p->logits ? -1 : norm;
}

/* Op `sum` becomes the NORM, and takes the other summand along. */
static void fuse(leat_program *p, int32_t norm, int32_t sum)
{
    leat_prim_op *const to = &p->ops[sum];
    const int32_t t = p->ops[norm].out[0], other = to->in[0] == t ? to->in[1] : to->in[0];
    leat_prim_op both = p->ops[norm];
    both.in[1] = other;
    both.out[0] = to->out[0];
    both.act = to->act;
    both.alpha = to->alpha;
    *to = both;
    p->n_ops--;
    p->n_forward--;
    memmove(&p->ops[norm], &p->ops[norm + 1], (size_t)(p->n_ops - norm) * sizeof *p->ops);
    for (int32_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].prim == LEAT_PRIM_NORM_GRAD && p->ops[i].in[2] == t)
            p->ops[i].in[2] = -1;
}

static void remove_op(leat_program *p, int32_t i)
{
    p->n_ops--;
    memmove(&p->ops[i], &p->ops[i + 1], (size_t)(p->n_ops - i) * sizeof *p->ops);
}

static bool reads(const leat_prim_op *op, int32_t t)
{
    for (int k = 0; k < LEAT_PRIM_MAX_IN; k++)
        if (op->in[k] == t)
            return true;
    return false;
}

/* A tensor of bytes with the shape of t; -1: no memory. The program frees its list as libleat made it. */
static int32_t new_mask(leat_program *p, int32_t t)
{
    leat_program_tensor *const list =
        realloc(p->tensors, (size_t)(p->n_tensors + 1) * sizeof *p->tensors);
    if (!list)
        return -1;
    p->tensors = list;
    list[p->n_tensors] = list[t];
    list[p->n_tensors].type = LEAT_PRIM_U8;
    list[p->n_tensors].first = list[p->n_tensors].last = -1;
    return p->n_tensors++;
}

/* The op that applies relu's gradient to the gradient of tensor y, if nobody else asks for it first; -1: none. */
static int32_t relu_grad_of(const leat_program *p, int32_t y)
{
    for (int32_t i = p->n_forward; i < p->n_ops; i++)
        if (p->ops[i].prim == LEAT_PRIM_ACT_GRAD && p->ops[i].act == LEAT_ACT_relu &&
            p->ops[i].in[1] == y)
            return i;
    return -1;
}

/* NORM_GRAD of a NORM that took a sum and its relu also takes the relu's gradient, which is the one of both summands. It
 * must be the first that reads it. */
static void fuse_grad(leat_program *p, leat_prim_op *norm)
{
    const int32_t relu = relu_grad_of(p, norm->out[0]);
    if (relu < 0)
        return;
    const int32_t dy = p->ops[relu].in[0], masked = p->ops[relu].out[0];
    int32_t grad = relu + 1;
    while (grad < p->n_ops && !reads(&p->ops[grad], masked))
        grad++;
    leat_prim_op *const g = &p->ops[grad];
    if (grad == p->n_ops || g->prim != LEAT_PRIM_NORM_GRAD || g->saved != norm->saved ||
        g->in[0] != masked || g->act != LEAT_ACT_NONE)
        return;
    const int32_t mask = new_mask(p, norm->out[0]);
    if (mask < 0)
        return; /* it works as it is */
    norm->out[1] = g->in[2] = mask;
    g->in[0] = dy;
    g->out[1] = masked;
    g->act = LEAT_ACT_relu;
    remove_op(p, relu);
}

/* The convolution whose gradient, tensor t, only op `sum` reads; -1: none. */
static int32_t conv_for(const leat_program *p, int32_t t, int32_t sum)
{
    int32_t conv = -1;
    for (int32_t i = p->n_forward; i < p->n_ops; i++)
        if (p->ops[i].prim == LEAT_PRIM_CONV_GRAD_DATA && p->ops[i].out[0] == t &&
            p->ops[i].in[1] < 0)
            conv = i;
        else if (i != sum && reads(&p->ops[i], t))
            return -1;
    return t == p->input_grad ? -1 : conv;
}

/* A SUM of two gradients becomes part of the convolution that gives one of them, if the other is there by then. */
static bool fuse_sum(leat_program *p, int32_t sum)
{
    for (int k = 0; k < 2; k++) {
        const leat_prim_op op = p->ops[sum];
        const int32_t conv = conv_for(p, op.in[k], sum), other = op.in[1 - k];
        int32_t written = -1;
        for (int32_t i = 0; i < p->n_ops; i++)
            if (p->ops[i].out[0] == other || p->ops[i].out[1] == other)
                written = i;
        if (conv < 0 || written < 0 || written > conv || op.in[0] == op.in[1])
            continue;
        p->ops[conv].in[1] = other;
        p->ops[conv].out[0] = op.out[0];
        remove_op(p, sum);
        return true;
    }
    return false;
}

void leat_net_fuse(leat_program *p)
{
    for (int32_t i = 0; i < p->n_forward; i++) {
        const leat_prim_op *const op = &p->ops[i];
        if (op->prim != LEAT_PRIM_SUM || op->act != LEAT_ACT_relu || op->in[0] == op->in[1])
            continue;
        const int32_t first = norm_for(p, op->in[0], i), second = norm_for(p, op->in[1], i);
        const int32_t norm = first > second ? first : second;
        if (norm >= 0)
            fuse(p, norm, i--);
    }
    for (int32_t i = 0; i < p->n_forward; i++)
        if (p->ops[i].prim == LEAT_PRIM_NORM && p->ops[i].in[1] >= 0)
            fuse_grad(p, &p->ops[i]);
    for (int32_t i = p->n_forward; i < p->n_ops; i++)
        if (p->ops[i].prim == LEAT_PRIM_SUM && p->ops[i].act == LEAT_ACT_NONE && fuse_sum(p, i))
            i--;
}

/* --- the table ------------------------------------------------------------------------------- */

const leat_net_prim *const leat_net_prims[LEAT_N_PRIMS] = {
#define ROW(NAME, name, in_place) &leat_net_prim_##name,
    LEAT_PRIM_LIST(ROW)
#undef ROW
};

static void set_op(leat_net_maker *m, const leat_prim_op *op)
{
    m->op = op;
    m->layer = op->layer >= 0 ? &m->net->model->layers[op->layer] : NULL;
}

/* Without memory the ops are built one by one. */
static void build_ahead(leat_net_maker *m)
{
    const leat_program *const p = m->p->program;
    leat_gpu_lib_spec *const specs = malloc((size_t)p->n_ops * sizeof *specs);
    int n = 0;
    for (int32_t i = 0; specs && i < p->n_ops; i++) {
        const leat_net_prim *const prim = leat_net_prims[p->ops[i].prim];
        set_op(m, &p->ops[i]);
        n += prim->ahead && prim->ahead(m, &specs[n]);
    }
    if (n > 1)
        leat_gpu_lib_functions.ops_ahead(m->net->lib, specs, n);
    free(specs);
}

static int make(leat_net_maker *m, const leat_prim_op *op)
{
    set_op(m, op);
    const int rc = leat_net_prims[op->prim]->make(m);
    if (rc < 0 && m->layer && m->err) {
        const leat_error inner = *m->err;
        return leat_gpu_fail(m->err, rc, "%s: %.400s", m->layer->name, inner.message);
    }
    return rc;
}

static int compile(leat_net *net, leat_net_program *p, leat_net_plan *plan, leat_error *err)
{
    leat_net_maker m = { .net = net, .p = p, .plan = plan, .err = err };
    int rc = LEAT_OK;
    build_ahead(&m);
    for (int32_t i = 0; i < p->program->n_ops && rc == LEAT_OK; i++) {
        if (i != p->skipped)
            rc = make(&m, &p->program->ops[i]);
        if (rc == LEAT_OK && i + 1 == p->program->n_forward)
            rc = leat_net_make_running(plan, err);
        plan->n_forward = i < p->program->n_forward ? plan->calls.n : plan->n_forward;
    }
    if (rc == LEAT_OK && !p->program->training && leat_model_ends(net->model)) {
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
static int clear(leat_net *net, leat_net_plan *plan, leat_error *err)
{
    if (!plan->rows)
        return LEAT_OK;
    const cudaError_t rc = net->stream ? cudaStreamSynchronize(net->stream) : cudaSuccess;
    if (plan->rows == net->model->batch_size)
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
    int rc = clear(net, oldest, err);
    if (rc < 0)
        return rc;
    oldest->rows = rows;
    oldest->n_forward = 0;
    oldest->own_norm = own_norm;
    oldest->own_masks = false;
    oldest->last_use = ++net->uses;
    if ((rc = compile(net, p, oldest, err)) < 0) {
        leat_net_calls_close(&oldest->calls);
        free(oldest->running);
        oldest->running = NULL;
        oldest->n_running = 0;
        oldest->rows = 0;
    }
    *out = oldest;
    return rc;
}
