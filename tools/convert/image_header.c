/* SPDX-License-Identifier: MIT */
#include "image_header.h"

#include <setjmp.h>
#include <spng.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "leat/op.h"

#define SCRATCH_BYTES ((size_t)4 << 30) /* address space; memory is used only where written */

struct leat_image_reader {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr manager;
    jmp_buf back;
    char text[JMSG_LENGTH_MAX]; /* the error, or the first warning */
    uint8_t *memory;            /* pixels of leat_image_reader_verify() */
    size_t room;
    void *options;         /* of decode_image, for all other kinds; NULL: not used yet */
    leat_scratch *scratch; /* and its memory */
};

static void on_error(j_common_ptr jpeg)
{
    leat_image_reader *reader = jpeg->client_data;
    jpeg->err->format_message(jpeg, reader->text);
    longjmp(reader->back, 1);
}

static void on_message(j_common_ptr jpeg, int level)
{
    leat_image_reader *reader = jpeg->client_data;
    if (level < 0 && jpeg->err->num_warnings++ == 0)
        jpeg->err->format_message(jpeg, reader->text);
}

static int create(leat_image_reader *reader)
{
    if (setjmp(reader->back))
        return -1;
    jpeg_create_decompress(&reader->jpeg);
    return 0;
}

leat_image_reader *leat_image_reader_open(void)
{
    leat_image_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    reader->jpeg.err = jpeg_std_error(&reader->manager);
    reader->manager.error_exit = on_error;
    reader->manager.emit_message = on_message;
    reader->jpeg.client_data = reader;
    if (create(reader) < 0)
        leat_image_reader_close(&reader);
    return reader;
}

void leat_image_reader_close(leat_image_reader **reader)
{
    if (!*reader)
        return;
    jpeg_destroy_decompress(&(*reader)->jpeg);
    leat_scratch_close(&(*reader)->scratch);
    free((*reader)->options);
    free((*reader)->memory);
    free(*reader);
    *reader = NULL;
}

static int reserve(leat_image_reader *reader, size_t n, leat_error *err)
{
    if (n <= reader->room)
        return LEAT_OK;
    uint8_t *memory = realloc(reader->memory, n);
    if (!memory)
        return leat_fail(err, LEAT_E_NOMEM, "cannot allocate %zu bytes of pixels", n);
    reader->memory = memory;
    reader->room = n;
    return LEAT_OK;
}

static int jpeg_header(leat_image_reader *reader, const void *bytes, size_t n,
                       leat_image_header *out, leat_error *err)
{
    if (setjmp(reader->back)) {
        jpeg_abort_decompress(&reader->jpeg);
        return leat_fail(err, LEAT_E_DATA, "damaged JPEG: %s", reader->text);
    }
    jpeg_mem_src(&reader->jpeg, bytes, n);
    jpeg_read_header(&reader->jpeg, TRUE);
    out->height = reader->jpeg.image_height;
    out->width = reader->jpeg.image_width;
    jpeg_abort_decompress(&reader->jpeg);
    return LEAT_OK;
}

static int jpeg_verify(leat_image_reader *reader, const void *bytes, size_t n, leat_error *err)
{
    struct jpeg_decompress_struct *jpeg = &reader->jpeg;
    if (setjmp(reader->back)) {
        jpeg_abort_decompress(jpeg);
        return leat_fail(err, LEAT_E_DATA, "damaged JPEG: %s", reader->text);
    }
    reader->manager.num_warnings = 0;
    jpeg_mem_src(jpeg, bytes, n);
    jpeg_read_header(jpeg, TRUE);
    jpeg->out_color_space = jpeg->jpeg_color_space; /* no conversion: it cannot fail */
    jpeg_start_decompress(jpeg);
    int rc = reserve(reader, (size_t)jpeg->output_width * (size_t)jpeg->output_components, err);
    while (rc == LEAT_OK && jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW row = reader->memory;
        jpeg_read_scanlines(jpeg, &row, 1);
    }
    if (rc == LEAT_OK)
        jpeg_finish_decompress(jpeg);
    else
        jpeg_abort_decompress(jpeg);
    if (rc == LEAT_OK && reader->manager.num_warnings)
        rc = leat_fail(err, LEAT_E_DATA, "damaged JPEG: %s", reader->text);
    return rc;
}

static int png_read(leat_image_reader *reader, const void *bytes, size_t n, bool all,
                    leat_image_header *out, leat_error *err)
{
    struct spng_ihdr header;
    size_t size = 0;
    int rc = LEAT_OK;
    spng_ctx *png = spng_ctx_new(0);
    if (!png)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    int bad = spng_set_png_buffer(png, bytes, n);
    if (!bad)
        bad = spng_get_ihdr(png, &header);
    if (!bad && all)
        bad = spng_decoded_image_size(png, SPNG_FMT_PNG, &size);
    if (!bad && all)
        rc = reserve(reader, size, err);
    if (!bad && all && rc == LEAT_OK)
        bad = spng_decode_image(png, reader->memory, size, SPNG_FMT_PNG, 0);
    if (bad)
        rc = leat_fail(err, LEAT_E_DATA, "damaged PNG: %s", spng_strerror(bad));
    if (rc == LEAT_OK && out) {
        out->height = header.height;
        out->width = header.width;
    }
    spng_ctx_free(png);
    return rc;
}

static int open_decoder(leat_image_reader *reader, const leat_op *decode, leat_error *err)
{
    if (!reader->options && !(reader->options = calloc(1, decode->options_size)))
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    leat_option_init(decode->options, reader->options);
    if (!reader->scratch)
        return leat_scratch_open(&reader->scratch, SCRATCH_BYTES, err);
    leat_scratch_reset(reader->scratch);
    return LEAT_OK;
}

/* WebP, BMP and PNM: the op decode_image checks them and gives the message. */
static int op_read(leat_image_reader *reader, const void *bytes, size_t n, bool all,
                   leat_image_header *out, leat_error *err)
{
    const leat_op *const decode = leat_op_find("decode_image");
    const int64_t size = (int64_t)n;
    const leat_view in = { leat_shape_make(LEAT_U8, 1, &size), (void *)(uintptr_t)bytes, NULL };
    const leat_plan64 plan = { { 0 } };
    leat_view pixels = { .data = NULL };
    int rc = open_decoder(reader, decode, err);
    if (rc == LEAT_OK)
        rc = decode->measure(reader->options, &in, &pixels.shape, reader->scratch, err);
    if (rc == LEAT_OK && out) {
        out->height = pixels.shape.dims[0];
        out->width = pixels.shape.dims[1];
    }
    if (rc == LEAT_OK && all)
        rc = reserve(reader, (size_t)leat_shape_bytes(&pixels.shape), err);
    pixels.data = reader->memory;
    if (rc == LEAT_OK && all)
        rc = decode->apply(reader->options, &plan, &in, &pixels, reader->scratch, err);
    return rc;
}

static int fail_format(size_t n, leat_error *err)
{
    return leat_fail(err, LEAT_E_DATA,
                     n ? "no image: not JPEG, PNG, WebP, BMP, PGM or PPM" : "an empty file");
}

int leat_image_reader_header(leat_image_reader *reader, const void *bytes, size_t n,
                             leat_image_header *out, leat_error *err)
{
    *out = (leat_image_header){ .format = leat_image_format_of(bytes, n) };
    switch (out->format) {
    case LEAT_IMAGE_NONE:
        return fail_format(n, err);
    case LEAT_IMAGE_JPEG:
        return jpeg_header(reader, bytes, n, out, err);
    case LEAT_IMAGE_PNG:
        return png_read(reader, bytes, n, false, out, err);
    default:
        return op_read(reader, bytes, n, false, out, err);
    }
}

int leat_image_reader_verify(leat_image_reader *reader, const void *bytes, size_t n,
                             leat_error *err)
{
    switch (leat_image_format_of(bytes, n)) {
    case LEAT_IMAGE_NONE:
        return fail_format(n, err);
    case LEAT_IMAGE_JPEG:
        return jpeg_verify(reader, bytes, n, err);
    case LEAT_IMAGE_PNG:
        return png_read(reader, bytes, n, true, NULL, err);
    default:
        return op_read(reader, bytes, n, true, NULL, err);
    }
}
