/* SPDX-License-Identifier: MIT
 *
 * image_format.h: detects the format of an image file by its first bytes, never by its name. Used by
 * decode_image, the source `images` and `leat convert`. */
#ifndef LEAT_IMAGE_FORMAT_H
#define LEAT_IMAGE_FORMAT_H

#include <stddef.h>

/* X(ID, word, name). The op that decodes it is decode_<word>. PNM: binary, P5 or P6. */
#define LEAT_IMAGE_FORMAT_LIST(X)                                                                  \
    X(JPEG, jpeg, "JPEG")                                                                          \
    X(PNG, png, "PNG")                                                                             \
    X(WEBP, webp, "WebP")                                                                          \
    X(BMP, bmp, "BMP")                                                                             \
    X(PNM, pnm, "PGM or PPM")
#define LEAT_IMAGE_FORMAT_NAMES "JPEG, PNG, WebP, BMP, binary PGM or PPM" /* for texts */

typedef enum leat_image_format {
    LEAT_IMAGE_NONE,
#define LEAT_IMAGE_ENUM(id, word, name) LEAT_IMAGE_##id,
    LEAT_IMAGE_FORMAT_LIST(LEAT_IMAGE_ENUM)
#undef LEAT_IMAGE_ENUM
        LEAT_IMAGE_FORMATS
} leat_image_format;

enum { LEAT_IMAGE_FORMAT_BYTES = 18 }; /* more bytes do not change the result */

/* Returns the format of a file with these first n bytes. The file can still be damaged. */
leat_image_format leat_image_format_of(const void *bytes, size_t n);
/* Return "jpeg", "webp", …, and "JPEG", "WebP", …; NULL for LEAT_IMAGE_NONE. */
const char *leat_image_format_word(leat_image_format format);
const char *leat_image_format_name(leat_image_format format);

#endif
