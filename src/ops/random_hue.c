/* SPDX-License-Identifier: MIT
 *
 * random_hue: turns the hue of every pixel, as tf.image.random_hue and torchvision's adjust_hue do
 * (color.h has the formula). The turn is drawn from [-max_delta, max_delta) of the colour circle. */
#include "op_list.h"
#include "ops/image/color.h"
#include "ops/image/image.h"
#include "ops/image/op_draws.h"

typedef struct hue_options {
    float max_delta;
} hue_options;

static const leat_option options[] = { LEAT_OPTION_F32(
                                           hue_options, max_delta, "0.1", 0, 0.5,
                                           "largest shift; 1 is the whole colour circle"),
                                       LEAT_OPTION_END };

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    (void)opts;
    return leat_image_same("random_hue", LEAT_IMAGE_U8, in, out, err);
}

static void draw(const void *opts, leat_rng *rng, const leat_shape *in, leat_draw *out)
{
    const hue_options *o = opts;
    const leat_hue_draw drawn = { leat_color_turn(
        leat_rng_range(rng, -o->max_delta, o->max_delta)) };
    (void)in;
    LEAT_DRAW_PUT(out, drawn);
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    leat_hue_draw drawn;
    (void)opts;
    (void)scratch;
    (void)err;
    LEAT_DRAW_GET(draw, drawn);
    leat_color_hue(out->data, in->data, leat_image_n_px(&in->shape), (size_t)in->shape.dims[2],
                   drawn.turn);
    return LEAT_OK;
}

const leat_op leat_op_random_hue = {
    .name = "random_hue",
    .help = "shift the hue of all pixels at random (tf.image.random_hue)",
    .options_size = sizeof(hue_options),
    .options = options,
    .flags = LEAT_OP_IN_PLACE | LEAT_OP_RANDOM | LEAT_OP_KERNEL | LEAT_OP_IMAGE,
    .shape = shape,
    .draw = draw,
    .apply = apply,
};
