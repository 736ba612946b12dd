/* SPDX-License-Identifier: MIT
 *
 * pattern.h: patterns of file names (glob(7)). Existing names take precedence over special characters: a
 * file "a[1].tfrecord", or the folder of "photos [2024]/train-*.tfrecord". Sources and commands call it. */
#ifndef LEAT_PATTERN_H
#define LEAT_PATTERN_H

#include <glob.h>

/* Like glob(3), but a pattern that is the name of an existing file matches that file. The longest leading
 * folder that exists is also taken literally. Returns the result of glob(). */
int leat_pattern_glob(const char *pattern, int flags, glob_t *out);

/* Returns a pattern that matches `text` literally, in new memory; NULL: out of memory. */
char *leat_pattern_escape(const char *text);

#endif
