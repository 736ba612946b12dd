/* SPDX-License-Identifier: MIT
 *
 * file_watch.h: detects that a file was changed while in use, by its size and time of change. Sources
 * and caches call it. */
#ifndef LEAT_FILE_WATCH_H
#define LEAT_FILE_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "leat/error.h"

typedef struct leat_file_watch_id {
    uint64_t bytes;
    int64_t mtime_ns;
} leat_file_watch_id;

leat_file_watch_id leat_file_watch_id_in(const struct stat *status);

/* What tells that files of a set have changed since. All zero at first: sizes and times decide. */
typedef struct leat_file_watch_stamp {
    uint64_t digest;   /* of the sizes and times of change of all */
    int64_t newest_ns; /* when a file was last written or replaced; since 1970 */
    uint64_t n_files;  /* added so far */
    uint64_t every;    /* content of the first of this many files is in the digest; 0: of none */
    uint64_t n_blocks; /* of such a file */
    bool some;         /* and the other files are left out */
} leat_file_watch_stamp;

/* Starts a stamp of n files that also knows content, for files that get their old time back: at most 4,096 files, and 64
 * blocks of a file, spread evenly. */
leat_file_watch_stamp leat_file_watch_stamp_of_content(uint64_t n_files);
/* The same of few blocks of at most 256 files, for sets that are not to be read, nor asked about, as a whole. */
leat_file_watch_stamp leat_file_watch_stamp_of_some(uint64_t n_files);
/* Whether the next file is left out, and passes over it if so. */
bool leat_file_watch_stamp_skips(leat_file_watch_stamp *stamp);
/* Adds a file. fd -1: opens the path, from `folder` (AT_FDCWD: the working folder), if it has to be read; content that
 * cannot be read counts as none.
 * LEAT_OK, or LEAT_E_IO: there are too few descriptors. */
int leat_file_watch_stamp_add(leat_file_watch_stamp *stamp, int folder, const char *path, int fd,
                              const struct stat *status, leat_error *err);

/* Gets the size and time of an open file. LEAT_OK, or LEAT_E_IO with errno. */
int leat_file_watch_id_of(int fd, leat_file_watch_id *out);

/* LEAT_OK: the file is unchanged. LEAT_E_DATA: it is not; the message says what differs.
 * path: for the message; "" if the caller adds it. */
int leat_file_watch_same(const leat_file_watch_id *id, int fd, const char *path, leat_error *err);

/* For files that stay open. It checks at most once a second. After it saw a change, every call
 * fails. */
typedef struct leat_file_watch {
    leat_file_watch_id id;         /* [const after open] */
    _Atomic int64_t next_check_ns; /* INT64_MIN: the file was changed */
    atomic_bool read;              /* since leat_file_watch_check_read() */
} leat_file_watch;

void leat_file_watch_init(leat_file_watch *watch, const leat_file_watch_id *id);
/* Before a read. Any thread. */
int leat_file_watch_check(leat_file_watch *watch, int fd, leat_error *err);
/* Checks at once. */
int leat_file_watch_check_now(leat_file_watch *watch, int fd, leat_error *err);
/* After reads: checks at once a file that was read since the last call; others cost nothing. Any thread. */
int leat_file_watch_check_read(leat_file_watch *watch, int fd, leat_error *err);

#endif
