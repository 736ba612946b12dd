/* SPDX-License-Identifier: MIT
 *
 * image_file.h: checks image files as the op decode_image does, and writes some. */
#ifndef LEAT_IMAGE_FILE_H
#define LEAT_IMAGE_FILE_H

#include <stdbool.h>
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

/* A reader, at first all zero; one per thread. */
typedef struct leat_image_reader {
    uint8_t *pixels;
    size_t room;
    void *options;         /* of decode_image; NULL: not used yet */
    leat_scratch *scratch; /* and its memory */
} leat_image_reader;
void leat_image_reader_fini(leat_image_reader *reader);

/* Reads the header; `whole`: then decodes all, too. Returns LEAT_OK; LEAT_E_DATA with the reason, or the damage;
 * LEAT_E_NOMEM. */
int leat_image_reader_read(leat_image_reader *reader, const void *bytes, size_t n, bool whole,
                           leat_image_header *out, leat_error *err);

/* Encode RGB pixels; free(*out). Return LEAT_OK or LEAT_E_NOMEM. JPEG: size × size, quality 90. */
int leat_image_encode_jpeg(const uint8_t *pixels, int size, uint8_t **out, size_t *n,
                           leat_error *err);
int leat_image_encode_png(const uint8_t *pixels, int height, int width, uint8_t **out, size_t *n,
                          leat_error *err);

#endif
