/* SPDX-License-Identifier: MIT
 *
 * whiten.c: initial weights that decorrelate patches. See whiten.h.
 *
 * The filters are the eigenvectors of the patches' second moments (the covariance without taking away the mean),
 * each divided by sqrt(eigenvalue + 5e-4), and then the negatives of the same, as in Keller Jordan,
 * "94% on CIFAR-10 in 3.29 Seconds on a Single GPU", 2024, section 3.2. All in double and in a fixed order, so
 * that the weights depend on the rows and their order alone. */
#include "whiten.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "layers.h"
#include "ranks/exchange.h"

#define EPSILON 5e-4

/* Patches of one convolution: n values each. */
typedef struct patches {
    int32_t layer;
    leat_sliding window;
    const leat_model_normalize *normalize; /* of the model */
    int64_t channels, n, filters;
    int64_t count; /* patches so far */
    double *moments,
        *vectors; /* [n][n]; moments: sums so far; after the decomposition vectors in columns */
    float *patch, *weights;
} patches;

struct leat_whiten {
    int32_t n;
    patches layers[];
};

static float value_at(const leat_model_normalize *by, const leat_view *x, int64_t i)
{
    const float value = x->shape.dtype == LEAT_U8 ? (float)((const uint8_t *)x->data)[i]
                                                  : ((const float *)x->data)[i];
    return by->n ? value * by->scale[i % by->n] + by->shift[i % by->n] : value;
}

/* Whether the window lies inside the image. */
static bool is_inside(const leat_sliding *w, int64_t oy, int64_t ox)
{
    const int64_t top = oy * w->stride[0] - w->pad_low[0], left = ox * w->stride[1] - w->pad_low[1];
    return top >= 0 && left >= 0 && top + (w->size[0] - 1) * w->dilation[0] < w->in[0] &&
           left + (w->size[1] - 1) * w->dilation[1] < w->in[1];
}

/* Fills p->patch; false: the window reaches over the edge. */
static bool take_patch(const patches *p, const leat_view *x, int64_t row, int64_t oy, int64_t ox)
{
    const leat_sliding *w = &p->window;
    const int64_t top = oy * w->stride[0] - w->pad_low[0], left = ox * w->stride[1] - w->pad_low[1];
    float *to = p->patch;
    if (!is_inside(w, oy, ox))
        return false;
    for (int64_t ky = 0; ky < w->size[0]; ky++)
        for (int64_t kx = 0; kx < w->size[1]; kx++) {
            const int64_t iy = top + ky * w->dilation[0], ix = left + kx * w->dilation[1];
            const int64_t at = ((row * w->in[0] + iy) * w->in[1] + ix) * p->channels;
            for (int64_t c = 0; c < p->channels; c++)
                *to++ = value_at(p->normalize, x, at + c);
        }
    return true;
}

static void add_moments(patches *p, const leat_net_rows *rows)
{
    const leat_sliding *w = &p->window;
    for (int64_t row = 0; row < rows->rows; row++)
        for (int64_t i = 0; i < w->out[0] * w->out[1]; i++) {
            if ((rows->valid && !rows->valid[row]) ||
                !take_patch(p, &rows->x, row, i / w->out[1], i % w->out[1]))
                continue;
            p->count++;
            for (int64_t a = 0; a < p->n; a++)
                for (int64_t b = 0; b <= a; b++)
                    p->moments[a * p->n + b] += (double)p->patch[a] * (double)p->patch[b];
        }
}

/* Sums become means, in both halves of the matrix. */
static void take_means(const patches *p)
{
    for (int64_t a = 0; a < p->n; a++)
        for (int64_t b = 0; b <= a; b++) {
            const double mean = p->moments[a * p->n + b] / (double)p->count;
            p->moments[a * p->n + b] = p->moments[b * p->n + a] = mean;
        }
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
    /* Rounding makes some negative that are 0: those of gray images, say. */
    for (int64_t i = 0; i < p->n; i++)
        p->moments[i * p->n + i] = fmax(p->moments[i * p->n + i], 0);
}

/* The column of the largest eigenvalue that is not taken yet, of which there is one; takes it. */
static int64_t next_vector(const patches *p, double *value)
{
    int64_t best = -1;
    for (int64_t i = 0; i < p->n; i++)
        if (p->moments[i * p->n + i] >= 0 &&
            (best < 0 || p->moments[i * p->n + i] > p->moments[best * p->n + best]))
            best = i;
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

static void fill_weights(const patches *p)
{
    const int64_t filters = p->filters, half = (filters + 1) / 2;
    for (int64_t f = 0; f < half; f++) {
        double value = 0;
        const int64_t column = next_vector(p, &value);
        const double factor = sign_of(p, column) / sqrt(value + EPSILON);
        for (int64_t k = 0; k < p->n; k++) {
            const float w = (float)(p->vectors[k * p->n + column] * factor);
            p->weights[k * filters + f] = w;
            if (half + f < filters)
                p->weights[k * filters + half + f] = -w;
        }
    }
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

/* --- a collection ---------------------------------------------------------------------------- */

static int open_layer(patches *p, const leat_model *model, leat_error *err)
{
    const leat_model_layer *const l = &model->layers[p->layer];
    const int rc = leat_conv2d_sliding(l->options, &l->in, &p->window, err);
    if (rc < 0)
        return rc;
    p->normalize = &model->normalize;
    p->channels = l->in.dims[2];
    p->filters = l->out.dims[2];
    p->n = p->window.size[0] * p->window.size[1] * p->channels;
    p->moments = calloc((size_t)(p->n * p->n), sizeof *p->moments);
    p->vectors = calloc((size_t)(p->n * p->n), sizeof *p->vectors);
    p->patch = malloc((size_t)p->n * sizeof *p->patch);
    p->weights = malloc((size_t)(p->n * p->filters) * sizeof *p->weights);
    return p->moments && p->vectors && p->patch && p->weights
               ? LEAT_OK
               : leat_fail(err, LEAT_E_NOMEM, "%s: no memory for init: whiten", l->name);
}

int leat_whiten_open(const leat_model *model, leat_whiten **out, leat_error *err)
{
    leat_whiten *w = calloc(1, sizeof *w + (size_t)model->n_layers * sizeof *w->layers);
    int rc = w ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "no memory for init: whiten");
    for (int32_t i = 0; i < model->n_layers && rc == LEAT_OK; i++)
        if (whitens(&model->layers[i])) {
            w->layers[w->n].layer = i;
            rc = open_layer(&w->layers[w->n++], model, err);
        }
    if (rc < 0)
        leat_whiten_close(&w);
    *out = w;
    return rc;
}

void leat_whiten_close(leat_whiten **whiten)
{
    for (int32_t i = 0; *whiten && i < (*whiten)->n; i++) {
        patches *const p = &(*whiten)->layers[i];
        free(p->moments);
        free(p->vectors);
        free(p->patch);
        free(p->weights);
    }
    free(*whiten);
    *whiten = NULL;
}

void leat_whiten_add(leat_whiten *whiten, const leat_net_rows *rows)
{
    for (int32_t i = 0; i < whiten->n; i++)
        add_moments(&whiten->layers[i], rows);
}

int leat_whiten_take(leat_whiten *whiten, leat_ranks *ranks, int32_t from, int rc, leat_error *err)
{
    for (int32_t i = 0; i < whiten->n; i++) {
        patches *const p = &whiten->layers[i];
        const size_t bytes = (size_t)(p->n * p->n) * sizeof *p->moments;
        if ((rc = leat_ranks_gather(ranks, rc, p->moments, bytes, err)) < 0)
            return rc;
        memcpy(p->moments, leat_ranks_from(ranks, from), bytes);
        if ((rc = leat_ranks_gather(ranks, rc, &p->count, sizeof p->count, err)) < 0)
            return rc;
        memcpy(&p->count, leat_ranks_from(ranks, from), sizeof p->count);
    }
    return rc;
}

/* Whether any window lies inside the image. */
static bool fits(const patches *p)
{
    const leat_sliding *const w = &p->window;
    for (int64_t i = 0; i < w->out[0] * w->out[1]; i++)
        if (is_inside(w, i / w->out[1], i % w->out[1]))
            return true;
    return false;
}

int leat_whiten_check(const leat_whiten *whiten, leat_error *err)
{
    for (int32_t i = 0; i < whiten->n; i++)
        for (int64_t k = 0; k < whiten->layers[i].n; k++)
            if (!isfinite(whiten->layers[i].moments[k * whiten->layers[i].n + k]))
                return leat_fail(
                    err, LEAT_E_DATA,
                    "init: whiten: an image of those that decide the weights (the part "
                    "`whiten`) has a value that is not a finite number");
    return LEAT_OK;
}

int leat_whiten_end(leat_whiten *whiten, const leat_backend *backend, leat_net *net,
                    leat_error *err)
{
    int rc = LEAT_OK;
    for (int32_t i = 0; i < whiten->n && rc == LEAT_OK; i++) {
        const patches *const p = &whiten->layers[i];
        if (p->count == 0 && !fits(p))
            continue; /* its weights stay as drawn */
        if (p->count == 0)
            return leat_fail(err, LEAT_E_DATA,
                             "init: whiten: there are no images to decide the weights by");
        rc = backend->read(net, p->layer, 0, LEAT_VALUES_WEIGHT, p->weights, err);
        take_means(p);
        decompose(p);
        fill_weights(p);
        if (rc == LEAT_OK)
            rc = backend->write(net, p->layer, 0, LEAT_VALUES_WEIGHT, p->weights, err);
    }
    return rc;
}
