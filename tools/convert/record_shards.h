/* SPDX-License-Identifier: MIT
 *
 * record_shards.h: writes records to the files of a set, one after the other. convert_tfrecord.c and
 * convert_source.c use it. */
#ifndef LEAT_RECORD_SHARDS_H
#define LEAT_RECORD_SHARDS_H

#include "file_set.h"
#include "formats/tfrecord.h"
#include "leat/error.h"
#include "print/progress.h"
#include "set_manifest.h"

typedef struct leat_record_shards {
    const char *prefix; /* PREFIX-00000-of-00008.tfrecord */
    int32_t n_shards;
    uint64_t total;   /* records of all shards, in shares of equal size */
    uint64_t records; /* written */
    uint64_t bytes;   /* of the files that are complete */
    leat_progress *progress;
    char **names;      /* of all shards */
    int32_t n_written; /* shards that are complete or in progress */
    leat_tfrecord_writer *writer;
    uint64_t left; /* records still to write to the current shard; UINT64_MAX: no limit */
    leat_file_set set;
    leat_set_manifest manifest;
} leat_record_shards;

/* Makes the names and missing folders, and checks that the names are not too long. Set prefix, n_shards and
 * progress before. Call leat_record_shards_close() also after an error. */
int leat_record_shards_open(leat_record_shards *s, leat_error *err);
/* Locks PREFIX. Refuses a set of another number of shards. */
int leat_record_shards_lock(leat_record_shards *s, leat_error *err);
/* Starts the next shard, which gets `takes` records. Without it, shards share `total`. */
int leat_record_shards_next(leat_record_shards *s, uint64_t takes, leat_error *err);
int leat_record_shards_write(leat_record_shards *s, const void *record, size_t size,
                             leat_error *err);
/* Ends the last shard, writes the manifest, gives all their names, and makes their indexes. */
int leat_record_shards_commit(leat_record_shards *s, leat_error *err);
/* Removes what has no name and is not kept, and unlocks. */
void leat_record_shards_close(leat_record_shards *s);

#endif
