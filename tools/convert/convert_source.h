/* SPDX-License-Identifier: MIT
 *
 * convert_source.h: writes the records of any source whose tensors have one shape to TFRecord files. */
#ifndef LEAT_CONVERT_SOURCE_H
#define LEAT_CONVERT_SOURCE_H

#include <stdint.h>

#include "leat/error.h"

typedef struct leat_convert_source {
    const char *kind;             /* name of a source, or NULL: take that of a config */
    const char *const *arguments; /* its files or options; or the path of the config */
    int n_arguments;
    const char *prefix;  /* PREFIX-00000-of-00008.tfrecord */
    int32_t n_shards;    /* -1: 1 */
    int64_t threads;     /* -1: as the config says */
    const char *shuffle; /* seed of the order; NULL: that of the source */
    int32_t progress;    /* LEAT_PROGRESS_* */
    const char *json;    /* --json */
} leat_convert_source;

/* Whether there is a source of that name that reads files. */
int leat_convert_source_knows(const char *kind);
/* Writes their names, each with ", " behind it. Returns text. */
const char *leat_convert_source_names(char text[200]);

/* Writes each record as a tf.train.Example with a feature for each tensor: uint8 as bytes (as numbers if it is
 * a scalar), int32 and int64 as int64, float32 as float. After an error or a signal nothing is left.
 *
 * returns  LEAT_OK, the error of the plan or of a bad record; LEAT_E_ARGUMENT: more shards than records;
 *          LEAT_E_IO; LEAT_E_NOMEM; LEAT_E_CANCELED */
int leat_convert_source_run(const leat_convert_source *convert, leat_error *err);

#endif
