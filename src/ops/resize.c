/* SPDX-License-Identifier: MIT
 *
 * resize: resizes by one of four filters, with antialiasing when it shrinks (resample.h). */
#include <string.h>

#include "op_list.h"
#include "ops/image/image.h"
#include "ops/image/resample.h"
#include "resizing.h"

typedef struct resize_options {
    leat_i64s size;
    int32_t keep_aspect;
    int32_t interpolation;
} resize_options;

static const leat_option options[] = {
    LEAT_OPTION_I64S(resize_options, size, NULL, 1, 65535,
                     "height and width of the result in pixels; one number for both"),
    LEAT_OPTION_BOOL(resize_options, keep_aspect, "false",
                     "size is one number: the shorter side; the longer side follows"),
    LEAT_OPTION_ENUM(resize_options, interpolation, "bilinear", leat_resample_names,
                     LEAT_RESAMPLE_HELP),
    LEAT_OPTION_END
};

int leat_resize_size(const void *opts, int64_t *height, int64_t *width)
{
    const resize_options *o = opts;
    *height = o->size.values[0];
    *width = o->size.values[o->size.n - 1];
    return o->keep_aspect;
}

/* Sets the longer side so that the aspect ratio stays, rounded down. Both sides stay unknown until
 * both input sides are known. */
static void follow_aspect(const leat_shape *in, int64_t shorter, leat_shape *out)
{
    const int64_t height = in->dims[0], width = in->dims[1];
    out->dims[0] = out->dims[1] = LEAT_UNKNOWN_DIM;
    if (height == LEAT_UNKNOWN_DIM || width == LEAT_UNKNOWN_DIM)
        return;
    out->dims[0] = height <= width ? shorter : shorter * height / width;
    out->dims[1] = height <= width ? shorter * width / height : shorter;
}

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const resize_options *o = opts;
    int64_t height, width;
    int rc = leat_image_expect("resize", LEAT_IMAGE_U8_F32, in, err);
    if (rc == LEAT_OK)
        rc = leat_image_size("resize", &o->size, &height, &width, err);
    if (rc != LEAT_OK)
        return rc;
    if (o->keep_aspect && o->size.n != 1)
        return leat_fail(err, LEAT_E_CONFIG,
                         "resize: with keep_aspect, size is one number (the shorter side), got %d",
                         (int)o->size.n);
    *out = *in;
    out->dims[0] = height;
    out->dims[1] = width;
    if (o->keep_aspect)
        follow_aspect(in, height, out);
    return LEAT_OK;
}

int32_t leat_resize_interpolation(const void *options_)
{
    return ((const resize_options *)options_)->interpolation;
}

static void constants(const void *opts, const leat_shape *in, leat_op_constants *out)
{
    (void)in;
    out->words[0] = leat_resize_interpolation(opts);
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const leat_image_box whole = { 0, 0, (int32_t)in->shape.dims[0], (int32_t)in->shape.dims[1] };
    (void)draw;
    return leat_resample(in, &whole, out, leat_resize_interpolation(opts), scratch, err);
}

const leat_op leat_op_resize = {
    .name = "resize",
    .help = "resize, antialiased when it shrinks",
    .options_size = sizeof(resize_options),
    .options = options,
    .flags = LEAT_OP_KERNEL | LEAT_OP_IMAGE,
    .shape = shape,
    .apply = apply,
    .constants = constants,
};
