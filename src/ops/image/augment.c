/* SPDX-License-Identifier: MIT
 *
 * augment.c: draws and applies the operations of augment.h; rand_augment and trivial_augment call it. */
#include "augment.h"

#include <math.h>
#include <string.h>

#include "base/check.h"

/* --- drawing --------------------------------------------------------------------------------- */

static int32_t q24(double x)
{
    return (int32_t)rint(x * LEAT_WARP_ONE);
}

/* The level as a share of `most`, with a sign. It multiplies first, so that integral results are
 * exact. */
static double part(double most, int64_t level, int64_t bins, int sign)
{
    return sign * (most * (double)level / (double)(bins - 1));
}

static leat_augment_step decide(const leat_augment_range *r, int kind, int64_t level, int64_t bins,
                                int sign, const leat_shape *in)
{
    leat_augment_step step = { .kind = kind };
    const int side = kind == LEAT_AUGMENT_TRANSLATE_X; /* columns, else rows */
    const double translate = r->translate_px + r->translate_share * (double)in->dims[side];
    const double angle = part(r->degrees, level, bins, sign) * (3.14159265358979323846 / 180);
    switch (kind) {
    case LEAT_AUGMENT_SHEAR_X:
    case LEAT_AUGMENT_SHEAR_Y:
        step.a = q24(part(r->shear, level, bins, sign));
        break;
    case LEAT_AUGMENT_TRANSLATE_X:
    case LEAT_AUGMENT_TRANSLATE_Y:
        step.a = (int32_t)part(translate, level, bins, sign);
        break;
    case LEAT_AUGMENT_ROTATE:
        step.a = q24(cos(angle));
        step.b = q24(sin(angle));
        break;
    case LEAT_AUGMENT_BRIGHTNESS:
    case LEAT_AUGMENT_COLOR:
    case LEAT_AUGMENT_CONTRAST:
    case LEAT_AUGMENT_SHARPNESS:
        step.a = (int32_t)rint((1 + part(r->factor, level, bins, sign)) * LEAT_COLOR_ONE);
        break;
    case LEAT_AUGMENT_POSTERIZE:
        step.a = 8 - (int32_t)rint(part(r->bits, level, bins, 1));
        break;
    case LEAT_AUGMENT_SOLARIZE: /* values from 255 - magnitude on, rounded up */
        step.a = 255 - (int32_t)(255 * level / (bins - 1));
        break;
    default:
        break;
    }
    return step;
}

leat_augment_step leat_augment_draw(const leat_augment_range *range, leat_rng *rng, int64_t level,
                                    int64_t bins, const leat_shape *in)
{
    const int kind = (int)leat_rng_below(rng, LEAT_N_AUGMENTS);
    const int sign = leat_rng_below(rng, 2) ? 1 : -1;
    if (level < 0)
        level = leat_rng_below(rng, (uint32_t)bins);
    return decide(range, kind, level, bins, sign, in);
}

/* --- applying ----------------------------------------------------------------------------------- */

static leat_warp warp_of(const leat_augment_step *step, const leat_shape *shape)
{
    switch (step->kind) {
    case LEAT_AUGMENT_SHEAR_X:
        return leat_warp_shear_x(step->a);
    case LEAT_AUGMENT_SHEAR_Y:
        return leat_warp_shear_y(step->a);
    case LEAT_AUGMENT_TRANSLATE_X:
        return leat_warp_shift(step->a, 0);
    case LEAT_AUGMENT_TRANSLATE_Y:
        return leat_warp_shift(0, step->a);
    default:
        return leat_warp_rotate(step->a, step->b, shape);
    }
}

static void do_step(const leat_augment_step *step, int mode, const uint8_t fill[4],
                    const leat_view *in, const leat_view *out)
{
    static leat_color_fn *const colors[LEAT_N_AUGMENTS] = {
        [LEAT_AUGMENT_BRIGHTNESS] = leat_color_brightness,
        [LEAT_AUGMENT_COLOR] = leat_color_saturation,
        [LEAT_AUGMENT_CONTRAST] = leat_color_contrast,
        [LEAT_AUGMENT_POSTERIZE] = leat_tone_posterize,
        [LEAT_AUGMENT_SOLARIZE] = leat_tone_solarize,
        [LEAT_AUGMENT_AUTO_CONTRAST] = leat_tone_autocontrast,
        [LEAT_AUGMENT_EQUALIZE] = leat_tone_equalize,
    };
    const size_t height = (size_t)in->shape.dims[0], width = (size_t)in->shape.dims[1];
    const size_t channels = (size_t)in->shape.dims[2];
    if (colors[step->kind]) {
        colors[step->kind](out->data, in->data, height * width, channels, step->a);
    } else if (step->kind == LEAT_AUGMENT_SHARPNESS) {
        leat_tone_sharpness(out->data, in->data, height, width, channels, step->a);
    } else if (step->kind == LEAT_AUGMENT_IDENTITY) {
        memcpy(out->data, in->data, height * width * channels);
    } else {
        const leat_warp warp = warp_of(step, &in->shape);
        leat_warp_apply(&warp, mode, fill, in, out);
    }
}

int leat_augment_shape(const char *op, const leat_augment_options *options, const leat_shape *in,
                       leat_shape *out, leat_error *err)
{
    if (options->magnitude >= options->bins)
        return leat_fail(err, LEAT_E_CONFIG, "%s: magnitude (%lld) is not below bins (%lld)", op,
                         (long long)options->magnitude, (long long)options->bins);
    const int rc = leat_image_same(op, LEAT_IMAGE_U8, in, out, err);
    return rc == LEAT_OK ? leat_image_expect_value(op, "fill", &options->fill, in, err) : rc;
}

/* Steps alternate between a scratch image and `out`, so that the last step writes `out`. */
int leat_augment_apply(const char *op, const leat_augment_options *options, const leat_draw *draw,
                       const leat_view *in, const leat_view *out, leat_scratch *scratch,
                       leat_error *err)
{
    const size_t bytes = (size_t)leat_shape_bytes(&in->shape);
    leat_view from = *in, other = { .shape = in->shape };
    leat_augment_steps drawn;
    uint8_t fill[4];
    LEAT_DRAW_GET(draw, drawn);
    leat_check(drawn.n >= 1 && drawn.n <= LEAT_AUGMENT_STEPS);
    leat_image_value(&options->fill, &in->shape, fill);
    if (drawn.n > 1) {
        other.data = leat_scratch_take(scratch, bytes);
        if (!other.data)
            return leat_fail(err, LEAT_E_NOMEM, "%s: not enough scratch memory", op);
    }
    for (int32_t i = 0; i < drawn.n; i++) {
        const leat_view *to = (drawn.n - i) % 2 ? out : &other;
        do_step(&drawn.steps[i], options->interpolation, fill, &from, to);
        from = *to;
    }
    return LEAT_OK;
}
