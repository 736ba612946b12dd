/* SPDX-License-Identifier: MIT
 *
 * cpu_update.c: sums the gradients of all micro-batches and updates the weights. cpu_step.c calls it at the end of a
 * training step, on all threads.
 *
 * DESIGN: the sum over micro-batches is a fixed tree, split at the largest power of two: with four micro-batches
 * (g0 + g1) + (g2 + g3). It depends on the number of micro-batches alone, and several machines could compute parts
 * of it. Work is cut into pieces of fixed length that threads claim, and norms are summed piece by piece in
 * double, so nothing depends on the number of threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net_cpu.h"

enum { REDUCE_FLOATS = 2048, BLOCK_FLOATS = 16384, UPDATE_FLOATS = 2048 };

/* --- the tree -------------------------------------------------------------------------------- */

void leat_cpu_update_tree(const leat_net *net, int32_t first, int32_t n, size_t at, size_t length,
                          float *to, float *buffers)
{
    if (n == 1) {
        if (to != net->grads[first] + at)
            memcpy(to, net->grads[first] + at, length * sizeof *to);
        return;
    }
    const int32_t left = leat_ranks_sum_left(n);
    leat_cpu_update_tree(net, first, left, at, length, to, buffers);
    const float *right = net->grads[first + left] + at;
    if (n - left > 1) {
        leat_cpu_update_tree(net, first + left, n - left, at, length, buffers, buffers + length);
        right = buffers;
    }
    net->loops->sum(to, right, to, length);
}

static size_t first_bad(const float *x, size_t n)
{
    size_t i = 0;
    while (i + 1 < n && isfinite(x[i]))
        i++;
    return i;
}

float *leat_cpu_update_sum(const leat_net *net)
{
    return net->accumulated ? net->accumulated : net->grads[net->first];
}

void leat_cpu_update_check(leat_net *net, int32_t thread, size_t at, size_t length)
{
    leat_cpu_scratch *const mine = &net->scratch[thread];
    const float *const sum = leat_cpu_update_sum(net) + at;
    if (at < mine->bad_gradient && !isfinite(net->loops->largest(sum, length)))
        mine->bad_gradient = at + first_bad(sum, length);
}

/* Of floats [at, at + length). */
static void reduce(leat_net *net, int32_t thread, size_t at, size_t length)
{
    float *const buffers = net->scratch[thread].floats, *const sum = leat_cpu_update_sum(net) + at;
    const int32_t n = net->job.n_micro;
    if (!net->accumulated || net->job.how->first) {
        leat_cpu_update_tree(net, 0, n, at, length, sum, buffers);
    } else {
        leat_cpu_update_tree(net, 0, n, at, length, buffers, buffers + length);
        net->loops->sum(sum, buffers, sum, length);
    }
    leat_cpu_update_check(net, thread, at, length);
}

/* --- gradients in the plain layout ----------------------------------------------------------- */

/* The gradient of a parameter in its plain layout. */
static const float *gradient_of(const leat_net *net, int32_t param)
{
    return net->grad[param].copy ? net->gradient + net->model->params[param].at
                                 : leat_cpu_update_sum(net) + net->grad[param].at;
}

static void unpack(leat_net *net, int32_t thread)
{
    leat_cpu_scratch *mine = &net->scratch[thread];
    for (int32_t i; (i = leat_cpu_team_claim(&net->team)) < net->model->n_params;) {
        const leat_cpu_grad *grad = &net->grad[i];
        if (!grad->copy || mine->rc < 0)
            continue;
        mine->rc =
            leat_dn_ops->copy_run(grad->copy, thread, leat_cpu_update_sum(net) + grad->at,
                                  net->gradient + net->model->params[i].at, mine->dn, &mine->error);
    }
    leat_cpu_team_meet(&net->team, NULL);
}

/* --- norms ----------------------------------------------------------------------------------- */

static double squares(const float *x, size_t n)
{
    double parts[8] = { 0 }, sum = 0;
    for (size_t i = 0; i < n; i += 8)
        for (size_t j = 0; j < 8; j++)
            parts[j] += (double)x[i + j] * (double)x[i + j];
    for (size_t j = 0; j < 8; j++)
        sum += parts[j];
    return sum;
}

static void measure(leat_net *net)
{
    for (int32_t i; (i = leat_cpu_team_claim(&net->team)) < net->n_blocks;) {
        const leat_cpu_block *b = &net->blocks[i];
        const size_t at = net->model->params[b->param].at + b->from;
        net->norms[2 * i] = squares(gradient_of(net, b->param) + b->from, b->n);
        net->norms[2 * i + 1] = squares(net->arenas[LEAT_VALUES_WEIGHT] + at, b->n);
    }
}

static void set_scale(void *owner)
{
    leat_net *net = owner;
    const leat_net_step *how = net->job.how;
    double all = 0;
    for (int32_t i = 0; i < net->n_blocks; i++)
        all += net->norms[2 * i];
    const double length = sqrt(all) * (double)how->share;
    if (how->clip > 0 && length > (double)how->clip)
        net->grad_scale = (float)((double)how->share * (double)how->clip / length);
}

/* --- the update ------------------------------------------------------------------------------ */

static double norm_of(const leat_net *net, int32_t param, int which)
{
    double sum = 0;
    for (int32_t i = 0; i < net->n_blocks; i++)
        if (net->blocks[i].param == param)
            sum += net->norms[2 * i + which];
    return sqrt(sum);
}

static leat_update update_of(const leat_net *net, int32_t param)
{
    const leat_model_param *p = &net->model->params[param];
    const leat_rate_options *o = net->model->optimizer_options;
    const bool norms = net->model->optimizer->norms;
    leat_update u = { .step = net->updates + 1,
                      .rank = p->spec->shape.rank,
                      .learning_rate = net->job.how->rate * (double)p->rate,
                      .weight_decay = p->decays ? o->weight_decay : 0,
                      .grad_scale = net->grad_scale };
    if (norms) {
        u.grad_norm = norm_of(net, param, 0) * (double)net->grad_scale;
        u.weight_norm = norm_of(net, param, 1);
    }
    return u;
}

static bool as_matrix(const leat_model *model, int32_t param)
{
    return model->optimizer->update_matrix && model->params[param].spec->shape.rank >= 2;
}

/* Where one range of a parameter lies. */
typedef struct range {
    float *weight, *states[LEAT_OPTIMIZER_MAX_STATES];
    const float *grad;
} range;

static range range_of(const leat_net *net, int32_t param, size_t from)
{
    const size_t at = net->model->params[param].at + from;
    range r = { .weight = net->arenas[LEAT_VALUES_WEIGHT] + at,
                .grad = gradient_of(net, param) + from };
    for (int32_t i = 0; i < net->model->optimizer->n_states; i++)
        r.states[i] = net->arenas[LEAT_VALUES_STATE + i] + at;
    return r;
}

/* While the n values are in the nearest cache: whether the update made them infinite, or no numbers. */
static void check_updated(leat_net *net, int32_t thread, int32_t param, const range *r, size_t n)
{
    bool finite = isfinite(net->loops->largest(r->weight, n));
    for (int32_t i = 0; i < net->model->optimizer->n_states; i++)
        finite = finite && isfinite(net->loops->largest(r->states[i], n));
    if (!finite)
        net->scratch[thread].bad_param = param;
}

static void update_vector(leat_net *net, int32_t thread, const leat_cpu_block *b,
                          const leat_update *u)
{
    for (size_t at = 0; at < b->n; at += UPDATE_FLOATS) {
        const size_t n = b->n - at < UPDATE_FLOATS ? b->n - at : UPDATE_FLOATS;
        const range r = range_of(net, b->param, b->from + at);
        net->model->optimizer->update(net->model->optimizer_options, u, r.weight, r.grad, r.states,
                                      n);
        check_updated(net, thread, b->param, &r, n);
    }
}

static void update_matrix(leat_net *net, int32_t thread, const leat_cpu_block *b,
                          const leat_update *u)
{
    const leat_model_param *const p = &net->model->params[b->param];
    const int64_t columns = p->spec->shape.dims[p->spec->shape.rank - 1];
    const range r = range_of(net, b->param, b->from);
    net->model->optimizer->update_matrix(net->model->optimizer_options, u, r.weight, r.grad,
                                         r.states, (int64_t)p->n / columns, columns,
                                         net->matrix + (size_t)thread * net->matrix_floats);
    check_updated(net, thread, b->param, &r, b->n);
}

static void update_block(leat_net *net, int32_t thread, const leat_cpu_block *b)
{
    const leat_update u = update_of(net, b->param);
    (as_matrix(net->model, b->param) ? update_matrix : update_vector)(net, thread, b, &u);
}

static bool has_copies(const leat_net *net)
{
    for (int32_t i = 0; i < net->model->n_params; i++)
        if (net->grad[i].copy)
            return true;
    return false;
}

void leat_cpu_update(leat_net *net, int32_t thread)
{
    if (net->model->ranks) {
        leat_cpu_ranks_sum(net, thread);
    } else if (net->job.n_micro > 1 || net->accumulated) {
        const size_t n = net->n_grad_floats;
        for (size_t at; (at = (size_t)leat_cpu_team_claim(&net->team) * REDUCE_FLOATS) < n;)
            reduce(net, thread, at, n - at < REDUCE_FLOATS ? n - at : REDUCE_FLOATS);
        leat_cpu_team_meet(&net->team, NULL);
    }
    if (!net->job.how->last || net->failed < 0 || !leat_cpu_gradients_are_finite(net))
        return;
    if (has_copies(net))
        unpack(net, thread);
    if (net->model->optimizer->norms || net->job.how->clip > 0) {
        measure(net);
        leat_cpu_team_meet(&net->team, set_scale);
    }
    for (int32_t i; (i = leat_cpu_team_claim(&net->team)) < net->n_blocks;)
        update_block(net, thread, &net->blocks[i]);
}

/* --- open ------------------------------------------------------------------------------------ */

static void place_grad(leat_net *net, int32_t param)
{
    const leat_model_param *const p = &net->model->params[param];
    leat_cpu_grad *const grad = &net->grad[param];
    if (!p->spec->trained)
        return;
    const size_t n = grad->layout ? leat_dn_ops->layout_bytes(grad->layout) / sizeof(float) : p->n;
    grad->at = net->n_grad_floats;
    grad->n = (n + 15) / 16 * 16;
    net->n_grad_floats += grad->n;
}

/* Where they are exchanged during the backward pass, in the order in which it ends with them. */
static void place_grads(leat_net *net)
{
    const bool overlaps = leat_ranks_overlaps(net->model->ranks);
    const leat_program *const p = net->train.program;
    for (int32_t op = 0; op < (overlaps ? p->n_ops : 1); op++)
        for (int32_t i = 0; i < net->model->n_params; i++)
            if (!overlaps || (p->ops[op].layer == net->model->params[i].layer &&
                              leat_cpu_ranks_last_op(net, i) == op))
                place_grad(net, i);
}

/* If `to` is NULL, only counts. */
static int32_t list_blocks(const leat_net *net, leat_cpu_block *to)
{
    int32_t n = 0;
    for (int32_t i = 0; i < net->model->n_params; i++) {
        const leat_model_param *p = &net->model->params[i];
        const size_t padded = (p->n + 15) / 16 * 16;
        const size_t most = as_matrix(net->model, i) ? padded : BLOCK_FLOATS;
        for (size_t at = 0; p->spec->trained && at < padded; at += most, n++)
            if (to)
                to[n] = (leat_cpu_block){ i, at, padded - at < most ? padded - at : most };
    }
    return n;
}

static size_t matrix_floats(const leat_model *model)
{
    size_t most = 0;
    for (int32_t i = 0; i < model->n_params; i++) {
        const leat_shape *s = &model->params[i].spec->shape;
        if (!as_matrix(model, i) || !model->params[i].spec->trained)
            continue;
        const int64_t columns = s->dims[s->rank - 1];
        const size_t n =
            model->optimizer->matrix_scratch((int64_t)model->params[i].n / columns, columns);
        most = n > most ? n : most;
    }
    return (most + 15) / 16 * 16;
}

void leat_cpu_update_count(leat_net *net)
{
    place_grads(net);
    net->n_blocks = list_blocks(net, NULL);
    net->matrix_floats = matrix_floats(net->model);
}

int leat_cpu_update_open(leat_net *net, leat_error *err)
{
    const leat_model *model = net->model;
    net->blocks = calloc((size_t)net->n_blocks, sizeof *net->blocks);
    net->norms = calloc((size_t)net->n_blocks, 2 * sizeof *net->norms);
    net->grads = calloc((size_t)model->n_micro, sizeof *net->grads);
    if (!net->blocks || !net->norms || !net->grads)
        return leat_cpu_no_memory(err, 0);
    list_blocks(net, net->blocks);
    for (int32_t i = net->first; i < net->first + net->n_own; i++)
        if (!(net->grads[i] = leat_cpu_alloc(net->n_grad_floats * sizeof(float), err)))
            return LEAT_E_NOMEM;
    net->gradient = leat_cpu_alloc(model->n_trained_floats * sizeof(float), err);
    net->matrix =
        leat_cpu_alloc(net->matrix_floats * (size_t)net->team.n_threads * sizeof(float), err);
    if (!net->gradient || !net->matrix)
        return LEAT_E_NOMEM;
    if (model->accumulate > 1 &&
        !(net->accumulated = leat_cpu_alloc(net->n_grad_floats * sizeof(float), err)))
        return LEAT_E_NOMEM;
    return leat_cpu_ranks_open(net, err);
}
