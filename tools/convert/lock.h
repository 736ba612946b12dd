/* SPDX-License-Identifier: MIT
 *
 * lock.h: one process at a time writes the files of a PREFIX. The lock is a hidden file beside
 * them, held with flock(), so that a process that is killed holds nothing. */
#ifndef LEAT_LOCK_H
#define LEAT_LOCK_H

#include "leat/error.h"

typedef struct leat_lock {
    char *path; /* .NAME.lock in the folder of PREFIX; NULL: not held */
    int fd;
} leat_lock;

/* Takes the lock of a prefix without waiting; its folder must exist.
 * returns LEAT_OK, LEAT_E_IO (another process holds it, or the file cannot be made), LEAT_E_NOMEM */
int leat_lock_open(leat_lock *lock, const char *prefix, leat_error *err);
/* Removes the file and lets go; a lock that is not held (all zero) is left alone. */
void leat_lock_close(leat_lock *lock);

#endif
