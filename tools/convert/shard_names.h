/* SPDX-License-Identifier: MIT
 *
 * shard_names.h: the names of the files of a set, PREFIX-00000-of-00008.tfrecord, and their indexes. */
#ifndef LEAT_SHARD_NAMES_H
#define LEAT_SHARD_NAMES_H

#include <stdint.h>

#include "convert_part.h"
#include "leat/error.h"
#include "print/json.h"

enum { LEAT_SHARD_NAMES_MOST = 9999999 }; /* shards of a set */

/* Name of a shard; NULL: out of memory. free(). Both numbers have the same number of digits, five or more, so that the
 * order of the names is that of the shards. */
char *leat_shard_name(const char *prefix, int32_t shard, int32_t n_shards);

/* "-of-00008.tfrecord" */
typedef struct leat_shard_name_ending {
    char text[32];
} leat_shard_name_ending;
leat_shard_name_ending leat_shard_name_end(int32_t n_shards);

/* Adds `shards`: the names of those of a part. */
void leat_shard_names_add(json_t *object, const char *prefix, int32_t n_shards,
                          leat_convert_part part);

/* Whether the file system has room for the longest name. Returns LEAT_OK or LEAT_E_IO. */
int leat_shard_names_check_length(const char *prefix, int32_t n_shards, leat_error *err);
/* Whether there are shards of another number: PREFIX-* would read them together with the new ones. Returns
 * LEAT_OK, LEAT_E_DATA or LEAT_E_NOMEM. */
int leat_shard_names_check(const char *prefix, int32_t n_shards, leat_error *err);
/* Makes the index of each, so that the first run need not read all files to find their records. Returns
 * LEAT_OK or the error. */
int leat_shard_names_index(const char *prefix, int32_t n_shards, leat_error *err);
/* The same for a set of images that has its names now. Without classes it has no label map, and one of an older set
 * would be wrong: it is deleted. */
int leat_shard_names_finish(const char *prefix, int32_t n_shards, bool has_labels, leat_error *err);

#endif
