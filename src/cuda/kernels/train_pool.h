/* SPDX-License-Identifier: MIT
 *
 * train_pool.h: pooling kernels. A thread computes `lanes` values of the output, one or eight channels of
 * a pixel. Gradients are gathered: a thread
 * looks at the windows that hold its pixel, in the order of the CPU, so no two threads add to one value. */
#ifndef LEAT_TRAIN_POOL_H
#define LEAT_TRAIN_POOL_H

#include "train_kernel.h"

/* One value: its row, pixel and channel. */
typedef struct leat_train_pixel {
    int64_t row;
    int32_t y, x, c;
} leat_train_pixel;

LEAT_HOST_DEVICE leat_train_pixel leat_train_pixel_of(int64_t i, const int32_t size[2], int32_t n)
{
    leat_train_pixel p;
    if (i >> 32 == 0) { /* a GPU divides 64 bits slowly */
        uint32_t j = (uint32_t)i;
        p.c = (int32_t)(j % (uint32_t)n);
        j /= (uint32_t)n;
        p.x = (int32_t)(j % (uint32_t)size[1]);
        j /= (uint32_t)size[1];
        p.y = (int32_t)(j % (uint32_t)size[0]);
        p.row = j / (uint32_t)size[0];
        return p;
    }
    p.c = (int32_t)(i % n);
    i /= n;
    p.x = (int32_t)(i % size[1]);
    i /= size[1];
    p.y = (int32_t)(i % size[0]);
    p.row = i / size[0];
    return p;
}

LEAT_HOST_DEVICE int64_t leat_train_pixel_at(const leat_train_pixel *p, const int32_t size[2],
                                             int32_t y, int32_t x, int32_t n)
{
    return ((p->row * size[0] + y) * size[1] + x) * n + p->c;
}

/* Taps of a window inside the image, in one direction. */
typedef struct leat_train_span {
    int32_t first, end, start; /* start: of tap 0, may be outside */
} leat_train_span;

LEAT_HOST_DEVICE leat_train_span leat_train_taps(const leat_train_window *w, int d, int32_t out)
{
    leat_train_span s;
    s.start = out * w->stride[d] - w->low[d];
    s.first = s.start > 0 ? s.start : 0;
    s.end = s.start + w->size[d] < w->in[d] ? s.start + w->size[d] : w->in[d];
    return s;
}

/* Windows that hold input line `in`. */
LEAT_HOST_DEVICE leat_train_span leat_train_windows(const leat_train_window *w, int d, int32_t in)
{
    const int32_t last = (in + w->low[d]) / w->stride[d];
    const int32_t before = in + w->low[d] - w->size[d];
    leat_train_span s;
    s.start = 0;
    s.first = before < 0 ? 0 : before / w->stride[d] + 1;
    s.end = last < w->out[d] ? last + 1 : w->out[d];
    return s;
}

LEAT_HOST_DEVICE void leat_train_load_taps(const uint16_t *taps, int64_t at, int32_t n,
                                           uint16_t out[LEAT_EIGHT])
{
    if (n == LEAT_EIGHT) {
        const leat_train_16 all = *(const leat_train_16 *)(taps + at);
        for (int k = 0; k < LEAT_EIGHT; k++)
            out[k] = (uint16_t)(all.word[k / 2] >> 16 * (k & 1));
        return;
    }
    for (int k = 0; k < LEAT_EIGHT; k++)
        out[k] = k < n ? taps[at + k] : 0;
}

/* A NaN wins, and so does the first of equal values. */
LEAT_HOST_DEVICE void leat_train_max_pool_one(const leat_train_args *a, int64_t i)
{
    const leat_train_window *const w = &a->window;
    const int64_t at = i * a->lanes;
    const leat_train_pixel p = leat_train_pixel_of(at, w->out, a->channels);
    const leat_train_span ys = leat_train_taps(w, 0, p.y), xs = leat_train_taps(w, 1, p.x);
    float best[LEAT_EIGHT] = { 0 }, v[LEAT_EIGHT];
    int32_t place[LEAT_EIGHT] = { -1, -1, -1, -1, -1, -1, -1, -1 };
    for (int32_t y = ys.first; y < ys.end; y++)
        for (int32_t x = xs.first; x < xs.end; x++) {
            const int32_t tap = (y - ys.start) * w->size[1] + (x - xs.start);
            leat_train_load(a->in[0], a->in_type, leat_train_pixel_at(&p, w->in, y, x, a->channels),
                            a->lanes, v);
            for (int k = 0; k < LEAT_EIGHT; k++)
                if (place[k] < 0 || v[k] > best[k] || (v[k] != v[k] && best[k] == best[k])) {
                    best[k] = v[k];
                    place[k] = tap;
                }
        }
    leat_train_store(a->out[0], a->out_type, at, a->lanes, best);
    for (int k = 0; k < LEAT_EIGHT; k++)
        if (k < a->lanes)
            ((uint16_t *)a->out[1])[at + k] = (uint16_t)place[k];
}

LEAT_HOST_DEVICE void leat_train_max_pool_grad_one(const leat_train_args *a, int64_t i)
{
    const leat_train_window *const w = &a->window;
    const int64_t at = i * a->lanes;
    const leat_train_pixel p = leat_train_pixel_of(at, w->in, a->channels);
    const leat_train_span ys = leat_train_windows(w, 0, p.y), xs = leat_train_windows(w, 1, p.x);
    float sum[LEAT_EIGHT] = { 0 }, v[LEAT_EIGHT];
    uint16_t taps[LEAT_EIGHT] = { 0 };
    for (int32_t y = ys.first; y < ys.end; y++)
        for (int32_t x = xs.first; x < xs.end; x++) {
            const int64_t from = leat_train_pixel_at(&p, w->out, y, x, a->channels);
            const int32_t tap = (p.y + w->low[0] - y * w->stride[0]) * w->size[1] +
                                (p.x + w->low[1] - x * w->stride[1]);
            leat_train_load_taps((const uint16_t *)a->in[1], from, a->lanes, taps);
            leat_train_load(a->in[0], a->in_type, from, a->lanes, v);
            for (int k = 0; k < LEAT_EIGHT; k++)
                sum[k] += taps[k] == tap ? v[k] : 0.0f;
        }
    leat_train_store(a->out[0], a->out_type, at, a->lanes, sum);
}

LEAT_HOST_DEVICE void leat_train_avg_pool_one(const leat_train_args *a, int64_t i)
{
    const leat_train_window *const w = &a->window;
    const int64_t at = i * a->lanes;
    const leat_train_pixel p = leat_train_pixel_of(at, w->out, a->channels);
    const leat_train_span ys = leat_train_taps(w, 0, p.y), xs = leat_train_taps(w, 1, p.x);
    const float share = 1.0f / (float)((ys.end - ys.first) * (xs.end - xs.first));
    float sum[LEAT_EIGHT] = { 0 }, v[LEAT_EIGHT];
    for (int32_t y = ys.first; y < ys.end; y++)
        for (int32_t x = xs.first; x < xs.end; x++) {
            leat_train_load(a->in[0], a->in_type, leat_train_pixel_at(&p, w->in, y, x, a->channels),
                            a->lanes, v);
            for (int k = 0; k < LEAT_EIGHT; k++)
                sum[k] += v[k];
        }
    for (int k = 0; k < LEAT_EIGHT; k++)
        sum[k] *= share;
    leat_train_store(a->out[0], a->out_type, at, a->lanes, sum);
}

LEAT_HOST_DEVICE void leat_train_avg_pool_grad_one(const leat_train_args *a, int64_t i)
{
    const leat_train_window *const w = &a->window;
    const int64_t at = i * a->lanes;
    const leat_train_pixel p = leat_train_pixel_of(at, w->in, a->channels);
    const leat_train_span ys = leat_train_windows(w, 0, p.y), xs = leat_train_windows(w, 1, p.x);
    float sum[LEAT_EIGHT] = { 0 }, v[LEAT_EIGHT];
    for (int32_t y = ys.first; y < ys.end; y++)
        for (int32_t x = xs.first; x < xs.end; x++) {
            const leat_train_span ty = leat_train_taps(w, 0, y), tx = leat_train_taps(w, 1, x);
            const float share = 1.0f / (float)((ty.end - ty.first) * (tx.end - tx.first));
            leat_train_load(a->in[0], a->in_type,
                            leat_train_pixel_at(&p, w->out, y, x, a->channels), a->lanes, v);
            for (int k = 0; k < LEAT_EIGHT; k++)
                sum[k] += v[k] * share;
        }
    leat_train_store(a->out[0], a->out_type, at, a->lanes, sum);
}

#endif

LEAT_TRAIN_KERNEL(max_pool, leat_train_args, leat_train_max_pool_one)
LEAT_TRAIN_KERNEL(max_pool_grad, leat_train_args, leat_train_max_pool_grad_one)
LEAT_TRAIN_KERNEL(avg_pool, leat_train_args, leat_train_avg_pool_one)
LEAT_TRAIN_KERNEL(avg_pool_grad, leat_train_args, leat_train_avg_pool_grad_one)
