/* SPDX-License-Identifier: MIT
 *
 * cpu_ranks.c: what the CPU backend exchanges with other ranks: sums of batch_norm and losses, shard by shard, and
 * gradients. See net_cpu.h and ranks/exchange.h.
 *
 * DESIGN: the tree of sums over shards stays the tree of one process. Its largest parts that lie in one rank's shards are
 * summed there; these sums are exchanged, chunk by chunk, and every rank adds them up in the order of the tree. So the
 * gradient is the same bits on all ranks, and for any number of them. */
#include <stdlib.h>
#include <string.h>

#include "net_cpu.h"
#include "train/ranks/exchange.h"

enum { PIECE_FLOATS = 2048, CHUNK_FLOATS = 32 * PIECE_FLOATS };

static int own_error(leat_net *net)
{
    for (int32_t i = 0; i < net->team.n_at_work; i++)
        if (net->scratch[i].rc < 0) {
            net->error = net->scratch[i].error;
            return net->scratch[i].rc;
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
        net->failed = leat_ranks_share(net->model->ranks, own_error(net), all, net->job.n_shards,
                                       bytes, &net->error);
}

/* --- gradients ------------------------------------------------------------------------------- */

/* Floats [at, at + length) of all ranks' parts are there. */
static const float *received(const leat_net *net, const leat_cpu_part *part, size_t length)
{
    return (const float *)leat_ranks_from(net->model->ranks, part->rank) +
           (size_t)part->at * length;
}

/* to = the sum over the shards of n parts from *part on, of `length` floats from `at` on in a chunk; n_shards: of the
 * parts not yet taken that make this tree. Moves *part on. */
static void fold(const leat_net *net, const leat_cpu_part **part, int32_t n_shards, size_t at,
                 size_t length, size_t chunk, float *to, float *rooms)
{
    if ((*part)->n == n_shards) {
        memcpy(to, received(net, *part, chunk) + at, length * sizeof *to);
        (*part)++;
        return;
    }
    const int32_t left = leat_cpu_update_left(n_shards);
    fold(net, part, left, at, length, chunk, to, rooms);
    fold(net, part, n_shards - left, at, length, chunk, rooms, rooms + length);
    net->loops->sum(to, rooms, to, length);
}

static void fold_piece(leat_net *net, size_t from, size_t at, size_t length, size_t chunk)
{
    const leat_cpu_part *part = net->parts;
    float *const sum = leat_cpu_update_sum(net) + from + at, *const rooms = net->scratch[0].floats;
    if (!net->accumulated || net->job.how->first) {
        fold(net, &part, net->model->shards, at, length, chunk, sum, rooms);
    } else {
        fold(net, &part, net->model->shards, at, length, chunk, rooms, rooms + length);
        net->loops->sum(sum, rooms, sum, length);
    }
    leat_cpu_update_check(net, 0, from + at, length);
}

static void exchange_chunk(leat_net *net, size_t from, size_t chunk)
{
    leat_ranks *const ranks = net->model->ranks;
    for (int32_t i = 0; i < net->n_parts; i++)
        if (net->parts[i].rank == ranks->rank)
            memcpy(net->sent + (size_t)net->parts[i].at * chunk,
                   net->grads[net->parts[i].first] + from, chunk * sizeof(float));
    net->failed = leat_ranks_gather(ranks, own_error(net), net->sent,
                                    (size_t)net->most_parts * chunk * sizeof(float), &net->error);
    for (size_t at = 0; at < chunk && net->failed == LEAT_OK; at += PIECE_FLOATS)
        fold_piece(net, from, at, chunk - at < PIECE_FLOATS ? chunk - at : PIECE_FLOATS, chunk);
}

/* While the other threads wait: scratch[0] is free. */
static void exchange_gradients(void *owner)
{
    leat_net *const net = owner;
    const size_t n = net->n_grad_floats;
    for (size_t at = 0; at < n && net->failed == LEAT_OK; at += CHUNK_FLOATS)
        exchange_chunk(net, at, n - at < CHUNK_FLOATS ? n - at : CHUNK_FLOATS);
}

/* The sum of a part lies in the memory of its first shard. */
static void sum_parts(leat_net *net, int32_t thread, size_t at, size_t length)
{
    for (int32_t i = 0; i < net->n_parts; i++) {
        const leat_cpu_part *const p = &net->parts[i];
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
}

/* --- open ------------------------------------------------------------------------------------ */

static void cut(leat_net *net, int32_t first, int32_t n)
{
    const int32_t per_rank = net->n_own, rank = first / per_rank;
    if (rank != (first + n - 1) / per_rank) {
        const int32_t left = leat_cpu_update_left(n);
        cut(net, first, left);
        cut(net, first + left, n - left);
        return;
    }
    leat_cpu_part *const part = &net->parts[net->n_parts];
    const bool goes_on = net->n_parts > 0 && part[-1].rank == rank;
    *part = (leat_cpu_part){ first, n, rank, goes_on ? part[-1].at + 1 : 0 };
    net->n_parts++;
    net->most_parts = part->at + 1 > net->most_parts ? part->at + 1 : net->most_parts;
}

int leat_cpu_ranks_open(leat_net *net, leat_error *err)
{
    if (!net->model->ranks)
        return LEAT_OK;
    net->parts = calloc((size_t)net->model->shards, sizeof *net->parts);
    if (!net->parts)
        return leat_cpu_no_memory(err, 0);
    cut(net, 0, net->model->shards);
    const size_t n = net->n_grad_floats < CHUNK_FLOATS ? net->n_grad_floats : CHUNK_FLOATS;
    net->sent = leat_cpu_alloc((size_t)net->most_parts * n * sizeof *net->sent, err);
    return net->sent ? LEAT_OK : LEAT_E_NOMEM;
}

void leat_cpu_ranks_close(leat_net *net)
{
    free(net->parts);
    free(net->sent);
}
