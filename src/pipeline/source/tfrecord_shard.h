/* SPDX-License-Identifier: MIT
 *
 * tfrecord_shard.h: one file of the source `tfrecord`, plain or compressed. Immutable once open. */
#ifndef LEAT_TFRECORD_SHARD_H
#define LEAT_TFRECORD_SHARD_H

#include "formats/index.h"
#include "jpeg_seek.h"
#include "kept_files.h"
#include "open_files.h"
#include "source_inflated.h"

typedef struct leat_tfrecord_shard {
    char *path;
    leat_open_file file; /* any thread */
    leat_index index;
    const char *compression; /* "GZIP" or "ZLIB": use `inflated`. NULL: use `index` */
    leat_inflated_file inflated;
    leat_source_seek seek;
    leat_kept_file kept; /* of a plain file */
    uint64_t first;      /* number of its record 0 in the source */
    uint64_t n_records;  /* including places of damage */
    uint64_t bytes;      /* as stored */
} leat_tfrecord_shard;

/* Finds the files of patterns as leat_source_glob() does. Leaves out what leat writes beside record files
 * (side_file.h) unless it is named in full, and appends a line about that to *notes. */
int leat_tfrecord_shard_find(const leat_strings *files, const leat_node *where, char ***paths,
                             size_t *n_paths, char **notes, leat_error *err);

/* Opens the next file of a source and adds its counts to the source.
 *
 * files    the files of the source; for its descriptor
 * skips_damage    each place of damage counts as one record, see index.h
 * out      close with leat_tfrecord_shard_close(), also after an error; never move it while open */
int leat_tfrecord_shard_open(leat_tfrecord_shard *out, const char *path, leat_open_files *files,
                             bool skips_damage, leat_source *source, leat_error *err);
void leat_tfrecord_shard_close(leat_tfrecord_shard *shard);

/* Finds a record, including its framing, in the file or in its decompressed data.
 * returns  LEAT_FORMAT_OK, or LEAT_FORMAT_BAD if the index is damaged there */
int leat_tfrecord_shard_extent(const leat_tfrecord_shard *shard, uint64_t record, uint64_t *offset,
                               uint64_t *size);

#endif
