/* SPDX-License-Identifier: MIT
 *
 * cpu_ranks.c: what the CPU backend exchanges with other ranks: sums of batch_norm and losses, micro-batch by micro-batch, and
 * gradients (ranks/ranks_sum.h). See net_cpu.h and ranks/exchange.h. */
#include <stdlib.h>

#include "net_cpu.h"
#include "train/ranks/exchange.h"

enum { PIECE_FLOATS = 2048 };

int leat_cpu_ranks_own_error(leat_net *net)
{
    for (int32_t i = 0; i < net->team.n_at_work; i++)
        if (net->scratch[i].rc < 0) {
            net->error = net->scratch[i].error;
            return net->error.code = net->scratch[i].rc;
        }
    return LEAT_OK;
}

bool leat_cpu_ranks_well(const leat_net *net)
{
    for (int32_t i = 0; i < net->team.n_at_work; i++)
        if (net->scratch[i].rc < 0)
            return false;
    return net->failed == LEAT_OK;
}

void leat_cpu_ranks_share(leat_net *net, void *all, size_t bytes)
{
    if (net->failed == LEAT_OK)
        net->failed = leat_ranks_share(net->model->ranks, leat_cpu_ranks_own_error(net), all,
                                       net->job.n_micro, bytes, &net->error);
}

/* --- gradients ------------------------------------------------------------------------------- */

/* Floats [at, at + n), at most a chunk. */
static int sum_chunk(leat_net *net, size_t at, size_t n, leat_error *err)
{
    float *const sum = leat_cpu_update_sum(net) + at;
    const bool adds = net->accumulated && !net->job.how->first;
    float *const to = adds ? net->chunk : sum;
    const int rc = leat_ranks_sum_chunk(&net->ranks_sum, net->grads, at, n, to, err);
    if (rc == LEAT_OK && adds)
        net->loops->sum(sum, to, sum, n);
    return rc;
}

/* While the other threads wait. */
static void exchange_gradients(void *owner)
{
    leat_net *const net = owner;
    const size_t n = net->n_grad_floats, most = net->ranks_sum.chunk;
    net->failed =
        leat_ranks_agree(net->model->ranks, leat_cpu_ranks_own_error(net), NULL, &net->error);
    for (size_t at = 0; at < n && net->failed == LEAT_OK; at += most)
        net->failed = sum_chunk(net, at, n - at < most ? n - at : most, &net->error);
}

/* The sum of a part lies in the memory of its first micro-batch. */
static void sum_parts(leat_net *net, size_t at, size_t length, float *buffers)
{
    for (int32_t i = 0; i < net->ranks_sum.n_parts; i++) {
        const leat_ranks_branch *const p = &net->ranks_sum.parts[i];
        if (p->rank == net->model->ranks->rank)
            leat_cpu_update_tree(net, p->first, p->n, at, length, net->grads[p->first] + at,
                                 buffers);
    }
}

void leat_cpu_ranks_sum(leat_net *net, int32_t thread)
{
    const size_t n = net->n_grad_floats;
    if (!net->job.overlaps) {
        for (size_t at; (at = (size_t)leat_cpu_team_claim(&net->team) * PIECE_FLOATS) < n;)
            sum_parts(net, at, n - at < PIECE_FLOATS ? n - at : PIECE_FLOATS,
                      net->scratch[thread].floats);
        leat_cpu_team_meet(&net->team, exchange_gradients);
    }
    for (size_t at; (at = (size_t)leat_cpu_team_claim(&net->team) * PIECE_FLOATS) < n;)
        leat_cpu_update_check(net, thread, at, n - at < PIECE_FLOATS ? n - at : PIECE_FLOATS);
    leat_cpu_team_meet(&net->team, NULL);
}

/* --- while the backward pass goes on --------------------------------------------------------- */

/* A part of the tree has at most as many levels as an int32_t has bits. */
enum { LEVELS = 32 };

int32_t leat_cpu_ranks_last_op(const leat_net *net, int32_t param)
{
    const leat_program *const p = net->train.program;
    int32_t i = p->n_ops - 1;
    while (i > 0 && p->ops[i].layer != net->model->params[param].layer)
        i--;
    return i;
}

/* On the thread of the overlap. */
static int sum_early(void *owner, int32_t chunk, leat_error *err)
{
    leat_net *const net = owner;
    const size_t from = (size_t)chunk * net->ranks_sum.chunk;
    const size_t rest = net->n_grad_floats - from;
    const size_t n = rest < net->ranks_sum.chunk ? rest : net->ranks_sum.chunk;
    for (size_t at = 0; at < n; at += PIECE_FLOATS)
        sum_parts(net, from + at, n - at < PIECE_FLOATS ? n - at : PIECE_FLOATS,
                  net->overlap_floats);
    return sum_chunk(net, from, n, err);
}

void leat_cpu_ranks_begin(leat_net *net)
{
    for (int32_t i = 0; i < net->n_own; i++)
        atomic_store(&net->passed[i], 0);
    leat_ranks_early_begin(net->overlap);
}

/* Of threads that do so at the same time, the last one sees what all have stored. */
void leat_cpu_ranks_passed(leat_net *net, int32_t micro, int32_t i)
{
    int32_t all = net->ready[i];
    if (all == atomic_exchange(&net->passed[micro - net->first], all))
        return;
    for (int32_t k = 0; k < net->n_own; k++) {
        const int32_t passed = atomic_load(&net->passed[k]);
        all = passed < all ? passed : all;
    }
    leat_ranks_early_ready(net->overlap, all);
}

void leat_cpu_ranks_finish(leat_net *net)
{
    leat_error err;
    const int rc = leat_ranks_early_finish(net->overlap, &err);
    if (rc < 0 && net->failed == LEAT_OK) {
        net->failed = rc;
        net->error = err;
    }
}

/* Chunks lie in the order of the ops after which they are there. */
static void find_ready(leat_net *net)
{
    const size_t chunk = net->ranks_sum.chunk;
    const int32_t n_ops = net->train.program->n_ops;
    const int32_t n = (int32_t)((net->n_grad_floats + chunk - 1) / chunk);
    for (int32_t i = 0; i < n_ops; i++)
        net->ready[i] = n;
    for (int32_t k = 0; k < net->model->n_params; k++) {
        const leat_cpu_grad *const grad = &net->grad[k];
        const int32_t before = (int32_t)(grad->at / chunk), last = leat_cpu_ranks_last_op(net, k);
        for (int32_t i = 0; i < last && net->model->params[k].spec->trained; i++)
            net->ready[i] = before < net->ready[i] ? before : net->ready[i];
    }
}

static int open_overlap(leat_net *net, leat_error *err)
{
    const size_t n_ops = (size_t)net->train.program->n_ops, chunk = net->ranks_sum.chunk;
    const int32_t n_chunks = (int32_t)((net->n_grad_floats + chunk - 1) / chunk);
    net->ready = calloc(n_ops, sizeof *net->ready);
    net->passed = calloc((size_t)net->n_own, sizeof *net->passed);
    net->overlap_floats = leat_cpu_alloc(LEVELS * PIECE_FLOATS * sizeof(float), err);
    if (!net->ready || !net->passed || !net->overlap_floats)
        return leat_cpu_no_memory(err, 0);
    find_ready(net);
    const int rc =
        leat_ranks_early_open(net->model->ranks, n_chunks, sum_early, net, &net->overlap, err);
    if (rc == LEAT_OK)
        net->ranks_sum.ranks = leat_ranks_early_channel(net->overlap);
    return rc;
}

int leat_cpu_ranks_open(leat_net *net, leat_error *err)
{
    leat_ranks *const ranks = net->model->ranks;
    if (!ranks)
        return LEAT_OK;
    const int rc = leat_ranks_sum_open(&net->ranks_sum, ranks, net->model->n_micro,
                                       net->n_grad_floats, net->loops->sum, err);
    if (rc == LEAT_OK && net->accumulated)
        net->chunk = leat_cpu_alloc(net->ranks_sum.chunk * sizeof *net->chunk, err);
    if (rc < 0 || (net->accumulated && !net->chunk))
        return rc < 0 ? rc : LEAT_E_NOMEM;
    return leat_ranks_overlaps(ranks) ? open_overlap(net, err) : LEAT_OK;
}

void leat_cpu_ranks_close(leat_net *net)
{
    leat_ranks_early_close(net->overlap);
    leat_ranks_sum_close(&net->ranks_sum);
    free(net->chunk);
    free(net->ready);
    free(net->passed);
    free(net->overlap_floats);
}
