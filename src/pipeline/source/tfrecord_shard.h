/* SPDX-License-Identifier: MIT
 *
 * tfrecord_shard.h: one file of the source `tfrecord`, plain or compressed. */
#ifndef LEAT_TFRECORD_SHARD_H
#define LEAT_TFRECORD_SHARD_H

#include "file_watch.h"
#include "formats/index.h"
#include "jpeg_seek.h"
#include "source_inflated.h"

typedef struct leat_tfrecord_shard {
    char *path;
    int fd;
    leat_file_watch watch; /* any thread */
    leat_index index;
    const char *compression; /* "GZIP", "ZLIB"; then `inflated` stands in for `index`. NULL: none */
    leat_inflated_file inflated;
    leat_source_seek seek;
    uint64_t first;     /* record of the set that its record 0 is */
    uint64_t n_records; /* places of damage included */
    uint64_t bytes;     /* as stored */
} leat_tfrecord_shard;

/* Opens a file that comes behind those that the source has, and adds to what the source says of all.
 *
 * lossy    damage is a record in its place, see index.h
 * out      leat_tfrecord_shard_close(), also after an error; not moved once it is in use */
int leat_tfrecord_shard_open(leat_tfrecord_shard *out, const char *path, bool lossy,
                             leat_source *source, leat_error *err);
void leat_tfrecord_shard_close(leat_tfrecord_shard *shard);

/* Where a record of the file lies, framing included: in the file, or in what it decompresses to.
 * returns  LEAT_FORMAT_OK, or LEAT_FORMAT_BAD: the index is damaged there */
int leat_tfrecord_shard_extent(const leat_tfrecord_shard *shard, uint64_t record, uint64_t *offset,
                               uint64_t *size);

#endif
