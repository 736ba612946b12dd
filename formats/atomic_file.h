/* SPDX-License-Identifier: MIT
 *
 * atomic_file.h: a file that appears under its name completely or not at all. All writers of files use it.
 *
 * Bytes go to a file without a name (O_TMPFILE) in the same folder. Commit flushes it, links it as
 * ".NAME.<16 hex digits>.tmp", syncs it, renames it to NAME and syncs the folder. A NAME of more than 100 bytes
 * is left out of the temporary name, so that it always fits. Without O_TMPFILE (network file systems) or
 * /proc, the file has the temporary name from the start. If NAME is a link that link.h
 * follows, the file that it names is replaced, or made. A replaced file keeps its mode.
 *
 * Any failure removes the file. A killed process never changes NAME. The system removes its nameless
 * file; a file with a temporary name (of a process that is killed during the sync, too) stays, and can be deleted. */
#ifndef LEAT_ATOMIC_FILE_H
#define LEAT_ATOMIC_FILE_H

#include "format.h"

typedef struct leat_atomic_file leat_atomic_file;

enum {
    /* No fsync: a power failure can damage the file. For files with a checksum that can be rebuilt. */
    LEAT_ATOMIC_FILE_NO_SYNC = 1,
    /* Replaces nothing: of two that write one name at once, the commit of the second fails. */
    LEAT_ATOMIC_FILE_NEW = 2
};

/* Creates the file without a name or with a temporary one. Fails if a folder, device or pipe has the
 * final name, if the name is too long, or if it is a link of another user.
 *
 * flags    of LEAT_ATOMIC_FILE_*
 * returns  LEAT_FORMAT_OK, _IO or _NOMEM; *out is NULL unless OK */
int leat_atomic_file_open(leat_atomic_file **out, const char *path, unsigned flags,
                          leat_format_error *err);

/* Appends bytes through a buffer of 1 MiB. A failure (disk full, …) removes the file; all later writes
 * and the commit then fail with LEAT_FORMAT_IO. */
int leat_atomic_file_write(leat_atomic_file *file, const void *bytes, size_t size,
                           leat_format_error *err);

/* Returns the bytes appended so far, including those in the buffer. */
uint64_t leat_atomic_file_size(const leat_atomic_file *file);

/* Gives the file its name. Only one failure leaves the (complete) file there: that of syncing the
 * folder. Only close is allowed afterwards. */
int leat_atomic_file_commit(leat_atomic_file *file, leat_format_error *err);

/* The same without the sync of the folder, for a file of a set whose folder the caller syncs once, at the end. */
int leat_atomic_file_commit_unsynced(leat_atomic_file *file, leat_format_error *err);

/* Frees the file and sets *file to NULL; removes it from disk unless committed. Takes NULL. */
void leat_atomic_file_close(leat_atomic_file **file);

#endif
