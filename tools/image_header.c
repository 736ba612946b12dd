/* SPDX-License-Identifier: MIT */
#include "image_header.h"

#include <setjmp.h>
#include <spng.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

struct leat_image_reader {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr manager;
    jmp_buf back;
    char text[JMSG_LENGTH_MAX]; /* of the error, or of the first warning */
    uint8_t *memory;            /* pixels of leat_image_reader_verify() */
    size_t room;
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
    free((*reader)->memory);
    free(*reader);
    *reader = NULL;
}

const char *leat_image_header_format(const void *bytes, size_t n)
{
    if (n >= 3 && !memcmp(bytes, "\xff\xd8\xff", 3))
        return "jpeg";
    if (n >= 8 && !memcmp(bytes, "\x89PNG\r\n\x1a\n", 8))
        return "png";
    return NULL;
}

static int reserve(leat_image_reader *reader, size_t n, leat_error *err)
{
    if (n <= reader->room)
        return LEAT_OK;
    uint8_t *memory = realloc(reader->memory, n);
    if (!memory)
        return leat_fail(err, LEAT_E_NOMEM, "no memory for %zu bytes of pixels", n);
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

int leat_image_reader_header(leat_image_reader *reader, const void *bytes, size_t n,
                             leat_image_header *out, leat_error *err)
{
    *out = (leat_image_header){ .format = leat_image_header_format(bytes, n) };
    if (!out->format)
        return leat_fail(err, LEAT_E_DATA, n ? "neither JPEG nor PNG" : "an empty file");
    return out->format[0] == 'j' ? jpeg_header(reader, bytes, n, out, err)
                                 : png_read(reader, bytes, n, false, out, err);
}

int leat_image_reader_verify(leat_image_reader *reader, const void *bytes, size_t n,
                             leat_error *err)
{
    const char *format = leat_image_header_format(bytes, n);
    if (!format)
        return leat_fail(err, LEAT_E_DATA, n ? "neither JPEG nor PNG" : "an empty file");
    return format[0] == 'j' ? jpeg_verify(reader, bytes, n, err)
                            : png_read(reader, bytes, n, true, NULL, err);
}
