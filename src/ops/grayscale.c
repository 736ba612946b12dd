/* SPDX-License-Identifier: MIT
 *
 * grayscale: RGB to Rec. 601 luma, (19595 R + 38470 G + 7471 B + 32768) >> 16: the same as
 * Pillow, and within 1 of torchvision's rgb_to_grayscale. With p below 1 it is RandomGrayscale. */
#include <string.h>

#include "op_list.h"
#include "ops/image/color_loops.h"
#include "ops/image/image.h"

enum { ONE, THREE };
static const char *const channel_choices[] = { "1", "3", NULL };

typedef struct gray_options {
    int32_t channels;
    float p;
} gray_options;

typedef struct gray_draw {
    int32_t is_gray;
} gray_draw;

static const leat_option options[] = {
    LEAT_OPTION_ENUM(gray_options, channels, "1", channel_choices,
                     "channels of the result; 3: three equal channels"),
    LEAT_OPTION_F32(gray_options, p, "1", 0, 1,
                    "probability; below 1, channels must equal the image's"),
    LEAT_OPTION_END
};

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    const gray_options *o = opts;
    const int64_t channels = o->channels == THREE ? 3 : 1;
    char text[128];
    const int rc = leat_image_expect("grayscale", LEAT_IMAGE_U8, in, err);
    if (rc != LEAT_OK)
        return rc;
    leat_shape_text(in, text, sizeof text);
    if (in->dims[2] != LEAT_UNKNOWN_DIM && in->dims[2] != 1 && in->dims[2] != 3)
        return leat_fail(err, LEAT_E_CONFIG, "grayscale expects 1 or 3 channels, got %s", text);
    if (o->p < 1 && in->dims[2] != LEAT_UNKNOWN_DIM && in->dims[2] != channels)
        return leat_fail(err, LEAT_E_CONFIG,
                         "grayscale: p is below 1, so channels must be as in %s, not %d", text,
                         (int)channels);
    *out = *in;
    out->dims[2] = channels;
    return LEAT_OK;
}

static void draw(const void *opts, leat_rng *rng, const leat_shape *in, leat_draw *out)
{
    const gray_options *o = opts;
    const gray_draw drawn = { .is_gray = leat_rng_f32(rng) < o->p };
    (void)in;
    LEAT_DRAW_PUT(out, drawn);
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const size_t n_px = leat_image_n_px(&in->shape);
    const size_t n_in = (size_t)in->shape.dims[2], n_out = (size_t)out->shape.dims[2];
    const uint8_t *from = in->data;
    uint8_t *to = out->data;
    gray_draw drawn;
    (void)opts;
    (void)scratch;
    (void)err;
    LEAT_DRAW_GET(draw, drawn);
    if (!drawn.is_gray) {
        memcpy(to, from, n_px * n_in);
        return LEAT_OK;
    }
    if (n_in == 3)
        leat_color_loops_now()->gray(to, from, n_px, n_out);
    else
        for (size_t i = 0; i < n_px; i++, to += n_out)
            memset(to, from[i], n_out);
    return LEAT_OK;
}

const leat_op leat_op_grayscale = {
    .name = "grayscale",
    .help = "convert colours to gray, always or with a probability",
    .options_size = sizeof(gray_options),
    .options = options,
    .flags = LEAT_OP_RANDOM | LEAT_OP_IMAGE,
    .shape = shape,
    .draw = draw,
    .apply = apply,
};
