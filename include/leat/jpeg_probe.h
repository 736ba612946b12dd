/* SPDX-License-Identifier: MIT
 *
 * jpeg_probe.h: reads JPEG headers: which of the two decoders takes a file, and whether parts of it can be
 * decoded alone. Also makes the seek table that allows this, and says which inner loop decodes. */
#ifndef LEAT_JPEG_PROBE_H
#define LEAT_JPEG_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "leat/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_jpeg_info {
    int32_t height, width; /* px, as stored */
    int32_t components;    /* as stored: 1 gray, 3 colour, 4 CMYK or YCCK */
    /* 1: leat's own decoder reads it (8 bits, sequential or progressive, Huffman, gray or YCbCr). 0:
     * libjpeg-turbo does; it also reads all damaged files. Both give the same pixels. */
    int32_t is_own;
    /* MCUs between restart markers; 0: none, or not is_own, or is_progressive. With markers, a crop is
     * decoded without the rest of the file. */
    uint32_t restart_mcus;
    char why_not[64];       /* the reason why not is_own, such as "not YCbCr"; else "" */
    int32_t is_progressive; /* and is_own: all of the file is needed for each crop */
} leat_jpeg_info;

/* Reads the header of a JPEG file in memory. It does not decode.
 *
 * bytes    borrowed during the call
 * returns  LEAT_OK, or LEAT_E_DATA if it is not a JPEG or its header is damaged. Any thread. */
LEAT_API int leat_jpeg_probe(const void *bytes, size_t size, leat_jpeg_info *out, leat_error *err);

/* Makes the table (leat_seek in tensor.h) for decoding parts of a JPEG file without restart markers: the
 * first bit and the DC values of every n-th MCU. Reads the whole file.
 *
 * every_mcus  n; 0: a point every 64 pixels
 * table       in the scratch, until that is reset
 * n           its bytes; 0: no table: the file has restart markers, is not for leat's own decoder,
 *             is damaged, or is too small
 * returns     LEAT_OK, LEAT_E_NOMEM. Any thread, one scratch each. */
LEAT_API int leat_jpeg_make_table(const void *bytes, size_t size, uint32_t every_mcus,
                                  leat_scratch *scratch, const void **table, size_t *n,
                                  leat_error *err);

/* Returns which of the inner loops for Huffman codes this process uses: "shifts", "loads" or "c". All give the same
 * bytes. The first call measures which is faster here, in less than a millisecond, if no file was decoded before.
 * The environment variable LEAT_JPEG_LOOP=shifts|loads decides instead, and LEAT_CPU=c means c.
 *
 * why      what decided, up to size - 1 bytes; may be NULL
 * returns  static storage. Any thread. */
LEAT_API const char *leat_jpeg_loop(char *why, size_t size);

#ifdef __cplusplus
}
#endif
#endif
