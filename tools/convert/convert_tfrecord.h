/* SPDX-License-Identifier: MIT
 *
 * convert_tfrecord.h: writes the records of TFRecord files, plain or compressed, to plain shards. */
#ifndef LEAT_CONVERT_TFRECORD_H
#define LEAT_CONVERT_TFRECORD_H

#include <stdint.h>

#include "leat/error.h"

typedef struct leat_convert_tfrecord {
    const char *const *arguments; /* names and patterns of files */
    int n_arguments;
    const char *prefix; /* PREFIX-00000-of-00008.tfrecord */
    int32_t n_shards;   /* -1: each file becomes one; otherwise of equal numbers of records */
    int32_t progress;   /* LEAT_PROGRESS_* */
    const char *json;   /* --json */
} leat_convert_tfrecord;

/* Writes all shards under temporary names and renames them when all are complete and on disk;
 * makes their indexes; reports the result. After an error or a signal nothing is left. Records keep their
 * order and their bytes; every CRC is checked.
 *
 * returns  LEAT_OK; LEAT_E_DATA with file, record and byte; LEAT_E_ARGUMENT: more shards than records, or a
 *          shard would replace one of the files; LEAT_E_IO; LEAT_E_NOMEM; LEAT_E_CANCELED */
int leat_convert_tfrecord_run(const leat_convert_tfrecord *convert, leat_error *err);

#endif
