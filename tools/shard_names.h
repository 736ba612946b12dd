/* SPDX-License-Identifier: MIT
 *
 * shard_names.h: how the files of a set get their names, all or none. When all are complete and on disk:
 * leat_shard_names_begin(), the renames, leat_shard_names_end(). In between there is PREFIX.incomplete, which
 * readers refuse (formats/shard_set.h), and it stays when the process is killed there. */
#ifndef LEAT_SHARD_NAMES_H
#define LEAT_SHARD_NAMES_H

#include <stdint.h>

#include "leat/error.h"

/* Name of a shard; NULL: out of memory. free(). */
char *leat_shard_name(const char *prefix, int32_t shard, int32_t n_shards);

/* Puts the marker there, on disk, and then removes the files of a former set of these names, so that there
 * are never files of both. Returns LEAT_OK, LEAT_E_IO or LEAT_E_NOMEM. */
int leat_shard_names_begin(const char *prefix, int32_t n_shards, leat_error *err);
/* All have their names: makes that durable, and takes the marker away. */
int leat_shard_names_end(const char *prefix, leat_error *err);

#endif
