/* SPDX-License-Identifier: MIT
 *
 * shards.h: writes listed image files into TFRecord shards, in parallel. The bytes of every shard
 * are a function of the list, its order and the number of shards: never of threads or timing. */
#ifndef LEAT_SHARDS_H
#define LEAT_SHARDS_H

#include "convert_part.h"
#include "file_set.h"
#include "image_record.h"
#include "print/progress.h"
#include "scan.h"
#include "set_manifest.h"

typedef struct leat_shards_options {
    const leat_scan *scan;
    const uint32_t *order;    /* position -> file; NULL: as listed */
    const leat_file_set *set; /* PREFIX-00000-of-00008.tfrecord */
    int32_t n_shards;
    leat_convert_part part;           /* only the shards of this part */
    int32_t threads;                  /* ≥ 1 */
    leat_image_record_options record; /* how images are written */
    bool
        skip_bad; /* leave out, and list, also damaged images and what a list names and is no image */
    leat_progress *progress;
} leat_shards_options;

typedef struct leat_shards_skipped {
    size_t position;
    char *text; /* "cat/notes.txt: no image: none of JPEG, …" */
} leat_shards_skipped;

typedef struct leat_shards_result {
    uint64_t images, bytes_in, bytes_out;
    int32_t threads; /* that worked: no more than there were tasks */
    leat_image_record_counts jpeg;
    leat_shards_skipped *skipped; /* in order of position */
    size_t n_skipped;
    leat_set_manifest manifest; /* of the files that were written */
} leat_shards_result;

/* Writes all shards. They are complete and on disk then; leat_file_set_commit() gives them their names.
 *
 * Position p of n goes into shard p · n_shards / n (rounded so that sizes differ by one at most):
 * shards read one after the other give the whole order.
 *
 * out      filled, also after an error; leat_shards_result_close()
 * returns  LEAT_OK; LEAT_E_IO, LEAT_E_DATA (the first bad file in order), LEAT_E_NOMEM;
 *          LEAT_E_CANCELED after a signal */
int leat_shards_write(const leat_shards_options *options, leat_shards_result *out, leat_error *err);
void leat_shards_result_close(leat_shards_result *result);

#endif
