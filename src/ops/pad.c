/* SPDX-License-Identifier: MIT
 *
 * pad: adds rows and columns around an image: one value, the pixels of the edge, or the image mirrored
 * (image.h has the modes). */
#include <string.h>

#include "op_list.h"
#include "ops/image/image.h"

typedef struct pad_options {
    leat_i64s pixels;
    leat_f32s value;
    int32_t mode;
} pad_options;

static const leat_option options[] = {
    LEAT_OPTION_I64S(pad_options, pixels, NULL, 0, 65535,
                     "pixels on each side; or [above and below, left and right]; or [above, below, "
                     "left, right]"),
    LEAT_OPTION_ENUM(pad_options, mode, "constant", leat_image_pad_modes,
                     "what is added: value, the edge, or the image mirrored"),
    LEAT_OPTION_F32S(pad_options, value, "0", -1e6, 1e6,
                     "value of constant padding: one, or one per channel; rounded for uint8"),
    LEAT_OPTION_END
};

typedef struct sides {
    int64_t before[2], after[2]; /* rows, columns */
} sides;

static sides sides_of(const leat_i64s *pixels)
{
    const int64_t *v = pixels->values;
    if (pixels->n == 4)
        return (sides){ { v[0], v[2] }, { v[1], v[3] } };
    return (sides){ { v[0], v[pixels->n - 1] }, { v[0], v[pixels->n - 1] } };
}

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const pad_options *o = opts;
    if (o->pixels.n != 1 && o->pixels.n != 2 && o->pixels.n != 4)
        return leat_fail(err, LEAT_E_CONFIG, "pad: pixels is 1, 2 or 4 numbers, got %d",
                         (int)o->pixels.n);
    int rc = leat_image_same("pad", LEAT_IMAGE_U8_F32, in, out, err);
    if (rc == LEAT_OK)
        rc = leat_image_expect_value("pad", "value", &o->value, in, err);
    if (rc != LEAT_OK)
        return rc;
    const sides s = sides_of(&o->pixels);
    for (int i = 0; i < 2; i++) {
        const int64_t most = s.before[i] > s.after[i] ? s.before[i] : s.after[i];
        rc = leat_image_expect_pad("pad", most, o->mode, in, i, err);
        if (rc != LEAT_OK)
            return rc;
        if (in->dims[i] != LEAT_UNKNOWN_DIM)
            out->dims[i] = in->dims[i] + s.before[i] + s.after[i];
    }
    return LEAT_OK;
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const pad_options *o = opts;
    const sides s = sides_of(&o->pixels);
    const size_t pixel = leat_image_pixel_bytes(&in->shape);
    const int64_t height = in->shape.dims[0], width = in->shape.dims[1];
    uint8_t value[LEAT_IMAGE_PIXEL_MAX], *to = out->data;
    (void)draw;
    (void)scratch;
    (void)err;
    leat_image_value(&o->value, &in->shape, value);
    for (int64_t y = -s.before[0]; y < height + s.after[0]; y++) {
        const int64_t row = leat_image_pad_source(y, height, o->mode);
        if (row < 0) {
            leat_image_repeat(to, value, pixel, (size_t)out->shape.dims[1]);
            to += (size_t)out->shape.dims[1] * pixel;
            continue;
        }
        const uint8_t *from = (const uint8_t *)in->data + (size_t)(row * width) * pixel;
        for (int64_t x = -s.before[1]; x < width + s.after[1]; x++, to += pixel) {
            const int64_t column = leat_image_pad_source(x, width, o->mode);
            memcpy(to, column < 0 ? value : from + (size_t)column * pixel, pixel);
            if (x == 0) { /* copy the whole input row at once */
                memcpy(to, from, (size_t)width * pixel);
                to += (size_t)(width - 1) * pixel;
                x = width - 1;
            }
        }
    }
    return LEAT_OK;
}

const leat_op leat_op_pad = {
    .name = "pad",
    .help = "add rows and columns around an image",
    .options_size = sizeof(pad_options),
    .options = options,
    .flags = LEAT_OP_IMAGE,
    .shape = shape,
    .apply = apply,
};
