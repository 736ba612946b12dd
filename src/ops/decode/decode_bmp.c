/* SPDX-License-Identifier: MIT
 *
 * decode_bmp: Windows bitmaps to a uint8 image. It reads 8 bits with a palette, and 24 and 32 bits without
 * compression (the fourth byte is ignored), with rows bottom-up or top-down. */
#include <stdbool.h>

#include "decode.h"
#include "formats/little_endian.h"
#include "ops/op_list.h"

static const char *const channel_choices[] = { "0", "1", "3", NULL };

static const leat_option options[] = { LEAT_OPTION_ENUM(leat_decode_options, channels, "3",
                                                        channel_choices, "3 or 0: RGB, 1: gray"),
                                       LEAT_DECODE_MAX_PIXELS, LEAT_OPTION_END };

typedef struct bmp_header {
    int64_t height, width;
    bool is_top_down;
    uint32_t bits;                   /* per pixel */
    const uint8_t *palette, *pixels; /* in the file */
    uint32_t n_colors;               /* of the palette */
    size_t row_bytes;                /* a multiple of 4 */
} bmp_header;

static int fail(leat_error *err, const char *what)
{
    return leat_fail(err, LEAT_E_DATA, "decode_bmp: %s", what);
}

static int read_palette(const uint8_t *bytes, uint32_t header_bytes, uint32_t pixels_at,
                        bmp_header *h, leat_error *err)
{
    h->palette = bytes + 14 + header_bytes;
    h->n_colors = leat_load_u32(bytes + 46) ? leat_load_u32(bytes + 46) : 256;
    if (h->n_colors > 256 || 14 + (uint64_t)header_bytes + 4 * h->n_colors > pixels_at)
        return fail(err, "the palette overlaps the pixels");
    return LEAT_OK;
}

static int read_header(const leat_view *in, bmp_header *h, leat_error *err)
{
    const uint8_t *bytes = in->data;
    const size_t n = (size_t)in->shape.dims[0];
    if (n < 54 || bytes[0] != 'B' || bytes[1] != 'M')
        return fail(err, "not a BMP: it does not start with BM and a header of 54 bytes");
    const uint32_t pixels_at = leat_load_u32(bytes + 10), header_bytes = leat_load_u32(bytes + 14);
    const int64_t height = (int32_t)leat_load_u32(bytes + 22);
    *h = (bmp_header){ .width = (int32_t)leat_load_u32(bytes + 18),
                       .height = height < 0 ? -height : height,
                       .is_top_down = height < 0,
                       .bits = leat_load_u16(bytes + 28) };
    if (header_bytes < 40 || header_bytes > n || pixels_at > n)
        return fail(err, "the header has an offset outside of the file");
    if (leat_load_u32(bytes + 30) || (h->bits != 8 && h->bits != 24 && h->bits != 32))
        return leat_fail(err, LEAT_E_DATA,
                         "decode_bmp: %u bits with compression %u; only 8, 24 and 32 bits without "
                         "are read",
                         h->bits, leat_load_u32(bytes + 30));
    if (h->width < 1 || h->height < 1 || h->height > INT32_MAX)
        return leat_fail(err, LEAT_E_DATA, "decode_bmp: the header says %lld x %lld pixels",
                         (long long)h->height, (long long)h->width);
    h->row_bytes = ((size_t)h->width * h->bits / 8 + 3) & ~(size_t)3;
    h->pixels = bytes + pixels_at;
    if ((size_t)h->height > (n - pixels_at) / h->row_bytes)
        return fail(err, "it ends before its last row");
    return h->bits == 8 ? read_palette(bytes, header_bytes, pixels_at, h, err) : LEAT_OK;
}

static int shape(const void *opts, const leat_shape *in, leat_shape *out, leat_error *err)
{
    return leat_decode_shape("decode_bmp", opts, in, out, err);
}

static int measure(const void *opts, const leat_view *in, leat_shape *out, leat_scratch *scratch,
                   leat_error *err)
{
    bmp_header h;
    (void)scratch;
    const int rc = read_header(in, &h, err);
    return rc == LEAT_OK ? leat_decode_size("decode_bmp", opts, h.height, h.width, 3, out, err)
                         : rc;
}

static int read_row(const bmp_header *h, const uint8_t *from, uint8_t *to, int64_t channels,
                    leat_error *err)
{
    for (int64_t x = 0; x < h->width; x++, from += h->bits / 8, to += channels) {
        if (h->bits == 8 && *from >= h->n_colors)
            return fail(err, "a pixel beyond the palette");
        const uint8_t *bgr = h->bits == 8 ? h->palette + 4 * *from : from;
        const uint8_t rgb[3] = { bgr[2], bgr[1], bgr[0] };
        leat_decode_put(to, rgb, 1, channels);
    }
    return LEAT_OK;
}

static int apply(const void *opts, const leat_draw *draw, const leat_view *in, const leat_view *out,
                 leat_scratch *scratch, leat_error *err)
{
    const size_t stride = (size_t)(out->shape.dims[1] * out->shape.dims[2]);
    bmp_header h;
    (void)opts;
    (void)draw;
    (void)scratch;
    int rc = read_header(in, &h, err);
    for (int64_t y = 0; y < h.height && rc == LEAT_OK; y++) {
        const int64_t row = h.is_top_down ? y : h.height - 1 - y;
        rc = read_row(&h, h.pixels + (size_t)row * h.row_bytes,
                      (uint8_t *)out->data + (size_t)y * stride, out->shape.dims[2], err);
    }
    return rc;
}

const leat_op leat_op_decode_bmp = {
    .name = "decode_bmp",
    .help = "decode BMP bytes to an uint8 image [height, width, channels]",
    .options_size = sizeof(leat_decode_options),
    .options = options,
    .flags = LEAT_OP_DECODE | LEAT_OP_IMAGE,
    .shape = shape,
    .measure = measure,
    .apply = apply,
};
