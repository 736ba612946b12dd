/* SPDX-License-Identifier: MIT
 *
 * random_crop: cuts a box of fixed size from a random place, after padding with zeros or with the
 * image itself (image.h has the modes). */
#include <string.h>

#include "fused.h"
#include "op_list.h"
#include "ops/image/image.h"

typedef struct crop_options {
    leat_i64s size;
    int64_t pad;
    int32_t mode;
} crop_options;

static const leat_option options[] = {
    LEAT_OPTION_I64S(crop_options, size, NULL, 1, 65535,
                     "height and width of the result in pixels; one number for both"),
    LEAT_OPTION_I64(crop_options, pad, "0", 0, 65535,
                    "pixels added on each side of the image first"),
    LEAT_OPTION_ENUM(crop_options, mode, "constant", leat_image_pad_modes,
                     "what is added: zeros, the edge, or the image mirrored"),
    LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const crop_options *o = opts;
    int64_t size[2] = { 0 };
    int rc = leat_image_expect("random_crop", LEAT_IMAGE_U8_F32, in, err);
    if (rc == LEAT_OK)
        rc = leat_image_size("random_crop", &o->size, &size[0], &size[1], err);
    if (rc != LEAT_OK)
        return rc;
    for (int i = 0; i < 2; i++) {
        rc = leat_image_expect_pad("random_crop", o->pad, o->mode, in, i, err);
        if (rc != LEAT_OK)
            return rc;
        if (in->dims[i] != LEAT_UNKNOWN_DIM && in->dims[i] + 2 * o->pad < size[i]) {
            char text[128];
            return leat_fail(err, LEAT_E_CONFIG,
                             "random_crop: size [%lld, %lld] is larger than the image %s with pad "
                             "%lld; use a smaller size, a larger pad, or resize first",
                             (long long)size[0], (long long)size[1],
                             leat_shape_text(in, text, sizeof text), (long long)o->pad);
        }
    }
    *out = *in;
    memcpy(out->dims, size, sizeof size);
    return LEAT_OK;
}

static void draw(const void *opts, leat_rng *rng, const leat_shape *in, leat_draw *out)
{
    const crop_options *o = opts;
    const int64_t height = o->size.values[0], width = o->size.values[o->size.n - 1];
    const int64_t y = leat_rng_below(rng, (uint32_t)(in->dims[0] + 2 * o->pad - height + 1));
    const int64_t x = leat_rng_below(rng, (uint32_t)(in->dims[1] + 2 * o->pad - width + 1));
    const leat_image_box box = { (int32_t)(y - o->pad), (int32_t)(x - o->pad), (int32_t)height,
                                 (int32_t)width };
    LEAT_DRAW_PUT(out, box);
}

static void constants(const void *opts, const leat_shape *in, leat_op_constants *out)
{
    (void)in;
    out->words[0] = ((const crop_options *)opts)->mode;
}

bool leat_random_crop_pads(const void *opts)
{
    return ((const crop_options *)opts)->pad > 0;
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    leat_image_box box;
    (void)scratch;
    (void)err;
    LEAT_DRAW_GET(draw, box);
    leat_image_crop(in, out, &box, ((const crop_options *)opts)->mode);
    return LEAT_OK;
}

const leat_op leat_op_random_crop = {
    .name = "random_crop",
    .help = "cut a box of fixed size from a random place, after padding",
    .options_size = sizeof(crop_options),
    .options = options,
    .flags = LEAT_OP_RANDOM | LEAT_OP_KERNEL | LEAT_OP_IMAGE,
    .shape = shape,
    .draw = draw,
    .apply = apply,
    .constants = constants,
};
