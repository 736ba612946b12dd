/* SPDX-License-Identifier: MIT
 *
 * jpeg_seek.h: the optional JPEG index beside a TFRecord file. The source `tfrecord` uses it. An index
 * that is missing or does not fit is no error: only the speed differs. */
#ifndef LEAT_JPEG_SEEK_H
#define LEAT_JPEG_SEEK_H

#include "formats/jpeg_index.h"
#include "source.h"

/* The index of one file. Zeroed: none. */
typedef struct leat_source_seek {
    leat_jpeg_index index;
    int32_t feature; /* of the source that it belongs to; -1: none */
} leat_source_seek;

/* Opens the index of a file if it exists and fits; otherwise notes that in the source. */
void leat_jpeg_seek_open(leat_source_seek *seek, const char *path, uint64_t data_bytes,
                         uint64_t n_records, leat_source *source);
void leat_jpeg_seek_close(leat_source_seek *seek);

/* Sets `feature` to i if the index belongs to the bytes feature `key`. */
void leat_jpeg_seek_offer(leat_source_seek *seek, int32_t i, const char *key);

/* Attaches the index entry of a record to its view.
 * payload  data of the record inside its framing, checked
 * returns  LEAT_OK or LEAT_E_NOMEM */
int leat_jpeg_seek_add(const leat_source_seek *seek, uint64_t record, const uint8_t *payload,
                       size_t payload_size, leat_scratch *scratch, leat_view *features,
                       leat_error *err);

#endif
