/* SPDX-License-Identifier: MIT
 *
 * train_norm.h: kernels of batch_norm and layer_norm, and sums over pixels per channel, which also give the
 * gradient of a bias.
 *
 * Sums per channel take two kernels. In the first, a block sums one chunk of pixels for some channels: a thread
 * takes eight channels and every this many pixels, then the block adds up its threads in a tree. In the second,
 * 32 lanes per channel add the chunks in double. Statistics are sums of x - K and its square, K being the first
 * pixel that counts, so that a large mean costs no digits. */
#ifndef LEAT_TRAIN_NORM_H
#define LEAT_TRAIN_NORM_H

#include "train_kernel.h"

enum {
    LEAT_SUMS_STATISTICS, /* of in[0] */
    LEAT_SUMS_GRAD,       /* in[0] = dy, in[1] = x, in[2] = y of NORM */
    LEAT_SUMS_FIXED,      /* in[0] = dy, in[1] = x of NORM_FIXED, or NULL */
    LEAT_SUMS_LAYER,      /* the same of LAYER_NORM; mean and inverse are of each pixel */
    LEAT_SUMS_BIAS        /* in[0] */
};
enum { LEAT_SUMS_LANES = 32, LEAT_SUMS_PHASES = 10, LEAT_SUMS_FINISH_PHASES = 7 };

/* --- values of one pixel ------------------------------------------------------------------------ */

LEAT_HOST_DEVICE float leat_train_normed(float x, float mean, float inverse, float scale,
                                         float shift)
{
    return (x - mean) * (scale * inverse) + shift;
}

/* Whether the activation's gradient is computed from what was normalised, not from y. */
LEAT_HOST_DEVICE int32_t leat_train_norms_again(const leat_train_args *a)
{
    return a->act != LEAT_ACT_NONE && !leat_train_from_output(a->act);
}

/* The two numbers that are summed, of n channels of one pixel. */
LEAT_HOST_DEVICE void leat_train_sums_pixel(const leat_train_args *a, int64_t pixel, int32_t c0,
                                            int32_t n, const float origin[LEAT_EIGHT],
                                            float sum[LEAT_EIGHT], float dot[LEAT_EIGHT])
{
    const int64_t at = pixel * a->channels + c0;
    float u[LEAT_EIGHT], x[LEAT_EIGHT] = { 0 }, y[LEAT_EIGHT] = { 0 };
    leat_train_load(a->in[0], a->in_type, at, n, u);
    if (a->mode != LEAT_SUMS_STATISTICS && a->mode != LEAT_SUMS_BIAS && a->in[1])
        leat_train_load(a->in[1], a->in_type, at, n, x);
    if (a->mode == LEAT_SUMS_GRAD && a->act != LEAT_ACT_NONE && leat_train_from_output(a->act))
        leat_train_load(a->in[2], a->in_type, at, n, y);
    for (int k = 0; k < LEAT_EIGHT; k++) {
        float part = u[k], product = 0;
        if (k >= n)
            continue;
        if (a->mode == LEAT_SUMS_STATISTICS) {
            part = u[k] - origin[k];
            product = part * part;
        } else if (a->mode == LEAT_SUMS_GRAD) {
            const int32_t c = c0 + k;
            if (leat_train_norms_again(a))
                y[k] = leat_train_normed(x[k], a->mean[c], a->inverse[c], a->scale[c], a->shift[c]);
            part = leat_train_act_grad(a->act, u[k], y[k], a->alpha);
            product = part * (x[k] - a->mean[c0 + k]);
        } else if (a->mode == LEAT_SUMS_FIXED) {
            product = part * (x[k] - a->mean[c0 + k]);
        } else if (a->mode == LEAT_SUMS_LAYER) {
            product = u[k] * ((x[k] - a->mean[pixel]) * a->inverse[pixel]);
        }
        sum[k] += part;
        dot[k] += product;
    }
}

/* --- sums of a chunk ---------------------------------------------------------------------------- */

LEAT_HOST_DEVICE void leat_train_sums_begin(const leat_train_args *a, const leat_train_place *at,
                                            int32_t c0, float *shared)
{
    const int32_t n = leat_train_count(a->channels, c0), step = LEAT_TRAIN_THREADS / a->lanes;
    const int64_t row_pixels = a->row_n / a->channels, first = at->block_y * a->chunk_pixels;
    const int64_t end = first + a->chunk_pixels < a->pixels ? first + a->chunk_pixels : a->pixels;
    float sum[LEAT_EIGHT] = { 0 }, dot[LEAT_EIGHT] = { 0 }, origin[LEAT_EIGHT] = { 0 };
    if (a->mode == LEAT_SUMS_STATISTICS)
        leat_train_load(a->in[0], a->in_type, a->step->origin_row * a->row_n + c0, n, origin);
    for (int64_t p = first + at->thread / a->lanes; p < end; p += step)
        if (a->mode == LEAT_SUMS_BIAS || a->mode == LEAT_SUMS_LAYER ||
            leat_train_counts(a, p / row_pixels))
            leat_train_sums_pixel(a, p, c0, n, origin, sum, dot);
    for (int k = 0; k < LEAT_EIGHT; k++) {
        shared[k * LEAT_TRAIN_THREADS + at->thread] = sum[k];
        shared[(LEAT_EIGHT + k) * LEAT_TRAIN_THREADS + at->thread] = dot[k];
    }
}

/* Block (x, y): channels from 8 * lanes * x on, chunk y. `lanes` threads stand side by side. */
LEAT_HOST_DEVICE void leat_train_sums_block(const leat_train_args *a, const leat_train_place *at)
{
    float *const shared = (float *)at->shared;
    const int32_t lane = at->thread % a->lanes, place = at->thread / a->lanes;
    const int32_t c0 = (int32_t)(at->block_x * a->lanes + lane) * LEAT_EIGHT;
    const int32_t half = LEAT_TRAIN_THREADS / a->lanes >> at->phase;
    if (c0 >= a->channels)
        return;
    if (at->phase == 0) {
        leat_train_sums_begin(a, at, c0, shared);
    } else if (at->phase < LEAT_SUMS_PHASES - 1) {
        for (int k = 0; k < 2 * LEAT_EIGHT && place < half; k++) {
            float *const value = shared + k * LEAT_TRAIN_THREADS + at->thread;
            *value += value[half * a->lanes];
        }
    } else if (place == 0) {
        double *const to = a->partial + at->block_y * 2 * a->channels + c0;
        for (int k = 0; k < leat_train_count(a->channels, c0); k++) {
            to[k] = (double)shared[k * LEAT_TRAIN_THREADS + lane];
            to[a->channels + k] = (double)shared[(LEAT_EIGHT + k) * LEAT_TRAIN_THREADS + lane];
        }
    }
}

/* --- all chunks --------------------------------------------------------------------------------- */

LEAT_HOST_DEVICE void leat_train_statistics(const leat_train_args *a, int32_t c, double sum,
                                            double squares)
{
    const double count = (double)a->step->n_valid * (double)(a->row_n / a->channels),
                 part = sum / count;
    const double origin =
        (double)leat_train_get(a->in[0], a->in_type, a->step->origin_row * a->row_n + c);
    const double around = squares / count - part * part, variance = around > 0 ? around : 0;
    const double mean = origin + part;
    a->mean[c] = (float)mean;
    a->inverse[c] = (float)(1 / sqrt(variance + a->epsilon));
    a->running_mean[c] = a->momentum * a->running_mean[c] + (1 - a->momentum) * (float)mean;
    a->running_variance[c] =
        a->momentum * a->running_variance[c] + (1 - a->momentum) * (float)variance;
}

/* dscale and dshift may be NULL: they are not trained. */
LEAT_HOST_DEVICE void leat_train_gradients(const leat_train_args *a, int32_t c, double sum,
                                           double dot)
{
    if (a->mode == LEAT_SUMS_GRAD || a->mode == LEAT_SUMS_FIXED) {
        const double count = (double)a->step->n_valid * (double)(a->row_n / a->channels);
        const double inverse = (double)a->inverse[c], factor = (double)a->scale[c] * inverse;
        a->factors[c] = (float)factor;
        const double moves = a->mode == LEAT_SUMS_GRAD; /* statistics, with the values */
        a->factors[a->channels + c] = (float)(-moves * factor * inverse * inverse * dot / count);
        a->factors[2 * a->channels + c] = (float)(-moves * factor * sum / count);
        dot *= inverse;
    }
    if (a->dscale)
        a->dscale[c] = (float)dot;
    if (a->dshift)
        a->dshift[c] = (float)sum;
}

/* Block x: channels from 8 x on, 32 lanes each. */
LEAT_HOST_DEVICE void leat_train_sums_finish_block(const leat_train_args *a,
                                                   const leat_train_place *at)
{
    double *const sums = (double *)at->shared, *const dots = sums + LEAT_TRAIN_THREADS;
    const int32_t lane = at->thread / LEAT_EIGHT, t = at->thread;
    const int32_t c = (int32_t)at->block_x * LEAT_EIGHT + t % LEAT_EIGHT;
    const int32_t half = LEAT_SUMS_LANES >> at->phase;
    if (c >= a->channels)
        return;
    if (at->phase == 0) {
        double sum = 0, dot = 0;
        for (int32_t i = lane; i < a->n_chunks; i += LEAT_SUMS_LANES) {
            sum += a->partial[(int64_t)i * 2 * a->channels + c];
            dot += a->partial[((int64_t)i * 2 + 1) * a->channels + c];
        }
        sums[t] = sum;
        dots[t] = dot;
    } else if (at->phase < LEAT_SUMS_FINISH_PHASES - 1) {
        if (lane < half) {
            sums[t] += sums[t + half * LEAT_EIGHT];
            dots[t] += dots[t + half * LEAT_EIGHT];
        }
    } else if (lane == 0) {
        if (a->mode == LEAT_SUMS_STATISTICS)
            leat_train_statistics(a, c, sums[t], dots[t]);
        else
            leat_train_gradients(a, c, sums[t], dots[t]);
    }
}

/* --- apply -------------------------------------------------------------------------------------- */

/* mean and inverse from the running statistics; one channel. */
LEAT_HOST_DEVICE void leat_train_norm_fix_one(const leat_train_args *a, int64_t i)
{
    a->mean[i] = a->running_mean[i];
    a->inverse[i] = (float)(1 / sqrt((double)a->running_variance[i] + a->epsilon));
}

/* Batch norms whose mean and inverse a library has computed. */
enum { LEAT_RUNNING_MOST = 64 };
typedef struct leat_train_running {
    const float *mean, *inverse;
    float *running_mean, *running_variance;
    double epsilon;
    float momentum;
    int32_t channels;
} leat_train_running;
typedef struct leat_train_running_args {
    leat_train_running norms[LEAT_RUNNING_MOST];
} leat_train_running_args;

/* Block x: the running statistics of norm x. */
LEAT_HOST_DEVICE void leat_train_norm_running_block(const leat_train_running_args *a,
                                                    const leat_train_place *at)
{
    const leat_train_running *const n = &a->norms[at->block_x];
    for (int32_t i = at->thread; i < n->channels; i += LEAT_TRAIN_THREADS) {
        const double inverse = (double)n->inverse[i];
        const double variance = 1 / (inverse * inverse) - n->epsilon;
        n->running_mean[i] = n->momentum * n->running_mean[i] + (1 - n->momentum) * n->mean[i];
        n->running_variance[i] = n->momentum * n->running_variance[i] +
                                 (1 - n->momentum) * (float)(variance > 0 ? variance : 0);
    }
}

/* Numbers of the channels of eight values, the first of channel c: one after the other, with the first channel behind
 * the last. In two loads where the number of channels is a multiple of eight. */
LEAT_HOST_DEVICE void leat_train_of_channels(const leat_train_args *a, const float *from, int32_t c,
                                             float out[LEAT_EIGHT])
{
    if (a->channels % LEAT_EIGHT == 0) {
        leat_train_load(from, LEAT_TRAIN_F32, c, LEAT_EIGHT, out);
        return;
    }
    for (int k = 0; k < LEAT_EIGHT; k++) {
        out[k] = from[c];
        c = c + 1 < a->channels ? c + 1 : 0;
    }
}

/* x becomes what batch norm makes of it, before the activation. */
LEAT_HOST_DEVICE void leat_train_norm_values(const leat_train_args *a, int32_t c,
                                             float x[LEAT_EIGHT])
{
    float mean[LEAT_EIGHT], inverse[LEAT_EIGHT], scale[LEAT_EIGHT], shift[LEAT_EIGHT];
    leat_train_of_channels(a, a->mean, c, mean);
    leat_train_of_channels(a, a->inverse, c, inverse);
    leat_train_of_channels(a, a->scale, c, scale);
    leat_train_of_channels(a, a->shift, c, shift);
    for (int k = 0; k < LEAT_EIGHT; k++)
        x[k] = leat_train_normed(x[k], mean[k], inverse[k], scale[k], shift[k]);
}

/* Eight of row_n * rows values. */
LEAT_HOST_DEVICE void leat_train_norm_eight(const leat_train_args *a, int64_t i)
{
    const int64_t at = i * LEAT_EIGHT;
    const int32_t n = leat_train_count(a->rows * a->row_n, at);
    float x[LEAT_EIGHT];
    leat_train_load(a->in[0], a->in_type, at, n, x);
    leat_train_norm_values(a, (int32_t)(at % a->channels), x);
    for (int k = 0; k < LEAT_EIGHT; k++)
        x[k] = leat_train_act(a->act, x[k], a->alpha);
    leat_train_store(a->out[0], a->out_type, at, n, x);
}

LEAT_HOST_DEVICE void leat_train_norm_grad_eight(const leat_train_args *a, int64_t i)
{
    const int64_t at = i * LEAT_EIGHT;
    const int32_t n = leat_train_count(a->rows * a->row_n, at), c = (int32_t)(at % a->channels);
    float dy[LEAT_EIGHT], x[LEAT_EIGHT] = { 0 }, y[LEAT_EIGHT] = { 0 };
    float mean[LEAT_EIGHT], of_dy[LEAT_EIGHT], of_x[LEAT_EIGHT], plain[LEAT_EIGHT];
    leat_train_load(a->in[0], a->in_type, at, n, dy);
    if (a->in[1])
        leat_train_load(a->in[1], a->in_type, at, n, x);
    if (leat_train_norms_again(a)) {
        for (int k = 0; k < LEAT_EIGHT; k++)
            y[k] = x[k];
        leat_train_norm_values(a, c, y);
    } else if (a->act != LEAT_ACT_NONE) {
        leat_train_load(a->in[2], a->in_type, at, n, y);
    }
    leat_train_of_channels(a, a->mean, c, mean);
    leat_train_of_channels(a, a->factors, c, of_dy);
    leat_train_of_channels(a, a->factors + a->channels, c, of_x);
    leat_train_of_channels(a, a->factors + 2 * a->channels, c, plain);
    for (int k = 0; k < LEAT_EIGHT; k++) {
        const float dz = leat_train_act_grad(a->act, dy[k], y[k], a->alpha);
        dy[k] = k < n && leat_train_counts(a, (at + k) / a->row_n)
                    ? dz * of_dy[k] + (x[k] - mean[k]) * of_x[k] + plain[k]
                    : 0.0f;
    }
    leat_train_store(a->out[0], a->out_type, at, n, dy);
}

/* --- layer_norm: one thread per pixel ------------------------------------------------------------ */

/* mean and inverse are kept if there is room; out[0] may be NULL. */
LEAT_HOST_DEVICE void leat_train_layer_norm_pixel(const leat_train_args *a, int64_t i)
{
    const int64_t at = i * a->channels;
    double sum = 0, squares = 0;
    for (int32_t c = 0; c < a->channels; c++)
        sum += (double)leat_train_get(a->in[0], a->in_type, at + c);
    const double mean = sum / a->channels;
    for (int32_t c = 0; c < a->channels; c++) {
        const double d = (double)leat_train_get(a->in[0], a->in_type, at + c) - mean;
        squares += d * d;
    }
    const double inverse = 1 / sqrt(squares / a->channels + a->epsilon);
    if (a->mean) {
        a->mean[i] = (float)mean;
        a->inverse[i] = (float)inverse;
    }
    for (int32_t c = 0; a->out[0] && c < a->channels; c++) {
        const float x = leat_train_get(a->in[0], a->in_type, at + c);
        leat_train_put(a->out[0], a->out_type, at + c,
                       (x - (float)mean) * (float)inverse * a->scale[c] + a->shift[c]);
    }
}

/* dx = inverse * (g - mean(g) - z * mean(g * z)), g = dy * scale, z = (x - mean) * inverse */
LEAT_HOST_DEVICE void leat_train_layer_norm_grad_pixel(const leat_train_args *a, int64_t i)
{
    const int64_t at = i * a->channels;
    const float mean = a->mean[i], inverse = a->inverse[i];
    double sum = 0, dot = 0;
    for (int32_t c = 0; c < a->channels; c++) {
        const float g = leat_train_get(a->in[0], a->in_type, at + c) * a->scale[c];
        const float z = (leat_train_get(a->in[1], a->in_type, at + c) - mean) * inverse;
        sum += (double)g;
        dot += (double)(g * z);
    }
    for (int32_t c = 0; c < a->channels; c++) {
        const float g = leat_train_get(a->in[0], a->in_type, at + c) * a->scale[c];
        const float z = (leat_train_get(a->in[1], a->in_type, at + c) - mean) * inverse;
        leat_train_put(a->out[0], a->out_type, at + c,
                       inverse * (g - (float)(sum / a->channels) - z * (float)(dot / a->channels)));
    }
}

#endif

LEAT_TRAIN_BLOCKS(channel_sums, leat_train_args, LEAT_SUMS_PHASES, leat_train_sums_block)
LEAT_TRAIN_BLOCKS(channel_finish, leat_train_args, LEAT_SUMS_FINISH_PHASES,
                  leat_train_sums_finish_block)
LEAT_TRAIN_KERNEL(norm_fix, leat_train_args, leat_train_norm_fix_one)
LEAT_TRAIN_BLOCKS(norm_running, leat_train_running_args, 1, leat_train_norm_running_block)
LEAT_TRAIN_KERNEL(norm, leat_train_args, leat_train_norm_eight)
LEAT_TRAIN_KERNEL(norm_grad, leat_train_args, leat_train_norm_grad_eight)
LEAT_TRAIN_KERNEL(layer_norm, leat_train_args, leat_train_layer_norm_pixel)
LEAT_TRAIN_KERNEL(layer_norm_grad, leat_train_args, leat_train_layer_norm_grad_pixel)
