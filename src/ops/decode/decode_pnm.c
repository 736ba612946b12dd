/* SPDX-License-Identifier: MIT
 *
 * decode_pnm: binary PGM (P5) and PPM (P6) to a uint8 image. Values are scaled from 0 … maxval to 0 … 255
 * and rounded to the nearest. Values above maxval saturate. */
#include <string.h>

#include "decode.h"
#include "ops/image/color.h"
#include "ops/op_list.h"

static const char *const channel_choices[] = { "0", "1", "3", NULL };

static const leat_option options[] = { LEAT_OPTION_ENUM(leat_decode_options, channels, "3",
                                                        channel_choices,
                                                        "3: RGB, 1: gray, 0: as stored"),
                                       LEAT_DECODE_MAX_PIXELS, LEAT_OPTION_END };

typedef struct pnm_header {
    int64_t width, height, maxval;
    int64_t channels; /* stored */
    const uint8_t *samples;
} pnm_header;

static int is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Reads a number after blanks and comments; -1 if it is missing or above 2^31 - 1. */
static int64_t read_number(const uint8_t *bytes, size_t n, size_t *at)
{
    int64_t value = -1;
    for (; *at < n && (is_blank(bytes[*at]) || bytes[*at] == '#'); (*at)++)
        if (bytes[*at] == '#')
            while (*at < n && bytes[*at] != '\n')
                (*at)++;
    for (; *at < n && bytes[*at] >= '0' && bytes[*at] <= '9'; (*at)++) {
        value = (value < 0 ? 0 : value) * 10 + bytes[*at] - '0';
        if (value > INT32_MAX)
            return -1;
    }
    return value;
}

static int read_header(const leat_view *in, pnm_header *h, leat_error *err)
{
    const uint8_t *bytes = in->data;
    const size_t n = (size_t)in->shape.dims[0];
    size_t at = 2;
    if (n < 3 || bytes[0] != 'P' || (bytes[1] != '5' && bytes[1] != '6') ||
        !(is_blank(bytes[2]) || bytes[2] == '#'))
        return leat_fail(err, LEAT_E_DATA,
                         "decode_pnm: not a binary PGM or PPM: it does not start with P5 or P6");
    h->channels = bytes[1] == '5' ? 1 : 3;
    h->width = read_number(bytes, n, &at);
    h->height = read_number(bytes, n, &at);
    h->maxval = read_number(bytes, n, &at);
    if (h->width < 1 || h->height < 1 || h->maxval < 1 || h->maxval > 65535 || at >= n ||
        !is_blank(bytes[at]))
        return leat_fail(err, LEAT_E_DATA,
                         "decode_pnm: the header is not a width, a height and a maximum of 1 to "
                         "65535");
    h->samples = bytes + at + 1;
    const uint64_t row_bytes =
        (uint64_t)h->width * (uint64_t)h->channels * (h->maxval > 255 ? 2 : 1);
    if ((uint64_t)h->height > (n - at - 1) / row_bytes)
        return leat_fail(err, LEAT_E_DATA, "decode_pnm: it ends before its last row");
    return LEAT_OK;
}

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    return leat_decode_shape("decode_pnm", opts, in, out, err);
}

static int measure(const void *opts, const leat_view *in, leat_shape *out, leat_scratch *scratch,
                   leat_error *err)
{
    pnm_header h;
    (void)scratch;
    const int rc = read_header(in, &h, err);
    return rc == LEAT_OK
               ? leat_decode_size("decode_pnm", opts, h.height, h.width, h.channels, out, err)
               : rc;
}

static uint8_t sample_at(const pnm_header *h, size_t i)
{
    const uint8_t *at = h->samples + i * (h->maxval > 255 ? 2 : 1);
    const int64_t x = h->maxval > 255 ? at[0] << 8 | at[1] : at[0];
    return leat_color_clamp((x * 255 + h->maxval / 2) / h->maxval);
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const int64_t channels = out->shape.dims[2];
    const size_t n_px = (size_t)(out->shape.dims[0] * out->shape.dims[1]);
    uint8_t *to = out->data;
    pnm_header h;
    (void)opts;
    (void)draw;
    (void)scratch;
    const int rc = read_header(in, &h, err);
    for (size_t i = 0; i < n_px && rc == LEAT_OK; i++, to += channels) {
        uint8_t rgb[3];
        for (size_t c = 0; c < 3; c++)
            rgb[c] = sample_at(&h, h.channels == 1 ? i : 3 * i + c);
        if (h.channels == 1)
            memset(to, rgb[0], (size_t)channels);
        else
            leat_decode_put(to, rgb, 1, channels);
    }
    return rc;
}

const leat_op leat_op_decode_pnm = {
    .name = "decode_pnm",
    .help = "decode binary PGM or PPM bytes to an uint8 image [height, width, channels]",
    .options_size = sizeof(leat_decode_options),
    .options = options,
    .flags = LEAT_OP_DECODE | LEAT_OP_IMAGE,
    .shape = shape,
    .measure = measure,
    .apply = apply,
};
