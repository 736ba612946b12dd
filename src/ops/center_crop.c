/* SPDX-License-Identifier: MIT
 *
 * center_crop: cuts a box of fixed size from the middle. If the margin is odd, the extra row or column is
 * below or to the right. */
#include <string.h>

#include "fused.h"
#include "op_list.h"

typedef struct crop_options {
    leat_i64s size;
} crop_options;

static const leat_option options[] = {
    LEAT_OPTION_I64S(crop_options, size, NULL, 1, 65535,
                     "height and width of the result in pixels; one number for both"),
    LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const crop_options *o = opts;
    int64_t size[2] = { 0 };
    int rc = leat_image_expect("center_crop", LEAT_IMAGE_U8_F32, in, err);
    if (rc == LEAT_OK)
        rc = leat_image_size("center_crop", &o->size, &size[0], &size[1], err);
    if (rc != LEAT_OK)
        return rc;
    for (int i = 0; i < 2; i++)
        if (in->dims[i] != LEAT_UNKNOWN_DIM && in->dims[i] < size[i]) {
            char text[128];
            return leat_fail(err, LEAT_E_CONFIG,
                             "center_crop: size [%lld, %lld] is larger than the image %s; use a "
                             "smaller size or resize first",
                             (long long)size[0], (long long)size[1],
                             leat_shape_text(in, text, sizeof text));
        }
    *out = *in;
    memcpy(out->dims, size, sizeof size);
    return LEAT_OK;
}

leat_image_box leat_center_crop_box(const leat_shape *in, int32_t height, int32_t width)
{
    return (leat_image_box){ (int32_t)(in->dims[0] - height) / 2,
                             (int32_t)(in->dims[1] - width) / 2, height, width };
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const leat_image_box box =
        leat_center_crop_box(&in->shape, (int32_t)out->shape.dims[0], (int32_t)out->shape.dims[1]);
    (void)opts;
    (void)draw;
    (void)scratch;
    (void)err;
    leat_image_crop(in, out, &box, LEAT_PAD_CONSTANT);
    return LEAT_OK;
}

const leat_op leat_op_center_crop = {
    .name = "center_crop",
    .help = "cut a box of fixed size from the middle; the smaller margin is above and left",
    .options_size = sizeof(crop_options),
    .options = options,
    .flags = LEAT_OP_KERNEL | LEAT_OP_IMAGE,
    .shape = shape,
    .apply = apply,
};
