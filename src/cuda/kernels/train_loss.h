/* SPDX-License-Identifier: MIT
 *
 * train_loss.h: kernels of losses. In the first, 32 lanes share a row: each takes every 32nd value, then they
 * combine in a tree. It writes the gradient, and loss and hit of each row. The second adds up the rows in one
 * block, always in the same order. */
#ifndef LEAT_TRAIN_LOSS_H
#define LEAT_TRAIN_LOSS_H

#include "train_kernel.h"

enum { LEAT_LOSS_SOFTMAX, LEAT_LOSS_BINARY_LOGITS, LEAT_LOSS_BINARY, LEAT_LOSS_SQUARED };
/* As leat_dtype of targets. */
enum { LEAT_TARGET_U8, LEAT_TARGET_I32, LEAT_TARGET_I64, LEAT_TARGET_F32 };
enum {
    LEAT_LOSS_LANES = 32,
    LEAT_LOSS_ROWS = LEAT_TRAIN_THREADS / LEAT_LOSS_LANES, /* of a block */
    LEAT_LOSS_PHASES = 13,
    LEAT_LOSS_FINISH_PHASES = 9
};

/* What a lane knows of its row: the largest logit and weight; then sums. */
typedef struct leat_train_lane {
    float top, top_weight;
    int32_t at, at_weight;
    double sum, all, dot; /* of exp(x - top); of weights; of weight * (x - top) */
    double plain;         /* of the target's own weights */
} leat_train_lane;

LEAT_HOST_DEVICE double leat_train_target(const leat_train_args *a, int64_t i)
{
    switch (a->target_type) {
    case LEAT_TARGET_U8:
        return (double)((const uint8_t *)a->target)[i];
    case LEAT_TARGET_I32:
        return (double)((const int32_t *)a->target)[i];
    case LEAT_TARGET_I64:
        return (double)((const int64_t *)a->target)[i];
    default:
        return (double)((const float *)a->target)[i];
    }
}

/* The target's weight of class c: targets are floats, one per class, or a whole number. */
LEAT_HOST_DEVICE float leat_train_weight(const leat_train_args *a, int64_t row, int32_t c)
{
    if (a->target_type == LEAT_TARGET_F32)
        return ((const float *)a->target)[row * a->channels + c];
    return leat_train_target(a, row) == (double)c ? 1.0f : 0.0f;
}

/* The same, smoothed, times the class's factor. */
LEAT_HOST_DEVICE float leat_train_smoothed(const leat_train_args *a, int64_t row, int32_t c)
{
    const float plain = leat_train_weight(a, row, c);
    const float smooth = (1 - a->smoothing) * plain + a->smoothing / (float)a->channels;
    return a->class_weights ? smooth * a->class_weights[c] : smooth;
}

LEAT_HOST_DEVICE float leat_train_row_weight(const leat_train_args *a, int64_t row)
{
    return a->weights ? a->weights[row] : 1.0f;
}

LEAT_HOST_DEVICE int32_t leat_train_bad_weight(const leat_train_args *a, int64_t row)
{
    const float weight = leat_train_row_weight(a, row);
    return !(weight >= 0 && weight - weight == 0);
}

LEAT_HOST_DEVICE void leat_train_larger(float *top, int32_t *at, float x, int32_t c)
{
    if (x > *top || (x == *top && c < *at)) {
        *top = x;
        *at = c;
    }
}

LEAT_HOST_DEVICE void leat_train_softmax_tops(const leat_train_args *a, int64_t row, int32_t lane,
                                              leat_train_lane *l)
{
    l->top = l->top_weight = -INFINITY;
    l->at = l->at_weight = lane;
    for (int32_t c = lane; c < a->channels; c += LEAT_LOSS_LANES) {
        leat_train_larger(&l->top, &l->at, ((const float *)a->in[0])[row * a->channels + c], c);
        leat_train_larger(&l->top_weight, &l->at_weight, leat_train_weight(a, row, c), c);
    }
}

LEAT_HOST_DEVICE void leat_train_softmax_sums(const leat_train_args *a, int64_t row, int32_t lane,
                                              const leat_train_lane *first, leat_train_lane *l)
{
    l->sum = l->all = l->dot = l->plain = 0;
    for (int32_t c = lane; c < a->channels; c += LEAT_LOSS_LANES) {
        const float x = ((const float *)a->in[0])[row * a->channels + c];
        const float plain = leat_train_weight(a, row, c), t = leat_train_smoothed(a, row, c);
        l->plain += plain >= 0 ? (double)plain : (double)NAN;
        l->sum += (double)expf(x - first->top);
        l->all += (double)t;
        if (t > 0) /* 0 times infinity counts as 0 */
            l->dot += (double)t * (double)(x - first->top);
    }
}

/* Weights of soft targets are rounded, so their sum may differ a little from 1. */
LEAT_HOST_DEVICE int32_t leat_train_softmax_bad(const leat_train_args *a, int64_t row, double all)
{
    if (a->target_type == LEAT_TARGET_F32)
        return !(fabs(all - 1) <= 1e-3);
    const double label = leat_train_target(a, row);
    return !(label >= 0 && label < (double)a->channels);
}

LEAT_HOST_DEVICE void leat_train_softmax_end(const leat_train_args *a, int64_t row, int32_t lane,
                                             const leat_train_lane *first)
{
    float *const grad = (float *)a->out[0];
    const float weight = leat_train_row_weight(a, row);
    const float scale = weight / (float)a->step->n_valid, factor = (float)(first->all / first->sum);
    const int32_t bad =
        leat_train_softmax_bad(a, row, first->plain) || leat_train_bad_weight(a, row);
    const int32_t counts = leat_train_counts(a, row);
    for (int32_t c = lane; grad && c < a->channels; c += LEAT_LOSS_LANES) {
        const float x = ((const float *)a->in[0])[row * a->channels + c];
        grad[row * a->channels + c] =
            counts && !bad
                ? scale * (expf(x - first->top) * factor - leat_train_smoothed(a, row, c))
                : 0.0f;
    }
    if (lane == 0) {
        double *const out = a->partial + 3 * row;
        out[0] = counts && !bad ? (double)weight * (first->all * log(first->sum) - first->dot) : 0;
        out[1] = counts && !bad && first->at == first->at_weight;
        out[2] = counts && bad;
    }
}

/* Loss of a value, -positive log p - negative log(1 - p), and its slope, as in binary_cross_entropy.c. */
LEAT_HOST_DEVICE double leat_train_binary(const leat_train_args *a, double x, double t,
                                          double *slope)
{
    const double smooth = (double)a->smoothing, plain = (1 - smooth) * t + smooth / 2;
    const double negative = 1 - plain, positive = (double)a->positive * plain;
    if (a->loss == LEAT_LOSS_BINARY_LOGITS) {
        const double e = exp(-fabs(x)), p = x >= 0 ? 1 / (1 + e) : e / (1 + e);
        const double log_p = (x < 0 ? x : 0) - log1p(e);
        *slope = negative * p - positive * (x >= 0 ? e / (1 + e) : 1 / (1 + e));
        return negative * (x - log_p) - positive * log_p;
    }
    const double q = x < 1e-7 ? 1e-7 : x > 1 - 1e-7 ? 1 - 1e-7 : x;
    *slope = negative / (1 - q) - positive / q;
    return -positive * log(q) - negative * log(1 - q);
}

LEAT_HOST_DEVICE double leat_train_squared(double x, double t, double *slope)
{
    *slope = 2 * (x - t);
    return (x - t) * (x - t);
}

LEAT_HOST_DEVICE int32_t leat_train_possible(const leat_train_args *a, double t)
{
    return a->loss == LEAT_LOSS_SQUARED ? t - t == 0 : t >= 0 && t <= 1;
}

/* sum: of losses; all: of hits; dot: of impossible targets. */
LEAT_HOST_DEVICE void leat_train_values_row(const leat_train_args *a, int64_t row, int32_t lane,
                                            leat_train_lane *l)
{
    const double middle = a->loss == LEAT_LOSS_BINARY_LOGITS ? 0 : 0.5, n = (double)a->channels;
    const int32_t counts = leat_train_counts(a, row), bad = leat_train_bad_weight(a, row);
    const double weight = (double)leat_train_row_weight(a, row);
    l->sum = l->all = l->dot = l->plain = 0;
    for (int32_t c = lane; c < a->channels; c += LEAT_LOSS_LANES) {
        const int64_t i = row * a->channels + c;
        const double x = (double)((const float *)a->in[0])[i], t = leat_train_target(a, i);
        double slope = 0;
        if (counts && !bad && leat_train_possible(a, t)) {
            l->sum += weight * (a->loss == LEAT_LOSS_SQUARED ? leat_train_squared(x, t, &slope)
                                                             : leat_train_binary(a, x, t, &slope));
            slope *= weight;
            l->all += a->loss != LEAT_LOSS_SQUARED && (x > middle) == (t > 0.5);
        } else if (counts) {
            l->dot += 1;
        }
        if (a->out[0])
            ((float *)a->out[0])[i] = (float)(slope / ((double)a->step->n_valid * n));
    }
}

LEAT_HOST_DEVICE void leat_train_values_end(const leat_train_args *a, int64_t row,
                                            const leat_train_lane *first)
{
    double *const out = a->partial + 3 * row;
    out[0] = first->sum / a->channels;
    out[1] = first->all / a->channels;
    out[2] = first->dot > 0;
}

LEAT_HOST_DEVICE void leat_train_lane_add(leat_train_lane *l, const leat_train_lane *other)
{
    l->sum += other->sum;
    l->all += other->all;
    l->dot += other->dot;
    l->plain += other->plain;
}

/* Phases: 0 largest, 1 … 5 their tree, 6 sums, 7 … 11 their tree, 12 the gradient. */
LEAT_HOST_DEVICE void leat_train_loss_block(const leat_train_args *a, const leat_train_place *at)
{
    const int32_t lane = at->thread % LEAT_LOSS_LANES;
    const int64_t row = at->block_x * LEAT_LOSS_ROWS + at->thread / LEAT_LOSS_LANES;
    leat_train_lane *const l = (leat_train_lane *)at->shared + at->thread, *const first = l - lane;
    const int32_t half = LEAT_LOSS_LANES >> (at->phase < 6 ? at->phase : at->phase - 6);
    const int32_t softmax = a->loss == LEAT_LOSS_SOFTMAX;
    if (row >= a->rows)
        return;
    if (at->phase == 0 && softmax) {
        leat_train_softmax_tops(a, row, lane, l);
    } else if (at->phase < 6 && softmax && lane < half) {
        leat_train_larger(&l->top, &l->at, l[half].top, l[half].at);
        leat_train_larger(&l->top_weight, &l->at_weight, l[half].top_weight, l[half].at_weight);
    } else if (at->phase == 6) {
        if (softmax)
            leat_train_softmax_sums(a, row, lane, first, l);
        else
            leat_train_values_row(a, row, lane, l);
    } else if (at->phase > 6 && at->phase < 12 && lane < half) {
        leat_train_lane_add(l, &l[half]);
    } else if (at->phase == 12) {
        if (softmax)
            leat_train_softmax_end(a, row, lane, first);
        else if (lane == 0)
            leat_train_values_end(a, row, first);
    }
}

/* One block. Remembers the first row with an impossible target. */
LEAT_HOST_DEVICE void leat_train_loss_finish_block(const leat_train_args *a,
                                                   const leat_train_place *at)
{
    double *const loss = (double *)at->shared + at->thread, *const right =
                                                                loss + LEAT_TRAIN_THREADS;
    double *const samples = right + LEAT_TRAIN_THREADS, *const bad = samples + LEAT_TRAIN_THREADS;
    const int32_t half = LEAT_TRAIN_THREADS >> at->phase;
    if (at->phase == 0) {
        *loss = *right = *samples = *bad = 0;
        for (int64_t row = at->thread; row < a->rows; row += LEAT_TRAIN_THREADS) {
            *loss += a->partial[3 * row];
            *right += a->partial[3 * row + 1];
            *bad += a->partial[3 * row + 2];
            *samples += leat_train_counts(a, row);
        }
    } else if (at->thread < half) {
        *loss += loss[half];
        *right += right[half];
        *samples += samples[half];
        *bad += bad[half];
    }
    if (at->phase != LEAT_LOSS_FINISH_PHASES - 1 || at->thread != 0)
        return;
    a->sums->loss += *loss;
    a->sums->right += *right;
    a->sums->samples += (uint64_t)*samples;
    for (int64_t row = 0; *bad > 0 && row < a->rows && a->sums->n_bad == 0; row++)
        if (a->partial[3 * row + 2] > 0) {
            a->sums->n_bad = 1;
            a->sums->bad_row = row;
            a->sums->bad_is_weight = leat_train_bad_weight(a, row);
            a->sums->bad = (double)leat_train_row_weight(a, row);
            if (!a->sums->bad_is_weight)
                a->sums->bad = leat_train_target(a, a->loss == LEAT_LOSS_SOFTMAX &&
                                                            a->target_type != LEAT_TARGET_F32
                                                        ? row
                                                        : row * a->channels);
        }
}

#endif

LEAT_TRAIN_BLOCKS(loss, leat_train_args, LEAT_LOSS_PHASES, leat_train_loss_block)
LEAT_TRAIN_BLOCKS(loss_finish, leat_train_args, LEAT_LOSS_FINISH_PHASES,
                  leat_train_loss_finish_block)
