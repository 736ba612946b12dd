/* SPDX-License-Identifier: MIT
 *
 * image_header.h: what an image file's header says: kind, height and width. */
#ifndef LEAT_IMAGE_HEADER_H
#define LEAT_IMAGE_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include "formats/image_format.h"
#include "leat/error.h"

typedef struct leat_image_header {
    leat_image_format format;
    int64_t height, width;
} leat_image_header;

/* A reader; one per thread. NULL: out of memory. */
typedef struct leat_image_reader leat_image_reader;
leat_image_reader *leat_image_reader_open(void);
void leat_image_reader_close(leat_image_reader **reader);

/* Reads the header. Returns LEAT_OK, or LEAT_E_DATA with why it is no image. */
int leat_image_reader_header(leat_image_reader *reader, const void *bytes, size_t n,
                             leat_image_header *out, leat_error *err);
/* Decodes all of it. Returns LEAT_OK, or LEAT_E_DATA with what is damaged, LEAT_E_NOMEM. */
int leat_image_reader_verify(leat_image_reader *reader, const void *bytes, size_t n,
                             leat_error *err);

#endif
