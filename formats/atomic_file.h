/* SPDX-License-Identifier: MIT
 *
 * atomic_file.h: a file that appears under its name whole or not at all.
 *
 * Bytes go to a file without a name (O_TMPFILE) in the same folder. Commit flushes and syncs it, gives it
 * the temporary name ".NAME.<16 hex digits>.tmp" (without NAME where that has more than 100 bytes, so that
 * every NAME that fits can be written), renames it over NAME and syncs the folder. Where the file system has no nameless files (as over a network), or /proc is not there to name them by, it has
 * the temporary name from the beginning.
 *
 * Whatever fails removes the file. A killed process never touches NAME, and the system removes a
 * nameless file; one with a temporary name stays (safe to delete). */
#ifndef LEAT_ATOMIC_FILE_H
#define LEAT_ATOMIC_FILE_H

#include "format.h"

typedef struct leat_atomic_file leat_atomic_file;

enum {
    /* No fsync: after a power cut the file may be damaged. For what has a checksum and can be made
     * again. */
    LEAT_ATOMIC_FILE_NO_SYNC = 1
};

/* Creates the file, under no name or a temporary one. A folder, device or pipe that already has the
 * name is refused, and a name that is too long.
 *
 * flags    0 or LEAT_ATOMIC_FILE_NO_SYNC
 * returns  LEAT_FORMAT_OK, _IO or _NOMEM; *out is NULL unless OK */
int leat_atomic_file_open(leat_atomic_file **out, const char *path, unsigned flags,
                          leat_format_error *err);

/* Appends bytes, through a buffer of 1 MiB. After a failure (disk full, …) the file is gone
 * and every later write and the commit fail with LEAT_FORMAT_IO. */
int leat_atomic_file_write(leat_atomic_file *file, const void *bytes, size_t size,
                           leat_format_error *err);

/* Bytes taken so far, some of which may still be in the buffer. */
uint64_t leat_atomic_file_size(const leat_atomic_file *file);

/* Puts the file under its name. The one failure that leaves the (complete) file there is that of
 * syncing the folder. Nothing but close is allowed afterwards. */
int leat_atomic_file_commit(leat_atomic_file *file, leat_format_error *err);

/* Removes the file unless committed, frees, sets *file to NULL. Takes NULL. */
void leat_atomic_file_close(leat_atomic_file **file);

#endif
