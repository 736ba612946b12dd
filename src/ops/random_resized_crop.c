/* SPDX-License-Identifier: MIT
 *
 * random_resized_crop: cuts a box of random area and aspect ratio and resizes it (Szegedy et al.,
 * "Going Deeper with Convolutions", 2015). The draws follow torchvision's RandomResizedCrop: ten tries,
 * then the largest box of an allowed ratio in the middle. */
#include <math.h>
#include <string.h>

#include "op_list.h"
#include "ops/image/resample.h"
#include "resizing.h"

enum { N_TRIES = 10 };

typedef struct crop_options {
    leat_i64s size;
    leat_f32s scale, ratio;
    int32_t interpolation;
} crop_options;

static const leat_option options[] = {
    LEAT_OPTION_I64S(crop_options, size, NULL, 1, 65535,
                     "height and width of the result in pixels; one number for both"),
    LEAT_OPTION_F32S(crop_options, scale, "[0.08, 1]", 1e-6, 1,
                     "smallest and largest area of the box, as a share of the image"),
    LEAT_OPTION_F32S(crop_options, ratio, "[0.75, 1.3333334]", 0.01, 100,
                     "smallest and largest width / height of the box"),
    LEAT_OPTION_ENUM(crop_options, interpolation, "bilinear", leat_resample_names,
                     LEAT_RESAMPLE_HELP),
    LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const crop_options *o = opts;
    int64_t size[2] = { 0 };
    int rc = leat_image_expect("random_resized_crop", LEAT_IMAGE_U8_F32, in, err);
    if (rc < 0 ||
        (rc = leat_image_size("random_resized_crop", &o->size, &size[0], &size[1], err)) < 0 ||
        (rc = leat_image_expect_range("random_resized_crop", "scale", &o->scale, err)) < 0 ||
        (rc = leat_image_expect_range("random_resized_crop", "ratio", &o->ratio, err)) < 0)
        return rc;
    *out = *in;
    memcpy(out->dims, size, sizeof size);
    return LEAT_OK;
}

/* Draws all tries even if the first fits: what is drawn next does not depend on which one did. */
static leat_image_box draw_size(const crop_options *o, leat_rng *rng, double height, double width)
{
    const double log_low = log((double)o->ratio.values[0]);
    const double log_high = log((double)o->ratio.values[1]);
    leat_image_box box = { 0 };
    for (int i = 0; i < N_TRIES; i++) {
        const double area =
            height * width *
            leat_image_draw(rng, (double)o->scale.values[0], (double)o->scale.values[1]);
        const double ratio = exp(leat_image_draw(rng, log_low, log_high));
        const double w = rint(sqrt(area * ratio)), h = rint(sqrt(area / ratio));
        if (!box.width && w >= 1 && w <= width && h >= 1 && h <= height) {
            box.width = (int32_t)w;
            box.height = (int32_t)h;
        }
    }
    return box;
}

/* The size of the largest box of an allowed ratio. */
static leat_image_box fallback_size(const crop_options *o, double height, double width)
{
    const double least = (double)o->ratio.values[0], most = (double)o->ratio.values[1];
    double h = height, w = width;
    if (width / height < least)
        h = fmax(1, fmin(height, rint(width / least)));
    else if (width / height > most)
        w = fmax(1, fmin(width, rint(height * most)));
    return (leat_image_box){ .height = (int32_t)h, .width = (int32_t)w };
}

static void draw(const void *opts, leat_rng *rng, const leat_shape *in, leat_draw *out)
{
    const crop_options *o = opts;
    const int32_t height = (int32_t)in->dims[0], width = (int32_t)in->dims[1];
    leat_image_box box = draw_size(o, rng, height, width);
    if (box.width) {
        box.y = (int32_t)leat_rng_below(rng, (uint32_t)(height - box.height + 1));
        box.x = (int32_t)leat_rng_below(rng, (uint32_t)(width - box.width + 1));
    } else {
        box = fallback_size(o, height, width);
        box.y = (height - box.height) / 2;
        box.x = (width - box.width) / 2;
    }
    LEAT_DRAW_PUT(out, box);
}

int32_t leat_random_resized_crop_interpolation(const void *options_)
{
    return ((const crop_options *)options_)->interpolation;
}

static void constants(const void *opts, const leat_shape *in, leat_op_constants *out)
{
    (void)in;
    out->words[0] = leat_random_resized_crop_interpolation(opts);
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    leat_image_box box;
    LEAT_DRAW_GET(draw, box);
    return leat_resample(in, &box, out, leat_random_resized_crop_interpolation(opts), scratch, err);
}

const leat_op leat_op_random_resized_crop = {
    .name = "random_resized_crop",
    .help = "cut a box of random area and aspect ratio and resize it",
    .options_size = sizeof(crop_options),
    .options = options,
    .flags = LEAT_OP_RANDOM | LEAT_OP_KERNEL | LEAT_OP_IMAGE,
    .shape = shape,
    .draw = draw,
    .apply = apply,
    .constants = constants,
};
