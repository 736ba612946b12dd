/* SPDX-License-Identifier: MIT
 *
 * file_watch.h: detects that a file was changed while in use, by its size and time of change. Sources
 * and caches call it. */
#ifndef LEAT_FILE_WATCH_H
#define LEAT_FILE_WATCH_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

#include "leat/error.h"

typedef struct leat_file_watch_id {
    uint64_t bytes;
    int64_t mtime_ns;
} leat_file_watch_id;

leat_file_watch_id leat_file_watch_id_in(const struct stat *status);

/* What tells that files of a set have changed since. */
typedef struct leat_file_watch_stamp {
    uint64_t digest;   /* of the sizes and times of change of all */
    int64_t newest_ns; /* the last of these times; since 1970 */
} leat_file_watch_stamp;

/* Adds a file to a stamp, which is all zero at first. */
void leat_file_watch_stamp_add(leat_file_watch_stamp *stamp, const struct stat *status);

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
} leat_file_watch;

void leat_file_watch_init(leat_file_watch *watch, const leat_file_watch_id *id);
/* Any thread. */
int leat_file_watch_check(leat_file_watch *watch, int fd, leat_error *err);
/* Checks at once. */
int leat_file_watch_check_now(leat_file_watch *watch, int fd, leat_error *err);

#endif
