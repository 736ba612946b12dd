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
static int sum_chunk(leat_net *net, size_t at, size_t n)
{
    float *const sum = leat_cpu_update_sum(net) + at;
    const bool adds = net->accumulated && !net->job.how->first;
    float *const to = adds ? net->chunk : sum;
    const int rc = leat_ranks_sum_chunk(&net->ranks_sum, net->grads, at, n, to, &net->error);
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
        net->failed = sum_chunk(net, at, n - at < most ? n - at : most);
}

/* The sum of a part lies in the memory of its first micro-batch. */
static void sum_parts(leat_net *net, int32_t thread, size_t at, size_t length)
{
    for (int32_t i = 0; i < net->ranks_sum.n_parts; i++) {
        const leat_ranks_branch *const p = &net->ranks_sum.parts[i];
        if (p->rank == net->model->ranks->rank)
            leat_cpu_update_tree(net, p->first, p->n, at, length, net->grads[p->first] + at,
                                 net->scratch[thread].floats);
    }
}

void leat_cpu_ranks_sum(leat_net *net, int32_t thread)
{
    const size_t n = net->n_grad_floats;
    for (size_t at; (at = (size_t)leat_cpu_team_claim(&net->team) * PIECE_FLOATS) < n;)
        sum_parts(net, thread, at, n - at < PIECE_FLOATS ? n - at : PIECE_FLOATS);
    leat_cpu_team_meet(&net->team, exchange_gradients);
    for (size_t at; (at = (size_t)leat_cpu_team_claim(&net->team) * PIECE_FLOATS) < n;)
        leat_cpu_update_check(net, thread, at, n - at < PIECE_FLOATS ? n - at : PIECE_FLOATS);
    leat_cpu_team_meet(&net->team, NULL);
}

int leat_cpu_ranks_open(leat_net *net, leat_error *err)
{
    leat_ranks *const ranks = net->model->ranks;
    if (!ranks)
        return LEAT_OK;
    const int rc = leat_ranks_sum_open(&net->ranks_sum, ranks, net->model->n_micro,
                                       net->n_grad_floats, net->loops->sum, err);
    if (rc < 0 || !net->accumulated)
        return rc;
    net->chunk = leat_cpu_alloc(net->ranks_sum.chunk * sizeof *net->chunk, err);
    return net->chunk ? LEAT_OK : LEAT_E_NOMEM;
}

void leat_cpu_ranks_close(leat_net *net)
{
    leat_ranks_sum_close(&net->ranks_sum);
    free(net->chunk);
}
