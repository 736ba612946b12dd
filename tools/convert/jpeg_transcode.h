/* SPDX-License-Identifier: MIT
 *
 * jpeg_transcode.h: writes a JPEG file anew from its own coefficients: sequential, Huffman tables of
 * its own, a restart marker every few MCUs, upright. No pixel changes. */
#ifndef LEAT_JPEG_TRANSCODE_H
#define LEAT_JPEG_TRANSCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leat/error.h"

typedef struct leat_jpeg_transcoded {
    bool is_passed;       /* the file stays as it is; all but `orientation` is not set */
    bool is_turned;       /* its Exif orientation was applied */
    int orientation;      /* 2 to 8: what Exif says of the bytes that are stored now; else 0 */
    const uint8_t *bytes; /* valid until the next call */
    size_t size;
    int64_t height, width;
} leat_jpeg_transcoded;

/* One per thread. NULL: out of memory.
 * restart_mcus   1 to 65535
 * keep_metadata  copy comments and application segments (Exif, colour profile, …) */
typedef struct leat_jpeg_transcoder leat_jpeg_transcoder;
leat_jpeg_transcoder *leat_jpeg_transcoder_open(int restart_mcus, bool keep_metadata);
void leat_jpeg_transcoder_close(leat_jpeg_transcoder **transcoder);

/* Files that libjpeg complains of, arithmetic coding, progressive files that lack scans, and
 * more than 2^28 pixels are passed. What was written is read again and compared.
 *
 * returns  LEAT_OK; LEAT_E_INTERNAL: what was written is not the same picture; LEAT_E_NOMEM */
int leat_jpeg_transcode(leat_jpeg_transcoder *transcoder, const uint8_t *bytes, size_t size,
                        leat_jpeg_transcoded *out, leat_error *err);

#endif
