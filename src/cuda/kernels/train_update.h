/* SPDX-License-Identifier: MIT
 *
 * train_update.h: kernels over the arenas of weights: packed copies for the libraries and gradients back from
 * their layout, accumulation, the length of the gradient, the optimisers, blend and swap.
 *
 * All parameters are updated by one launch: block b works on range b of a table in device memory. */
#ifndef LEAT_TRAIN_UPDATE_H
#define LEAT_TRAIN_UPDATE_H

#include <stdbool.h>

#include "train_kernel.h"

/* A packed copy of a parameter, in bytes of the arena of copies. The plain layout is
 * [taps][channels][filters]. KRSC: [filters][taps][padded channels], zeros behind `channels`. */
typedef struct leat_train_pack {
    int64_t n;     /* elements of the copy */
    int64_t plain; /* floats before it in the plain arena */
    int64_t at;    /* bytes before it in the copies */
    int64_t taps, channels, padded, filters;
    int32_t krsc, type;
} leat_train_pack;

/* Up to LEAT_TRAIN_RANGE elements from `from` on, of pack or parameter `of`. */
typedef struct leat_train_range {
    int64_t from, n;
    int32_t of;
    int32_t first, count; /* ranges of the same parameter */
    int32_t matrix;       /* its rank is 2 or more */
    float wide;           /* of a matrix: columns / rows, at least 1 */
    float rate, decay;    /* of the parameter: factor of the learning rate; weight decay */
} leat_train_range;

enum { LEAT_TRAIN_RANGE = 2048 };
enum { LEAT_OPTIM_SGD, LEAT_OPTIM_ADAM, LEAT_OPTIM_ADAMW, LEAT_OPTIM_LARS, LEAT_OPTIM_MUON };

typedef struct leat_train_update_args {
    int64_t n; /* LEAT_TRAIN_KERNEL: calls */
    const leat_train_range *ranges;
    int32_t n_ranges;
    int32_t optimizer, nesterov, decoupled, n_states;
    float momentum, beta1, beta2, epsilon, trust;
    float *weight, *grad;
    float *states[2];
    leat_train_step *step;
    const leat_train_pack *packs;
    uint8_t *copies;
    double *partial;
    float *other; /* blend, swap, accumulate, mix */
    float share, kept;
    int32_t mode;
} leat_train_update_args;

/* --- packed copies ------------------------------------------------------------------------------ */

/* Element i of a copy: where it lies in the plain layout; -1: padding. */
LEAT_HOST_DEVICE int64_t leat_train_plain_of(const leat_train_pack *p, int64_t i)
{
    if (!p->krsc)
        return i;
    const int64_t c = i % p->padded, tap = i / p->padded % p->taps, k = i / (p->padded * p->taps);
    return c < p->channels ? (tap * p->channels + c) * p->filters + k : -1;
}

/* Element i of the plain layout: where it lies in the copy. */
LEAT_HOST_DEVICE int64_t leat_train_packed_of(const leat_train_pack *p, int64_t i)
{
    if (!p->krsc)
        return i;
    const int64_t k = i % p->filters, c = i / p->filters % p->channels;
    return (k * p->taps + i / (p->filters * p->channels)) * p->padded + c;
}

/* Block x: range x of elements of copies. */
LEAT_HOST_DEVICE void leat_train_pack_block(const leat_train_update_args *a,
                                            const leat_train_place *at)
{
    const leat_train_range *const r = &a->ranges[at->block_x];
    const leat_train_pack *const p = &a->packs[r->of];
    for (int64_t i = r->from + at->thread; i < r->from + r->n; i += LEAT_TRAIN_THREADS) {
        const int64_t from = leat_train_plain_of(p, i);
        leat_train_put(a->copies + p->at, p->type, i, from < 0 ? 0.0f : a->weight[p->plain + from]);
    }
}

/* Block x: range x of elements of plain gradients. */
LEAT_HOST_DEVICE void leat_train_unpack_block(const leat_train_update_args *a,
                                              const leat_train_place *at)
{
    const leat_train_range *const r = &a->ranges[at->block_x];
    const leat_train_pack *const p = &a->packs[r->of];
    for (int64_t i = r->from + at->thread; i < r->from + r->n; i += LEAT_TRAIN_THREADS)
        a->grad[p->plain + i] =
            leat_train_get(a->copies + p->at, p->type, leat_train_packed_of(p, i));
}

/* --- over whole arenas, eight floats at a time --------------------------------------------------- */

enum { LEAT_ARENA_BLEND, LEAT_ARENA_SWAP, LEAT_ARENA_COPY, LEAT_ARENA_ADD };

/* BLEND: weight += share * (other - weight); COPY: weight = other; ADD: weight += other. */
LEAT_HOST_DEVICE void leat_train_arena_eight(const leat_train_update_args *a, int64_t i)
{
    float x[LEAT_EIGHT], y[LEAT_EIGHT];
    leat_train_load(a->weight, LEAT_TRAIN_F32, i * LEAT_EIGHT, LEAT_EIGHT, x);
    leat_train_load(a->other, LEAT_TRAIN_F32, i * LEAT_EIGHT, LEAT_EIGHT, y);
    if (a->mode == LEAT_ARENA_SWAP)
        leat_train_store(a->other, LEAT_TRAIN_F32, i * LEAT_EIGHT, LEAT_EIGHT, x);
    for (int k = 0; k < LEAT_EIGHT; k++)
        x[k] = a->mode == LEAT_ARENA_BLEND ? x[k] + a->share * (y[k] - x[k])
               : a->mode == LEAT_ARENA_ADD ? x[k] + y[k]
                                           : y[k];
    leat_train_store(a->weight, LEAT_TRAIN_F32, i * LEAT_EIGHT, LEAT_EIGHT, x);
}

/* --- the length of the gradient ------------------------------------------------------------------ */

enum { LEAT_TREE_PHASES = 9 };

LEAT_HOST_DEVICE void leat_train_tree(double *mine, const leat_train_place *at)
{
    const int32_t half = LEAT_TRAIN_THREADS >> at->phase;
    if (at->phase > 0 && at->thread < half)
        *mine += mine[half];
}

/* Block x: squares of range x of gradients and weights. */
LEAT_HOST_DEVICE void leat_train_squares_block(const leat_train_update_args *a,
                                               const leat_train_place *at)
{
    const leat_train_range *const r = &a->ranges[at->block_x];
    double *const mine = (double *)at->shared + at->thread, *const weight =
                                                                mine + LEAT_TRAIN_THREADS;
    if (at->phase == 0) {
        *mine = *weight = 0;
        for (int64_t i = r->from + at->thread; i < r->from + r->n; i += LEAT_TRAIN_THREADS) {
            *mine += (double)a->grad[i] * (double)a->grad[i];
            *weight += (double)a->weight[i] * (double)a->weight[i];
        }
    }
    leat_train_tree(mine, at);
    leat_train_tree(weight, at);
    if (at->phase == LEAT_TREE_PHASES - 1 && at->thread == 0) {
        a->partial[2 * at->block_x] = *mine;
        a->partial[2 * at->block_x + 1] = *weight;
    }
}

/* One block: sets the step's grad_scale. */
LEAT_HOST_DEVICE void leat_train_clip_block(const leat_train_update_args *a,
                                            const leat_train_place *at)
{
    double *const mine = (double *)at->shared + at->thread;
    if (at->phase == 0) {
        *mine = 0;
        for (int32_t i = at->thread; i < a->n_ranges; i += LEAT_TRAIN_THREADS)
            *mine += a->partial[2 * i];
    }
    leat_train_tree(mine, at);
    if (at->phase != LEAT_TREE_PHASES - 1 || at->thread != 0)
        return;
    const double share = (double)a->step->share, clip = (double)a->step->clip;
    const double length = sqrt(*mine) * share;
    if (clip > 0 && length > clip)
        a->step->grad_scale = (float)(share * clip / length);
}

/* --- optimisers: the formulas of src/train/optimizers ------------------------------------------- */

LEAT_HOST_DEVICE void leat_train_sgd(const leat_train_update_args *a, const leat_train_range *r,
                                     int64_t i)
{
    const float rate = (float)(a->step->rate * (double)r->rate);
    const float decay = a->decoupled ? 0.0f : r->decay;
    const float kept = a->decoupled ? 1.0f - rate * r->decay : 1.0f;
    const float of_grad = a->nesterov ? rate : 0.0f;
    const float of_velocity = a->nesterov ? rate * a->momentum : rate;
    const float g = a->grad[i] * a->step->grad_scale + decay * a->weight[i];
    const float v = a->momentum * a->states[0][i] + g;
    a->states[0][i] = v;
    a->weight[i] = kept * a->weight[i] - (of_grad * g + of_velocity * v);
}

/* adam, adamw and the vectors of muon */
LEAT_HOST_DEVICE void leat_train_adam(const leat_train_update_args *a, const leat_train_range *r,
                                      int64_t i)
{
    const double step = a->step->rate * (double)r->rate;
    const float l2 = a->optimizer == LEAT_OPTIM_ADAM ? r->decay : 0.0f;
    const float kept =
        a->optimizer == LEAT_OPTIM_ADAM ? 1.0f : 1 - (float)(step * (double)r->decay);
    const float rate = (float)(step / a->step->left[0]);
    const float root = (float)(1 / sqrt(a->step->left[1]));
    const float g = a->grad[i] * a->step->grad_scale + l2 * a->weight[i];
    const float m = a->beta1 * a->states[0][i] + (1 - a->beta1) * g;
    const float v = a->beta2 * a->states[1][i] + (1 - a->beta2) * (g * g);
    a->states[0][i] = m;
    a->states[1][i] = v;
    a->weight[i] = kept * a->weight[i] - rate * m / (sqrtf(v) * root + a->epsilon);
}

/* squares: of the parameter's gradient and weights. */
LEAT_HOST_DEVICE void leat_train_lars(const leat_train_update_args *a, const leat_train_range *r,
                                      const double squares[2], int64_t i)
{
    const double step = a->step->rate * (double)r->rate, weight = sqrt(squares[1]);
    const double grad = sqrt(squares[0]) * (double)a->step->grad_scale;
    const bool plain = !r->matrix || !(weight > 0) || !(grad > 0);
    const float rate =
        (float)(plain ? step
                      : step * (double)a->trust * weight / (grad + (double)r->decay * weight));
    const float g = a->grad[i] * a->step->grad_scale + r->decay * a->weight[i];
    const float v = a->momentum * a->states[0][i] + rate * g;
    a->states[0][i] = v;
    a->weight[i] -= v;
}

/* The gradient of a matrix is its direction by now. */
LEAT_HOST_DEVICE void leat_train_muon(const leat_train_update_args *a, const leat_train_range *r,
                                      int64_t i)
{
    const double step = a->step->rate * (double)r->rate;
    const float rate = (float)(step * sqrt((double)r->wide));
    const float kept = 1 - (float)(step * (double)r->decay);
    a->weight[i] = kept * a->weight[i] - rate * a->grad[i];
}

/* Block x: range x of the arenas. lars first adds up the squares of the parameter's ranges. */
LEAT_HOST_DEVICE void leat_train_update_block(const leat_train_update_args *a,
                                              const leat_train_place *at)
{
    const leat_train_range *const r = &a->ranges[at->block_x];
    double *const sums = (double *)at->shared;
    if (at->phase == 0) {
        double grad = 0, weight = 0;
        for (int32_t i = at->thread; a->optimizer == LEAT_OPTIM_LARS && i < r->count;
             i += LEAT_TRAIN_THREADS) {
            grad += a->partial[2 * (r->first + i)];
            weight += a->partial[2 * (r->first + i) + 1];
        }
        sums[at->thread] = grad;
        sums[at->thread + LEAT_TRAIN_THREADS] = weight;
    } else if (at->phase < LEAT_TREE_PHASES) {
        leat_train_tree(sums + at->thread, at);
        leat_train_tree(sums + at->thread + LEAT_TRAIN_THREADS, at);
    } else {
        const double squares[2] = { sums[0], sums[LEAT_TRAIN_THREADS] };
        for (int64_t i = r->from + at->thread; i < r->from + r->n; i += LEAT_TRAIN_THREADS)
            if (a->optimizer == LEAT_OPTIM_SGD)
                leat_train_sgd(a, r, i);
            else if (a->optimizer == LEAT_OPTIM_LARS)
                leat_train_lars(a, r, squares, i);
            else if (a->optimizer == LEAT_OPTIM_MUON && r->matrix)
                leat_train_muon(a, r, i);
            else
                leat_train_adam(a, r, i);
    }
}

/* --- muon: the gradients of matrices become directions; src/train/optimizers/muon.c ------------- */

/* Block x: the momentum of range x takes the place of the gradient, and its squares are summed. */
LEAT_HOST_DEVICE void leat_train_momentum_block(const leat_train_update_args *a,
                                                const leat_train_place *at)
{
    const leat_train_range *const r = &a->ranges[at->block_x];
    double *const mine = (double *)at->shared + at->thread;
    if (!r->matrix)
        return;
    if (at->phase == 0) {
        *mine = 0;
        for (int64_t i = r->from + at->thread; i < r->from + r->n; i += LEAT_TRAIN_THREADS) {
            const float g = a->grad[i] * a->step->grad_scale, comes = (1 - a->momentum) * g;
            const float v = a->momentum * a->states[0][i] + comes;
            const float d = a->nesterov ? a->momentum * v + comes : v;
            a->states[0][i] = v;
            a->grad[i] = d;
            *mine += (double)d * (double)d;
        }
    }
    leat_train_tree(mine, at);
    if (at->phase == LEAT_TREE_PHASES - 1 && at->thread == 0)
        a->partial[at->block_x] = *mine;
}

/* Block x: range x is divided by the length of its matrix. */
LEAT_HOST_DEVICE void leat_train_unit_block(const leat_train_update_args *a,
                                            const leat_train_place *at)
{
    const leat_train_range *const r = &a->ranges[at->block_x];
    double *const sums = (double *)at->shared;
    if (!r->matrix)
        return;
    if (at->phase == 0) {
        double sum = 0;
        for (int32_t i = at->thread; i < r->count; i += LEAT_TRAIN_THREADS)
            sum += a->partial[r->first + i];
        sums[at->thread] = sum;
    } else if (at->phase < LEAT_TREE_PHASES) {
        leat_train_tree(sums + at->thread, at);
    } else {
        const float shorter = (float)(1 / (sqrt(sums[0]) + 1e-7));
        for (int64_t i = r->from + at->thread; i < r->from + r->n; i += LEAT_TRAIN_THREADS)
            a->grad[i] *= shorter;
    }
}

/* weight = kept * weight + share * other */
LEAT_HOST_DEVICE void leat_train_mix_one(const leat_train_update_args *a, int64_t i)
{
    a->weight[i] = a->kept * a->weight[i] + a->share * a->other[i];
}

#endif

LEAT_TRAIN_BLOCKS(pack_all, leat_train_update_args, 1, leat_train_pack_block)
LEAT_TRAIN_BLOCKS(unpack_all, leat_train_update_args, 1, leat_train_unpack_block)
LEAT_TRAIN_KERNEL(arena, leat_train_update_args, leat_train_arena_eight)
LEAT_TRAIN_BLOCKS(squares, leat_train_update_args, LEAT_TREE_PHASES, leat_train_squares_block)
LEAT_TRAIN_BLOCKS(clip, leat_train_update_args, LEAT_TREE_PHASES, leat_train_clip_block)
LEAT_TRAIN_BLOCKS(update, leat_train_update_args, LEAT_TREE_PHASES + 1, leat_train_update_block)
LEAT_TRAIN_BLOCKS(momentum, leat_train_update_args, LEAT_TREE_PHASES, leat_train_momentum_block)
LEAT_TRAIN_BLOCKS(unit, leat_train_update_args, LEAT_TREE_PHASES + 1, leat_train_unit_block)
LEAT_TRAIN_KERNEL(mix, leat_train_update_args, leat_train_mix_one)
