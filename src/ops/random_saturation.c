/* SPDX-License-Identifier: MIT
 *
 * random_saturation: (x - gray) * factor + gray, as torchvision's adjust_saturation (color.h has the
 * formula). The factor is drawn from [lower, upper). tf.image.random_saturation differs: it scales the
 * saturation of HSV. */
#include <math.h>

#include "op_list.h"
#include "ops/image/color.h"
#include "ops/image/image.h"
#include "ops/image/op_draws.h"

typedef struct saturation_options {
    float lower, upper;
} saturation_options;

static const leat_option options[] = {
    LEAT_OPTION_F32(saturation_options, lower, "0.8", 0, 100,
                    "smallest factor; 0 is gray, 1 changes nothing"),
    LEAT_OPTION_F32(saturation_options, upper, "1.2", 0, 100, "largest factor"), LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const saturation_options *o = opts;
    if (o->lower > o->upper)
        return leat_fail(err, LEAT_E_CONFIG, "random_saturation: lower (%g) is above upper (%g)",
                         (double)o->lower, (double)o->upper);
    return leat_image_same("random_saturation", LEAT_IMAGE_U8, in, out, err);
}

static void draw(const void *opts, leat_rng *rng, const leat_shape *in, leat_draw *out)
{
    const saturation_options *o = opts;
    const float factor = leat_rng_range(rng, o->lower, o->upper);
    const leat_saturation_draw drawn = { .factor_q16 = (int32_t)rintf(factor * LEAT_COLOR_ONE) };
    (void)in;
    LEAT_DRAW_PUT(out, drawn);
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    leat_saturation_draw drawn;
    (void)opts;
    (void)scratch;
    (void)err;
    LEAT_DRAW_GET(draw, drawn);
    leat_color_saturation(out->data, in->data, leat_image_n_px(&in->shape),
                          (size_t)in->shape.dims[2], drawn.factor_q16);
    return LEAT_OK;
}

const leat_op leat_op_random_saturation = {
    .name = "random_saturation",
    .help = "scale each pixel's distance to its gray at random (torchvision's formula)",
    .options_size = sizeof(saturation_options),
    .options = options,
    .flags = LEAT_OP_IN_PLACE | LEAT_OP_RANDOM | LEAT_OP_KERNEL | LEAT_OP_IMAGE,
    .shape = shape,
    .draw = draw,
    .apply = apply,
};
