/* SPDX-License-Identifier: MIT
 *
 * shard_set.h: the files PREFIX-00000-of-00008.tfrecord, … are one set, and get their names one after the
 * other. As long as not all have, there is a file PREFIX.incomplete: who reads the set refuses it then, so
 * that a writer that is killed in between leaves no half set that looks whole. */
#ifndef LEAT_SHARD_SET_H
#define LEAT_SHARD_SET_H

#include "format.h"

#define LEAT_SHARD_SET_MARKER ".incomplete" /* behind PREFIX */

/* Looks for the markers of the sets that these files are of; files that are of no set have none.
 *
 * paths    those of one set stand together, as they do when they are sorted: then it is one look per set
 * returns  LEAT_FORMAT_OK, LEAT_FORMAT_BAD (text: which set, what to do) or LEAT_FORMAT_NOMEM */
int leat_shard_set_check(char *const *paths, size_t n_paths, leat_format_error *err);

#endif
