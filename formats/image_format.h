/* SPDX-License-Identifier: MIT
 *
 * image_format.h: detects the format of an image file by its first bytes, never by its name. Used by
 * decode_image, the source `images` and `leat convert`. */
#ifndef LEAT_IMAGE_FORMAT_H
#define LEAT_IMAGE_FORMAT_H

#include <stddef.h>

typedef enum leat_image_format {
    LEAT_IMAGE_NONE,
    LEAT_IMAGE_JPEG,
    LEAT_IMAGE_PNG,
    LEAT_IMAGE_WEBP,
    LEAT_IMAGE_BMP,
    LEAT_IMAGE_PNM, /* binary: P5, P6 */
    LEAT_IMAGE_FORMATS
} leat_image_format;

enum { LEAT_IMAGE_FORMAT_BYTES = 18 }; /* more bytes do not change the result */

/* Returns the format of a file with these first n bytes. The file can still be damaged. */
leat_image_format leat_image_format_of(const void *bytes, size_t n);
/* Returns "jpeg", "png", …; NULL for LEAT_IMAGE_NONE. */
const char *leat_image_format_name(leat_image_format format);

#endif
