/* SPDX-License-Identifier: MIT
 *
 * random_erasing: overwrites a box of random area and aspect ratio (Zhong et al., "Random Erasing
 * Data Augmentation", 2020). The draws follow torchvision's RandomErasing: ten tries for a box that is
 * smaller than the image on both sides, else no box. */
#include <math.h>
#include <string.h>

#include "op_list.h"
#include "ops/image/image.h"

enum { N_TRIES = 10 };

typedef struct erasing_options {
    float p;
    leat_f32s scale, ratio, value;
} erasing_options;

static const leat_option options[] = {
    LEAT_OPTION_F32(erasing_options, p, "0.5", 0, 1, "probability of erasing"),
    LEAT_OPTION_F32S(erasing_options, scale, "[0.02, 0.33]", 1e-6, 1,
                     "smallest and largest area of the box, as a share of the image"),
    LEAT_OPTION_F32S(erasing_options, ratio, "[0.3, 3.3]", 0.01, 100,
                     "smallest and largest height / width of the box"),
    LEAT_OPTION_F32S(erasing_options, value, "0", -1e6, 1e6,
                     "value that fills the box: one, or one per channel"),
    LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const erasing_options *o = opts;
    int rc = leat_image_same("random_erasing", LEAT_IMAGE_U8_F32, in, out, err);
    if (rc < 0 ||
        (rc = leat_image_expect_value("random_erasing", "value", &o->value, in, err)) < 0 ||
        (rc = leat_image_expect_range("random_erasing", "scale", &o->scale, err)) < 0)
        return rc;
    return leat_image_expect_range("random_erasing", "ratio", &o->ratio, err);
}

/* Draws all tries even if the first fits, because the number of draws must not depend on values. */
static void draw(const void *opts, leat_rng *rng, const leat_shape *in, leat_draw *out)
{
    const erasing_options *o = opts;
    const int is_on = leat_rng_f32(rng) < o->p;
    const double height = (double)in->dims[0], width = (double)in->dims[1];
    leat_image_box box = { 0 };
    for (int i = 0; i < N_TRIES; i++) {
        const double area =
            height * width *
            leat_image_draw(rng, (double)o->scale.values[0], (double)o->scale.values[1]);
        const double ratio = exp(
            leat_image_draw(rng, log((double)o->ratio.values[0]), log((double)o->ratio.values[1])));
        const double h = rint(sqrt(area * ratio)), w = rint(sqrt(area / ratio));
        if (is_on && !box.width && w >= 1 && w < width && h >= 1 && h < height) {
            box.width = (int32_t)w;
            box.height = (int32_t)h;
        }
    }
    box.y = (int32_t)leat_rng_below(rng, (uint32_t)(in->dims[0] - box.height + 1));
    box.x = (int32_t)leat_rng_below(rng, (uint32_t)(in->dims[1] - box.width + 1));
    LEAT_DRAW_PUT(out, box);
}

static void constants(const void *opts, const leat_shape *in, leat_op_constants *out)
{
    leat_image_value(&((const erasing_options *)opts)->value, in, (uint8_t *)out->values);
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const erasing_options *o = opts;
    const size_t pixel = leat_image_pixel_bytes(&in->shape);
    const size_t stride = (size_t)in->shape.dims[1] * pixel;
    uint8_t value[LEAT_IMAGE_PIXEL_MAX];
    leat_image_box box;
    (void)scratch;
    (void)err;
    LEAT_DRAW_GET(draw, box);
    if (out->data != in->data)
        memcpy(out->data, in->data, stride * (size_t)in->shape.dims[0]);
    leat_image_value(&o->value, &in->shape, value);
    uint8_t *const to = (uint8_t *)out->data + (size_t)box.y * stride + (size_t)box.x * pixel;
    if (box.height)
        leat_image_repeat(to, value, pixel, (size_t)box.width);
    for (int32_t y = 1; y < box.height; y++)
        memcpy(to + (size_t)y * stride, to, (size_t)box.width * pixel);
    return LEAT_OK;
}

const leat_op leat_op_random_erasing = {
    .name = "random_erasing",
    .help = "overwrite a box of random size and place with a probability",
    .options_size = sizeof(erasing_options),
    .options = options,
    .flags = LEAT_OP_IN_PLACE | LEAT_OP_RANDOM | LEAT_OP_KERNEL | LEAT_OP_IMAGE,
    .shape = shape,
    .draw = draw,
    .apply = apply,
    .constants = constants,
};
