/* SPDX-License-Identifier: MIT
 *
 * working_folder.h: the working folder that the process had when something was opened. Sources and caches that open files by
 * name later keep it, because the program may change to another folder (chdir) meanwhile. A kept folder is a descriptor for
 * openat() and fstatat(); AT_FDCWD means none is kept. A child that was forked may use it too. */
#ifndef LEAT_WORKING_FOLDER_H
#define LEAT_WORKING_FOLDER_H

#include <stdbool.h>

#include "leat/error.h"

/* Whether a name means another file in another working folder. */
static inline bool leat_working_folder_decides(const char *path)
{
    return *path != '/';
}

/* Keeps the present working folder. LEAT_OK, or LEAT_E_IO: *folder is AT_FDCWD. */
int leat_working_folder_keep(int *folder, leat_error *err);
/* Takes AT_FDCWD too, and sets it. */
void leat_working_folder_release(int *folder);

/* Returns a name by which code that knows no folder can open the path, as long as the folder is kept. Without /proc it
 * is the path. The caller frees it. NULL: no memory. */
char *leat_working_folder_name(int folder, const char *path);
/* Changes such names in a message back to paths. */
void leat_working_folder_shorten(int folder, char *text);

#endif
