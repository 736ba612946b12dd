/* SPDX-License-Identifier: MIT
 *
 * tfrecord_shard.h: one file of the source `tfrecord`, plain or compressed. It is opened with the source, or, of a long
 * manifest, when a record of it is first needed (tfrecord_late.c); from then on it does not change. */
#ifndef LEAT_TFRECORD_SHARD_H
#define LEAT_TFRECORD_SHARD_H

#include "formats/index.h"
#include "formats/jpeg_index.h"
#include "kept_files.h"
#include "open_files.h"
#include "source_compressed.h"
#include "tfrecord_features.h"
#include "tfrecord_list.h"

/* The optional index of JPEG files beside a file. One that is missing or does not fit is no error: only the speed
 * differs. Zeroed: none. */
typedef struct leat_tfrecord_seek {
    leat_jpeg_index index;
    int32_t feature; /* of the source, that it belongs to; -1: none */
} leat_tfrecord_seek;

/* What is known of a file that was opened. */
typedef struct leat_tfrecord_opened {
    leat_index index;
    const char *compression; /* "GZIP" or "ZLIB": use `compressed`. NULL: use `index` */
    leat_compressed_file compressed;
    leat_tfrecord_seek seek;
    uint64_t bytes, n_records; /* including places of damage */
} leat_tfrecord_opened;

typedef struct leat_tfrecord_shard {
    const leat_tfrecord_listed *listed;     /* borrowed */
    const char *path;                       /* the same */
    leat_open_file file;                    /* any thread */
    _Atomic(leat_tfrecord_opened *) opened; /* NULL: not yet [set once] */
    leat_kept_file kept;                    /* of a plain file */
    uint64_t first;                         /* number of its record 0 in the source */
    uint64_t n_records, bytes;              /* as stored */
} leat_tfrecord_shard;

static inline leat_tfrecord_opened *leat_tfrecord_shard_opened(const leat_tfrecord_shard *shard)
{
    return atomic_load_explicit(&shard->opened, memory_order_acquire);
}

/* Starts the next file of a source, unopened.
 * out  close with leat_tfrecord_shard_close(), also after an error; never move it */
void leat_tfrecord_shard_init(leat_tfrecord_shard *out, const leat_tfrecord_listed *listed);
/* Opens it. If a manifest lists it, LEAT_E_DATA says that its size or its number of records is another.
 *
 * at       where to open it: its path, or a name from working_folder.h
 * files    the files of the source; for its descriptor
 * skips_damage    each place of damage counts as one record, see index.h
 * seen     adds what the file and its indexes take
 * features those of the source, if they are known yet: for the index of JPEG files */
int leat_tfrecord_shard_open(leat_tfrecord_shard *shard, const char *at, leat_open_files *files,
                             bool skips_damage, leat_source *seen,
                             const leat_tfrecord_features *features, leat_error *err);
/* Finds the feature that its index of JPEG files is for. */
void leat_tfrecord_shard_match_seek(leat_tfrecord_opened *opened,
                                    const leat_tfrecord_features *features);
/* Adds its records to those of the source, as its next file. */
void leat_tfrecord_shard_count(leat_tfrecord_shard *shard, leat_source *source);
void leat_tfrecord_shard_close(leat_tfrecord_shard *shard);

/* Finds a record, including its framing, in the opened file or in its decompressed data. Of damage that counts as a
 * record (index.h) only the beginning, which shows what is wrong: no memory or read depends on how long it is.
 * returns  LEAT_FORMAT_OK, or LEAT_FORMAT_BAD if the index is damaged there */
int leat_tfrecord_shard_extent(const leat_tfrecord_shard *shard, uint64_t record, uint64_t *offset,
                               uint64_t *size);

/* Attaches the entry of a record in the index of JPEG files to its view; the file has one that fits.
 * record   from 0 in this file
 * payload  data of the record inside its framing, checked
 * returns  LEAT_OK or LEAT_E_NOMEM */
int leat_tfrecord_shard_add_seek(const leat_tfrecord_shard *shard, uint64_t record,
                                 const uint8_t *payload, size_t payload_size, leat_scratch *scratch,
                                 leat_view *features, leat_error *err);

#endif
