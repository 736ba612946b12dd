/* SPDX-License-Identifier: MIT
 *
 * png.h: leat's own PNG decoder. It gives the same bytes as libspng and is faster. It decodes the common
 * kinds: 8 bits, gray or RGB, with or without alpha, not interlaced.
 *
 * CONTRACT  LEAT_OK: libspng would give the same pixels and no error (but see png.c). LEAT_E_UNSUPPORTED: the file is
 * unusual (16 bits, a palette, interlaced, …) or damaged. Then the caller asks libspng, so that only libspng
 * decides what a damaged file becomes. */
#ifndef LEAT_PNG_H
#define LEAT_PNG_H

#include "leat/op.h"

/* PNG's integers are big-endian. */
static inline uint32_t leat_png_u32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* A parsed file. It points into its bytes and owns nothing. */
typedef struct leat_png {
    uint32_t width, height;
    int32_t stored;              /* bytes per pixel: 1 gray, 2 with alpha, 3 RGB, 4 with alpha */
    const uint8_t *first_data;   /* the first IDAT chunk */
    uint32_t n_data, data_bytes; /* IDAT chunks, and the bytes of all */
} leat_png;

/* Reads all chunks and checks their checksums, but not the compressed data.
 *
 * data     must stay valid as long as *png is used
 * returns  LEAT_OK or LEAT_E_UNSUPPORTED. Any thread. */
int leat_png_open(leat_png *png, const uint8_t *data, size_t size);

/* Decodes to height × width × channels bytes: 1 gray, 2 gray and alpha (only if it is stored), 3 RGB, 4 with
 * alpha. Gray from colour is that of decode_png.
 *
 * out      undefined after an error
 * returns  LEAT_OK, LEAT_E_UNSUPPORTED or LEAT_E_NOMEM. Any thread, each with its own scratch. */
int leat_png_decode(const leat_png *png, int32_t channels, uint8_t *out, leat_scratch *scratch);

#endif
