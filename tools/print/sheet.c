/* SPDX-License-Identifier: MIT */
#include "sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    IMAGES_MOST = 64,
    COLUMNS = 8,
    GAP_PX = 2,
    SMALL_PX = 64, /* smaller images are enlarged to about this */
    LARGE_PX = 192 /* larger ones are thinned out to at most this */
};

/* How a batch is laid out. One of zoom and thin is 1. */
typedef struct layout {
    int32_t n, columns, rows;
    int32_t height, width, channels; /* of an image of the batch */
    int32_t zoom, thin;
    int32_t tall, wide; /* a drawn image */
} layout;

/* A value v of channel c is drawn as (v - low[c]) * scale[c]. */
typedef struct levels {
    float low[3], scale[3];
} levels;

bool leat_sheet_fits(const leat_shape *s)
{
    const int64_t side_most = 1 << 20;
    return s->rank == 3 && (s->dtype == LEAT_U8 || s->dtype == LEAT_F32) && s->dims[0] > 0 &&
           s->dims[1] > 0 && s->dims[0] < side_most && s->dims[1] < side_most &&
           (s->dims[2] == 1 || s->dims[2] == 3);
}

static bool is_drawable(const leat_view *batch)
{
    const leat_shape *const s = &batch->shape;
    const leat_shape sample = leat_shape_make(s->dtype, s->rank - 1, s->dims + 1);
    return batch->data && s->rank > 0 && s->dims[0] > 0 && leat_sheet_fits(&sample);
}

static layout lay_out(const leat_shape *s)
{
    layout l = { .n = (int32_t)(s->dims[0] < IMAGES_MOST ? s->dims[0] : IMAGES_MOST),
                 .height = (int32_t)s->dims[1],
                 .width = (int32_t)s->dims[2],
                 .channels = (int32_t)s->dims[3] };
    const int32_t side = l.height > l.width ? l.height : l.width;
    l.zoom = side < SMALL_PX ? SMALL_PX / side : 1;
    l.thin = (side + LARGE_PX - 1) / LARGE_PX;
    l.tall = (l.height * l.zoom + l.thin - 1) / l.thin;
    l.wide = (l.width * l.zoom + l.thin - 1) / l.thin;
    l.columns = l.n < COLUMNS ? l.n : COLUMNS;
    l.rows = (l.n + COLUMNS - 1) / COLUMNS;
    return l;
}

static levels measure(const float *values, int64_t n, int32_t channels)
{
    levels found = { 0 };
    for (int32_t c = 0; c < channels; c++) {
        float low = INFINITY, high = -INFINITY;
        for (int64_t i = c; i < n; i += channels) {
            low = values[i] < low ? values[i] : low;
            high = values[i] > high ? values[i] : high;
        }
        const bool flat = !(high > low) || !isfinite(high - low);
        found.low[c] = flat ? 0 : low;
        found.scale[c] = flat ? 0 : 255 / (high - low);
    }
    return found;
}

static uint8_t shown(float value)
{
    return value > 0 ? (uint8_t)(value < 255 ? value + 0.5f : 255) : 0; /* NaN: 0 */
}

static void draw(const leat_view *batch, const layout *l, const levels *map, int32_t number,
                 uint8_t *to, size_t stride)
{
    for (int32_t y = 0; y < l->tall; y++)
        for (int32_t x = 0; x < l->wide; x++) {
            const int64_t row = (int64_t)number * l->height + (int64_t)y * l->thin / l->zoom;
            const int64_t at = (row * l->width + (int64_t)x * l->thin / l->zoom) * l->channels;
            for (int32_t c = 0; c < 3; c++) {
                const int32_t k = c < l->channels ? c : 0;
                to[(size_t)y * stride + (size_t)x * 3 + (size_t)c] =
                    batch->shape.dtype == LEAT_U8
                        ? ((const uint8_t *)batch->data)[at + k]
                        : shown((((const float *)batch->data)[at + k] - map->low[k]) *
                                map->scale[k]);
            }
        }
}

int leat_sheet_make(const leat_view *batch, leat_sheet *out)
{
    *out = (leat_sheet){ 0 };
    if (!is_drawable(batch))
        return LEAT_E_ARGUMENT;
    const layout l = lay_out(&batch->shape);
    levels map = { 0 };
    if (batch->shape.dtype == LEAT_F32)
        map = measure(batch->data, leat_shape_elements(&batch->shape), l.channels);
    out->width = l.columns * (l.wide + GAP_PX) - GAP_PX;
    out->height = l.rows * (l.tall + GAP_PX) - GAP_PX;
    const size_t stride = (size_t)out->width * 3;
    out->pixels = malloc(stride * (size_t)out->height);
    if (!out->pixels)
        return LEAT_E_NOMEM;
    memset(out->pixels, 255, stride * (size_t)out->height);
    for (int32_t i = 0; i < l.n; i++) {
        const size_t y = (size_t)(i / COLUMNS) * (size_t)(l.tall + GAP_PX);
        const size_t x = (size_t)(i % COLUMNS) * (size_t)(l.wide + GAP_PX);
        draw(batch, &l, &map, i, out->pixels + y * stride + x * 3, stride);
    }
    return LEAT_OK;
}
