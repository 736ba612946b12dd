/* SPDX-License-Identifier: MIT
 *
 * train_reference.h: every layer forward and backward in double, as plainly as it can be written.
 * This is the definition that backends are compared with. Activations are [rows, height, width,
 * channels]. */
#ifndef TRAIN_REFERENCE_H
#define TRAIN_REFERENCE_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "train/layers.h"

typedef struct reference_layer {
    const leat_model_layer *spec;
    int64_t n_in, n_out; /* elements of one sample */
    double *y, *dy;      /* output and its gradient, [rows, …] */
    double *params[LEAT_LAYER_MAX_PARAMS], *grads[LEAT_LAYER_MAX_PARAMS];
    double *mean, *variance; /* batch_norm: of the batch */
} reference_layer;

typedef void reference_fn(reference_layer *l, const double *x, double *dx, int64_t rows,
                          bool training, bool backward);

static void ref_dense(reference_layer *l, const double *x, double *dx, int64_t rows, bool training,
                      bool backward)
{
    const bool bias = l->spec->n_params > 1;
    (void)training;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t o = 0; o < l->n_out; o++) {
            double *y = &l->y[r * l->n_out + o];
            const double dy = backward ? l->dy[r * l->n_out + o] : 0;
            if (!backward)
                *y = bias ? l->params[1][o] : 0;
            else if (bias)
                l->grads[1][o] += dy;
            for (int64_t i = 0; i < l->n_in; i++) {
                const int64_t w = i * l->n_out + o;
                if (!backward) {
                    *y += x[r * l->n_in + i] * l->params[0][w];
                } else {
                    l->grads[0][w] += x[r * l->n_in + i] * dy;
                    dx[r * l->n_in + i] += l->params[0][w] * dy;
                }
            }
        }
}

/* Calls of one window position: `at` is the place in the image, -1 outside. */
static int64_t ref_pixel(const leat_sliding *s, int64_t oy, int64_t ox, int64_t ky, int64_t kx)
{
    const int64_t y = oy * s->stride[0] + ky - s->pad_low[0];
    const int64_t x = ox * s->stride[1] + kx - s->pad_low[1];
    return y < 0 || x < 0 || y >= s->in[0] || x >= s->in[1] ? -1 : y * s->in[1] + x;
}

static void ref_conv_at(reference_layer *l, const leat_sliding *s, const double *x, double *dx,
                        int64_t oy, int64_t ox, int64_t o, double *y, double dy, bool backward)
{
    const int64_t channels = l->spec->in.dims[2], filters = l->spec->out.dims[2];
    for (int64_t ky = 0; ky < s->size[0]; ky++)
        for (int64_t kx = 0; kx < s->size[1]; kx++) {
            const int64_t at = ref_pixel(s, oy, ox, ky, kx);
            for (int64_t c = 0; c < channels && at >= 0; c++) {
                const int64_t w = ((ky * s->size[1] + kx) * channels + c) * filters + o;
                if (!backward) {
                    *y += x[at * channels + c] * l->params[0][w];
                } else {
                    l->grads[0][w] += x[at * channels + c] * dy;
                    dx[at * channels + c] += l->params[0][w] * dy;
                }
            }
        }
}

static void ref_conv2d(reference_layer *l, const double *x, double *dx, int64_t rows, bool training,
                       bool backward)
{
    const bool bias = l->spec->n_params > 1;
    const int64_t filters = l->spec->out.dims[2];
    leat_sliding s;
    (void)training;
    leat_conv2d_sliding(l->spec->options, &l->spec->in, &s, NULL);
    for (int64_t i = 0; i < rows * l->n_out; i++) {
        const int64_t o = i % filters, pixel = i / filters % (s.out[0] * s.out[1]);
        const int64_t r = i / l->n_out;
        if (!backward)
            l->y[i] = bias ? l->params[1][o] : 0;
        else if (bias)
            l->grads[1][o] += l->dy[i];
        ref_conv_at(l, &s, x + r * l->n_in, dx + r * l->n_in, pixel / s.out[1], pixel % s.out[1], o,
                    &l->y[i], backward ? l->dy[i] : 0, backward);
    }
}

static void ref_relu(reference_layer *l, const double *x, double *dx, int64_t rows, bool training,
                     bool backward)
{
    (void)training;
    for (int64_t i = 0; i < rows * l->n_in; i++) {
        if (!backward)
            l->y[i] = x[i] > 0 ? x[i] : 0;
        else
            dx[i] = x[i] > 0 ? l->dy[i] : 0;
    }
}

static void ref_sigmoid(reference_layer *l, const double *x, double *dx, int64_t rows,
                        bool training, bool backward)
{
    (void)training;
    for (int64_t i = 0; i < rows * l->n_in; i++) {
        const double y = 1 / (1 + exp(-x[i]));
        if (!backward)
            l->y[i] = y;
        else
            dx[i] = y * (1 - y) * l->dy[i];
    }
}

/* One window of one channel. */
static void ref_pool_at(const leat_sliding *s, bool max, const double *x, double *dx, int64_t oy,
                        int64_t ox, int64_t channels, double *y, double dy, bool backward)
{
    int64_t best = -1, n = 0;
    double sum = 0;
    for (int64_t k = 0; k < s->size[0] * s->size[1]; k++) {
        const int64_t at = ref_pixel(s, oy, ox, k / s->size[1], k % s->size[1]);
        if (at < 0)
            continue;
        n++;
        sum += x[at * channels];
        if (best < 0 || x[at * channels] > x[best * channels])
            best = at;
    }
    if (!backward) {
        *y = max ? x[best * channels] : sum / (double)n;
        return;
    }
    if (max) {
        dx[best * channels] += dy;
        return;
    }
    for (int64_t k = 0; k < s->size[0] * s->size[1]; k++) {
        const int64_t at = ref_pixel(s, oy, ox, k / s->size[1], k % s->size[1]);
        if (at >= 0)
            dx[at * channels] += dy / (double)n;
    }
}

static void ref_pool(reference_layer *l, const double *x, double *dx, int64_t rows, bool training,
                     bool backward)
{
    const int64_t *in = l->spec->in.dims;
    const int64_t channels = in[2];
    leat_sliding s = { { in[0], in[1] }, { 1, 1 }, { in[0], in[1] }, { 1, 1 }, { 0 }, { 0 } };
    (void)training;
    if (l->spec->layer != &leat_layer_global_avg_pool)
        leat_pool_sliding(l->spec->options, &l->spec->in, "", &s, NULL);
    for (int64_t i = 0; i < rows * l->n_out; i++) {
        const int64_t c = i % channels, pixel = i / channels % (s.out[0] * s.out[1]);
        const int64_t from = i / l->n_out * l->n_in + c;
        ref_pool_at(&s, l->spec->layer == &leat_layer_max_pool, x + from, dx + from,
                    pixel / s.out[1], pixel % s.out[1], channels, &l->y[i], backward ? l->dy[i] : 0,
                    backward);
    }
}

static void ref_flatten(reference_layer *l, const double *x, double *dx, int64_t rows,
                        bool training, bool backward)
{
    (void)training;
    if (!backward)
        memcpy(l->y, x, (size_t)(rows * l->n_in) * sizeof *x);
    else
        memcpy(dx, l->dy, (size_t)(rows * l->n_in) * sizeof *x);
}

static void ref_norm_channel(reference_layer *l, const double *x, double *dx, int64_t n,
                             int64_t step, int64_t c, bool training, bool backward)
{
    const leat_batch_norm_options *o = l->spec->options;
    double mean = 0, variance = 0, sum_dy = 0, sum_dy_x = 0;
    for (int64_t i = 0; i < n; i++)
        mean += x[i * step + c] / (double)n;
    for (int64_t i = 0; i < n; i++)
        variance += (x[i * step + c] - mean) * (x[i * step + c] - mean) / (double)n;
    l->mean[c] = mean;
    l->variance[c] = variance;
    if (!training) {
        mean = l->params[2][c];
        variance = l->params[3][c];
    }
    const double scale = l->params[0][c], shift = l->params[1][c];
    const double inverse = 1 / sqrt(variance + (double)o->epsilon);
    for (int64_t i = c; i < n * step; i += step) {
        if (!backward) {
            l->y[i] = (x[i] - mean) * inverse * scale + shift;
            continue;
        }
        sum_dy += l->dy[i];
        sum_dy_x += l->dy[i] * (x[i] - mean) * inverse;
    }
    if (!backward)
        return;
    l->grads[0][c] = sum_dy_x;
    l->grads[1][c] = sum_dy;
    for (int64_t i = c; i < n * step; i += step)
        dx[i] = scale * inverse *
                (l->dy[i] - sum_dy / (double)n - (x[i] - mean) * inverse * sum_dy_x / (double)n);
}

static void ref_batch_norm(reference_layer *l, const double *x, double *dx, int64_t rows,
                           bool training, bool backward)
{
    const int64_t channels = l->spec->in.dims[l->spec->in.rank - 1];
    for (int64_t c = 0; c < channels; c++)
        ref_norm_channel(l, x, dx, rows * l->n_in / channels, channels, c, training, backward);
}

/* Without chance: as in evaluation. */
static void ref_dropout(reference_layer *l, const double *x, double *dx, int64_t rows,
                        bool training, bool backward)
{
    ref_flatten(l, x, dx, rows, training, backward);
}

/* One row per layer; a layer without one fails the test that loops over the list. */
static const struct {
    const leat_layer *layer;
    reference_fn *run;
} reference_rows[] = {
    { &leat_layer_dense, ref_dense },
    { &leat_layer_conv2d, ref_conv2d },
    { &leat_layer_relu, ref_relu },
    { &leat_layer_sigmoid, ref_sigmoid },
    { &leat_layer_max_pool, ref_pool },
    { &leat_layer_avg_pool, ref_pool },
    { &leat_layer_global_avg_pool, ref_pool },
    { &leat_layer_flatten, ref_flatten },
    { &leat_layer_dropout, ref_dropout },
    { &leat_layer_batch_norm, ref_batch_norm },
};

static reference_fn *reference_for(const leat_layer *layer)
{
    for (size_t i = 0; i < sizeof reference_rows / sizeof *reference_rows; i++)
        if (reference_rows[i].layer == layer)
            return reference_rows[i].run;
    return NULL;
}

#endif
