/* SPDX-License-Identifier: MIT
 *
 * file_watch.h: is this still the file that was opened? Size and time of the last change tell. */
#ifndef LEAT_FILE_WATCH_H
#define LEAT_FILE_WATCH_H

#include <stdatomic.h>
#include <stdint.h>

#include "leat/error.h"

typedef struct leat_file_watch_id {
    uint64_t bytes;
    int64_t mtime_ns;
} leat_file_watch_id;

/* Of an open file. LEAT_OK, or LEAT_E_IO with errno. */
int leat_file_watch_id_of(int fd, leat_file_watch_id *out);

/* LEAT_OK while the file is as it was; LEAT_E_DATA with what differs. `path` is for the message; ""
 * where the caller's says it. */
int leat_file_watch_same(const leat_file_watch_id *id, int fd, const char *path, leat_error *err);

/* For files that stay open: looks at most once a second, by whoever comes then; once a change is
 * seen every later call says so. */
typedef struct leat_file_watch {
    leat_file_watch_id id;        /* [const after open] */
    _Atomic int64_t next_look_ns; /* INT64_MIN: it has changed */
} leat_file_watch;

void leat_file_watch_init(leat_file_watch *watch, const leat_file_watch_id *id);
/* Any thread. */
int leat_file_watch_check(leat_file_watch *watch, int fd, const char *path, leat_error *err);
/* The same, now. */
int leat_file_watch_check_now(leat_file_watch *watch, int fd, const char *path, leat_error *err);

#endif
