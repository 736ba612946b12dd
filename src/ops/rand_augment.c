/* SPDX-License-Identifier: MIT
 *
 * rand_augment: applies some of fourteen operations (augment.h), drawn at random, all at the same
 * magnitude (Cubuk et al., "RandAugment: Practical automated data augmentation with a reduced
 * search space", 2020). Operations and ranges are those of torchvision's RandAugment. */

#include "op_list.h"
#include "ops/image/augment.h"

static const leat_option options[] = {
    LEAT_OPTION_I64(leat_augment_options, ops, "2", 1, LEAT_AUGMENT_STEPS,
                    "number of operations per image"),
    LEAT_OPTION_I64(leat_augment_options, magnitude, "9", 0, 999,
                    "strength of every operation, 0 to bins - 1"),
    LEAT_OPTION_I64(leat_augment_options, bins, "31", 2, 1000, "number of levels of strength"),
    LEAT_OPTION_ENUM(leat_augment_options, interpolation, "nearest", leat_warp_modes,
                     "for shears and rotations: nearest pixel, or bilinear between four"),
    LEAT_OPTION_F32S(leat_augment_options, fill, "0", 0, 255,
                     "value of pixels from outside the image: one, or one per channel"),
    LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    return leat_augment_shape("rand_augment", opts, in, out, err);
}

static void draw(const void *opts, leat_rng *rng, const leat_shape *in, leat_draw *out)
{
    static const leat_augment_range range = {
        .shear = 0.3, .translate_share = 150.0 / 331.0, .degrees = 30, .factor = 0.9, .bits = 4
    };
    const leat_augment_options *o = opts;
    leat_augment_steps drawn = { .n = (int32_t)o->ops };
    for (int32_t i = 0; i < drawn.n; i++)
        drawn.steps[i] = leat_augment_draw(&range, rng, o->magnitude, o->bins, in);
    LEAT_DRAW_PUT(out, drawn);
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    return leat_augment_apply("rand_augment", opts, draw, in, out, scratch, err);
}

const leat_op leat_op_rand_augment = {
    .name = "rand_augment",
    .help = "random choice of fourteen operations, all at one strength (RandAugment)",
    .options_size = sizeof(leat_augment_options),
    .options = options,
    .flags = LEAT_OP_RANDOM | LEAT_OP_IMAGE,
    .shape = shape,
    .draw = draw,
    .apply = apply,
};
