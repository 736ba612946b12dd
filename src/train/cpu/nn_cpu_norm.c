/* SPDX-License-Identifier: MIT
 *
 * nn_cpu_norm.c: batch_norm on the CPU, with the relu that follows it. See nn_cpu.h.
 *
 * Statistics are of the whole batch, so lanes meet once per pass: each sums over its rows, then all
 * combine the sums of all in lane order. Sums are taken of x - K, K being the lane's first pixel, and
 * combined as Chan, Golub and LeVeque do ("Updating Formulae and a Pairwise Algorithm for Computing
 * Sample Variances", 1979), so that a large mean costs no digits.
 *
 * Rows of a batch that do not count are normalised with the others, but are in no sum, and their
 * gradient stays 0. */
#include <math.h>
#include <string.h>

#include "nn_cpu.h"

enum { SCALE, SHIFT, MEAN, VARIANCE };

/* Sums of floats are taken over runs of this many pixels, those of runs in double. */
enum { RUN_PIXELS = 1024 };

/* The layer's memory in a plan: rows of one double per channel, as many channels as the layout has
 * with its padding. The first ones are read by other lanes, after a meeting. */
enum {
    SUM, /* forward, of x - K */
    SQUARES,
    ORIGIN,   /* K */
    GRAD_SUM, /* backward, of dy */
    GRAD_DOT, /* of dy * (x - mean) */
    ALL_A,    /* of all lanes: mean; then dy */
    ALL_B,    /* of all lanes: squares around the mean, variance; then dy * (x - mean) */
    N_DOUBLES
};

/* Rows of floats after them; RUN_A and RUN_B are the sums of a run. */
enum { CENTER, FACTOR, ADDEND, RUN_A, RUN_B, N_FLOATS };

typedef struct norm {
    leat_cpu_plan *plan;
    int32_t layer;
    int64_t rows, channels, blocks, block, pixels; /* float[rows][blocks][pixels][block] */
    const uint8_t *valid;                          /* NULL: all rows count */
    int64_t n_valid;
    double *doubles;
    float *floats;
    const float *x;
    float *y;
    bool relu;
} norm;

static norm norm_of(leat_cpu_plan *plan, int32_t i)
{
    const leat_cpu_layer_state *state = &plan->layers[i];
    const leat_shape *in = &leat_cpu_spec(plan, i)->in;
    const leat_cpu_lane *lane = plan->lane;
    double *doubles = state->extra[0]->data;
    return (norm){ .plan = plan,
                   .layer = i,
                   .rows = plan->rows,
                   .valid = lane->valid,
                   .n_valid = lane->n_valid,
                   .channels = in->dims[in->rank - 1],
                   .blocks = state->blocks,
                   .block = state->block,
                   .pixels = in->rank == 3 ? in->dims[0] * in->dims[1] : 1,
                   .doubles = doubles,
                   .floats = (float *)(doubles + N_DOUBLES * state->blocks * state->block),
                   .x = state->in.memory->data,
                   .y = state->out.memory->data,
                   .relu = state->relu_after };
}

static double *doubles_of(const norm *n, int32_t row)
{
    return n->doubles + row * n->blocks * n->block;
}

static float *floats_of(const norm *n, int32_t row)
{
    return n->floats + row * n->blocks * n->block;
}

static float *value_of(const norm *n, int32_t param)
{
    return leat_cpu_param_at(n->plan->lane->net, n->layer, param)->value.data;
}

/* The same layer of another lane in the same step. Its lane->plan was set before the lanes met. */
static norm of_lane(const norm *n, int32_t lane)
{
    return norm_of(n->plan->lane->net->lanes[lane].plan, n->layer);
}

/* --- inner loops: some pixels of one block --------------------------------------------------- */

/* The loops are written once, for any block, and inlined with the block as a constant where it is 16
 * or 8 (what oneDNN uses), so that compilers make vector code of the inner one. */
#define INLINE static inline __attribute__((always_inline))
#define FOR_BLOCK(fn, block, ...)                                                                  \
    ((block) == 16  ? fn(16, __VA_ARGS__)                                                          \
     : (block) == 8 ? fn(8, __VA_ARGS__)                                                           \
                    : fn((block), __VA_ARGS__))

INLINE void sum_pixels(const int64_t block, int64_t pixels, const float *restrict x,
                       const float *restrict origin, float *restrict sum, float *restrict squares)
{
    for (int64_t p = 0; p < pixels; p++, x += block)
        for (int64_t c = 0; c < block; c++) {
            const float d = x[c] - origin[c];
            sum[c] += d;
            squares[c] += d * d;
        }
}

INLINE void normalise_pixels(const int64_t block, int64_t pixels, const float *restrict x,
                             const float *restrict center, const float *restrict factor,
                             const float *restrict addend, bool relu, float *restrict y)
{
    for (int64_t p = 0; p < pixels; p++, x += block, y += block)
        for (int64_t c = 0; c < block; c++) {
            const float v = (x[c] - center[c]) * factor[c] + addend[c];
            y[c] = (relu & (v < 0)) ? 0.0f : v;
        }
}

/* Includes the relu's gradient: dy counts where y > 0. */
INLINE void sum_grads(const int64_t block, int64_t pixels, const float *restrict x,
                      const float *restrict y, float *restrict dy, const float *restrict center,
                      bool relu, float *restrict sum, float *restrict dot)
{
    for (int64_t p = 0; p < pixels; p++, x += block, y += block, dy += block)
        for (int64_t c = 0; c < block; c++) {
            const float g = (relu & (y[c] <= 0)) ? 0.0f : dy[c];
            dy[c] = g;
            sum[c] += g;
            dot[c] += g * (x[c] - center[c]);
        }
}

INLINE void grad_pixels(const int64_t block, int64_t pixels, const float *restrict x,
                        const float *restrict center, const float *restrict factor_x,
                        const float *restrict factor_dy, const float *restrict addend,
                        float *restrict dy)
{
    for (int64_t p = 0; p < pixels; p++, x += block, dy += block)
        for (int64_t c = 0; c < block; c++)
            dy[c] = dy[c] * factor_dy[c] + (x[c] - center[c]) * factor_x[c] + addend[c];
}

/* --- forward --------------------------------------------------------------------------------- */

/* One run after the other: pixels of one block of one row. */
typedef struct run {
    int64_t block, row, pixel, n; /* n pixels from `pixel` on */
} run;

static bool next_run(const norm *n, run *r)
{
    r->pixel += r->n;
    if (r->pixel == n->pixels) {
        r->pixel = 0;
        if (++r->row == n->rows) {
            r->row = 0;
            r->block++;
        }
    }
    r->n = n->pixels - r->pixel < RUN_PIXELS ? n->pixels - r->pixel : RUN_PIXELS;
    return r->block < n->blocks;
}

/* The same, without rows that do not count. */
static bool next_valid_run(const norm *n, run *r)
{
    bool more = next_run(n, r);
    while (more && n->valid && !n->valid[r->row])
        more = next_run(n, r);
    return more;
}

static int64_t place_of(const norm *n, const run *r)
{
    return ((r->row * n->blocks + r->block) * n->pixels + r->pixel) * n->block;
}

/* Adds a run's sums to rows a and b, and resets them. */
static void take_run(const norm *n, const run *r, int32_t a, int32_t b)
{
    float *sums[] = { floats_of(n, RUN_A), floats_of(n, RUN_B) };
    for (int k = 0; k < 2; k++) {
        double *to = doubles_of(n, k ? b : a) + r->block * n->block;
        for (int64_t c = 0; c < n->block; c++)
            to[c] += (double)sums[k][c];
        memset(sums[k], 0, (size_t)n->block * sizeof *sums[k]);
    }
}

static void sum_lane(const norm *n)
{
    const size_t row = (size_t)(n->blocks * n->block);
    float *origin = floats_of(n, CENTER);
    memset(n->doubles, 0, N_DOUBLES * row * sizeof *n->doubles);
    memset(n->floats, 0, N_FLOATS * row * sizeof *n->floats);
    for (int64_t b = 0; b < n->blocks; b++)
        memcpy(origin + b * n->block, n->x + b * n->pixels * n->block,
               (size_t)n->block * sizeof *origin);
    for (run r = { 0 }; next_valid_run(n, &r);) {
        FOR_BLOCK(sum_pixels, n->block, r.n, n->x + place_of(n, &r), origin + r.block * n->block,
                  floats_of(n, RUN_A), floats_of(n, RUN_B));
        take_run(n, &r, SUM, SQUARES);
    }
    for (size_t c = 0; c < row; c++)
        doubles_of(n, ORIGIN)[c] = (double)origin[c];
}

/* Mean and variance over all lanes into ALL_A and ALL_B. */
static void combine(const norm *n)
{
    const int32_t n_lanes = n->plan->lane->net->job.n_lanes;
    double *mean = doubles_of(n, ALL_A), *squares = doubles_of(n, ALL_B), count = 0;
    for (int32_t i = 0; i < n_lanes; i++) {
        const norm lane = of_lane(n, i);
        const double m = (double)(lane.n_valid * lane.pixels);
        if (lane.n_valid == 0)
            continue;
        for (int64_t c = 0; c < n->channels; c++) {
            const double sum = doubles_of(&lane, SUM)[c];
            const double around = doubles_of(&lane, SQUARES)[c] - sum * sum / m;
            const double apart = doubles_of(&lane, ORIGIN)[c] + sum / m - mean[c];
            squares[c] += (around > 0 ? around : 0) + apart * apart * count * m / (count + m);
            mean[c] += apart * m / (count + m);
        }
        count += m;
    }
    for (int64_t c = 0; c < n->channels; c++)
        squares[c] /= count;
}

static void update_running(const norm *n)
{
    const leat_batch_norm_options *o = leat_cpu_spec(n->plan, n->layer)->options;
    for (int k = 0; k < 2; k++) {
        const double *batch = doubles_of(n, k ? ALL_B : ALL_A);
        float *running = value_of(n, k ? VARIANCE : MEAN);
        for (int64_t c = 0; c < n->channels; c++)
            running[c] = o->momentum * running[c] + (1 - o->momentum) * (float)batch[c];
    }
}

static double inverse_of(const norm *n, int64_t c, bool training)
{
    const leat_batch_norm_options *o = leat_cpu_spec(n->plan, n->layer)->options;
    const double variance = training ? doubles_of(n, ALL_B)[c] : (double)value_of(n, VARIANCE)[c];
    return 1 / sqrt(variance + (double)o->epsilon);
}

/* Padding channels get 0 for everything and stay 0. */
static void set_factors(const norm *n, bool training)
{
    const size_t row = (size_t)(n->blocks * n->block);
    memset(floats_of(n, CENTER), 0, 3 * row * sizeof(float)); /* FACTOR and ADDEND follow */
    for (int64_t c = 0; c < n->channels; c++) {
        floats_of(n, CENTER)[c] = training ? (float)doubles_of(n, ALL_A)[c] : value_of(n, MEAN)[c];
        floats_of(n, FACTOR)[c] =
            (float)((double)value_of(n, SCALE)[c] * inverse_of(n, c, training));
        floats_of(n, ADDEND)[c] = value_of(n, SHIFT)[c];
    }
}

static void run_forward(leat_cpu_plan *plan, int32_t i)
{
    const norm n = norm_of(plan, i);
    if (plan->training) {
        sum_lane(&n);
        leat_cpu_lane_meet(plan->lane->net);
        combine(&n);
        if (plan->lane->index == 0)
            update_running(&n);
    }
    set_factors(&n, plan->training);
    for (run r = { 0 }; next_run(&n, &r);) {
        const int64_t at = place_of(&n, &r), c = r.block * n.block;
        FOR_BLOCK(normalise_pixels, n.block, r.n, n.x + at, floats_of(&n, CENTER) + c,
                  floats_of(&n, FACTOR) + c, floats_of(&n, ADDEND) + c, n.relu, n.y + at);
    }
}

/* --- backward -------------------------------------------------------------------------------- */

/* Sums of all lanes into ALL_A and ALL_B; the variance in ALL_B goes into the factors before. Lane 0
 * keeps them as gradients of scale and shift, the others give none. */
static void combine_grads(const norm *n)
{
    leat_cpu_lane *lane = n->plan->lane;
    const double all = (double)(lane->net->job.batch->n_valid * n->pixels);
    float *shift = leat_cpu_param_grad(lane, n->layer, SHIFT)->data;
    float *scale = leat_cpu_param_grad(lane, n->layer, SCALE)->data;
    for (int64_t c = 0; c < n->channels; c++) {
        const double inverse = inverse_of(n, c, true);
        const double factor = (double)value_of(n, SCALE)[c] * inverse;
        double sum = 0, dot = 0;
        for (int32_t i = 0; i < lane->net->job.n_lanes; i++) {
            const norm other = of_lane(n, i);
            sum += doubles_of(&other, GRAD_SUM)[c];
            dot += doubles_of(&other, GRAD_DOT)[c];
        }
        floats_of(n, ADDEND)[c] = (float)(-factor * sum / all);
        floats_of(n, RUN_A)[c] = (float)(-factor * inverse * inverse * dot / all);
        shift[c] = lane->index == 0 ? (float)sum : 0.0f;
        scale[c] = lane->index == 0 ? (float)(dot * inverse) : 0.0f;
    }
}

static void run_backward(leat_cpu_plan *plan, int32_t i)
{
    const norm n = norm_of(plan, i);
    float *dy = plan->layers[i].extra[1]->data;
    for (run r = { 0 }; next_valid_run(&n, &r);) {
        const int64_t at = place_of(&n, &r);
        FOR_BLOCK(sum_grads, n.block, r.n, n.x + at, n.y + at, dy + at,
                  floats_of(&n, CENTER) + r.block * n.block, n.relu, floats_of(&n, RUN_A),
                  floats_of(&n, RUN_B));
        take_run(&n, &r, GRAD_SUM, GRAD_DOT);
    }
    leat_cpu_lane_meet(plan->lane->net);
    combine_grads(&n);
    for (run r = { 0 }; next_run(&n, &r);) {
        const int64_t at = place_of(&n, &r), c = r.block * n.block;
        if (n.valid && !n.valid[r.row])
            memset(dy + at, 0, (size_t)(r.n * n.block) * sizeof *dy);
        else
            FOR_BLOCK(grad_pixels, n.block, r.n, n.x + at, floats_of(&n, CENTER) + c,
                      floats_of(&n, RUN_A) + c, floats_of(&n, FACTOR) + c,
                      floats_of(&n, ADDEND) + c, dy + at);
    }
    memset(floats_of(&n, RUN_A), 0, (size_t)(n.blocks * n.block) * sizeof(float));
}

/* --- making ---------------------------------------------------------------------------------- */

int leat_cpu_norm_forward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    leat_cpu_layer_state *state = &plan->layers[i];
    int rc = leat_cpu_want_floats(plan, i, err);
    for (int32_t k = 0; k < 4 && rc == LEAT_OK; k++)
        rc = leat_cpu_param_place(plan->lane, i, k, NULL, err);
    if (rc == LEAT_OK &&
        !leat_onednn_layout_blocks(plan->at.layout, &state->blocks, &state->block)) {
        rc = leat_cpu_want(plan, &plan->forward, &plan->at,
                           leat_cpu_plain(plan, &leat_cpu_spec(plan, i)->in, LEAT_F32), NULL, err);
        if (rc == LEAT_OK)
            leat_onednn_layout_blocks(plan->at.layout, &state->blocks, &state->block);
    }
    if (rc < 0)
        return rc;
    const size_t row = (size_t)(state->blocks * state->block);
    const size_t bytes = leat_onednn_layout_bytes(plan->at.layout);
    state->in = plan->at;
    state->relu_after = state->relu_backward = leat_cpu_relu_follows(plan, i);
    state->extra[0] =
        leat_cpu_memory_next(plan, row * (N_DOUBLES * sizeof(double) + N_FLOATS * sizeof(float)));
    plan->at = (leat_cpu_tensor){ .layout = state->in.layout,
                                  .memory = leat_cpu_memory_next(plan, bytes),
                                  .kept = state->relu_after };
    if (!state->extra[0] || !plan->at.memory)
        return leat_cpu_no_memory(err, bytes);
    return leat_cpu_push_call(plan, &plan->forward, run_forward, i, err);
}

int leat_cpu_norm_backward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    const int rc = leat_cpu_want_grad(plan, plan->layers[i].in.layout, err);
    plan->layers[i].extra[1] = plan->grad.memory;
    return rc < 0 ? rc : leat_cpu_push_call(plan, &plan->backward, run_backward, i, err);
}
