/* SPDX-License-Identifier: MIT
 *
 * trivial_augment: applies one of fourteen operations (augment.h) at a random magnitude (Müller and
 * Hutter, "TrivialAugment: Tuning-free Yet State-of-the-Art Data Augmentation", 2021). Operations
 * and ranges are those of torchvision's TrivialAugmentWide. */

#include "op_list.h"
#include "ops/image/augment.h"

static const leat_option options[] = {
    LEAT_OPTION_I64(leat_augment_options, bins, "31", 2, 1000, "number of levels of strength"),
    LEAT_OPTION_ENUM(leat_augment_options, interpolation, "nearest", leat_warp_modes,
                     "for shears and rotations: nearest pixel, or bilinear between four"),
    LEAT_OPTION_F32S(leat_augment_options, fill, "0", 0, 255,
                     "value of pixels from outside the image: one, or one per channel"),
    LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    return leat_augment_shape("trivial_augment", opts, in, out, err);
}

static void draw(const void *opts, leat_rng *rng, const leat_shape *in, leat_draw *out)
{
    static const leat_augment_range range = {
        .shear = 0.99, .translate_px = 32, .degrees = 135, .factor = 0.99, .bits = 6
    };
    const leat_augment_options *o = opts;
    leat_augment_steps drawn = { .n = 1 };
    drawn.steps[0] = leat_augment_draw(&range, rng, -1, o->bins, in);
    LEAT_DRAW_PUT(out, drawn);
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    return leat_augment_apply("trivial_augment", opts, draw, in, out, scratch, err);
}

const leat_op leat_op_trivial_augment = {
    .name = "trivial_augment",
    .help = "one of fourteen operations at a random strength (TrivialAugmentWide)",
    .options_size = sizeof(leat_augment_options),
    .options = options,
    .flags = LEAT_OP_RANDOM | LEAT_OP_IMAGE,
    .shape = shape,
    .draw = draw,
    .apply = apply,
};
