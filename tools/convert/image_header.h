/* SPDX-License-Identifier: MIT
 *
 * image_header.h: reads kind, height and width from an image file's header. */
#ifndef LEAT_IMAGE_HEADER_H
#define LEAT_IMAGE_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include "formats/image_format.h"
#include "leat/op.h"

typedef struct leat_image_header {
    leat_image_format format;
    int64_t height, width;
} leat_image_header;

/* Opens a scratch of `most` bytes of address space, or of what the limits of the process allow. */
int leat_image_scratch_open(leat_scratch **out, size_t most, leat_error *err);

/* A reader; one per thread. NULL: out of memory. */
typedef struct leat_image_reader leat_image_reader;
leat_image_reader *leat_image_reader_open(void);
void leat_image_reader_close(leat_image_reader **reader);

/* Reads the header. Returns LEAT_OK, or LEAT_E_DATA with the reason. */
int leat_image_reader_header(leat_image_reader *reader, const void *bytes, size_t n,
                             leat_image_header *out, leat_error *err);
/* Decodes the whole image. Returns LEAT_OK, LEAT_E_DATA with the damage, or LEAT_E_NOMEM. */
int leat_image_reader_verify(leat_image_reader *reader, const void *bytes, size_t n,
                             leat_error *err);

#endif
