/* SPDX-License-Identifier: MIT
 *
 * random_brightness: adds one random number to every value, as tf.image.random_brightness does. The number
 * is from [-max_delta, max_delta), where 1 is white. For uint8 it is multiplied by 255 and rounded to the
 * nearest integer (ties to even), and the sum saturates. */
#include <math.h>

#include "op_list.h"
#include "ops/image/dsp.h"
#include "ops/image/image.h"
#include "ops/image/op_draws.h"

typedef struct brightness_options {
    float max_delta;
} brightness_options;

static const leat_option options[] = { LEAT_OPTION_F32(
                                           brightness_options, max_delta, "0.2", 0, 1,
                                           "largest change; 1 is the range from black to white"),
                                       LEAT_OPTION_END };

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    (void)opts;
    return leat_image_same("random_brightness", LEAT_IMAGE_U8_F32, in, out, err);
}

static void draw(const void *opts, leat_rng *rng, const leat_shape *in, leat_draw *out)
{
    const brightness_options *o = opts;
    leat_brightness_draw drawn = { .delta = leat_rng_range(rng, -o->max_delta, o->max_delta) };
    (void)in;
    drawn.delta_u8 = (int32_t)rintf(drawn.delta * 255);
    LEAT_DRAW_PUT(out, drawn);
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const size_t n = (size_t)leat_shape_elements(&in->shape);
    leat_brightness_draw drawn;
    (void)opts;
    (void)scratch;
    (void)err;
    LEAT_DRAW_GET(draw, drawn);
    if (in->shape.dtype == LEAT_U8) {
        leat_dsp()->add_u8(out->data, in->data, n, drawn.delta_u8);
    } else {
        const float *from = in->data;
        float *to = out->data;
        for (size_t i = 0; i < n; i++)
            to[i] = from[i] + drawn.delta;
    }
    return LEAT_OK;
}

const leat_op leat_op_random_brightness = {
    .name = "random_brightness",
    .help = "add a random number to every value (tf.image.random_brightness)",
    .options_size = sizeof(brightness_options),
    .options = options,
    .flags = LEAT_OP_IN_PLACE | LEAT_OP_RANDOM | LEAT_OP_KERNEL | LEAT_OP_IMAGE,
    .shape = shape,
    .draw = draw,
    .apply = apply,
};
