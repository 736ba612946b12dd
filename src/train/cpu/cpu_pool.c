/* SPDX-License-Identifier: MIT
 *
 * cpu_pool.c: pooling on the CPU. prim.h has the contracts. A row of windows is computed tap by tap: each tap reads
 * pixels that are a stride apart, and a pixel's channels are one run of memory. */
#include <string.h>

#include "net_cpu.h"

enum { PLACES, OUT, ROW, WHOLE }; /* buffers of scratch */

typedef struct pool {
    const leat_cpu_call *call;
    const leat_sliding *s;
    size_t n;                         /* channels */
    size_t in_row, out_row;           /* floats of a row of pixels */
    leat_prim_type in_type, out_type; /* of the image, of the windows */
} pool;

static pool pool_of(const leat_cpu_call *call, bool gradient)
{
    const leat_sliding *s = &call->op->window;
    const size_t n = (size_t)call->layer->in.dims[2];
    return (pool){ .call = call,
                   .s = s,
                   .n = n,
                   .in_row = (size_t)s->in[1] * n,
                   .out_row = (size_t)s->out[1] * n,
                   .in_type = (gradient ? call->out_spec : call->in_spec)[0]->type,
                   .out_type = (gradient ? call->in_spec : call->out_spec)[0]->type };
}

/* One tap of the windows of row oy: image row y, and windows [first, first + n) whose tap lies at image columns
 * x, x + stride, … */
typedef struct tap {
    int32_t number;
    int64_t y, x, first, n;
} tap;

/* The next tap inside of the image; t->number = -1 at the start. */
static bool next_tap(const leat_sliding *s, int64_t oy, tap *t)
{
    while (++t->number < s->size[0] * s->size[1]) {
        const int64_t kx = t->number % s->size[1] - s->pad_low[1], stride = s->stride[1];
        t->y = oy * s->stride[0] + t->number / s->size[1] - s->pad_low[0];
        t->first = kx < 0 ? (-kx + stride - 1) / stride : 0;
        const int64_t last = s->in[1] - 1 - kx; /* of ox * stride */
        const int64_t end = last < 0 ? 0 : last / stride + 1;
        t->n = (end < s->out[1] ? end : s->out[1]) - t->first;
        t->x = t->first * stride + kx;
        if (t->y >= 0 && t->y < s->in[0] && t->n > 0)
            return true;
    }
    return false;
}

/* Row y of image `row` as floats. */
static const float *image_row(const pool *p, int64_t row, int64_t y)
{
    const size_t at = ((size_t)row * (size_t)p->s->in[0] + (size_t)y) * p->in_row;
    return leat_cpu_floats(p->call->net, p->call->in[0], p->in_type, at, p->in_row,
                           leat_cpu_buffer(p->call, ROW));
}

static size_t windows_at(const pool *p, int64_t row, int64_t oy)
{
    return ((size_t)row * (size_t)p->s->out[0] + (size_t)oy) * p->out_row;
}

/* Windows that begin with this tap have no value yet: those are the first in the window's order. */
static void max_windows(const pool *p, int64_t row, int64_t oy, float *y, int32_t *places)
{
    const leat_cpu_loops *loops = p->call->net->loops;
    const size_t step = (size_t)p->s->stride[1] * p->n;
    int64_t seen_first = p->s->out[1], seen_end = 0; /* windows that have a value */
    for (tap t = { .number = -1 }; next_tap(p->s, oy, &t);) {
        const float *x = image_row(p, row, t.y) + (size_t)t.x * p->n;
        for (int64_t i = t.first; i < t.first + t.n; i++)
            if (i < seen_first || i >= seen_end) {
                memcpy(y + (size_t)i * p->n, x + (size_t)(i - t.first) * step, p->n * sizeof *y);
                for (size_t c = 0; c < p->n; c++)
                    places[(size_t)i * p->n + c] = t.number;
            }
        seen_first = t.first < seen_first ? t.first : seen_first;
        seen_end = t.first + t.n > seen_end ? t.first + t.n : seen_end;
        loops->max_row(x, step, t.number, y + (size_t)t.first * p->n,
                       places + (size_t)t.first * p->n, p->n, (size_t)t.n);
    }
}

static int max_pool(const leat_cpu_call *call)
{
    const pool p = pool_of(call, false);
    int32_t *places = (int32_t *)(void *)leat_cpu_buffer(call, PLACES);
    for (int64_t i = 0; i < call->rows * p.s->out[0]; i++) {
        const size_t at = windows_at(&p, 0, i);
        float *y = leat_cpu_floats_out(call->out[0], p.out_type, at, leat_cpu_buffer(call, OUT));
        uint16_t *kept = (uint16_t *)call->out[1] + at;
        max_windows(&p, i / p.s->out[0], i % p.s->out[0], y, places);
        for (size_t c = 0; c < p.out_row; c++)
            kept[c] = (uint16_t)places[c];
        leat_cpu_put(call->net, call->out[0], p.out_type, at, p.out_row, y);
    }
    return LEAT_OK;
}

/* The gradient of an image as floats, zeroed. */
static float *begin_image(const pool *p, int64_t row)
{
    const size_t n = p->in_row * (size_t)p->s->in[0];
    float *dx = leat_cpu_floats_out(p->call->out[0], p->in_type, (size_t)row * n,
                                    leat_cpu_buffer(p->call, WHOLE));
    memset(dx, 0, n * sizeof *dx);
    return dx;
}

static void put_image(const pool *p, int64_t row, const float *dx)
{
    const size_t n = p->in_row * (size_t)p->s->in[0];
    leat_cpu_put(p->call->net, p->call->out[0], p->in_type, (size_t)row * n, n, dx);
}

/* Gradients of the windows of a row. */
static const float *window_grads(const pool *p, size_t at)
{
    return leat_cpu_floats(p->call->net, p->call->in[0], p->out_type, at, p->out_row,
                           leat_cpu_buffer(p->call, OUT));
}

static int max_pool_grad(const leat_cpu_call *call)
{
    const pool p = pool_of(call, true);
    const size_t step = (size_t)p.s->stride[1] * p.n;
    for (int64_t row = 0; row < call->rows; row++) {
        float *dx = begin_image(&p, row);
        for (int64_t oy = 0; oy < p.s->out[0]; oy++) {
            const size_t at = windows_at(&p, row, oy);
            const float *dy = window_grads(&p, at);
            const uint16_t *places = (const uint16_t *)call->in[1] + at;
            for (tap t = { .number = -1 }; next_tap(p.s, oy, &t);)
                call->net->loops->max_row_grad(
                    dy + (size_t)t.first * p.n, places + (size_t)t.first * p.n, t.number,
                    dx + (size_t)t.y * p.in_row + (size_t)t.x * p.n, step, p.n, (size_t)t.n);
        }
        put_image(&p, row, dx);
    }
    return LEAT_OK;
}

/* Divides each window's values by the number of its taps inside of the image. */
static void divide(const pool *p, int64_t oy, const float *x, float *y)
{
    const leat_sliding *s = p->s;
    const int64_t top = oy * s->stride[0] - s->pad_low[0];
    const int64_t high =
        (top + s->size[0] < s->in[0] ? top + s->size[0] : s->in[0]) - (top > 0 ? top : 0);
    for (int64_t ox = 0; ox < s->out[1]; ox++) {
        const int64_t left = ox * s->stride[1] - s->pad_low[1];
        const int64_t right = left + s->size[1] < s->in[1] ? left + s->size[1] : s->in[1];
        const int64_t n = high * (right - (left > 0 ? left : 0));
        p->call->net->loops->scale(1.0f / (float)n, x + (size_t)ox * p->n, y + (size_t)ox * p->n,
                                   p->n);
    }
}

static int avg_pool(const leat_cpu_call *call)
{
    const pool p = pool_of(call, false);
    const size_t step = (size_t)p.s->stride[1] * p.n;
    for (int64_t i = 0; i < call->rows * p.s->out[0]; i++) {
        const int64_t row = i / p.s->out[0], oy = i % p.s->out[0];
        const size_t at = windows_at(&p, 0, i);
        float *y = leat_cpu_floats_out(call->out[0], p.out_type, at, leat_cpu_buffer(call, OUT));
        memset(y, 0, p.out_row * sizeof *y);
        for (tap t = { .number = -1 }; next_tap(p.s, oy, &t);)
            call->net->loops->sum_row(image_row(&p, row, t.y) + (size_t)t.x * p.n, step,
                                      y + (size_t)t.first * p.n, p.n, p.n, (size_t)t.n);
        divide(&p, oy, y, y);
        leat_cpu_put(call->net, call->out[0], p.out_type, at, p.out_row, y);
    }
    return LEAT_OK;
}

static int avg_pool_grad(const leat_cpu_call *call)
{
    const pool p = pool_of(call, true);
    const size_t step = (size_t)p.s->stride[1] * p.n;
    float *parts = leat_cpu_buffer(call, ROW);
    for (int64_t row = 0; row < call->rows; row++) {
        float *dx = begin_image(&p, row);
        for (int64_t oy = 0; oy < p.s->out[0]; oy++) {
            divide(&p, oy, window_grads(&p, windows_at(&p, row, oy)), parts);
            for (tap t = { .number = -1 }; next_tap(p.s, oy, &t);)
                call->net->loops->sum_row(parts + (size_t)t.first * p.n, p.n,
                                          dx + (size_t)t.y * p.in_row + (size_t)t.x * p.n, step,
                                          p.n, (size_t)t.n);
        }
        put_image(&p, row, dx);
    }
    return LEAT_OK;
}

const leat_cpu_prim leat_cpu_prim_max_pool = { .run = max_pool };
const leat_cpu_prim leat_cpu_prim_max_pool_grad = { .run = max_pool_grad };
const leat_cpu_prim leat_cpu_prim_avg_pool = { .run = avg_pool };
const leat_cpu_prim leat_cpu_prim_avg_pool_grad = { .run = avg_pool_grad };
