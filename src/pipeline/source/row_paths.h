/* SPDX-License-Identifier: MIT
 *
 * row_paths.h: the files of a source of rows (row_files.h), and which file of labels belongs to each. */
#ifndef LEAT_ROW_PATHS_H
#define LEAT_ROW_PATHS_H

#include "source.h"

typedef struct leat_row_pair {
    char *file;
    char *labels; /* NULL: none */
} leat_row_pair;

typedef struct leat_row_paths {
    leat_row_pair *pairs; /* in byte order of the files */
    size_t n;
} leat_row_paths;

/* Finds the files of patterns, each once, with their labels. Two lists of one length are paired entry by entry, each
 * entry's files in byte order; otherwise all files and all labels in byte order, and if several labels are listed, both
 * lists must be in that order. Then the pairs are sorted.
 *
 * source   its name, for notes
 * labels   NULL or empty: none
 * out      leat_row_paths_close(), also after an error
 * notes    a line is added if a file is listed twice or more
 * returns  LEAT_OK; LEAT_E_IO: a pattern has no match; LEAT_E_CONFIG: labels and files differ in number, a
 *          list must be in byte order and is not, or a file has two files of labels; LEAT_E_NOMEM */
int leat_row_paths_open(leat_row_paths *out, const char *source, const leat_strings *files,
                        const leat_strings *labels, const leat_node *where, char **notes,
                        leat_error *err);
void leat_row_paths_close(leat_row_paths *paths);

#endif
