/* SPDX-License-Identifier: MIT
 *
 * pattern.h: patterns of file names (glob(7)) in which what exists as it is written is taken so: a file
 * "a[1].tfrecord", or the folder of "photos [2024]/train-*.tfrecord". */
#ifndef LEAT_PATTERN_H
#define LEAT_PATTERN_H

#include <glob.h>

/* glob(3), but a pattern that is the name of a file means that file, and so does the longest folder of it that
 * exists under that name. Returns what glob() does. */
int leat_pattern_glob(const char *pattern, int flags, glob_t *out);

/* The pattern that means `text` literally, in new memory; NULL: out of memory. */
char *leat_pattern_escape(const char *text);

#endif
