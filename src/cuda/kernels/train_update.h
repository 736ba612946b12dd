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

/* A copy in KRSC is the plain matrix of a tap, [channels][filters], transposed. Blocks do that in tiles, through shared
 * memory, so that both sides are read and written line by line. */
enum { LEAT_TILE_CHANNELS = 32, LEAT_TILE_FILTERS = LEAT_TRAIN_RANGE / LEAT_TILE_CHANNELS };

typedef struct leat_train_tile {
    int64_t tap, c, k; /* c, k: the first channel and filter */
} leat_train_tile;

LEAT_HOST_DEVICE int64_t leat_train_n_tiles(const leat_train_pack *p)
{
    return p->taps * ((p->padded + LEAT_TILE_CHANNELS - 1) / LEAT_TILE_CHANNELS) *
           ((p->filters + LEAT_TILE_FILTERS - 1) / LEAT_TILE_FILTERS);
}

LEAT_HOST_DEVICE leat_train_tile leat_train_tile_of(const leat_train_pack *p, int64_t number)
{
    const int64_t filters = (p->filters + LEAT_TILE_FILTERS - 1) / LEAT_TILE_FILTERS;
    const int64_t channels = (p->padded + LEAT_TILE_CHANNELS - 1) / LEAT_TILE_CHANNELS;
    leat_train_tile t;
    t.k = number % filters * LEAT_TILE_FILTERS;
    t.c = number / filters % channels * LEAT_TILE_CHANNELS;
    t.tap = number / filters / channels;
    return t;
}

/* Where value (c, k) of a tile waits; a column more keeps the lines in different banks. */
LEAT_HOST_DEVICE float *leat_train_in_tile(const leat_train_place *at, int32_t c, int32_t k)
{
    return (float *)at->shared + c * (LEAT_TILE_FILTERS + 1) + k;
}

/* The tile's values, from or to the plain layout: neighbouring threads have neighbouring filters. */
LEAT_HOST_DEVICE void leat_train_tile_plain(const leat_train_pack *p, const leat_train_tile *t,
                                            const leat_train_place *at, float *arena, int32_t store)
{
    for (int32_t e = at->thread; e < LEAT_TRAIN_RANGE; e += LEAT_TRAIN_THREADS) {
        const int32_t c = e / LEAT_TILE_FILTERS, k = e % LEAT_TILE_FILTERS;
        const bool inside = t->c + c < p->channels && t->k + k < p->filters;
        float *const here = leat_train_in_tile(at, c, k), *const there =
                                                              arena + p->plain +
                                                              (t->tap * p->channels + t->c + c) *
                                                                  p->filters +
                                                              t->k + k;
        if (!store)
            *here = inside ? *there : 0.0f;
        else if (inside)
            *there = *here;
    }
}

/* The same of the copy: neighbouring threads have neighbouring channels. */
LEAT_HOST_DEVICE void leat_train_tile_copy(const leat_train_pack *p, const leat_train_tile *t,
                                           const leat_train_place *at, uint8_t *copies,
                                           int32_t store)
{
    for (int32_t e = at->thread; e < LEAT_TRAIN_RANGE; e += LEAT_TRAIN_THREADS) {
        const int32_t c = e % LEAT_TILE_CHANNELS, k = e / LEAT_TILE_CHANNELS;
        const int64_t i = ((t->k + k) * p->taps + t->tap) * p->padded + t->c + c;
        if (t->c + c >= p->padded || t->k + k >= p->filters)
            continue;
        if (store)
            leat_train_put(copies + p->at, p->type, i, *leat_train_in_tile(at, c, k));
        else
            *leat_train_in_tile(at, c, k) = leat_train_get(copies + p->at, p->type, i);
    }
}

/* Block x: tile r->from of a copy in KRSC, or range x of another. */
LEAT_HOST_DEVICE void leat_train_pack_block(const leat_train_update_args *a,
                                            const leat_train_place *at)
{
    const leat_train_range *const r = &a->ranges[at->block_x];
    const leat_train_pack *const p = &a->packs[r->of];
    if (p->krsc) {
        const leat_train_tile t = leat_train_tile_of(p, r->from);
        if (at->phase == 0)
            leat_train_tile_plain(p, &t, at, a->weight, 0);
        else
            leat_train_tile_copy(p, &t, at, a->copies, 1);
    } else if (at->phase == 0) {
        for (int64_t i = r->from + at->thread; i < r->from + r->n; i += LEAT_TRAIN_THREADS)
            leat_train_put(a->copies + p->at, p->type, i, a->weight[p->plain + i]);
    }
}

/* Block x: a tile of a gradient in KRSC goes to the plain layout. */
LEAT_HOST_DEVICE void leat_train_unpack_block(const leat_train_update_args *a,
                                              const leat_train_place *at)
{
    const leat_train_range *const r = &a->ranges[at->block_x];
    const leat_train_pack *const p = &a->packs[r->of];
    const leat_train_tile t = leat_train_tile_of(p, r->from);
    if (at->phase == 0)
        leat_train_tile_copy(p, &t, at, a->copies, 0);
    else
        leat_train_tile_plain(p, &t, at, a->grad, 1);
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

/* Values `first`, `first` + LEAT_TRAIN_THREADS … below `end`: all are loaded before one is stored, so that the loads overlap;
 * the compiler may not do that, as it does not know that the arenas are apart. */
LEAT_HOST_DEVICE void leat_train_sgd(const leat_train_update_args *a, const leat_train_range *r,
                                     int64_t first, int64_t end)
{
    enum { AT_ONCE = LEAT_TRAIN_RANGE / LEAT_TRAIN_THREADS };
    const float rate = (float)(a->step->rate * (double)r->rate), scale = a->step->grad_scale;
    const float decay = a->decoupled ? 0.0f : r->decay;
    const float kept = a->decoupled ? 1.0f - rate * r->decay : 1.0f;
    const float of_grad = a->nesterov ? rate : 0.0f;
    const float of_velocity = a->nesterov ? rate * a->momentum : rate;
    float grad[AT_ONCE], weight[AT_ONCE], velocity[AT_ONCE];
    for (int k = 0; k < AT_ONCE; k++) {
        const int64_t i = first + k * LEAT_TRAIN_THREADS;
        grad[k] = i < end ? a->grad[i] : 0.0f;
        weight[k] = i < end ? a->weight[i] : 0.0f;
        velocity[k] = i < end ? a->states[0][i] : 0.0f;
    }
    for (int k = 0; k < AT_ONCE; k++) {
        const int64_t i = first + k * LEAT_TRAIN_THREADS;
        const float g = grad[k] * scale + decay * weight[k];
        const float v = a->momentum * velocity[k] + g;
        if (i >= end)
            break;
        a->states[0][i] = v;
        a->weight[i] = kept * weight[k] - (of_grad * g + of_velocity * v);
    }
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
        if (a->optimizer == LEAT_OPTIM_SGD) {
            leat_train_sgd(a, r, r->from + at->thread, r->from + r->n);
            return;
        }
        for (int64_t i = r->from + at->thread; i < r->from + r->n; i += LEAT_TRAIN_THREADS)
            if (a->optimizer == LEAT_OPTIM_LARS)
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
        const float shorter = (float)(1 / fmax(sqrt(sums[0]), 1e-7));
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

LEAT_TRAIN_BLOCKS(pack_all, leat_train_update_args, 2, leat_train_pack_block)
LEAT_TRAIN_BLOCKS(unpack_all, leat_train_update_args, 2, leat_train_unpack_block)
LEAT_TRAIN_KERNEL(arena, leat_train_update_args, leat_train_arena_eight)
LEAT_TRAIN_BLOCKS(squares, leat_train_update_args, LEAT_TREE_PHASES, leat_train_squares_block)
LEAT_TRAIN_BLOCKS(clip, leat_train_update_args, LEAT_TREE_PHASES, leat_train_clip_block)
LEAT_TRAIN_BLOCKS(update, leat_train_update_args, LEAT_TREE_PHASES + 1, leat_train_update_block)
LEAT_TRAIN_BLOCKS(momentum, leat_train_update_args, LEAT_TREE_PHASES, leat_train_momentum_block)
LEAT_TRAIN_BLOCKS(unit, leat_train_update_args, LEAT_TREE_PHASES + 1, leat_train_unit_block)
LEAT_TRAIN_KERNEL(mix, leat_train_update_args, leat_train_mix_one)
