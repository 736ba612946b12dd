/* SPDX-License-Identifier: MIT
 *
 * shard_set.h: detects incomplete sets of files PREFIX-00000-of-00008.tfrecord, …. A writer renames the
 * files of a set one by one. Meanwhile a file PREFIX.incomplete exists, and readers refuse the set. So a
 * killed writer never leaves a partial set that looks complete. */
#ifndef LEAT_SHARD_SET_H
#define LEAT_SHARD_SET_H

#include "format.h"

#define LEAT_SHARD_SET_MARKER ".incomplete" /* appended to PREFIX */

enum { LEAT_SHARD_SET_DIGITS = 5 }; /* of both numbers, at least */

/* Checks for markers of the sets of these files. Files with other names are in no set.
 *
 * paths    sorted, so that each set is checked once
 * returns  LEAT_FORMAT_OK, LEAT_FORMAT_BAD (text: which set, what to do), LEAT_FORMAT_IO or LEAT_FORMAT_NOMEM */
int leat_shard_set_check(char *const *paths, size_t n_paths, leat_format_error *err);

/* Length of PREFIX in the name of a file of such a set; 0: it is in none. */
size_t leat_shard_set_prefix(const char *path);

#endif
