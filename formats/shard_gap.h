/* SPDX-License-Identifier: MIT
 *
 * shard_gap.h: finds a file that is missing from a numbered set, by the names of the others: with
 * x-00000-of-00003 and x-00002-of-00003, x-00001-of-00003 is. Such names are written by leat, TensorFlow Datasets and
 * Beam; numbers begin with 0, or with 1 if the last one is that of the whole. */
#ifndef LEAT_SHARD_GAP_H
#define LEAT_SHARD_GAP_H

#include <stdbool.h>

#include "format.h"

typedef struct leat_shard_gap {
    char path[512];     /* the first file that is missing; "": none is */
    unsigned there, of; /* files of its set that are named, and that its names count */
} leat_shard_gap;

/* Looks for the first gap that somebody asks for. A set may lie in several folders, so what another folder has is no gap, and
 * a file may be named twice. Names of one count that differ behind it (x-00000-of-00003-8f3a, or
 * .tfrecord and .gz) are not looked at: each may have a part of its own.
 *
 * asks     whether somebody asks for a file of this path: one who names a part of a set misses nothing
 * returns  LEAT_FORMAT_OK, LEAT_FORMAT_NOMEM */
int leat_shard_gap_find(char *const *paths, size_t n_paths,
                        bool (*asks)(const char *path, const void *arg), const void *arg,
                        leat_shard_gap *out);

#endif
