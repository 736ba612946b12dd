/* SPDX-License-Identifier: MIT
 *
 * color_jitter: changes brightness, contrast, saturation and hue in random order, as torchvision's
 * ColorJitter does, with the same ranges and formulas (color.h defines them). */
#include <math.h>
#include <string.h>

#include "op_list.h"
#include "ops/image/color.h"
#include "ops/image/image.h"
#include "ops/image/op_draws.h"

typedef struct jitter_options {
    leat_f32s brightness, contrast, saturation, hue;
} jitter_options;

static const leat_option options[] = {
    LEAT_OPTION_F32S(
        jitter_options, brightness, "0", 0, 100,
        "x: draw a factor from [1 - x, 1 + x], not below 0; or [smallest, largest] factor"),
    LEAT_OPTION_F32S(jitter_options, contrast, "0", 0, 100, "as brightness"),
    LEAT_OPTION_F32S(jitter_options, saturation, "0", 0, 100, "as brightness; 0 is gray"),
    LEAT_OPTION_F32S(
        jitter_options, hue, "0", -0.5, 0.5,
        "x: draw a shift from [-x, x] of the colour circle; or [smallest, largest] shift"),
    LEAT_OPTION_END
};

static const leat_f32s *option_of(const jitter_options *o, int change)
{
    const leat_f32s *const all[] = { &o->brightness, &o->contrast, &o->saturation, &o->hue };
    return all[change];
}

static int check_range(const char *name, const leat_f32s *range, leat_error *err)
{
    if ((range->n == 1 && range->values[0] >= 0) ||
        (range->n == 2 && range->values[0] <= range->values[1]))
        return LEAT_OK;
    return leat_fail(err, LEAT_E_CONFIG,
                     "color_jitter: %s is one number from 0 on, or [least, most], got %d values%s",
                     name, (int)range->n,
                     range->n == 2   ? " in the wrong order"
                     : range->n == 1 ? " below 0"
                                     : "");
}

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    for (int i = 0; i < LEAT_N_JITTERS; i++) {
        const int rc = check_range(options[i].name, option_of(opts, i), err);
        if (rc != LEAT_OK)
            return rc;
    }
    return leat_image_same("color_jitter", LEAT_IMAGE_U8, in, out, err);
}

static float amount(leat_rng *rng, const leat_f32s *range, float center)
{
    const float x = range->values[0];
    const float low = center - x < 0 && center > 0 ? 0 : center - x;
    return range->n == 2 ? leat_rng_range(rng, x, range->values[1])
                         : leat_rng_range(rng, low, center + x);
}

static void draw(const void *opts, leat_rng *rng, const leat_shape *in, leat_draw *out)
{
    leat_jitter_draw drawn = { .order = { LEAT_JITTER_BRIGHTNESS, LEAT_JITTER_CONTRAST,
                                          LEAT_JITTER_SATURATION, LEAT_JITTER_HUE } };
    (void)in;
    for (uint32_t i = LEAT_N_JITTERS - 1; i > 0; i--) {
        const uint32_t k = leat_rng_below(rng, i + 1);
        const uint8_t other = drawn.order[i];
        drawn.order[i] = drawn.order[k];
        drawn.order[k] = other;
    }
    for (int i = 0; i < LEAT_JITTER_HUE; i++)
        drawn.amounts[i] = (int32_t)rintf(amount(rng, option_of(opts, i), 1) * LEAT_COLOR_ONE);
    drawn.amounts[LEAT_JITTER_HUE] =
        leat_color_turn(amount(rng, option_of(opts, LEAT_JITTER_HUE), 0));
    LEAT_DRAW_PUT(out, drawn);
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    static leat_color_fn *const change[LEAT_N_JITTERS] = { leat_color_brightness,
                                                           leat_color_contrast,
                                                           leat_color_saturation, leat_color_hue };
    const size_t n_px = leat_image_n_px(&in->shape), channels = (size_t)in->shape.dims[2];
    const uint8_t *from = in->data;
    leat_jitter_draw drawn;
    (void)opts;
    (void)scratch;
    (void)err;
    LEAT_DRAW_GET(draw, drawn);
    for (int i = 0; i < LEAT_N_JITTERS; i++) {
        const int kind = drawn.order[i];
        if (drawn.amounts[kind] == (kind == LEAT_JITTER_HUE ? 0 : LEAT_COLOR_ONE))
            continue; /* changes nothing */
        change[kind](out->data, from, n_px, channels, drawn.amounts[kind]);
        from = out->data;
    }
    if (from != out->data)
        memcpy(out->data, from, n_px * channels);
    return LEAT_OK;
}

const leat_op leat_op_color_jitter = {
    .name = "color_jitter",
    .help = "brightness, contrast, saturation and hue at random, in random order (torchvision)",
    .options_size = sizeof(jitter_options),
    .options = options,
    .flags = LEAT_OP_IN_PLACE | LEAT_OP_RANDOM | LEAT_OP_KERNEL | LEAT_OP_IMAGE,
    .shape = shape,
    .draw = draw,
    .apply = apply,
};
