/* SPDX-License-Identifier: MIT
 *
 * warp.c: affine maps of uint8 images (warp.h). random_rotation and augment.c call it. */
#include "warp.h"

#include <string.h>

const char *const leat_warp_modes[] = { "nearest", "bilinear", NULL };

enum { BITS = 24, HALF = 1 << (BITS - 1), WEIGHT_BITS = 8, WEIGHT_ONE = 1 << WEIGHT_BITS };

leat_warp leat_warp_rotate(int32_t cosine, int32_t sine, const leat_shape *shape)
{
    const int64_t height = shape->dims[0], width = shape->dims[1];
    return (leat_warp){
        .x0 = ((width << BITS) + cosine * (1 - width) - sine * (1 - height)) >> 1,
        .y0 = ((height << BITS) + sine * (1 - width) + cosine * (1 - height)) >> 1,
        .xx = cosine,
        .xy = -sine,
        .yx = sine,
        .yy = cosine,
    };
}

leat_warp leat_warp_shear_x(int32_t factor)
{
    return (leat_warp){
        .x0 = HALF + factor / 2, .y0 = HALF, .xx = LEAT_WARP_ONE, .xy = factor, .yy = LEAT_WARP_ONE
    };
}

leat_warp leat_warp_shear_y(int32_t factor)
{
    return (leat_warp){
        .x0 = HALF, .y0 = HALF + factor / 2, .xx = LEAT_WARP_ONE, .yx = factor, .yy = LEAT_WARP_ONE
    };
}

leat_warp leat_warp_shift(int32_t right, int32_t down)
{
    return (leat_warp){ .x0 = HALF - (int64_t)right * LEAT_WARP_ONE,
                        .y0 = HALF - (int64_t)down * LEAT_WARP_ONE,
                        .xx = LEAT_WARP_ONE,
                        .yy = LEAT_WARP_ONE };
}

/* An image, and the pixel that stands for everything outside. */
typedef struct plane {
    const uint8_t *pixels, *fill;
    int64_t height, width;
    size_t channels;
} plane;

static const uint8_t *pixel_at(const plane *p, int64_t y, int64_t x)
{
    const int is_inside = (uint64_t)y < (uint64_t)p->height && (uint64_t)x < (uint64_t)p->width;
    return is_inside ? p->pixels + (size_t)(y * p->width + x) * p->channels : p->fill;
}

static void row_nearest(uint8_t *to, const plane *p, const leat_warp *w, int64_t row)
{
    int64_t u = w->x0 + row * w->xy, v = w->y0 + row * w->yy;
    for (int64_t i = 0; i < p->width; i++, to += p->channels, u += w->xx, v += w->yx) {
        const uint8_t *from = pixel_at(p, v >> BITS, u >> BITS);
        for (size_t c = 0; c < p->channels; c++)
            to[c] = from[c];
    }
}

static void row_bilinear(uint8_t *to, const plane *p, const leat_warp *w, int64_t row)
{
    enum { ROUND = 1 << (BITS - WEIGHT_BITS - 1) };
    int64_t u = w->x0 + row * w->xy - HALF + ROUND, v = w->y0 + row * w->yy - HALF + ROUND;
    for (int64_t i = 0; i < p->width; i++, to += p->channels, u += w->xx, v += w->yx) {
        const int64_t x = u >> BITS, y = v >> BITS;
        const uint32_t right = (uint32_t)(u >> (BITS - WEIGHT_BITS)) & (WEIGHT_ONE - 1);
        const uint32_t below = (uint32_t)(v >> (BITS - WEIGHT_BITS)) & (WEIGHT_ONE - 1);
        const uint32_t left = WEIGHT_ONE - right, above = WEIGHT_ONE - below;
        const uint8_t *a = pixel_at(p, y, x), *b = pixel_at(p, y, x + 1);
        const uint8_t *c = pixel_at(p, y + 1, x), *d = pixel_at(p, y + 1, x + 1);
        for (size_t k = 0; k < p->channels; k++) {
            const uint32_t sum =
                (a[k] * left + b[k] * right) * above + (c[k] * left + d[k] * right) * below;
            to[k] = (uint8_t)((sum + (1 << (2 * WEIGHT_BITS - 1))) >> (2 * WEIGHT_BITS));
        }
    }
}

void leat_warp_apply(const leat_warp *warp, int mode, const uint8_t fill[4], const leat_view *in,
                     const leat_view *out)
{
    const plane p = { in->data, fill, in->shape.dims[0], in->shape.dims[1],
                      (size_t)in->shape.dims[2] };
    uint8_t *to = out->data;
    for (int64_t row = 0; row < p.height; row++, to += (size_t)p.width * p.channels)
        (mode == LEAT_WARP_BILINEAR ? row_bilinear : row_nearest)(to, &p, warp, row);
}
