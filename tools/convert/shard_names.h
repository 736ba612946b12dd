/* SPDX-License-Identifier: MIT
 *
 * shard_names.h: how the files of a set get their names, all or none. When all are complete and on disk:
 * leat_shard_names_begin(), the renames, leat_shard_names_end(). In between there is PREFIX.incomplete, which
 * readers refuse (formats/shard_set.h), and it stays when the process is killed there. */
#ifndef LEAT_SHARD_NAMES_H
#define LEAT_SHARD_NAMES_H

#include <stdint.h>

#include "leat/error.h"
#include "report/json.h"

/* Name of a shard; NULL: out of memory. free(). */
char *leat_shard_name(const char *prefix, int32_t shard, int32_t n_shards);

/* Their names, as JSON. */
json_t *leat_shard_names_json(const char *prefix, int32_t n_shards);

/* Whether the file system has room for the longest name. Returns LEAT_OK or LEAT_E_IO. */
int leat_shard_names_check_length(const char *prefix, int32_t n_shards, leat_error *err);
/* Whether there are shards of another number: PREFIX-* would read them together with the new ones. Returns
 * LEAT_OK, LEAT_E_DATA or LEAT_E_NOMEM. */
int leat_shard_names_check(const char *prefix, int32_t n_shards, leat_error *err);
/* Makes the index of each, so that the first run need not read all files to find their records. Returns
 * LEAT_OK or the error. */
int leat_shard_names_index(const char *prefix, int32_t n_shards, leat_error *err);

/* Puts the marker there, on disk, and then removes the files of a former set of these names, so that there
 * are never files of both. Returns LEAT_OK, LEAT_E_IO or LEAT_E_NOMEM. */
int leat_shard_names_begin(const char *prefix, int32_t n_shards, leat_error *err);
/* All have their names: makes that durable, and takes the marker away. */
int leat_shard_names_end(const char *prefix, leat_error *err);

#endif
