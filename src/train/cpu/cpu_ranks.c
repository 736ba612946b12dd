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

/* Exchanges a chunk. The sum lies in the memory of this rank's first micro-batch. */
static int sum_chunk(void *owner, int32_t chunk, leat_error *err)
{
    leat_net *const net = owner;
    const size_t most = net->ranks_sum.chunk, at = (size_t)chunk * most;
    const size_t n = net->n_grad_floats - at < most ? net->n_grad_floats - at : most;
    return leat_ranks_sum_chunk(&net->ranks_sum, net->grads, at, n, net->grads[net->first] + at,
                                err);
}

static int32_t count_chunks(const leat_net *net)
{
    return (int32_t)((net->n_grad_floats + net->ranks_sum.chunk - 1) / net->ranks_sum.chunk);
}

/* While the other threads wait. */
static void exchange_gradients(void *owner)
{
    leat_net *const net = owner;
    net->failed =
        leat_ranks_agree(net->model->ranks, leat_cpu_ranks_own_error(net), NULL, &net->error);
    for (int32_t i = 0; i < count_chunks(net) && net->failed == LEAT_OK; i++)
        net->failed = sum_chunk(net, i, &net->error);
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

/* A thread's part of all floats from `from` on. */
static void sum_own(leat_net *net, int32_t thread, size_t from)
{
    const size_t n = net->n_grad_floats;
    for (size_t at; (at = from + (size_t)leat_cpu_team_claim(&net->team) * PIECE_FLOATS) < n;)
        sum_parts(net, at, n - at < PIECE_FLOATS ? n - at : PIECE_FLOATS,
                  net->scratch[thread].floats);
}

/* To the sum over several batches, which a batch that failed before leaves as it is. */
static void accumulate(leat_net *net, size_t at, size_t n)
{
    const float *const from = net->grads[net->first] + at;
    float *const to = leat_cpu_update_sum(net) + at;
    if (net->accumulated && net->job.how->first)
        memcpy(to, from, n * sizeof *to);
    else if (net->accumulated)
        net->loops->sum(to, from, to, n);
}

void leat_cpu_ranks_sum(leat_net *net, int32_t thread)
{
    const size_t n = net->n_grad_floats;
    if (!net->job.overlaps) {
        sum_own(net, thread, 0);
        leat_cpu_team_meet(&net->team, exchange_gradients);
    }
    for (size_t at; (at = (size_t)leat_cpu_team_claim(&net->team) * PIECE_FLOATS) < n;) {
        const size_t length = n - at < PIECE_FLOATS ? n - at : PIECE_FLOATS;
        if (net->failed == LEAT_OK)
            accumulate(net, at, length);
        leat_cpu_update_check(net, thread, at, length);
    }
    leat_cpu_team_meet(&net->team, NULL);
}

/* --- while the backward pass goes on --------------------------------------------------------- */

int32_t leat_cpu_ranks_last_op(const leat_net *net, int32_t param)
{
    const leat_program *const p = net->train.program;
    int32_t i = p->n_ops - 1;
    while (i > 0 && p->ops[i].layer != net->model->params[param].layer)
        i--;
    return i;
}

void leat_cpu_ranks_begin(leat_net *net)
{
    for (int32_t i = 0; i < net->n_own; i++)
        atomic_store(&net->passed[i], 0);
    atomic_store(&net->summed, 0);
    atomic_flag_clear(&net->summing);
    leat_ranks_early_begin(net->overlap);
}

/* Chunks whose gradients are there in all micro-batches. */
static int32_t count_there(const leat_net *net)
{
    int32_t n = INT32_MAX;
    for (int32_t i = 0; i < net->n_own; i++) {
        const int32_t passed = atomic_load(&net->passed[i]);
        n = passed < n ? passed : n;
    }
    return n;
}

/* One thread at a time sums what is there, and looks again when it has let others do so. Who finds one at it leaves that to it. What
 * comes with the last op is for all threads together. */
static void sum_early(leat_net *net, int32_t thread)
{
    const size_t chunk = net->ranks_sum.chunk;
    for (int32_t n; (n = count_there(net)) < count_chunks(net) && n > atomic_load(&net->summed);) {
        if (atomic_flag_test_and_set(&net->summing))
            return;
        const size_t from = (size_t)atomic_load(&net->summed) * chunk, end = (size_t)n * chunk;
        for (size_t at = from; at < end; at += PIECE_FLOATS)
            sum_parts(net, at, end - at < PIECE_FLOATS ? end - at : PIECE_FLOATS,
                      net->scratch[thread].floats);
        if (from < end)
            atomic_store(&net->summed, n);
        leat_ranks_early_ready(net->overlap, n);
        atomic_flag_clear(&net->summing);
    }
}

void leat_cpu_ranks_passed(leat_net *net, int32_t thread, int32_t micro, int32_t i)
{
    const int32_t n = net->ready[i];
    if (n != atomic_exchange(&net->passed[micro - net->first], n))
        sum_early(net, thread);
}

static void await_sums(void *owner)
{
    leat_net *const net = owner;
    leat_error err;
    const int rc = leat_ranks_early_finish(net->overlap, &err);
    if (rc < 0 && net->failed == LEAT_OK) {
        net->failed = rc;
        net->error = err;
    }
}

void leat_cpu_ranks_finish(leat_net *net, int32_t thread)
{
    if (leat_cpu_ranks_well(net))
        sum_own(net, thread, (size_t)atomic_load(&net->summed) * net->ranks_sum.chunk);
    leat_cpu_team_meet(&net->team, await_sums);
}

/* Chunks lie in the order of the ops after which they are there. */
static void find_ready(leat_net *net)
{
    const size_t chunk = net->ranks_sum.chunk;
    const int32_t n_ops = net->train.program->n_ops;
    for (int32_t i = 0; i < n_ops; i++)
        net->ready[i] = count_chunks(net);
    for (int32_t k = 0; k < net->model->n_params; k++) {
        const leat_cpu_grad *const grad = &net->grad[k];
        const int32_t before = (int32_t)(grad->at / chunk), last = leat_cpu_ranks_last_op(net, k);
        for (int32_t i = 0; i < last && net->model->params[k].spec->trained; i++)
            net->ready[i] = before < net->ready[i] ? before : net->ready[i];
    }
}

static int open_overlap(leat_net *net, leat_error *err)
{
    net->ready = calloc((size_t)net->train.program->n_ops, sizeof *net->ready);
    net->passed = calloc((size_t)net->n_own, sizeof *net->passed);
    if (!net->ready || !net->passed)
        return leat_cpu_no_memory(err, 0);
    find_ready(net);
    const int rc = leat_ranks_early_open(net->model->ranks, count_chunks(net), sum_chunk, net,
                                         &net->overlap, err);
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
    return rc == LEAT_OK && leat_ranks_overlaps(ranks) ? open_overlap(net, err) : rc;
}

void leat_cpu_ranks_close(leat_net *net)
{
    leat_ranks_early_close(net->overlap);
    leat_ranks_sum_close(&net->ranks_sum);
    free(net->ready);
    free(net->passed);
}
