/* SPDX-License-Identifier: MIT */
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

/* Who held the lock before may have removed the file between our open() and our flock(): what we
 * hold then is a file without a name, which keeps nobody out. */
static bool is_still_there(const leat_lock *lock)
{
    struct stat ours, there;
    return fstat(lock->fd, &ours) == 0 && stat(lock->path, &there) == 0 &&
           ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

static int fail_flock(const char *prefix, const char *path, int error, leat_error *err)
{
    if (error == EWOULDBLOCK)
        return leat_fail(err, LEAT_E_IO,
                         "%s: another leat is writing files of this PREFIX; wait until it is done "
                         "or choose another PREFIX",
                         prefix);
    return leat_fail(err, LEAT_E_IO, "%s: cannot lock %s: %s", prefix, path, strerror(error));
}

static int take(leat_lock *lock, const char *prefix, leat_error *err)
{
    for (;;) {
        lock->fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (lock->fd < 0)
            return leat_fail(err, LEAT_E_IO, "%s: cannot create the file %s: %s", prefix,
                             lock->path, strerror(errno));
        /* Some file systems have no locks; a single writer must work there too. */
        if (flock(lock->fd, LOCK_EX | LOCK_NB) < 0 && errno != ENOSYS && errno != EOPNOTSUPP) {
            const int error = errno;
            close(lock->fd);
            return fail_flock(prefix, lock->path, error, err);
        }
        if (is_still_there(lock))
            return LEAT_OK;
        close(lock->fd);
    }
}

int leat_lock_open(leat_lock *lock, const char *prefix, leat_error *err)
{
    lock->path = leat_files_hidden(prefix, ".lock");
    if (!lock->path)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    const int rc = take(lock, prefix, err);
    if (rc < 0) {
        free(lock->path);
        lock->path = NULL;
    }
    return rc;
}

void leat_lock_close(leat_lock *lock)
{
    if (!lock->path)
        return;
    unlink(lock->path); /* while locked; later it may be another's */
    close(lock->fd);
    free(lock->path);
    lock->path = NULL;
}
