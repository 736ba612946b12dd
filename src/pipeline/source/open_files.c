/* SPDX-License-Identifier: MIT
 *
 * open_files.c: implements open_files.h.
 *
 * DESIGN. Sources share the limit of the process: each source whose files take turns is promised half of what is left,
 * so that a later one (the data of `eval`) finds some. Under the lock there is no system call: a file is opened
 * without it, and the thread that comes second closes its own descriptor. A source may have more files open than it
 * was promised while all of them have users; then the next one without a user is closed at once. */
#include "open_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/working_folder.h"
#include "formats/format.h"

#define LEAST    2      /* files that a source may always keep open */
#define MOST     768    /* that a source keeps open which opens them late */
#define ATTEMPTS 400    /* to open a file while there are too few descriptors */
#define PAUSE_NS 500000 /* between them */

leat_open_files_faults leat_open_files_fault;

static _Atomic int64_t n_promised; /* of all sources whose files take turns */
static _Atomic int64_t n_rotating; /* descriptors that these files have now */

/* --- a source ------------------------------------------------------------------------------------- */

static void say_rotates(const leat_open_files *files, uint64_t n, bool late,
                        const leat_descriptors *limit, char *note, size_t size)
{
    char limited[80] = "";
    if (!late)
        snprintf(limited, sizeof limited, ", but this process may open %llu (ulimit -Hn)",
                 (unsigned long long)limit->now);
    snprintf(note, size,
             "%llu files%s: at most %lld stay open, and the others are opened again when a record "
             "is read, without io_uring and io: direct%s",
             (unsigned long long)n, limited, (long long)files->most,
             *limited ? "; a higher limit is faster" : "");
}

void leat_open_files_init(leat_open_files *files, uint64_t n, bool late, char *note, size_t size)
{
    const int64_t promised = atomic_load(&n_promised);
    const uint64_t wanted = late ? 2 * MOST : n;
    const leat_descriptors limit =
        leat_descriptors_want(wanted + (uint64_t)promised, atomic_load(&n_rotating));
    const int64_t room = limit.room - promised;
    *files = (leat_open_files){ .folder = AT_FDCWD, .rotates = late || room < (int64_t)n };
    pthread_mutex_init(&files->lock, NULL);
    *note = '\0';
    if (files->rotates) {
        files->most = room / 2 > LEAST ? room / 2 : LEAST;
        files->most = late && files->most > MOST ? MOST : files->most;
        atomic_fetch_add(&n_promised, files->most);
        say_rotates(files, n, late, &limit, note, size);
    } else if (limit.now != limit.before) {
        snprintf(note, size,
                 "%llu files stay open, so the limit on open files (ulimit -n) was raised from "
                 "%llu to %llu for this process",
                 (unsigned long long)n, (unsigned long long)limit.before,
                 (unsigned long long)limit.now);
    }
}

void leat_open_files_fini(leat_open_files *files)
{
    atomic_fetch_sub(&n_promised, files->most);
    files->most = 0;
    leat_working_folder_release(&files->folder);
    pthread_mutex_destroy(&files->lock);
}

/* --- the list of open files without a user -------------------------------------------------------- */

static void unlink_locked(leat_open_file *file)
{
    leat_open_files *const files = file->files;
    *(file->older ? &file->older->newer : &files->oldest) = file->newer;
    *(file->newer ? &file->newer->older : &files->newest) = file->older;
    file->older = file->newer = NULL;
}

static void append_locked(leat_open_file *file)
{
    leat_open_files *const files = file->files;
    file->older = files->newest;
    *(files->newest ? &files->newest->newer : &files->oldest) = file;
    files->newest = file;
}

/* Takes a descriptor away from its file. Close it without the lock. */
static int take_fd_locked(leat_open_file *file)
{
    const int fd = file->fd;
    file->fd = -1;
    file->files->n_open--;
    return fd;
}

/* The same with the oldest file without a user. -1: all have users. */
static int take_oldest_locked(leat_open_files *files)
{
    leat_open_file *const file = files->oldest;
    if (!file)
        return -1;
    unlink_locked(file);
    return take_fd_locked(file);
}

static void close_rotating(int fd)
{
    if (fd < 0)
        return;
    close(fd);
    atomic_fetch_sub(&n_rotating, 1);
}

/* --- a file --------------------------------------------------------------------------------------- */

void leat_open_file_add(leat_open_file *file, leat_open_files *files)
{
    if (!files->rotates)
        return;
    file->files = files;
    file->n_users = 1;
    atomic_fetch_add(&n_rotating, 1);
    pthread_mutex_lock(&files->lock);
    files->n_open++;
    pthread_mutex_unlock(&files->lock);
    leat_open_file_release(file);
}

void leat_open_file_fini(leat_open_file *file)
{
    if (file->fd < 0)
        return;
    if (file->files)
        close_rotating(file->fd);
    else
        close(file->fd);
    file->fd = -1;
}

static int open_path(const leat_open_file *file)
{
    static _Atomic uint32_t n_calls;
    const leat_open_files_faults *const f = &leat_open_files_fault;
    if (f->every && atomic_fetch_add(&n_calls, 1) % f->every == f->every - 1) {
        errno = f->error;
        return -1;
    }
    return leat_format_open_at(file->files->folder, file->path); /* a pipe may be there now */
}

/* Checks a file that was opened again. */
static int check_reopened(const leat_open_file *file, int fd, leat_error *err)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return leat_fail(err, LEAT_E_IO, "%s: %s", file->path, strerror(errno));
    const int rc = leat_file_watch_same(&file->watch.id, fd, "", err);
    if (rc < 0 || (status.st_ino == file->inode && S_ISREG(status.st_mode)))
        return rc;
    return leat_fail(
        err, LEAT_E_DATA,
        "the file was changed while it was in use: another file has its name now; open "
        "the data again");
}

/* Opens the file again. Returns a descriptor, or an error. */
static int open_again(const leat_open_file *file, leat_error *err)
{
    const int fd = open_path(file);
    const int error = fd < 0 ? errno : 0;
    if (error == EMFILE || error == ENFILE || error == ENOMEM)
        return leat_fail(err, LEAT_E_AGAIN, "cannot open %s again: %s", file->path,
                         leat_format_open_error(error));
    if (fd < 0)
        return leat_fail(err, LEAT_E_IO,
                         "cannot open %s again: %s; it was there when the data was opened",
                         file->path, strerror(error));
    const int rc = check_reopened(file, fd, err);
    if (rc < 0)
        close(fd);
    else
        atomic_fetch_add(&n_rotating, 1);
    return rc < 0 ? rc : fd;
}

/* Uses a file that is open. Returns its descriptor; -1: it is closed. */
static int use_locked(leat_open_file *file)
{
    if (file->fd < 0)
        return -1;
    if (!file->n_users++)
        unlink_locked(file);
    return file->fd;
}

/* Gives the file a descriptor, unless another thread did so meanwhile. Returns the one that is left over, or -1. */
static int install(leat_open_file *file, int *fd)
{
    leat_open_files *const files = file->files;
    const int own = *fd;
    pthread_mutex_lock(&files->lock);
    const int used = use_locked(file);
    if (used < 0) {
        file->fd = own;
        file->n_users = 1;
        files->n_open++;
    }
    pthread_mutex_unlock(&files->lock);
    *fd = used < 0 ? own : used;
    return used < 0 ? -1 : own;
}

int leat_open_file_try(leat_open_file *file, int *fd, leat_error *err)
{
    leat_open_files *const files = file->files;
    int surplus = -1, rc;
    pthread_mutex_lock(&files->lock);
    *fd = use_locked(file);
    if (*fd < 0 && files->n_open >= files->most)
        surplus = take_oldest_locked(files);
    pthread_mutex_unlock(&files->lock);
    close_rotating(surplus);
    if (*fd >= 0) {
        if ((rc = leat_file_watch_check(&file->watch, *fd, err)) < 0)
            leat_open_file_release(file);
        return rc;
    }
    if ((*fd = open_again(file, err)) < 0)
        return *fd;
    atomic_store_explicit(&file->watch.read, true, memory_order_relaxed);
    close_rotating(install(file, fd));
    return LEAT_OK;
}

/* Closes all files without a user: other parts of the process want descriptors. */
static void close_unused(leat_open_files *files)
{
    int fd;
    do {
        pthread_mutex_lock(&files->lock);
        fd = take_oldest_locked(files);
        pthread_mutex_unlock(&files->lock);
        close_rotating(fd);
    } while (fd >= 0);
}

bool leat_open_files_wait(leat_open_files *files, int attempt)
{
    if (attempt)
        close_unused(files);
    if (attempt > 1)
        nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
    return attempt <= ATTEMPTS;
}

int leat_open_file_claim_turn(leat_open_file *file, int *fd, leat_error *err)
{
    int rc = LEAT_E_AGAIN;
    for (int i = 0; rc == LEAT_E_AGAIN && leat_open_files_wait(file->files, i); i++)
        rc = leat_open_file_try(file, fd, err);
    if (rc == LEAT_E_AGAIN && err)
        err->code =
            LEAT_E_NOMEM; /* this is not the record's fault: on_error must not leave it out */
    return rc == LEAT_E_AGAIN ? LEAT_E_NOMEM : rc;
}

void leat_open_file_release_turn(leat_open_file *file)
{
    leat_open_files *const files = file->files;
    int fd = -1;
    pthread_mutex_lock(&files->lock);
    if (!--file->n_users && files->n_open > files->most)
        fd = take_fd_locked(file);
    else if (!file->n_users)
        append_locked(file);
    pthread_mutex_unlock(&files->lock);
    close_rotating(fd);
}

int leat_open_file_check_now(leat_open_file *file, leat_error *err)
{
    int fd, rc = leat_open_file_claim(file, &fd, err);
    if (rc < 0)
        return rc;
    rc = leat_file_watch_check_now(&file->watch, fd, err);
    leat_open_file_release(file);
    return rc;
}

int leat_open_file_check_read(leat_open_file *file, leat_error *err)
{
    if (!file->files)
        return leat_file_watch_check_read(&file->watch, file->fd, err);
    pthread_mutex_lock(&file->files->lock);
    const int fd = use_locked(file);
    pthread_mutex_unlock(&file->files->lock);
    if (fd < 0)
        return LEAT_OK;
    const int rc = leat_file_watch_check_read(&file->watch, fd, err);
    leat_open_file_release_turn(file);
    return rc;
}
