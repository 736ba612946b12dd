/* SPDX-License-Identifier: MIT
 *
 * cpu_pool.c: pooling on the CPU. prim.h has the contracts. A pixel's channels are one run of memory, so the inner loops
 * go over channels, for one tap of one window at a time. */
#include <string.h>

#include "net_cpu.h"

enum { PLACES = 0, BEST = 1, TAP = 2, WHOLE = 5 };

/* A window over an image; the taps inside of the image are rows y0 … y1 - 1, columns x0 … x1 - 1. */
typedef struct window {
    int64_t y0, y1, x0, x1, top, left; /* top, left: of tap (0, 0), may be outside */
} window;

static window window_at(const leat_sliding *s, int64_t oy, int64_t ox)
{
    window w = { .top = oy * s->stride[0] - s->pad_low[0],
                 .left = ox * s->stride[1] - s->pad_low[1] };
    w.y0 = w.top > 0 ? w.top : 0;
    w.x0 = w.left > 0 ? w.left : 0;
    w.y1 = w.top + s->size[0] < s->in[0] ? w.top + s->size[0] : s->in[0];
    w.x1 = w.left + s->size[1] < s->in[1] ? w.left + s->size[1] : s->in[1];
    return w;
}

static int32_t tap_of(const leat_sliding *s, const window *w, int64_t y, int64_t x)
{
    return (int32_t)((y - w->top) * s->size[1] + x - w->left);
}

static size_t channels_of(const leat_cpu_call *call)
{
    return (size_t)call->layer->in.dims[2];
}

/* Element of pixel (y, x) of a row. */
static size_t place(const int64_t size[2], int64_t row, int64_t y, int64_t x, size_t n)
{
    return (size_t)((row * size[0] + y) * size[1] + x) * n;
}

static void max_window(const leat_cpu_call *call, int64_t row, const window *w, float *best,
                       int32_t *places)
{
    const leat_sliding *s = &call->op->window;
    const size_t n = channels_of(call);
    const leat_prim_type type = call->in_spec[0]->type;
    const float *x =
        leat_cpu_floats(call->net, call->in[0], type, place(s->in, row, w->y0, w->x0, n), n,
                        leat_cpu_room(call, TAP));
    const int32_t first = tap_of(s, w, w->y0, w->x0);
    memcpy(best, x, n * sizeof *best);
    for (size_t c = 0; c < n; c++)
        places[c] = first;
    for (int64_t iy = w->y0; iy < w->y1; iy++)
        for (int64_t ix = w->x0; ix < w->x1; ix++) {
            if (iy == w->y0 && ix == w->x0)
                continue;
            x = leat_cpu_floats(call->net, call->in[0], type, place(s->in, row, iy, ix, n), n,
                                leat_cpu_room(call, TAP));
            call->net->loops->max_tap(x, tap_of(s, w, iy, ix), best, places, n);
        }
}

int leat_cpu_max_pool(const leat_cpu_call *call)
{
    const leat_sliding *s = &call->op->window;
    const size_t n = channels_of(call);
    int32_t *places = (int32_t *)(void *)leat_cpu_room(call, PLACES);
    for (int64_t row = 0; row < call->rows; row++)
        for (int64_t i = 0; i < s->out[0] * s->out[1]; i++) {
            const size_t to = place(s->out, row, 0, i, n);
            const window w = window_at(s, i / s->out[1], i % s->out[1]);
            float *y = leat_cpu_floats_out(call->out[0], call->out_spec[0]->type, to,
                                           leat_cpu_room(call, BEST));
            uint16_t *kept = (uint16_t *)call->out[1] + to;
            max_window(call, row, &w, y, places);
            for (size_t c = 0; c < n; c++)
                kept[c] = (uint16_t)places[c];
            leat_cpu_put(call->net, call->out[0], call->out_spec[0]->type, to, n, y);
        }
    return LEAT_OK;
}

/* A row of the gradient as floats, zeroed; put_row() stores it. */
static float *begin_row(const leat_cpu_call *call, int64_t row)
{
    const size_t n = (size_t)call->out_spec[0]->n;
    float *dx = leat_cpu_floats_out(call->out[0], call->out_spec[0]->type, (size_t)row * n,
                                    leat_cpu_room(call, WHOLE));
    memset(dx, 0, n * sizeof *dx);
    return dx;
}

static void put_row(const leat_cpu_call *call, int64_t row, const float *dx)
{
    const size_t n = (size_t)call->out_spec[0]->n;
    leat_cpu_put(call->net, call->out[0], call->out_spec[0]->type, (size_t)row * n, n, dx);
}

static const float *grad_pixel(const leat_cpu_call *call, size_t at)
{
    return leat_cpu_floats(call->net, call->in[0], call->in_spec[0]->type, at, channels_of(call),
                           leat_cpu_room(call, TAP));
}

int leat_cpu_max_pool_grad(const leat_cpu_call *call)
{
    const leat_sliding *s = &call->op->window;
    const size_t n = channels_of(call);
    for (int64_t row = 0; row < call->rows; row++) {
        float *dx = begin_row(call, row);
        for (int64_t i = 0; i < s->out[0] * s->out[1]; i++) {
            const size_t from = place(s->out, row, 0, i, n);
            const window w = window_at(s, i / s->out[1], i % s->out[1]);
            const float *dy = grad_pixel(call, from);
            const uint16_t *places = (const uint16_t *)call->in[1] + from;
            for (int64_t iy = w.y0; iy < w.y1; iy++)
                for (int64_t ix = w.x0; ix < w.x1; ix++)
                    call->net->loops->max_tap_grad(dy, places, tap_of(s, &w, iy, ix),
                                                   dx + place(s->in, 0, iy, ix, n), n);
        }
        put_row(call, row, dx);
    }
    return LEAT_OK;
}

int leat_cpu_avg_pool(const leat_cpu_call *call)
{
    const leat_sliding *s = &call->op->window;
    const size_t n = channels_of(call);
    for (int64_t row = 0; row < call->rows; row++)
        for (int64_t i = 0; i < s->out[0] * s->out[1]; i++) {
            const size_t to = place(s->out, row, 0, i, n);
            const window w = window_at(s, i / s->out[1], i % s->out[1]);
            float *y = leat_cpu_floats_out(call->out[0], call->out_spec[0]->type, to,
                                           leat_cpu_room(call, BEST));
            memset(y, 0, n * sizeof *y);
            for (int64_t iy = w.y0; iy < w.y1; iy++) {
                const size_t from = place(s->in, row, iy, w.x0, n), taps = (size_t)(w.x1 - w.x0);
                call->net->loops->sum_channels(
                    leat_cpu_floats(call->net, call->in[0], call->in_spec[0]->type, from, n * taps,
                                    leat_cpu_room(call, WHOLE)),
                    y, n, taps);
            }
            call->net->loops->scale(1.0f / (float)((w.y1 - w.y0) * (w.x1 - w.x0)), y, y, n);
            leat_cpu_put(call->net, call->out[0], call->out_spec[0]->type, to, n, y);
        }
    return LEAT_OK;
}

int leat_cpu_avg_pool_grad(const leat_cpu_call *call)
{
    const leat_sliding *s = &call->op->window;
    const size_t n = channels_of(call);
    float *part = leat_cpu_room(call, BEST);
    for (int64_t row = 0; row < call->rows; row++) {
        float *dx = begin_row(call, row);
        for (int64_t i = 0; i < s->out[0] * s->out[1]; i++) {
            const window w = window_at(s, i / s->out[1], i % s->out[1]);
            call->net->loops->scale(1.0f / (float)((w.y1 - w.y0) * (w.x1 - w.x0)),
                                    grad_pixel(call, place(s->out, row, 0, i, n)), part, n);
            for (int64_t iy = w.y0; iy < w.y1; iy++)
                call->net->loops->add_channels(part, dx + place(s->in, 0, iy, w.x0, n), n,
                                               (size_t)(w.x1 - w.x0));
        }
        put_row(call, row, dx);
    }
    return LEAT_OK;
}
