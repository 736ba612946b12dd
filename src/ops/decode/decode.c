/* SPDX-License-Identifier: MIT
 *
 * decode.c: checks and messages that the ops decoding images share (decode.h). */
#include "decode.h"

#include <string.h>

#include "formats/image_format.h"
#include "ops/image/color.h"
#include "ops/op_list.h"

int leat_decode_shape(const char *op, const leat_decode_options *options, const leat_shape *in,
                      leat_shape *out, leat_error *err)
{
    static const int64_t channels[] = { LEAT_UNKNOWN_DIM, 1, 3, 4 };
    char text[128];
    if (in->dtype != LEAT_U8 || in->rank != 1)
        return leat_fail(err, LEAT_E_CONFIG, "%s expects bytes (uint8[n]), got %s", op,
                         leat_shape_text(in, text, sizeof text));
    *out = (leat_shape){ LEAT_U8,
                         3,
                         { LEAT_UNKNOWN_DIM, LEAT_UNKNOWN_DIM, channels[options->channels] } };
    return LEAT_OK;
}

int leat_decode_size(const char *op, const leat_decode_options *options, int64_t height,
                     int64_t width, int64_t stored, leat_shape *out, leat_error *err)
{
    static const int64_t channels[] = { 0, 1, 3, 4 };
    if (height * width > options->max_pixels)
        return leat_fail(err, LEAT_E_DATA, "%s: %lld x %lld pixels are more than max_pixels (%lld)",
                         op, (long long)height, (long long)width, (long long)options->max_pixels);
    const int64_t wanted = channels[options->channels];
    *out = (leat_shape){ LEAT_U8, 3, { height, width, wanted ? wanted : stored } };
    return LEAT_OK;
}

int leat_decode_fail_kind(const char *op, const char *kind, const char *why, const void *bytes,
                          size_t n, leat_error *err)
{
    const leat_image_format format = leat_image_format_of(bytes, n);
    if (n == 0)
        return leat_fail(err, LEAT_E_DATA, "%s: not a %s: the file is empty", op, kind);
    if (format == LEAT_IMAGE_NONE ||
        !strcmp(leat_image_format_word(format), op + strlen("decode_")))
        return leat_fail(err, LEAT_E_DATA, "%s: not a %s: %s", op, kind, why);
    return leat_fail(err, LEAT_E_DATA,
                     "%s: not a %s: %s; it is a %s: use decode_%s, or decode_image, which takes "
                     "every kind",
                     op, kind, why, leat_image_format_name(format), leat_image_format_word(format));
}

bool leat_decode_fuses(const leat_op *op, const void *options)
{
    return op == &leat_op_decode_image ||
           (op == &leat_op_decode_jpeg &&
            ((const leat_decode_options *)options)->scale == LEAT_DECODE_SCALE_1);
}

void leat_decode_put(uint8_t *to, const uint8_t *rgb, size_t n_px, int64_t channels)
{
    if (channels == 1)
        for (size_t i = 0; i < n_px; i++)
            to[i] = leat_color_gray(rgb + 3 * i);
    else if (to != rgb)
        memcpy(to, rgb, 3 * n_px);
}
