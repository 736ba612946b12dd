/* SPDX-License-Identifier: MIT */
#include "image_file.h"

#include <setjmp.h>
#include <spng.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#define SCRATCH_LEAST ((size_t)4 << 20)
#define SCRATCH_BYTES ((size_t)4 << 30) /* address space; memory is used only where written */

void leat_image_reader_fini(leat_image_reader *reader)
{
    leat_scratch_close(&reader->scratch);
    free(reader->options);
    free(reader->pixels);
    *reader = (leat_image_reader){ .room = 0 };
}

static int reserve(leat_image_reader *reader, size_t n, leat_error *err)
{
    if (n <= reader->room)
        return LEAT_OK;
    uint8_t *pixels = realloc(reader->pixels, n);
    if (!pixels)
        return leat_fail(err, LEAT_E_NOMEM, "cannot allocate %zu bytes of pixels", n);
    reader->pixels = pixels;
    reader->room = n;
    return LEAT_OK;
}

int leat_image_scratch_open(leat_scratch **out, size_t most, leat_error *err)
{
    int rc;
    while ((rc = leat_scratch_open(out, most, err)) < 0 && most > SCRATCH_LEAST)
        most /= 2;
    return rc;
}

static int open_decoder(leat_image_reader *reader, const leat_op *decode, leat_error *err)
{
    if (!reader->options && !(reader->options = calloc(1, decode->options_size)))
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    leat_option_init(decode->options, reader->options);
    if (!reader->scratch)
        return leat_image_scratch_open(&reader->scratch, SCRATCH_BYTES, err);
    leat_scratch_reset(reader->scratch);
    return LEAT_OK;
}

int leat_image_reader_read(leat_image_reader *reader, const void *bytes, size_t n, bool whole,
                           leat_image_header *out, leat_error *err)
{
    const leat_op *const decode = leat_op_find("decode_image");
    const int64_t size = (int64_t)n;
    const leat_view in = { leat_shape_make(LEAT_U8, 1, &size), (void *)(uintptr_t)bytes, NULL };
    const leat_draw plan = { { 0 } };
    leat_view pixels = { .data = NULL };
    *out = (leat_image_header){ .format = leat_image_format_of(bytes, n) };
    if (out->format == LEAT_IMAGE_NONE)
        return leat_fail(err, LEAT_E_DATA,
                         n ? "no image: not " LEAT_IMAGE_FORMAT_NAMES : "an empty file");
    int rc = open_decoder(reader, decode, err);
    if (rc == LEAT_OK)
        rc = decode->measure(reader->options, &in, &pixels.shape, reader->scratch, err);
    if (rc < 0)
        return rc;
    out->height = pixels.shape.dims[0];
    out->width = pixels.shape.dims[1];
    if (!whole || (rc = reserve(reader, (size_t)leat_shape_bytes(&pixels.shape), err)) < 0)
        return rc;
    pixels.data = reader->pixels;
    return decode->apply(reader->options, &plan, &in, &pixels, reader->scratch, err);
}

/* --- writing -------------------------------------------------------------------------------------*/

enum { QUALITY = 90 };

struct encoder {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr manager;
    jmp_buf back;
    char text[JMSG_LENGTH_MAX];
    unsigned char *bytes;
    unsigned long n;
};

static void on_error(j_common_ptr jpeg)
{
    struct encoder *encoder = jpeg->client_data;
    jpeg->err->format_message(jpeg, encoder->text);
    longjmp(encoder->back, 1);
}

static int compress(struct encoder *encoder, const uint8_t *pixels, int size)
{
    struct jpeg_compress_struct *jpeg = &encoder->jpeg;
    if (setjmp(encoder->back))
        return -1;
    jpeg_create_compress(jpeg);
    jpeg_mem_dest(jpeg, &encoder->bytes, &encoder->n);
    jpeg->image_width = jpeg->image_height = (JDIMENSION)size;
    jpeg->input_components = 3;
    jpeg->in_color_space = JCS_RGB;
    jpeg_set_defaults(jpeg);
    jpeg_set_quality(jpeg, QUALITY, TRUE);
    jpeg->dct_method = JDCT_ISLOW; /* exact in integers: the same bytes everywhere */
    jpeg_start_compress(jpeg, TRUE);
    while (jpeg->next_scanline < jpeg->image_height) {
        JSAMPROW row = (JSAMPROW)(pixels + (size_t)jpeg->next_scanline * (size_t)size * 3);
        jpeg_write_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_compress(jpeg);
    return 0;
}

int leat_image_encode_jpeg(const uint8_t *pixels, int size, uint8_t **out, size_t *n,
                           leat_error *err)
{
    struct encoder encoder = { .text = "" };
    encoder.jpeg.err = jpeg_std_error(&encoder.manager);
    encoder.manager.error_exit = on_error;
    encoder.jpeg.client_data = &encoder;
    const int bad = compress(&encoder, pixels, size);
    jpeg_destroy_compress(&encoder.jpeg);
    if (bad)
        free(encoder.bytes);
    *out = bad ? NULL : encoder.bytes;
    *n = encoder.n;
    return bad ? leat_fail(err, LEAT_E_NOMEM, "JPEG: %s", encoder.text) : LEAT_OK;
}

int leat_image_encode_png(const uint8_t *pixels, int height, int width, uint8_t **out, size_t *n,
                          leat_error *err)
{
    struct spng_ihdr header = { .width = (uint32_t)width,
                                .height = (uint32_t)height,
                                .bit_depth = 8,
                                .color_type = SPNG_COLOR_TYPE_TRUECOLOR };
    char said[] = "made by leat"; /* the first chunk after IHDR tells whose a file is */
    struct spng_text text = {
        .keyword = "leat", .type = SPNG_TEXT, .length = sizeof said - 1, .text = said
    };
    spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
    int bad = png ? 0 : SPNG_EMEM;
    *out = NULL;
    if (!bad)
        bad = spng_set_option(png, SPNG_ENCODE_TO_BUFFER, 1);
    if (!bad)
        bad = spng_set_ihdr(png, &header);
    if (!bad)
        bad = spng_set_text(png, &text, 1);
    if (!bad)
        bad = spng_encode_image(png, pixels, (size_t)height * (size_t)width * 3, SPNG_FMT_PNG,
                                SPNG_ENCODE_FINALIZE);
    if (!bad)
        *out = spng_get_png_buffer(png, n, &bad);
    spng_ctx_free(png);
    return bad ? leat_fail(err, LEAT_E_NOMEM, "PNG: %s", spng_strerror(bad)) : LEAT_OK;
}
