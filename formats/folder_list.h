/* SPDX-License-Identifier: MIT
 *
 * folder_list.h: what a folder of images holds, in the same order on every machine. Names that begin with a dot are
 * passed over. */
#ifndef LEAT_FOLDER_LIST_H
#define LEAT_FOLDER_LIST_H

#include <dirent.h>

/* Lists the entries of a folder in byte order of their names. Returns their number, or -1 with errno. free() each and
 * the list. */
int leat_folder_list(const char *path, struct dirent ***entries);

/* Returns 'd' for a folder, 'f' for a file, 'x' for neither; 0 on error, with errno. path: of the entry. Follows links. */
char leat_folder_kind(const struct dirent *entry, const char *path);

#endif
