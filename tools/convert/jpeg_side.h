/* SPDX-License-Identifier: MIT
 *
 * jpeg_side.h: makes and checks the side index of the JPEG files in a TFRecord file (jpeg_index.h). */
#ifndef LEAT_JPEG_SIDE_H
#define LEAT_JPEG_SIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/jpeg_index.h"
#include "leat/error.h"

typedef struct leat_jpeg_side_how {
    const char *feature; /* NULL: image/encoded, or image where a file has no such feature */
    uint32_t every_mcus; /* 0: a mark every 64 pixels */
    bool check, rebuild; /* as for leat index */
} leat_jpeg_side_how;

typedef struct leat_jpeg_side {
    char feature[LEAT_JPEG_INDEX_KEY_MAX + 1];
    uint64_t records, data_bytes, bytes;       /* bytes: of the side file */
    uint64_t tables, restart_markers, neither; /* records by what makes them seekable */
    uint64_t small, other, none; /* of `neither`: too few MCUs to gain (or damaged); of a kind that
                                    libjpeg-turbo decodes, such as progressive; no JPEG file */
    bool built;
    char note[480]; /* why it was built; "": it was not */
} leat_jpeg_side;

/* Checks the side index of a file against every record, and makes it when it is missing or does not
 * fit, or (how->check) fails then.
 * n_records  of the file, as its index says
 * returns    LEAT_OK, LEAT_E_DATA, LEAT_E_IO, LEAT_E_NOMEM; the message names the file */
int leat_jpeg_side_take(const char *tfrecord, uint64_t n_records, const leat_jpeg_side_how *how,
                        leat_jpeg_side *out, leat_error *err);

#endif
