/* SPDX-License-Identifier: MIT
 *
 * image_format.h: which kind of image file bytes are, told by the first of them and not by a name: what
 * decode_image decodes, the source `images` reads and `leat convert` takes. */
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

enum { LEAT_IMAGE_FORMAT_BYTES = 18 }; /* of the beginning: more change nothing */

/* The kind that bytes, the first n of a file, begin like; they may be damaged all the same. */
leat_image_format leat_image_format_of(const void *bytes, size_t n);
/* "jpeg", "png", …; NULL for LEAT_IMAGE_NONE. */
const char *leat_image_format_name(leat_image_format format);

#endif
