/* SPDX-License-Identifier: MIT
 *
 * augment.h: the fourteen operations of rand_augment and trivial_augment, which are those of torchvision's
 * RandAugment and TrivialAugmentWide. Each operation has a magnitude: level 0 to bins - 1 of its range.
 * Operations marked ± draw a sign too. */
#ifndef LEAT_AUGMENT_H
#define LEAT_AUGMENT_H

#include "color.h"
#include "warp.h"

/* X(name, meaning of its magnitude) */
#define LEAT_AUGMENT_LIST(X)                                                                       \
    X(IDENTITY, "none")                                                                            \
    X(SHEAR_X, "± columns per row")                                                                \
    X(SHEAR_Y, "± rows per column")                                                                \
    X(TRANSLATE_X, "± columns")                                                                    \
    X(TRANSLATE_Y, "± rows")                                                                       \
    X(ROTATE, "± degrees")                                                                         \
    X(BRIGHTNESS, "± factor - 1")                                                                  \
    X(COLOR, "± factor of saturation - 1")                                                         \
    X(CONTRAST, "± factor - 1")                                                                    \
    X(SHARPNESS, "± factor - 1")                                                                   \
    X(POSTERIZE, "bits dropped")                                                                   \
    X(SOLARIZE, "values inverted, from above")                                                     \
    X(AUTO_CONTRAST, "none")                                                                       \
    X(EQUALIZE, "none")

enum {
#define LEAT_AUGMENT_ENUM(name, text) LEAT_AUGMENT_##name,
    LEAT_AUGMENT_LIST(LEAT_AUGMENT_ENUM)
#undef LEAT_AUGMENT_ENUM
        LEAT_N_AUGMENTS
};

/* The largest magnitudes of a policy. */
typedef struct leat_augment_range {
    double shear;
    double translate_share, translate_px; /* share of the side, or pixels; the other is 0 */
    double degrees;
    double factor;
    int32_t bits;
} leat_augment_range;

/* One drawn operation. */
typedef struct leat_augment_step {
    int32_t kind;
    /* In 1 / LEAT_WARP_ONE, pixels, 1 / LEAT_COLOR_ONE, bits or values; cosine if ROTATE. */
    int32_t a;
    int32_t b; /* the sine if ROTATE, in 1 / LEAT_WARP_ONE */
} leat_augment_step;

enum { LEAT_AUGMENT_STEPS = 5 }; /* as many as fit in a draw */
typedef struct leat_augment_steps {
    leat_augment_step steps[LEAT_AUGMENT_STEPS];
    int32_t n;
} leat_augment_steps;

/* The options of both ops. */
typedef struct leat_augment_options {
    int64_t ops, magnitude, bins; /* rand_augment has all three, trivial_augment only bins */
    int32_t interpolation;
    leat_f32s fill;
} leat_augment_options;

/* Draws an operation and a sign, and also a level if `level` is below 0. */
leat_augment_step leat_augment_draw(const leat_augment_range *range, leat_rng *rng, int64_t level,
                                    int64_t bins, const leat_shape *in);

/* shape() and apply() of ops whose draw is a leat_augment_steps. */
int leat_augment_shape(const char *op, const leat_augment_options *options, const leat_shape *in,
                       leat_shape *out, leat_error *err);
int leat_augment_apply(const char *op, const leat_augment_options *options, const leat_draw *draw,
                       const leat_view *in, const leat_view *out, leat_scratch *scratch,
                       leat_error *err);

/* --- tone.c ---------------------------------------------------------------------------------- */

/* Keeps the upper `amount` bits (0 to 8). */
leat_color_fn leat_tone_posterize;

/* Inverts values x ≥ amount to 255 - x. */
leat_color_fn leat_tone_solarize;

/* Stretches each channel to the full range: (x - least) * 255 / (most - least), to the nearest. A
 * channel with a single value does not change. `amount` is not used. */
leat_color_fn leat_tone_autocontrast;

/* Flattens the histogram of each channel: (pixels below x + step / 2) / step in integers, with
 * step = (pixels - those of the largest value) / 255. If step is 0, the channel does not change.
 * `amount` is not used. */
leat_color_fn leat_tone_equalize;

/* (x - smooth) * factor + smooth. `smooth` is the mean of the 3 x 3 pixels with the middle counted five
 * times, to the nearest. Border pixels do not change. `to` must not be `from`. */
void leat_tone_sharpness(uint8_t *to, const uint8_t *from, size_t height, size_t width,
                         size_t channels, int32_t factor);

#endif
