/* SPDX-License-Identifier: MIT
 *
 * jpeg_seek.h: the index of JPEG files beside a TFRecord file, as a source uses it: of use, not of
 * need. One that is missing or does not fit is no error, and changes nothing but the speed. */
#ifndef LEAT_JPEG_SEEK_H
#define LEAT_JPEG_SEEK_H

#include "formats/jpeg_index.h"
#include "source.h"

/* Of one file. Zeroed: none. */
typedef struct leat_source_seek {
    leat_jpeg_index index;
    int32_t feature; /* of those that are read, the one it is of; -1: none */
} leat_source_seek;

/* Opens the index of a file if there is one that fits; otherwise says so in the source. */
void leat_jpeg_seek_open(leat_source_seek *seek, const char *path, uint64_t data_bytes,
                         uint64_t n_records, leat_source *source);
void leat_jpeg_seek_close(leat_source_seek *seek);

/* Tells that tensor i of the source is the feature `key` of bytes. */
void leat_jpeg_seek_offer(leat_source_seek *seek, int32_t i, const char *key);

/* Hands out what the index knows of a record of the file.
 * payload  its data, within its framing, which has been checked
 * returns  LEAT_OK or LEAT_E_NOMEM */
int leat_jpeg_seek_add(const leat_source_seek *seek, uint64_t record, const uint8_t *payload,
                       size_t payload_size, leat_scratch *scratch, leat_view *features,
                       leat_error *err);

#endif
