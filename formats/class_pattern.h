/* SPDX-License-Identifier: MIT
 *
 * class_pattern.h: finds the class in the name of a file: an extended regular expression (POSIX) whose first group
 * is the class. Lists of files (file_list.h) call it.
 *
 * Besides POSIX there are \d \D \w \W \s \S, in ASCII. Refused, because POSIX would read it in another way than other
 * languages do: (?…), two quantifiers in a row (*? +? ++), other letters and digits after a backslash, and \] \^ \-
 * in brackets. */
#ifndef LEAT_CLASS_PATTERN_H
#define LEAT_CLASS_PATTERN_H

#include <regex.h>

#include "format.h"

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
