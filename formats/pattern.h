/* SPDX-License-Identifier: MIT
 *
 * pattern.h: patterns of file names (glob(7)). Existing names take precedence over special characters: a
 * file "a[1].tfrecord", or the folder of "photos [2024]/train-*.tfrecord". Sources and commands call it. */
#ifndef LEAT_PATTERN_H
#define LEAT_PATTERN_H

#include <glob.h>
#include <regex.h>

#include "format.h"

/* glob(3) of a pattern as it is, but a folder that cannot be read to its end is an error: what it holds is not known.
 *
 * flags    GLOB_APPEND, GLOB_NOSORT
 * out      globfree(), also after an error
 * returns  LEAT_FORMAT_OK, also if nothing matches: gl_pathc is 0, or as before; LEAT_FORMAT_IO; LEAT_FORMAT_NOMEM */
int leat_pattern_list(const char *pattern, int flags, glob_t *out, leat_format_error *err);

/* The same, but a pattern that is the name of an existing file matches that file, and the longest leading folder that
 * exists is taken literally. LEAT_FORMAT_BAD: it has a part `**`. */
int leat_pattern_glob(const char *pattern, int flags, glob_t *out, leat_format_error *err);

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
