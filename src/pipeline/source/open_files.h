/* SPDX-License-Identifier: MIT
 *
 * open_files.h: the descriptors of a source with many files. The source `tfrecord` and what reads for it (kept_files,
 * source_compressed) claim a file before they read and release it afterwards. Invariant: bytes are read only from the file
 * that was there at open; a file that vanished or was replaced while it was closed is an error.
 *
 * Where the limit on descriptors allows it, all files stay open, and a claim costs nothing, unless
 * they are opened late. Otherwise the files without a user that were used last stay open, and a file that is closed is opened
 * again by its path. */
#ifndef LEAT_OPEN_FILES_H
#define LEAT_OPEN_FILES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "file_watch.h"

typedef struct leat_open_file leat_open_file;

/* The files of a source that take turns. */
typedef struct leat_open_files {
    pthread_mutex_t lock;
    int folder;     /* that relative paths count from, see working_folder.h [const after open] */
    bool rotates;   /* false: all files stay open [const after open] */
    int64_t most;   /* files that stay open without a user [const after open] */
    int64_t n_open; /* [lock] */
    leat_open_file *oldest, *newest; /* open files without a user [lock] */
} leat_open_files;

struct leat_open_file {
    const char *path;              /* borrowed [const after open] */
    leat_open_files *files;        /* NULL: it stays open [const after open] */
    leat_file_watch watch;         /* any thread */
    uint64_t inode;                /* [const after open] */
    int fd;                        /* -1: closed [files->lock; const after open if it stays open] */
    uint32_t n_users;              /* [files->lock] */
    leat_open_file *older, *newer; /* of the list of files without a user [files->lock] */
};

/* Decides how many of n files stay open. late: very many, which are opened when they are needed. It may raise this process's limit on open files.
 * *note, of `size` bytes: what to tell the user; "": nothing. */
void leat_open_files_init(leat_open_files *files, uint64_t n, bool late, char *note, size_t size);
/* All its files are closed before. */
void leat_open_files_fini(leat_open_files *files);

/* Takes a file that was just opened, with what is known of it. From now on it may be closed while nobody reads it. */
void leat_open_file_add(leat_open_file *file, leat_open_files *files);
/* Closes the file for good; takes one that was never opened (fd -1) too. */
void leat_open_file_fini(leat_open_file *file);

/* Opens a file that takes turns, if it is closed, and checks that it is unchanged. Pair it with leat_open_file_release().
 * Any thread.
 *
 * *fd      until then
 * returns  LEAT_OK; LEAT_E_DATA: it was changed; LEAT_E_IO: it cannot be opened; LEAT_E_AGAIN: there are too few
 *          descriptors now */
int leat_open_file_try(leat_open_file *file, int *fd, leat_error *err);
/* The same, but waits for descriptors. LEAT_E_NOMEM: there are still too few. */
int leat_open_file_claim_turn(leat_open_file *file, int *fd, leat_error *err);
void leat_open_file_release_turn(leat_open_file *file);
/* Before attempt 0, 1, ... to open a file while descriptors lack: closes files without a user, and waits a little. False:
 * there were enough attempts. */
bool leat_open_files_wait(leat_open_files *files, int attempt);
/* Checks at once that the file is unchanged; to explain another error. */
int leat_open_file_check_now(leat_open_file *file, leat_error *err);

/* Checks a file that was read since the last call, unless it takes turns and is closed now. */
int leat_open_file_check_read(leat_open_file *file, leat_error *err);

/* The same two for any file; one that always stays open is not checked. */
static inline int leat_open_file_claim(leat_open_file *file, int *fd, leat_error *err)
{
    if (file->files)
        return leat_open_file_claim_turn(file, fd, err);
    *fd = file->fd;
    return LEAT_OK;
}

static inline void leat_open_file_release(leat_open_file *file)
{
    if (file->files)
        leat_open_file_release_turn(file);
}

/* Checks a file that always stays open, at most once a second; others are checked when they are claimed. */
static inline int leat_open_file_check(leat_open_file *file, leat_error *err)
{
    return file->files ? LEAT_OK : leat_file_watch_check(&file->watch, file->fd, err);
}

/* For tests: opening a file again fails so. All zero: it does not. */
typedef struct leat_open_files_faults {
    int error;      /* errno */
    uint32_t every; /* of the n-th time that a file is opened again */
} leat_open_files_faults;
extern leat_open_files_faults leat_open_files_fault;

#endif
