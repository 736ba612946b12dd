/* SPDX-License-Identifier: MIT
 *
 * train_each.h: kernels that compute each value on its own: CONVERT, ACT, ACT_GRAD, SUM, SCALE, DROPOUT, JOIN, PART,
 * SOFTMAX, SOFTMAX_GRAD of prim.h, and the first kernel of a step. */
#ifndef LEAT_TRAIN_EACH_H
#define LEAT_TRAIN_EACH_H

#include "train_kernel.h"

/* --- the batch comes in ------------------------------------------------------------------------ */

/* leat_model_normalize in train/nn.h */
typedef struct leat_train_normalize {
    int32_t n;
    float scale[LEAT_EIGHT], shift[LEAT_EIGHT];
} leat_train_normalize;

/* The only kernel that touches the loader's memory, so that only its arguments change from step to step. */
typedef struct leat_train_ingest_args {
    int64_t n; /* the most of: values / 8 or pixels, target bytes, rows */
    const void *x, *y;
    const float *weights; /* of each row; NULL: none are wanted */
    const uint8_t *valid; /* NULL: all rows count */
    void *to_x, *to_y;
    float *to_weights;
    uint8_t *to_valid;
    leat_train_step *to_step;
    int64_t x_n, y_bytes, rows;
    int32_t x_type, to_type;
    /* Of pixels that become eight values, the others 0; 0: values stay side by side. */
    int32_t channels;
    /* Images are seen through a view (leat_net_view in train/nn.h), where depth is not 0. */
    int32_t depth, height, width, mirrored, dy, dx;
    leat_train_normalize normalize;
    leat_train_step step;
} leat_train_ingest_args;

LEAT_HOST_DEVICE void leat_train_ingest_step(const leat_train_ingest_args *a)
{
    leat_train_step step = a->step;
    step.masked = a->valid != NULL;
    step.origin_row = 0;
    while (a->valid && step.origin_row + 1 < a->rows && !a->valid[step.origin_row])
        step.origin_row++;
    *a->to_step = step;
}

LEAT_HOST_DEVICE int64_t leat_train_reflect(int64_t i, int64_t n)
{
    if (n == 1)
        return 0;
    return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
}

/* Where value i of what the net sees lies in the batch. */
LEAT_HOST_DEVICE int64_t leat_train_seen(const leat_train_ingest_args *a, int64_t i)
{
    const int64_t pixel = i / a->depth, line = pixel / a->width, height = a->height;
    const int64_t y = leat_train_reflect(line % height + a->dy, height);
    const int64_t x = leat_train_reflect(pixel % a->width + a->dx, a->width);
    const int64_t from = a->mirrored ? a->width - 1 - x : x;
    return ((line / height * height + y) * a->width + from) * a->depth + i % a->depth;
}

/* As leat_train_load, from memory of others: the rows of a part of a batch may begin anywhere. */
LEAT_HOST_DEVICE void leat_train_ingest_load(const leat_train_ingest_args *a, int64_t at, int32_t n,
                                             float x[LEAT_EIGHT])
{
    if ((uintptr_t)a->x % sizeof(leat_train_16) == 0 && !a->depth)
        leat_train_load(a->x, a->x_type, at, n, x);
    else
        for (int k = 0; k < LEAT_EIGHT; k++)
            x[k] = k >= n ? 0.0f
                          : leat_train_get(a->x, a->x_type,
                                           a->depth ? leat_train_seen(a, at + k) : at + k);
}

/* n values from value `at` of the rows on. */
LEAT_HOST_DEVICE void leat_train_ingest_normalize(const leat_train_normalize *by, int64_t at,
                                                  int32_t n, float x[LEAT_EIGHT])
{
    int32_t c = (int32_t)(at % by->n);
    for (int32_t k = 0; k < n; k++) {
        const float scaled = x[k] * by->scale[c];
        x[k] = scaled + by->shift[c];
        c = c + 1 < by->n ? c + 1 : 0;
    }
}

LEAT_HOST_DEVICE void leat_train_ingest_each(const leat_train_ingest_args *a, int64_t i)
{
    const int64_t at = i * LEAT_EIGHT;
    float x[LEAT_EIGHT];
    if (a->channels && i * a->channels < a->x_n) {
        leat_train_ingest_load(a, i * a->channels, a->channels, x);
        if (a->normalize.n)
            leat_train_ingest_normalize(&a->normalize, i * a->channels, a->channels, x);
        leat_train_store(a->to_x, a->to_type, at, LEAT_EIGHT, x);
    } else if (!a->channels && at < a->x_n) {
        const int32_t n = leat_train_count(a->x_n, at);
        leat_train_ingest_load(a, at, n, x);
        if (a->normalize.n)
            leat_train_ingest_normalize(&a->normalize, at, n, x);
        leat_train_store(a->to_x, a->to_type, at, n, x);
    }
    if (i < a->y_bytes)
        ((uint8_t *)a->to_y)[i] = ((const uint8_t *)a->y)[i];
    if (a->weights && i < a->rows)
        a->to_weights[i] = a->weights[i];
    if (i < a->rows)
        a->to_valid[i] = a->valid ? a->valid[i] : 1;
    if (i == 0)
        leat_train_ingest_step(a);
}

/* --- elements ---------------------------------------------------------------------------------- */

/* MASK: bytes, 1 where in[0] is positive. MASK_GRAD: in[0] where the byte of in[2] is 1, else 0. */
enum {
    LEAT_EACH_COPY,
    LEAT_EACH_ACT,
    LEAT_EACH_ACT_GRAD,
    LEAT_EACH_SUM,
    LEAT_EACH_SCALE,
    LEAT_EACH_MASK,
    LEAT_EACH_MASK_GRAD
};

LEAT_HOST_DEVICE float leat_train_one(const leat_train_args *a, float x, float y)
{
    switch (a->mode) {
    case LEAT_EACH_ACT:
        return leat_train_act(a->act, x, a->alpha);
    case LEAT_EACH_ACT_GRAD:
        return leat_train_act_grad(a->act, x, y, a->alpha);
    case LEAT_EACH_SUM:
        return leat_train_act(a->act, x + y, a->alpha);
    case LEAT_EACH_SCALE:
        return a->alpha * x;
    default:
        return x;
    }
}

/* Eight of row_n values. */
LEAT_HOST_DEVICE void leat_train_each_eight(const leat_train_args *a, int64_t i)
{
    const int64_t at = i * LEAT_EIGHT;
    const int32_t n = leat_train_count(a->row_n, at);
    float x[LEAT_EIGHT], y[LEAT_EIGHT];
    leat_train_load(a->in[0], a->in_type, at, n, x);
    if (a->in[1])
        leat_train_load(a->in[1], a->in_type, at, n, y);
    if (a->mode == LEAT_EACH_MASK) {
        for (int32_t k = 0; k < n; k++)
            ((uint8_t *)a->out[0])[at + k] = x[k] > 0;
        return;
    }
    if (a->mode == LEAT_EACH_MASK_GRAD)
        for (int32_t k = 0; k < n; k++)
            x[k] = ((const uint8_t *)a->in[2])[at + k] ? x[k] : 0.0f;
    /* What residual networks do most is written out, so that no value asks what to do. */
    if (a->mode == LEAT_EACH_SUM && a->act == LEAT_ACT_NONE)
        for (int k = 0; k < LEAT_EIGHT; k++)
            x[k] += y[k];
    else if (a->mode == LEAT_EACH_ACT_GRAD && a->act == LEAT_ACT_relu)
        for (int k = 0; k < LEAT_EIGHT; k++)
            x[k] = y[k] > 0 ? x[k] : 0.0f;
    else
        for (int k = 0; k < LEAT_EIGHT; k++)
            x[k] = leat_train_one(a, x[k], a->in[1] ? y[k] : 0.0f);
    leat_train_store(a->out[0], a->out_type, at, n, x);
}

/* Eight values of a row share one block of the generator, 16 bits each: counter = (block, layer, row of all
 * batches of the update, update). */
LEAT_HOST_DEVICE void leat_train_dropout_eight(const leat_train_args *a, int64_t i)
{
    const int64_t blocks = (a->row_n + LEAT_EIGHT - 1) / LEAT_EIGHT;
    const int64_t row = i / blocks, block = i % blocks;
    const int32_t n = leat_train_count(a->row_n, block * LEAT_EIGHT);
    const float factor = 1 / (1 - a->alpha);
    const uint32_t limit = (uint32_t)((double)a->alpha * 65536.0 + 0.5);
    const uint32_t counter[4] = { (uint32_t)block, 0x64726f70u ^ (uint32_t)a->layer,
                                  (uint32_t)(a->step->rows_before + row),
                                  (uint32_t)a->step->updates };
    uint32_t words[4];
    float x[LEAT_EIGHT];
    leat_philox_block(a->key, counter, words);
    leat_train_load(a->in[0], a->in_type, row * a->row_n + block * LEAT_EIGHT, n, x);
    for (int k = 0; k < LEAT_EIGHT; k++)
        x[k] = (words[k / 2] >> 16 * (k & 1) & 0xffff) >= limit ? x[k] * factor : 0.0f;
    leat_train_store(a->out[0], a->out_type, row * a->row_n + block * LEAT_EIGHT, n, x);
}

/* Channels side by side: in pixels of `channels` values are read from or written to pixels of row_n values at
 * `channel`. mode 0: JOIN, 1: PART. */
LEAT_HOST_DEVICE void leat_train_channels_one(const leat_train_args *a, int64_t i)
{
    const int64_t pixel = i / a->channels, wide = pixel * a->row_n + a->channel + i % a->channels;
    const int64_t from = a->mode ? wide : i, to = a->mode ? i : wide;
    if (a->in_type == LEAT_TRAIN_F32)
        ((float *)a->out[0])[to] = ((const float *)a->in[0])[from];
    else
        ((uint16_t *)a->out[0])[to] = ((const uint16_t *)a->in[0])[from];
}

/* --- softmax: one thread per pixel -------------------------------------------------------------- */

LEAT_HOST_DEVICE void leat_train_softmax_pixel(const leat_train_args *a, int64_t i)
{
    const int64_t at = i * a->channels;
    float most = leat_train_get(a->in[0], a->in_type, at), total = 0;
    for (int32_t c = 1; c < a->channels; c++) {
        const float x = leat_train_get(a->in[0], a->in_type, at + c);
        most = x > most ? x : most;
    }
    for (int32_t c = 0; c < a->channels; c++)
        total += leat_act_exp(leat_train_get(a->in[0], a->in_type, at + c) - most);
    for (int32_t c = 0; c < a->channels; c++) {
        const float x = leat_train_get(a->in[0], a->in_type, at + c);
        leat_train_put(a->out[0], a->out_type, at + c, leat_act_exp(x - most) / total);
    }
}

/* dx = y * (dy - sum of dy * y) */
LEAT_HOST_DEVICE void leat_train_softmax_grad_pixel(const leat_train_args *a, int64_t i)
{
    const int64_t at = i * a->channels;
    float dot = 0;
    for (int32_t c = 0; c < a->channels; c++)
        dot += leat_train_get(a->in[0], a->in_type, at + c) *
               leat_train_get(a->in[1], a->in_type, at + c);
    for (int32_t c = 0; c < a->channels; c++) {
        const float dy = leat_train_get(a->in[0], a->in_type, at + c);
        const float y = leat_train_get(a->in[1], a->in_type, at + c);
        leat_train_put(a->out[0], a->out_type, at + c, y * (dy - dot));
    }
}

#endif

LEAT_TRAIN_KERNEL(ingest, leat_train_ingest_args, leat_train_ingest_each)
LEAT_TRAIN_KERNEL(each, leat_train_args, leat_train_each_eight)
LEAT_TRAIN_KERNEL(dropout, leat_train_args, leat_train_dropout_eight)
LEAT_TRAIN_KERNEL(channels, leat_train_args, leat_train_channels_one)
LEAT_TRAIN_KERNEL(softmax, leat_train_args, leat_train_softmax_pixel)
LEAT_TRAIN_KERNEL(softmax_grad, leat_train_args, leat_train_softmax_grad_pixel)
