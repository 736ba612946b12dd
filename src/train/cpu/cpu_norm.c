/* SPDX-License-Identifier: MIT
 *
 * cpu_norm.c: batch_norm and layer_norm on the CPU. prim.h has the contracts.
 *
 * Statistics are of the whole batch: each micro-batch sums over its rows, then the sums of all are combined in micro-batch
 * order. Sums are taken of x - K, K being the micro-batch's first pixel, and combined as Chan, Golub and LeVeque do
 * ("Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979), so that a large
 * mean costs no digits. Sums of floats are taken over pieces, those of pieces in double.
 *
 * Rows that do not count are normalised with the others, but are in no sum, and their gradient is 0. */
#include <math.h>
#include <string.h>

#include "net_cpu.h"

enum { SCALE, SHIFT, MEAN, VARIANCE };
enum { ORIGIN, SUM, SQUARES, N_SUMS }; /* SUM and SQUARES of gradients: of dz, of dz * (x - mean) */

/* One op: its channels, pixels of a row, and memory. */
typedef struct norm {
    const leat_cpu_call *call;
    leat_cpu_saved *saved;
    size_t n, wide, pixels, step; /* channels, see cpu_loops.h; pixels of a row, of a piece */
    leat_prim_type type;
} norm;

static norm norm_of(const leat_cpu_call *call)
{
    const leat_shape *in = &call->layer->in;
    norm out = { .call = call,
                 .n = (size_t)in->dims[in->rank - 1],
                 .type = call->in_spec[0]->type };
    out.wide = leat_cpu_wide(out.n);
    out.pixels = (size_t)leat_shape_elements(in) / out.n;
    out.step = leat_cpu_piece(out.n);
    if (call->op->saved >= 0)
        out.saved = &call->net->saved[call->op->saved];
    return out;
}

static double *sums_of(const leat_cpu_saved *s, int32_t micro, int32_t which)
{
    return s->sums + (micro * N_SUMS + which) * s->n_channels;
}

enum { CENTER, FACTOR, ADDEND, GRAD_FACTOR, GRAD_FACTOR_X, GRAD_ADDEND };

static float *factor_row(const leat_cpu_saved *s, int row)
{
    return s->factors + (size_t)row * leat_cpu_wide((size_t)s->n_channels);
}

static leat_cpu_norm_factors factors_of(const leat_cpu_saved *s)
{
    return (leat_cpu_norm_factors){ .center = factor_row(s, CENTER),
                                    .factor = factor_row(s, FACTOR),
                                    .addend = factor_row(s, ADDEND) };
}

static leat_cpu_norm_factors grad_factors_of(const leat_cpu_saved *s)
{
    return (leat_cpu_norm_factors){ .center = factor_row(s, CENTER),
                                    .factor = factor_row(s, GRAD_FACTOR),
                                    .factor_x = factor_row(s, GRAD_FACTOR_X),
                                    .addend = factor_row(s, GRAD_ADDEND) };
}

/* Repeats the channels up to the width that the loops want. */
static void widen(float *row, size_t n)
{
    for (size_t i = n; i < leat_cpu_wide(n); i++)
        row[i] = row[i - n];
}

/* Pieces of a micro-batch: pixels from `pixel` on of one row. */
typedef struct piece {
    int64_t row;
    size_t pixel, n, at; /* at: elements before it in the tensor */
    bool counts;
} piece;

static bool next_piece(const norm *o, piece *p)
{
    p->pixel += p->n;
    if (p->pixel == o->pixels) {
        p->pixel = 0;
        p->row++;
    }
    if (p->row >= o->call->rows)
        return false;
    p->n = o->pixels - p->pixel < o->step ? o->pixels - p->pixel : o->step;
    p->at = ((size_t)p->row * o->pixels + p->pixel) * o->n;
    p->counts = !o->call->valid || o->call->valid[p->row];
    return true;
}

/* A piece of input k as floats: in place, or converted into a buffer of scratch. */
static const float *read_piece(const norm *o, int k, const piece *p, int buffer)
{
    return leat_cpu_floats(o->call->net, o->call->in[k], o->call->in_spec[k]->type, p->at,
                           p->n * o->n, leat_cpu_buffer(o->call, buffer));
}

/* Where to write a piece of the output as floats; leat_cpu_put() then converts it. */
static float *piece_to_write(const norm *o, const piece *p, int buffer)
{
    return leat_cpu_floats_out(o->call->out[0], o->type, p->at, leat_cpu_buffer(o->call, buffer));
}

static void put_piece(const norm *o, const piece *p, const float *y)
{
    leat_cpu_put(o->call->net, o->call->out[0], o->type, p->at, p->n * o->n, y);
}

/* Adds the float sums of some pieces to the micro-batch's and sets them to 0. */
static void take_sums(const norm *o, float *sum, float *squares)
{
    double *to[] = { sums_of(o->saved, o->call->micro, SUM),
                     sums_of(o->saved, o->call->micro, SQUARES) };
    float *from[] = { sum, squares };
    for (int k = 0; k < 2; k++) {
        for (size_t at = 0; at < o->wide; at += o->n)
            for (size_t c = 0; c < o->n; c++)
                to[k][c] += (double)from[k][at + c];
        memset(from[k], 0, o->wide * sizeof *from[k]);
    }
}

enum { FLOAT_PIXELS = 1024 }; /* pixels whose sums may be float */

/* --- forward --------------------------------------------------------------------------------- */

static int add_statistics(const leat_cpu_call *call)
{
    const norm o = norm_of(call);
    float *sum = leat_cpu_buffer(call, 3), *squares = leat_cpu_buffer(call, 4);
    float *origin = leat_cpu_buffer(call, 5);
    double *sums = sums_of(o.saved, call->micro, 0);
    size_t pixels = 0;
    const float *first =
        leat_cpu_floats(call->net, call->in[0], call->in_spec[0]->type, 0, o.n, origin);
    memset(sums, 0, N_SUMS * o.n * sizeof *sums);
    memset(sum, 0, o.wide * sizeof *sum);
    memset(squares, 0, o.wide * sizeof *squares);
    if (first != origin)
        memcpy(origin, first, o.n * sizeof *origin);
    for (size_t c = 0; c < o.n; c++)
        sums[c] = (double)origin[c];
    widen(origin, o.n);
    for (piece p = { 0 }; next_piece(&o, &p);) {
        if (!p.counts)
            continue;
        call->net->loops->norm_sums(read_piece(&o, 0, &p, 0), origin, sum, squares, o.wide,
                                    p.n * o.n);
        if ((pixels += p.n) >= FLOAT_PIXELS) {
            take_sums(&o, sum, squares);
            pixels = 0;
        }
    }
    take_sums(&o, sum, squares);
    return LEAT_OK;
}

static int64_t valid_rows(const leat_net *net, int32_t micro)
{
    const leat_net_rows *const batch = net->job.batch;
    if (batch->micro_valid)
        return batch->micro_valid[micro];
    int64_t first;
    const int64_t rows = leat_model_micro(net->model, batch->rows, micro, &first);
    return leat_net_count_valid(batch->valid ? batch->valid + first : NULL, rows);
}

static float *weight_of(const leat_net *net, const leat_model_layer *l, int32_t k)
{
    return net->arenas[LEAT_VALUES_WEIGHT] + net->model->params[l->first_param + k].at;
}

static double pixels_of(const leat_model_layer *l, const leat_cpu_saved *s)
{
    return (double)leat_shape_elements(&l->in) / (double)s->n_channels;
}

/* Moves a channel's running statistics towards the batch's. False, and they stay, if they would not be finite. */
static bool move_running(leat_net *net, const leat_model_layer *l, int64_t c, double mean,
                         double variance)
{
    const leat_batch_norm_options *o = l->options;
    float *const running_mean = weight_of(net, l, MEAN) + c;
    float *const running_variance = weight_of(net, l, VARIANCE) + c;
    const float m = o->momentum * *running_mean + (1 - o->momentum) * (float)mean;
    const float v = o->momentum * *running_variance + (1 - o->momentum) * (float)variance;
    if (!isfinite(m) || !isfinite(v))
        return false;
    *running_mean = m;
    *running_variance = v;
    return true;
}

/* Gets the sums of all ranks. False: one has failed. */
static bool share_sums(leat_net *net, const leat_cpu_saved *s)
{
    if (net->job.shared)
        leat_cpu_ranks_share(net, s->sums, N_SUMS * (size_t)s->n_channels * sizeof(double));
    return leat_cpu_ranks_well(net);
}

/* Mean and variance over all micro-batches; the running ones; factors for finish(). */
static void combine_statistics(leat_net *net, const leat_prim_op *op)
{
    const leat_model_layer *l = &net->model->layers[op->layer];
    const leat_batch_norm_options *o = l->options;
    leat_cpu_saved *s = &net->saved[op->saved];
    const int64_t n = s->n_channels;
    if (!share_sums(net, s))
        return;
    for (int64_t c = 0; c < n; c++) {
        double mean = 0, squares = 0, count = 0;
        for (int32_t i = 0; i < net->job.n_micro; i++) {
            const double m = (double)valid_rows(net, i) * pixels_of(l, s);
            if (m == 0)
                continue;
            const double sum = sums_of(s, i, SUM)[c];
            const double around = sums_of(s, i, SQUARES)[c] - sum * sum / m;
            const double apart = sums_of(s, i, ORIGIN)[c] + sum / m - mean;
            squares += (around > 0 ? around : 0) + apart * apart * count * m / (count + m);
            mean += apart * m / (count + m);
            count += m;
        }
        const double variance = squares / count;
        if (!net->job.inspect && !move_running(net, l, c, mean, variance) && net->bad_norm < 0)
            net->bad_norm = op->layer;
        s->inverse[c] = 1 / sqrt(variance + (double)o->epsilon);
        factor_row(s, CENTER)[c] = (float)mean;
        factor_row(s, FACTOR)[c] = (float)((double)weight_of(net, l, SCALE)[c] * s->inverse[c]);
        factor_row(s, ADDEND)[c] = weight_of(net, l, SHIFT)[c];
    }
    for (int row = CENTER; row <= ADDEND; row++)
        widen(factor_row(s, row), (size_t)n);
}

static int normalise(const norm *o, const leat_cpu_norm_factors *f)
{
    const leat_cpu_call *call = o->call;
    for (piece p = { 0 }; next_piece(o, &p);) {
        float *y = piece_to_write(o, &p, 1);
        call->net->loops->norm(f, read_piece(o, 0, &p, 0), y, o->wide, p.n * o->n);
        if (call->op->act != LEAT_ACT_NONE)
            call->net->loops->act(call->op->act, call->op->alpha, y, y, p.n * o->n);
        put_piece(o, &p, y);
    }
    return LEAT_OK;
}

static int apply_statistics(const leat_cpu_call *call)
{
    const norm o = norm_of(call);
    const leat_cpu_norm_factors f = factors_of(o.saved);
    return normalise(&o, &f);
}

/* sqrt(variance + epsilon) of a channel by the running statistics. */
static double fixed_deviation(const leat_cpu_call *call, size_t c)
{
    const leat_batch_norm_options *o = call->layer->options;
    return sqrt((double)leat_cpu_weight(call, VARIANCE)[c] + (double)o->epsilon);
}

static int norm_fixed(const leat_cpu_call *call)
{
    const norm o = norm_of(call);
    float *center = leat_cpu_buffer(call, 3), *factor = leat_cpu_buffer(call, 4);
    float *addend = leat_cpu_buffer(call, 5);
    const leat_cpu_norm_factors f = { .center = center, .factor = factor, .addend = addend };
    memcpy(center, leat_cpu_weight(call, MEAN), o.n * sizeof *center);
    memcpy(addend, leat_cpu_weight(call, SHIFT), o.n * sizeof *addend);
    for (size_t c = 0; c < o.n; c++)
        factor[c] = (float)((double)leat_cpu_weight(call, SCALE)[c] / fixed_deviation(call, c));
    widen(center, o.n);
    widen(factor, o.n);
    widen(addend, o.n);
    return normalise(&o, &f);
}

/* --- backward -------------------------------------------------------------------------------- */

/* The gradient before the activation. Where the activation's gradient is computed from its input or from an
 * output that is not kept, the normalised values are computed again. */
static const float *before_act(const norm *o, const piece *p, const float *x, const float *dy,
                               const leat_cpu_norm_factors *f)
{
    const leat_cpu_call *call = o->call;
    const leat_act act = call->op->act;
    const size_t n = p->n * o->n;
    float *dz = piece_to_write(o, p, 3);
    if (act == LEAT_ACT_NONE) {
        if (dz != dy)
            memcpy(dz, dy, n * sizeof *dz);
        return dz;
    }
    const float *of = leat_act_from_output(act) ? read_piece(o, 2, p, 2) : NULL;
    if (!of) {
        float *z = leat_cpu_buffer(call, 2);
        call->net->loops->norm(f, x, z, o->wide, n);
        of = z;
    }
    call->net->loops->act_grad(act, call->op->alpha, dy, of, dz, n);
    return dz;
}

static int add_gradients(const leat_cpu_call *call)
{
    const norm o = norm_of(call);
    const leat_cpu_norm_factors f = factors_of(o.saved);
    float *sum = leat_cpu_buffer(call, 4), *dot = leat_cpu_buffer(call, 5);
    size_t pixels = 0;
    memset(sums_of(o.saved, call->micro, SUM), 0, 2 * o.n * sizeof(double));
    memset(sum, 0, o.wide * sizeof *sum);
    memset(dot, 0, o.wide * sizeof *dot);
    for (piece p = { 0 }; next_piece(&o, &p);) {
        const float *x = read_piece(&o, 1, &p, 0);
        const float *dz = before_act(&o, &p, x, read_piece(&o, 0, &p, 1), &f);
        put_piece(&o, &p, dz);
        if (!p.counts)
            continue;
        call->net->loops->norm_grad_sums(x, dz, f.center, sum, dot, o.wide, p.n * o.n);
        if ((pixels += p.n) >= FLOAT_PIXELS) {
            take_sums(&o, sum, dot);
            pixels = 0;
        }
    }
    take_sums(&o, sum, dot);
    return LEAT_OK;
}

/* The gradients of scale and shift go to micro-batch 0; those of the others stay 0, also where a sum overwrote them. */
static void combine_gradients(leat_net *net, const leat_prim_op *op)
{
    const leat_model_layer *l = &net->model->layers[op->layer];
    leat_cpu_saved *s = &net->saved[op->saved];
    const int64_t n = s->n_channels;
    const double all = (double)net->job.batch->n_valid * pixels_of(l, s);
    float *grads[2];
    if (!share_sums(net, s))
        return;
    for (int k = 0; k < 2; k++)
        grads[k] =
            l->params[k].trained ? net->grads[net->first] + net->grad[l->first_param + k].at : NULL;
    for (int64_t c = 0; c < n; c++) {
        const double factor = (double)weight_of(net, l, SCALE)[c] * s->inverse[c];
        double sum = 0, dot = 0;
        for (int32_t i = 0; i < net->job.n_micro; i++)
            if (valid_rows(net, i) > 0) {
                sum += sums_of(s, i, SUM)[c];
                dot += sums_of(s, i, SQUARES)[c];
            }
        factor_row(s, GRAD_FACTOR)[c] = (float)factor;
        factor_row(s, GRAD_FACTOR_X)[c] =
            (float)(-factor * s->inverse[c] * s->inverse[c] * dot / all);
        factor_row(s, GRAD_ADDEND)[c] = (float)(-factor * sum / all);
        if (grads[SCALE])
            grads[SCALE][c] = net->first == 0 ? (float)(dot * s->inverse[c]) : 0;
        if (grads[SHIFT])
            grads[SHIFT][c] = net->first == 0 ? (float)sum : 0;
    }
    for (int row = GRAD_FACTOR; row <= GRAD_ADDEND; row++)
        widen(factor_row(s, row), (size_t)n);
}

/* out[0] holds dz. */
static int apply_gradients(const leat_cpu_call *call)
{
    const norm o = norm_of(call);
    const leat_cpu_norm_factors f = grad_factors_of(o.saved);
    for (piece p = { 0 }; next_piece(&o, &p);) {
        const float *dz = leat_cpu_floats(call->net, call->out[0], o.type, p.at, p.n * o.n,
                                          leat_cpu_buffer(call, 1));
        float *dx = piece_to_write(&o, &p, 2);
        if (p.counts)
            call->net->loops->norm_grad(read_piece(&o, 1, &p, 0), dz, &f, dx, o.wide, p.n * o.n);
        else
            memset(dx, 0, p.n * o.n * sizeof *dx);
        put_piece(&o, &p, dx);
    }
    return LEAT_OK;
}

/* --- backward, by the running statistics ------------------------------------------------------ */

/* The micro-batch's gradients of scale and shift. */
static void fixed_grads(const norm *o)
{
    const leat_cpu_call *call = o->call;
    float *center = leat_cpu_buffer(call, 3), *sum = leat_cpu_buffer(call, 4);
    float *dot = leat_cpu_buffer(call, 5);
    float *dscale = leat_cpu_gradient(call, SCALE), *dshift = leat_cpu_gradient(call, SHIFT);
    const double *sums = sums_of(o->saved, call->micro, SUM);
    size_t pixels = 0;
    memset(sums_of(o->saved, call->micro, SUM), 0, 2 * o->n * sizeof *sums);
    memset(sum, 0, o->wide * sizeof *sum);
    memset(dot, 0, o->wide * sizeof *dot);
    memcpy(center, leat_cpu_weight(call, MEAN), o->n * sizeof *center);
    widen(center, o->n);
    for (piece p = { 0 }; next_piece(o, &p);) {
        if (!p.counts)
            continue;
        call->net->loops->norm_grad_sums(read_piece(o, 1, &p, 0), read_piece(o, 0, &p, 1), center,
                                         sum, dot, o->wide, p.n * o->n);
        if ((pixels += p.n) >= FLOAT_PIXELS) {
            take_sums(o, sum, dot);
            pixels = 0;
        }
    }
    take_sums(o, sum, dot);
    for (size_t c = 0; c < o->n && dscale; c++)
        dscale[c] = (float)(sums[o->n + c] / fixed_deviation(call, c));
    for (size_t c = 0; c < o->n && dshift; c++)
        dshift[c] = (float)sums[c];
}

/* dx = dy * scale / sqrt(variance + epsilon) */
static void fixed_data(const norm *o)
{
    const leat_cpu_call *call = o->call;
    float *factor = leat_cpu_buffer(call, 3), *zeros = leat_cpu_buffer(call, 4);
    const leat_cpu_norm_factors f = { .center = zeros, .factor = factor, .addend = zeros };
    memset(zeros, 0, o->wide * sizeof *zeros);
    for (size_t c = 0; c < o->n; c++)
        factor[c] = (float)((double)leat_cpu_weight(call, SCALE)[c] / fixed_deviation(call, c));
    widen(factor, o->n);
    for (piece p = { 0 }; next_piece(o, &p);) {
        const float *dy = read_piece(o, 0, &p, 1);
        float *dx = piece_to_write(o, &p, 2);
        if (p.counts)
            call->net->loops->norm(&f, dy, dx, o->wide, p.n * o->n);
        else
            memset(dx, 0, p.n * o->n * sizeof *dx);
        put_piece(o, &p, dx);
    }
}

static int norm_fixed_grad(const leat_cpu_call *call)
{
    const norm o = norm_of(call);
    if (call->op->in[1] >= 0)
        fixed_grads(&o);
    if (call->op->out[0] >= 0)
        fixed_data(&o);
    return LEAT_OK;
}

/* --- layer_norm ------------------------------------------------------------------------------ */

static void pixel_statistics(const float *x, size_t n, double epsilon, double *mean,
                             double *inverse)
{
    double sum = 0, squares = 0;
    for (size_t c = 0; c < n; c++)
        sum += (double)x[c];
    *mean = sum / (double)n;
    for (size_t c = 0; c < n; c++)
        squares += ((double)x[c] - *mean) * ((double)x[c] - *mean);
    *inverse = 1 / sqrt(squares / (double)n + epsilon);
}

static int layer_norm(const leat_cpu_call *call)
{
    const norm o = norm_of(call);
    const float *scale = leat_cpu_weight(call, SCALE), *shift = leat_cpu_weight(call, SHIFT);
    for (piece p = { 0 }; next_piece(&o, &p);) {
        const float *x = read_piece(&o, 0, &p, 0);
        float *y = piece_to_write(&o, &p, 1);
        for (size_t i = 0; i < p.n * o.n; i += o.n) {
            double mean, inverse;
            pixel_statistics(x + i, o.n, (double)call->op->epsilon, &mean, &inverse);
            for (size_t c = 0; c < o.n; c++)
                y[i + c] = (x[i + c] - (float)mean) * (float)inverse * scale[c] + shift[c];
        }
        put_piece(&o, &p, y);
    }
    return LEAT_OK;
}

/* dx = inverse * (g - mean(g) - z * mean(g * z)), g = dy * scale, z = (x - mean) * inverse. dscale, dshift: NULL: not
 * trained. */
static void layer_norm_grad_pixel(const float *x, const float *dy, const float *scale, size_t n,
                                  double epsilon, float *dx, float *dscale, float *dshift)
{
    double mean, inverse, sum = 0, dot = 0;
    pixel_statistics(x, n, epsilon, &mean, &inverse);
    for (size_t c = 0; c < n; c++) {
        const float z = (x[c] - (float)mean) * (float)inverse;
        if (dscale)
            dscale[c] += dy[c] * z;
        if (dshift)
            dshift[c] += dy[c];
        sum += (double)(dy[c] * scale[c]);
        dot += (double)(dy[c] * scale[c] * z);
    }
    for (size_t c = 0; c < n; c++) {
        const float z = (x[c] - (float)mean) * (float)inverse;
        dx[c] = (float)inverse *
                (dy[c] * scale[c] - (float)(sum / (double)n) - z * (float)(dot / (double)n));
    }
}

static int layer_norm_grad(const leat_cpu_call *call)
{
    const norm o = norm_of(call);
    float *dscale = leat_cpu_gradient(call, SCALE), *dshift = leat_cpu_gradient(call, SHIFT);
    if (dscale)
        memset(dscale, 0, o.n * sizeof *dscale);
    if (dshift)
        memset(dshift, 0, o.n * sizeof *dshift);
    for (piece p = { 0 }; next_piece(&o, &p);) {
        const float *dy = read_piece(&o, 0, &p, 0), *x = read_piece(&o, 1, &p, 1);
        float *dx = piece_to_write(&o, &p, 2);
        for (size_t i = 0; i < p.n * o.n; i += o.n)
            layer_norm_grad_pixel(x + i, dy + i, leat_cpu_weight(call, SCALE), o.n,
                                  (double)call->op->epsilon, dx + i, dscale, dshift);
        put_piece(&o, &p, dx);
    }
    return LEAT_OK;
}

const leat_cpu_prim leat_cpu_prim_norm = { add_statistics, combine_statistics, apply_statistics };
const leat_cpu_prim leat_cpu_prim_norm_fixed = { .run = norm_fixed };
const leat_cpu_prim leat_cpu_prim_norm_fixed_grad = { .run = norm_fixed_grad };
const leat_cpu_prim leat_cpu_prim_norm_grad = { add_gradients, combine_gradients, apply_gradients };
const leat_cpu_prim leat_cpu_prim_layer_norm = { .run = layer_norm };
const leat_cpu_prim leat_cpu_prim_layer_norm_grad = { .run = layer_norm_grad };
