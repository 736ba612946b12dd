/* SPDX-License-Identifier: MIT */
#include "decode.h"

#include <string.h>

#include "color.h"

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

static const struct {
    leat_decode_kind kind;
    const char *name, *op;
    const char *start; /* of the file */
    size_t n_start;
    const char *then; /* at byte 8; "": anything */
} kinds[] = {
    { LEAT_DECODE_JPEG, "JPEG", "decode_jpeg", "\xff\xd8", 2, "" },
    { LEAT_DECODE_PNG, "PNG", "decode_png", "\x89PNG", 4, "" },
    { LEAT_DECODE_WEBP, "WebP", "decode_webp", "RIFF", 4, "WEBP" },
    { LEAT_DECODE_BMP, "BMP", "decode_bmp", "BM", 2, "" },
    { LEAT_DECODE_PNM, "PGM", "decode_pnm", "P5", 2, "" },
    { LEAT_DECODE_PNM, "PPM", "decode_pnm", "P6", 2, "" },
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static size_t row_of(const char *bytes, size_t n)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        const size_t n_then = strlen(kinds[i].then);
        if (n >= kinds[i].n_start && !memcmp(bytes, kinds[i].start, kinds[i].n_start) &&
            (!n_then || (n >= 8 + n_then && !memcmp(bytes + 8, kinds[i].then, n_then))))
            return i;
    }
    return N_KINDS;
}

leat_decode_kind leat_decode_kind_of(const void *bytes, size_t n)
{
    const size_t row = row_of(bytes, n);
    return row < N_KINDS ? kinds[row].kind : LEAT_DECODE_KINDS;
}

int leat_decode_fail_kind(const char *op, const char *kind, const char *why, const void *bytes,
                          size_t n, leat_error *err)
{
    const size_t row = row_of(bytes, n);
    leat_fail(err, LEAT_E_DATA, "%s: not a %s: %s", op, kind, why);
    if (row == N_KINDS || !strcmp(kinds[row].op, op))
        return LEAT_E_DATA;
    char first[sizeof err->message] = "";
    if (err)
        memcpy(first, err->message, sizeof first);
    return leat_fail(err, LEAT_E_DATA,
                     "%.200s; it is a %s: use %s, or decode_image, which takes every kind", first,
                     kinds[row].name, kinds[row].op);
}

void leat_decode_put(uint8_t *to, const uint8_t *rgb, size_t n_px, int64_t channels)
{
    if (channels == 1)
        for (size_t i = 0; i < n_px; i++)
            to[i] = leat_color_gray(rgb + 3 * i);
    else if (to != rgb)
        memcpy(to, rgb, 3 * n_px);
}
