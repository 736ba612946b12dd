/* SPDX-License-Identifier: MIT
 *
 * image_bytes.h: images as files in memory, written by the formats' own libraries or byte by byte.
 * The caller frees `data`. */
#ifndef LEAT_IMAGE_BYTES_H
#define LEAT_IMAGE_BYTES_H

#include <spng.h>
#include <webp/encode.h>

#include "op_test.h"

/* PNG of 1 to 4 channels of 8 bits. */
static inline leat_view op_png(leat_view image)
{
    static const uint8_t colors[] = { SPNG_COLOR_TYPE_GRAYSCALE, SPNG_COLOR_TYPE_GRAYSCALE_ALPHA,
                                      SPNG_COLOR_TYPE_TRUECOLOR, SPNG_COLOR_TYPE_TRUECOLOR_ALPHA };
    struct spng_ihdr ihdr = { .width = (uint32_t)image.shape.dims[1],
                              .height = (uint32_t)image.shape.dims[0],
                              .bit_depth = 8,
                              .color_type = colors[image.shape.dims[2] - 1] };
    spng_ctx *ctx = spng_ctx_new(SPNG_CTX_ENCODER);
    size_t n_bytes = 0;
    int rc = 0;
    assert_non_null(ctx);
    spng_set_option(ctx, SPNG_ENCODE_TO_BUFFER, 1);
    spng_set_ihdr(ctx, &ihdr);
    assert_int_equal(spng_encode_image(ctx, image.data, (size_t)leat_shape_bytes(&image.shape),
                                       SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE),
                     0);
    void *bytes = spng_get_png_buffer(ctx, &n_bytes, &rc);
    const leat_view out = op_bytes(bytes, n_bytes);
    free(bytes);
    spng_ctx_free(ctx);
    return out;
}

/* WebP of 3 or 4 channels; quality 0: lossless. */
static inline leat_view op_webp(leat_view image, float quality)
{
    const int height = (int)image.shape.dims[0], width = (int)image.shape.dims[1];
    const int channels = (int)image.shape.dims[2], stride = width * channels;
    uint8_t *bytes = NULL;
    size_t n;
    if (channels == 4)
        n = quality > 0 ? WebPEncodeRGBA(image.data, width, height, stride, quality, &bytes)
                        : WebPEncodeLosslessRGBA(image.data, width, height, stride, &bytes);
    else
        n = quality > 0 ? WebPEncodeRGB(image.data, width, height, stride, quality, &bytes)
                        : WebPEncodeLosslessRGB(image.data, width, height, stride, &bytes);
    assert_true(n > 0);
    const leat_view out = op_bytes(bytes, n);
    WebPFree(bytes);
    return out;
}

static inline void op_put_u32(uint8_t *to, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(x >> 8 * i);
}

/* BMP of 1 channel (8 bits, a palette of inverted grays), 3 (24 bits) or 4 (32). */
static inline leat_view op_bmp(leat_view image, int from_above)
{
    const size_t height = (size_t)image.shape.dims[0], width = (size_t)image.shape.dims[1];
    const size_t channels = (size_t)image.shape.dims[2], n_palette = channels == 1 ? 1024 : 0;
    const size_t row = (width * channels + 3) & ~(size_t)3, start = 54 + n_palette;
    leat_view out = { .shape = { LEAT_U8, 1, { (int64_t)(start + row * height) } } };
    uint8_t *bytes = out.data = calloc(1, start + row * height);
    assert_non_null(bytes);
    memcpy(bytes, "BM", 2);
    op_put_u32(bytes + 2, (uint32_t)(start + row * height));
    op_put_u32(bytes + 10, (uint32_t)start);
    op_put_u32(bytes + 14, 40);
    op_put_u32(bytes + 18, (uint32_t)width);
    op_put_u32(bytes + 22, from_above ? 0u - (uint32_t)height : (uint32_t)height);
    op_put_u32(bytes + 26, 1 | (uint32_t)channels * 8 << 16);
    for (uint32_t i = 0; i < n_palette / 4; i++)
        op_put_u32(bytes + 54 + 4 * i, (255 - i) * 0x010101u);
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            const uint8_t *from = op_u8(image) + (y * width + x) * channels;
            uint8_t *to = bytes + start + (from_above ? y : height - 1 - y) * row + x * channels;
            for (size_t c = 0; c < channels; c++)
                to[c] = channels == 1 ? (uint8_t)(255 - *from) : from[c == 3 ? 3 : 2 - c];
        }
    return out;
}

/* PGM or PPM of 1 or 3 channels; samples above 255 are x * maxval / 255 in two bytes. */
static inline leat_view op_pnm(leat_view image, uint32_t maxval)
{
    char head[64];
    const int n_head = snprintf(head, sizeof head, "P%d # a comment\n%d\t%d\n#another\n%u\n",
                                image.shape.dims[2] == 1 ? 5 : 6, (int)image.shape.dims[1],
                                (int)image.shape.dims[0], maxval);
    const size_t n = (size_t)leat_shape_bytes(&image.shape), width = maxval > 255 ? 2 : 1;
    leat_view out = { .shape = { LEAT_U8, 1, { (int64_t)((size_t)n_head + n * width) } } };
    uint8_t *to = out.data = malloc((size_t)n_head + n * width);
    assert_non_null(to);
    memcpy(to, head, (size_t)n_head);
    to += n_head;
    for (size_t i = 0; i < n; i++) {
        const uint32_t x = (op_u8(image)[i] * maxval + 127) / 255;
        if (width == 2)
            *to++ = (uint8_t)(x >> 8);
        *to++ = (uint8_t)x;
    }
    return out;
}

#endif
