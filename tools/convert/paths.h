/* SPDX-License-Identifier: MIT
 *
 * paths.h: file arguments: names, or patterns in quotes that the command expands itself. */
#ifndef LEAT_PATHS_H
#define LEAT_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leat/error.h"

typedef struct leat_paths {
    char **items;
    size_t n;
} leat_paths;

/* An existing file stands for itself, also with '*' in its name; a pattern for what it matches, in
 * byte order, without what leat writes beside record files (side_file.h); a manifest (formats/manifest.h) for what it lists.
 *
 * compare  files that a manifest lists must have the sizes that it says
 * out      leat_paths_close(), also after an error
 * returns  LEAT_OK; LEAT_E_IO: there is nothing of that name; LEAT_E_DATA: leat_paths_check(), or a size; LEAT_E_NOMEM */
int leat_paths_expand(leat_paths *out, const char *const *arguments, int n, bool compare,
                      leat_error *err);
/* Refuses files of a set that is being renamed, or whose conversion was stopped then (formats/shard_set.h). Returns LEAT_OK,
 * LEAT_E_DATA, LEAT_E_IO or LEAT_E_NOMEM. */
int leat_paths_check(const leat_paths *paths, leat_error *err);
/* A digest of what tells that a file is written to, its size and the time of its last change; its number, which tells that
 * it is another one, is not always the same over FUSE. It is odd, or 0: the file cannot be found. folder: which the path
 * starts from, or AT_FDCWD */
uint64_t leat_paths_stamp(int folder, const char *path);
/* A digest of the sizes of these files and of their first, middle and last 16 KiB: the same for copies on other machines. */
uint64_t leat_paths_sample(const leat_paths *paths);
/* Drops files that are there already, under the same name or another (formats/same_file.h), and says so on standard error. */
int leat_paths_once(leat_paths *paths, leat_error *err);
/* The same, but links to a file stay: only names in the same folder that are equal, such as x and ./x, are one. For what is
 * made beside each name, such as an index. */
int leat_paths_names_once(leat_paths *paths, leat_error *err);
/* Adds one as it is. */
int leat_paths_append(leat_paths *paths, const char *path, leat_error *err);
/* Adds what one argument stands for. */
int leat_paths_add(leat_paths *paths, const char *argument, bool compare, leat_error *err);
void leat_paths_close(leat_paths *paths);

/* 1 if the name ends in .yaml or .yml. */
int leat_paths_is_config(const char *path);

#endif
