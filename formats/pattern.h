/* SPDX-License-Identifier: MIT
 *
 * pattern.h: patterns of file names (glob(7)). Existing names take precedence over special characters: a
 * file "a[1].tfrecord", or the folder of "photos [2024]/train-*.tfrecord". Sources and commands call it. */
#ifndef LEAT_PATTERN_H
#define LEAT_PATTERN_H

#include <glob.h>
#include <regex.h>

#include "format.h"

/* Like glob(3), but a pattern that is the name of an existing file matches that file. The longest leading
 * folder that exists is also taken literally. Returns the result of glob(). */
int leat_pattern_glob(const char *pattern, int flags, glob_t *out);

/* Returns a pattern that matches `text` literally, in new memory; NULL: out of memory. */
char *leat_pattern_escape(const char *text);

/* --- class_pattern.c ------------------------------------------------------------------------- */

/* A class in the name of a file; what its expression may have: class_pattern.c. */
typedef struct leat_class_pattern {
    regex_t regex;
    int is_open;
} leat_class_pattern;

/* Returns LEAT_FORMAT_OK; LEAT_FORMAT_BAD: no such expression, or one without a group; LEAT_FORMAT_NOMEM.
 * out: leat_class_pattern_close(), also after an error */
int leat_class_pattern_open(leat_class_pattern *out, const char *text, leat_format_error *err);
void leat_class_pattern_close(leat_class_pattern *pattern);

/* Searches the name for the leftmost, longest match. Returns the first byte of the class, *n: its bytes, at least
 * one; NULL: there is no match, or the class would be empty. */
const char *leat_class_pattern_find(const leat_class_pattern *pattern, const char *name, size_t *n);

#endif
