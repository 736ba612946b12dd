/* SPDX-License-Identifier: MIT
 *
 * same_file.h: which paths of a list name one file: the same path twice, or other names and links. Who expands a list of
 * files reads each of them once. Sources and commands call it. */
#ifndef LEAT_SAME_FILE_H
#define LEAT_SAME_FILE_H

#include "format.h"

/* Finds the paths that name a file which an earlier path names (by device, inode, size and mtime).
 *
 * first    [out, n]: the earliest path that names the same file: i itself if path i is the earliest. Also i where no file
 *          is found: whoever opens it says why
 * n_again  [out] files with two names or more
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_NOMEM */
int leat_same_file_find(char *const *paths, size_t n, size_t *first, size_t *n_again);

/* The same for lists so long that only their folders are looked at: a file has other names by its folder (x, ./x, the whole
 * path, a link to the folder), not by links to itself. Paths of one folder should follow each other. */
int leat_same_file_find_in_folders(char *const *paths, size_t n, size_t *first, size_t *n_again);

#endif
