/* SPDX-License-Identifier: MIT
 *
 * random_rotation: turns an image about its centre, counter-clockwise by an angle from [least, most)
 * degrees, as torchvision's RandomRotation does. The size stays the same. The draw holds cosine and sine
 * with 24 bits of fraction, and from there on the arithmetic is in integers (warp.h). */
#include <math.h>

#include "op_list.h"
#include "ops/image/warp.h"

typedef struct rotation_options {
    leat_f32s degrees, fill;
    int32_t interpolation;
} rotation_options;

typedef struct rotation_draw {
    int32_t cosine, sine;
} rotation_draw;

static const leat_option options[] = {
    LEAT_OPTION_F32S(rotation_options, degrees, NULL, -360, 360,
                     "x: draw an angle from [-x, x]; or [smallest, largest]; counter-clockwise"),
    LEAT_OPTION_ENUM(rotation_options, interpolation, "nearest", leat_warp_modes,
                     "nearest pixel, or bilinear between four"),
    LEAT_OPTION_F32S(rotation_options, fill, "0", 0, 255,
                     "value of pixels from outside the image: one, or one per channel"),
    LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const rotation_options *o = opts;
    const leat_f32s *d = &o->degrees;
    if (!(d->n == 1 && d->values[0] >= 0) && !(d->n == 2 && d->values[0] <= d->values[1]))
        return leat_fail(err, LEAT_E_CONFIG,
                         "random_rotation: degrees is one number from 0 on, or [least, most]");
    const int rc = leat_image_same("random_rotation", LEAT_IMAGE_U8, in, out, err);
    return rc == LEAT_OK ? leat_image_expect_value("random_rotation", "fill", &o->fill, in, err)
                         : rc;
}

static void draw(const void *opts, leat_rng *rng, const leat_shape *in, leat_draw *out)
{
    const rotation_options *o = opts;
    const float most = o->degrees.values[o->degrees.n - 1];
    const float least = o->degrees.n == 1 ? -most : o->degrees.values[0];
    const double angle = (double)leat_rng_range(rng, least, most) * (3.14159265358979323846 / 180);
    const rotation_draw drawn = { (int32_t)rint(cos(angle) * LEAT_WARP_ONE),
                                  (int32_t)rint(sin(angle) * LEAT_WARP_ONE) };
    (void)in;
    LEAT_DRAW_PUT(out, drawn);
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const rotation_options *o = opts;
    rotation_draw drawn;
    uint8_t fill[4];
    (void)scratch;
    (void)err;
    LEAT_DRAW_GET(draw, drawn);
    leat_image_value(&o->fill, &in->shape, fill);
    const leat_warp warp = leat_warp_rotate(drawn.cosine, drawn.sine, &in->shape);
    leat_warp_apply(&warp, o->interpolation, fill, in, out);
    return LEAT_OK;
}

const leat_op leat_op_random_rotation = {
    .name = "random_rotation",
    .help = "rotate about the centre by a random angle",
    .options_size = sizeof(rotation_options),
    .options = options,
    .flags = LEAT_OP_RANDOM | LEAT_OP_IMAGE,
    .shape = shape,
    .draw = draw,
    .apply = apply,
};
