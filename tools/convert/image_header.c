/* SPDX-License-Identifier: MIT */
#include "image_header.h"

#include <stdbool.h>
#include <stdlib.h>

#include "leat/op.h"

#define SCRATCH_LEAST ((size_t)4 << 20)
#define SCRATCH_BYTES ((size_t)4 << 30) /* address space; memory is used only where written */

struct leat_image_reader {
    uint8_t *pixels;
    size_t room;
    void *options;         /* of decode_image; NULL: not used yet */
    leat_scratch *scratch; /* and its memory */
};

leat_image_reader *leat_image_reader_open(void)
{
    return calloc(1, sizeof(leat_image_reader));
}

void leat_image_reader_close(leat_image_reader **reader)
{
    if (!*reader)
        return;
    leat_scratch_close(&(*reader)->scratch);
    free((*reader)->options);
    free((*reader)->pixels);
    free(*reader);
    *reader = NULL;
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

/* The op decode_image checks the file, as the loader will. all: the pixels, too. */
static int read_image(leat_image_reader *reader, const void *bytes, size_t n, bool all,
                      leat_image_header *out, leat_error *err)
{
    const leat_op *const decode = leat_op_find("decode_image");
    const int64_t size = (int64_t)n;
    const leat_view in = { leat_shape_make(LEAT_U8, 1, &size), (void *)(uintptr_t)bytes, NULL };
    const leat_draw plan = { { 0 } };
    leat_view pixels = { .data = NULL };
    out->format = leat_image_format_of(bytes, n);
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
    if (all)
        rc = reserve(reader, (size_t)leat_shape_bytes(&pixels.shape), err);
    pixels.data = reader->pixels;
    return all && rc == LEAT_OK
               ? decode->apply(reader->options, &plan, &in, &pixels, reader->scratch, err)
               : rc;
}

int leat_image_reader_header(leat_image_reader *reader, const void *bytes, size_t n,
                             leat_image_header *out, leat_error *err)
{
    *out = (leat_image_header){ .format = LEAT_IMAGE_NONE };
    return read_image(reader, bytes, n, false, out, err);
}

int leat_image_reader_verify(leat_image_reader *reader, const void *bytes, size_t n,
                             leat_error *err)
{
    leat_image_header header = { .format = LEAT_IMAGE_NONE };
    return read_image(reader, bytes, n, true, &header, err);
}
