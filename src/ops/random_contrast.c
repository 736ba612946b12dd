/* SPDX-License-Identifier: MIT
 *
 * random_contrast: (x - mean) * factor + mean with the mean of each channel of the image, as
 * tf.image.random_contrast does. The factor is drawn from [lower, upper).
 *
 * For uint8, mean and factor are rounded to 16 bits of fraction. The result is exact from there on, then
 * rounded to the nearest (ties up) and saturated, in a table of 256 values per channel. */
#include <math.h>

#include "op_list.h"
#include "ops/image/color_loops.h"
#include "ops/image/image.h"
#include "ops/image/op_draws.h"

typedef struct contrast_options {
    float lower, upper;
} contrast_options;

static const leat_option options[] = {
    LEAT_OPTION_F32(contrast_options, lower, "0.8", 0, 100, "smallest factor; 1 changes nothing"),
    LEAT_OPTION_F32(contrast_options, upper, "1.2", 0, 100, "largest factor"), LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const contrast_options *o = opts;
    if (o->lower > o->upper)
        return leat_fail(err, LEAT_E_CONFIG, "random_contrast: lower (%g) is above upper (%g)",
                         (double)o->lower, (double)o->upper);
    return leat_image_same("random_contrast", LEAT_IMAGE_U8_F32, in, out, err);
}

static void draw(const void *opts, leat_rng *rng, const leat_shape *in, leat_draw *out)
{
    const contrast_options *o = opts;
    leat_contrast_draw drawn = { .factor = leat_rng_range(rng, o->lower, o->upper) };
    (void)in;
    drawn.factor_q16 = (int32_t)rintf(drawn.factor * 0x1p16f);
    LEAT_DRAW_PUT(out, drawn);
}

static void contrast_u8(uint8_t *to, const uint8_t *from, size_t n_px, size_t channels,
                        int32_t factor_q16)
{
    uint64_t sums[4] = { 0 };
    uint8_t tables[4][256];
    if (channels == 3) {
        int64_t means[3];
        leat_color_loops_now()->sums(from, n_px, sums);
        for (size_t c = 0; c < 3; c++)
            means[c] = leat_color_mean(sums[c], n_px);
        leat_color_contrast_3(to, from, n_px, means, factor_q16);
        return;
    }
    for (size_t i = 0; i < n_px; i++)
        for (size_t c = 0; c < channels; c++)
            sums[c] += from[i * channels + c];
    for (size_t c = 0; c < channels; c++)
        leat_color_contrast_table(tables[c], leat_color_mean(sums[c], n_px), factor_q16);
    for (size_t i = 0; i < n_px; i++)
        for (size_t c = 0; c < channels; c++)
            to[i * channels + c] = tables[c][from[i * channels + c]];
}

static void contrast_f32(float *to, const float *from, size_t n_px, size_t channels, float factor)
{
    double sums[4] = { 0 };
    for (size_t i = 0; i < n_px; i++)
        for (size_t c = 0; c < channels; c++)
            sums[c] += (double)from[i * channels + c];
    for (size_t c = 0; c < channels; c++) {
        const float mean = (float)(sums[c] / (double)n_px);
        for (size_t i = c; i < n_px * channels; i += channels)
            to[i] = (from[i] - mean) * factor + mean;
    }
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const size_t n_px = (size_t)in->shape.dims[0] * (size_t)in->shape.dims[1];
    const size_t channels = (size_t)in->shape.dims[2];
    leat_contrast_draw drawn;
    (void)opts;
    (void)scratch;
    (void)err;
    LEAT_DRAW_GET(draw, drawn);
    if (in->shape.dtype == LEAT_U8)
        contrast_u8(out->data, in->data, n_px, channels, drawn.factor_q16);
    else
        contrast_f32(out->data, in->data, n_px, channels, drawn.factor);
    return LEAT_OK;
}

const leat_op leat_op_random_contrast = {
    .name = "random_contrast",
    .help = "scale the distance to each channel's mean at random (tf.image.random_contrast)",
    .options_size = sizeof(contrast_options),
    .options = options,
    .flags = LEAT_OP_IN_PLACE | LEAT_OP_RANDOM | LEAT_OP_KERNEL | LEAT_OP_IMAGE,
    .shape = shape,
    .draw = draw,
    .apply = apply,
};
