/* SPDX-License-Identifier: MIT
 *
 * cutmix (Yun et al., "CutMix: Regularization Strategy to Train Strong Classifiers with Localizable
 * Features", 2019), with the box of torchvision.transforms.v2.CutMix, one per batch: l from
 * Beta(alpha, alpha), uniform centre, half sides int(0.5 sqrt(1 - l) · side), clipped to the image.
 * The weight of a row's own label is the share of its pixels that stay. */
#include <math.h>
#include <stdbool.h>

#include "batch_op.h"
#include "ops/image/mix.h"

/* A first dimension up to this, before sides of at least that, is that of channels. */
enum { MOST_PLANES = 4, LEAST_SIDE = 16 };

typedef struct cutmix_draw {
    int32_t x0, y0, x1, y1; /* box from (x0, y0) to before (x1, y1) */
} cutmix_draw;

static const leat_option options[] = { LEAT_MIX_ROWS, LEAT_OPTION_END };

static int check(const void *opts, const leat_shape *in, leat_error *err)
{
    char text[128];
    (void)opts;
    if (in->rank != 3 || in->dims[0] > INT32_MAX || in->dims[1] > INT32_MAX)
        return leat_fail(err, LEAT_E_CONFIG,
                         "cutmix expects images of height, width, channels, got %s",
                         leat_shape_text(in, text, sizeof text));
    if (in->dims[0] <= MOST_PLANES && in->dims[1] >= LEAST_SIDE && in->dims[2] >= LEAST_SIDE)
        return leat_fail(err, LEAT_E_CONFIG,
                         "cutmix expects images of height, width, channels, but %s has its "
                         "channels first: leave them last, and put them first in your loop",
                         leat_shape_text(in, text, sizeof text));
    return LEAT_OK;
}

static int32_t cut(int64_t at, int64_t side)
{
    return (int32_t)(at < 0 ? 0 : at > side ? side : at);
}

static void draw(const void *opts, leat_rng *rng, const leat_shape *in, leat_draw *out, double *own)
{
    const leat_mix_options *const o = opts;
    const int64_t height = in->dims[0], width = in->dims[1];
    const bool mixes = leat_rng_f32(rng) < o->p;
    const int64_t x = leat_rng_below(rng, (uint32_t)width),
                  y = leat_rng_below(rng, (uint32_t)height);
    const double half = 0.5 * sqrt(1 - leat_mix_beta(rng, (double)o->alpha));
    const int64_t w = (int64_t)(half * (double)width), h = (int64_t)(half * (double)height);
    cutmix_draw box = { 0 };
    if (mixes)
        box = (cutmix_draw){ cut(x - w, width), cut(y - h, height), cut(x + w, width),
                             cut(y + h, height) };
    const double area = (double)(box.x1 - box.x0) * (box.y1 - box.y0);
    *own = 1 - area / ((double)width * (double)height);
    LEAT_DRAW_PUT(out, box);
}

static void apply(const leat_draw *p, const leat_shape *in, void *a, void *b)
{
    const size_t pixel = (size_t)in->dims[2] * leat_dtype_bytes(in->dtype);
    cutmix_draw box;
    LEAT_DRAW_GET(p, box);
    for (int32_t y = box.y0; y < box.y1; y++) {
        const size_t at = ((size_t)y * (size_t)in->dims[1] + (size_t)box.x0) * pixel;
        leat_mix_swap((uint8_t *)a + at, (uint8_t *)b + at, (size_t)(box.x1 - box.x0) * pixel);
    }
}

const leat_batch_op leat_batch_op_cutmix = {
    { "cutmix",
      "exchange a box between pairs of images of a batch, and mix their labels by its area",
      options },
    sizeof(leat_mix_options),
    LEAT_OP_IMAGE,
    check,
    draw,
    apply
};
