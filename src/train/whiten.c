/* SPDX-License-Identifier: MIT
 *
 * whiten.c: initial weights that decorrelate patches. See whiten.h.
 *
 * The filters are the eigenvectors of the patches' second moments (the covariance without taking away the mean),
 * each divided by sqrt(eigenvalue + 5e-4), and then the negatives of the same, as in Keller Jordan,
 * "94% on CIFAR-10 in 3.29 Seconds on a Single GPU", 2024, section 3.2. All in double and in a fixed order, so
 * that the weights depend on the batch alone. */
#include "whiten.h"

#include <math.h>
#include <stdlib.h>

#include "layers.h"

#define EPSILON 5e-4

/* Patches of one convolution: n values each. */
typedef struct patches {
    const leat_net_rows *rows;
    leat_sliding window;
    int64_t channels, n;
    double *moments, *vectors; /* [n][n]; after the decomposition vectors in columns */
    float *patch, *weights;
} patches;

static float value_at(const leat_view *x, int64_t i)
{
    return x->shape.dtype == LEAT_U8 ? (float)((const uint8_t *)x->data)[i]
                                     : ((const float *)x->data)[i];
}

/* Fills p->patch; false: the window reaches over the edge. */
static bool take_patch(const patches *p, int64_t row, int64_t oy, int64_t ox)
{
    const leat_sliding *w = &p->window;
    const int64_t top = oy * w->stride[0] - w->pad_low[0], left = ox * w->stride[1] - w->pad_low[1];
    const int64_t last_y = top + (w->size[0] - 1) * w->dilation[0];
    const int64_t last_x = left + (w->size[1] - 1) * w->dilation[1];
    float *to = p->patch;
    if (top < 0 || left < 0 || last_y >= w->in[0] || last_x >= w->in[1])
        return false;
    for (int64_t ky = 0; ky < w->size[0]; ky++)
        for (int64_t kx = 0; kx < w->size[1]; kx++) {
            const int64_t y = top + ky * w->dilation[0], x = left + kx * w->dilation[1];
            const int64_t at = ((row * w->in[0] + y) * w->in[1] + x) * p->channels;
            for (int64_t c = 0; c < p->channels; c++)
                *to++ = value_at(&p->rows->x, at + c);
        }
    return true;
}

static int64_t add_moments(const patches *p)
{
    const leat_sliding *w = &p->window;
    int64_t count = 0;
    for (int64_t row = 0; row < p->rows->rows; row++)
        for (int64_t i = 0; i < w->out[0] * w->out[1]; i++) {
            if ((p->rows->valid && !p->rows->valid[row]) ||
                !take_patch(p, row, i / w->out[1], i % w->out[1]))
                continue;
            count++;
            for (int64_t a = 0; a < p->n; a++)
                for (int64_t b = 0; b <= a; b++)
                    p->moments[a * p->n + b] += (double)p->patch[a] * (double)p->patch[b];
        }
    for (int64_t a = 0; a < p->n; a++)
        for (int64_t b = 0; b <= a; b++) {
            const double mean = p->moments[a * p->n + b] / (double)(count > 0 ? count : 1);
            p->moments[a * p->n + b] = p->moments[b * p->n + a] = mean;
        }
    return count;
}

/* Turns rows and columns i and j of a symmetric matrix so that element (i, j) becomes 0. */
static void rotate(const patches *p, int64_t i, int64_t j)
{
    const int64_t n = p->n;
    double *m = p->moments, *v = p->vectors;
    const double off = m[i * n + j];
    if (off == 0)
        return;
    const double theta = (m[j * n + j] - m[i * n + i]) / (2 * off);
    const double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    const double c = 1 / sqrt(t * t + 1), s = t * c;
    for (int64_t k = 0; k < n; k++) {
        const double a = m[k * n + i], b = m[k * n + j];
        m[k * n + i] = c * a - s * b;
        m[k * n + j] = s * a + c * b;
    }
    for (int64_t k = 0; k < n; k++) {
        const double a = m[i * n + k], b = m[j * n + k];
        m[i * n + k] = c * a - s * b;
        m[j * n + k] = s * a + c * b;
    }
    for (int64_t k = 0; k < n; k++) {
        const double a = v[k * n + i], b = v[k * n + j];
        v[k * n + i] = c * a - s * b;
        v[k * n + j] = s * a + c * b;
    }
}

/* Jacobi's method (Golub and Van Loan, "Matrix Computations", 8.5): moments become diagonal. */
static void decompose(const patches *p)
{
    for (int64_t i = 0; i < p->n; i++)
        p->vectors[i * p->n + i] = 1;
    for (int sweep = 0; sweep < 30; sweep++)
        for (int64_t i = 0; i < p->n; i++)
            for (int64_t j = i + 1; j < p->n; j++)
                rotate(p, i, j);
}

/* The column of the largest eigenvalue that is not taken yet; takes it. */
static int64_t next_vector(const patches *p, double *value)
{
    int64_t best = -1;
    for (int64_t i = 0; i < p->n; i++)
        if (p->moments[i * p->n + i] >= 0 &&
            (best < 0 || p->moments[i * p->n + i] > p->moments[best * p->n + best]))
            best = i;
    if (best < 0)
        return -1;
    *value = p->moments[best * p->n + best];
    p->moments[best * p->n + best] = -1;
    return best;
}

/* An eigenvector has no sign: its largest value is made positive. */
static double sign_of(const patches *p, int64_t column)
{
    double most = 0;
    for (int64_t k = 0; k < p->n; k++)
        if (fabs(p->vectors[k * p->n + column]) > fabs(most))
            most = p->vectors[k * p->n + column];
    return most < 0 ? -1 : 1;
}

static void fill_weights(const patches *p, int64_t filters)
{
    const int64_t half = (filters + 1) / 2;
    for (int64_t f = 0; f < half; f++) {
        double value = 0;
        const int64_t column = next_vector(p, &value);
        if (column < 0)
            return; /* rounding made an eigenvalue negative: these filters stay as drawn */
        const double factor = sign_of(p, column) / sqrt(value + EPSILON);
        for (int64_t k = 0; k < p->n; k++) {
            const float w = (float)(p->vectors[k * p->n + column] * factor);
            p->weights[k * filters + f] = w;
            if (half + f < filters)
                p->weights[k * filters + half + f] = -w;
        }
    }
}

static int whiten_layer(const leat_model *model, const leat_backend *backend, leat_net *net,
                        int32_t i, const leat_net_rows *rows, leat_error *err)
{
    const leat_model_layer *l = &model->layers[i];
    const int64_t filters = l->out.dims[2];
    patches p = { .rows = rows, .channels = l->in.dims[2] };
    int rc = leat_conv2d_sliding(l->options, &l->in, &p.window, err);
    p.n = p.window.size[0] * p.window.size[1] * p.channels;
    p.moments = calloc((size_t)(p.n * p.n), sizeof *p.moments);
    p.vectors = calloc((size_t)(p.n * p.n), sizeof *p.vectors);
    p.patch = malloc((size_t)p.n * sizeof *p.patch);
    p.weights = malloc((size_t)(p.n * filters) * sizeof *p.weights);
    if (!p.moments || !p.vectors || !p.patch || !p.weights)
        rc = leat_fail(err, LEAT_E_NOMEM, "%s: no memory for init: whiten", l->name);
    if (rc == LEAT_OK)
        rc = backend->read(net, i, 0, LEAT_SLOT_WEIGHT, p.weights, err);
    if (rc == LEAT_OK && add_moments(&p) > 0) {
        decompose(&p);
        fill_weights(&p, filters);
        rc = backend->write(net, i, 0, LEAT_SLOT_WEIGHT, p.weights, err);
    }
    free(p.moments);
    free(p.vectors);
    free(p.patch);
    free(p.weights);
    return rc;
}

static bool whitens(const leat_model_layer *l)
{
    return l->n_params > 0 && l->params[0].init == LEAT_INIT_WHITEN;
}

bool leat_whiten_wanted(const leat_model *model)
{
    for (int32_t i = 0; i < model->n_layers; i++)
        if (whitens(&model->layers[i]))
            return true;
    return false;
}

int leat_whiten(const leat_model *model, const leat_backend *backend, leat_net *net,
                const leat_net_rows *rows, leat_error *err)
{
    int rc = LEAT_OK;
    for (int32_t i = 0; i < model->n_layers && rc == LEAT_OK; i++)
        if (whitens(&model->layers[i]))
            rc = whiten_layer(model, backend, net, i, rows, err);
    return rc;
}
