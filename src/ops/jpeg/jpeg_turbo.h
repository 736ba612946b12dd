/* SPDX-License-Identifier: MIT
 *
 * jpeg_turbo.h: decodes every kind of JPEG that libjpeg-turbo supports. */
#ifndef LEAT_JPEG_TURBO_H
#define LEAT_JPEG_TURBO_H

#include <stdbool.h>

#include "leat/op.h"

typedef struct leat_jpeg_size {
    int32_t height, width;
    int32_t components; /* as stored: 1 gray, 3 colour, 4 CMYK or YCCK */
} leat_jpeg_size;

/* Reads the frame header without decoding. Returns LEAT_OK or LEAT_E_DATA. Any thread. */
int leat_jpeg_turbo_size(const uint8_t *bytes, size_t n_bytes, leat_jpeg_size *size,
                         leat_error *err);

/* n pixels at 1 / scale of the size. */
static inline int64_t leat_jpeg_scaled(int64_t n, int32_t scale)
{
    return (n + scale - 1) / scale;
}

/* Decodes to uint8 [height, width, 1 or 3], gray or RGB, from any stored colour space. DCT and upsampling
 * are libjpeg's defaults (accurate integer DCT, "fancy" upsampling).
 * scale    1, 2, 4 or 8: height and width are divided by it and rounded up, by a smaller DCT
 * lenient  false: warnings of libjpeg (a truncated file, bad codes) are errors, except those that change
 *          no pixel (extra bytes between a scan and the next marker)
 * returns  LEAT_OK, LEAT_E_DATA with libjpeg's text, LEAT_E_NOMEM
 * memory   one decompressor per scratch, made at first use; all other memory is from the scratch */
int leat_jpeg_turbo_decode(const uint8_t *bytes, size_t n_bytes, int32_t scale, bool lenient,
                           const leat_view *out, leat_scratch *scratch, leat_error *err);

#endif
