/* SPDX-License-Identifier: MIT */
#include "atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "link.h"

enum {
    BUFFER_BYTES = 1 << 20,
    NAME_ROOM = 24,   /* bytes of a temporary name besides the final one */
    NAME_SHOWN = 100, /* a temporary name leaves out a longer final name */
    OWN_ROOM = 32,    /* "/proc/self/fd/2147483647" */
    ATTEMPTS = 100    /* to find an unused name */
};

struct leat_atomic_file {
    char *path;      /* the final name */
    char *temporary; /* exists on disk while fd >= 0; "": the file has no name yet */
    int fd;          /* -1 once committed or removed */
    unsigned flags;
    uint64_t size;    /* bytes appended, including the buffer */
    uint64_t written; /* bytes passed to the system */
    size_t buffered;
    uint8_t buffer[BUFFER_BYTES];
};

/* Returns the length of the folder part of a path, with its slash; 0: there is none. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

static void give_up(leat_atomic_file *file)
{
    if (file->fd < 0)
        return;
    close(file->fd);
    if (*file->temporary)
        unlink(file->temporary);
    file->fd = -1;
}

static int give_up_with(leat_atomic_file *file, const char *doing, int error,
                        leat_format_error *err)
{
    give_up(file);
    return leat_format_fail(err, LEAT_FORMAT_IO, file->written,
                            "%s: %s: %s (%llu bytes so far; nothing under this name was changed)",
                            file->path, doing, strerror(error), (unsigned long long)file->written);
}

static int check_target(const char *path, leat_format_error *err)
{
    struct stat st;
    if (!path[folder_length(path)])
        return leat_format_fail(err, LEAT_FORMAT_IO, 0, "\"%s\" is not the name of a file", path);
    if (stat(path, &st) == 0)
        return S_ISREG(st.st_mode)
                   ? LEAT_FORMAT_OK
                   : leat_format_fail(err, LEAT_FORMAT_IO, 0,
                                      "%s: exists and is not a regular file; choose another name",
                                      path);
    if (errno == ENAMETOOLONG)
        return leat_format_fail(err, LEAT_FORMAT_IO, 0,
                                "%.300s: a name of %zu bytes is longer than this file system "
                                "allows; choose a shorter one",
                                path, strlen(path + folder_length(path)));
    return leat_format_is_absent(errno)
               ? LEAT_FORMAT_OK
               : leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s: %s", path, strerror(errno));
}

/* A file that replaces another one can be read and written by the same people. A file system without modes refuses. */
static void keep_mode(const leat_atomic_file *file)
{
    struct stat old;
    if (stat(file->path, &old) < 0)
        return;
    (void)!fchown(file->fd, (uid_t)-1, old.st_gid);
    (void)!fchown(file->fd, old.st_uid, (gid_t)-1); /* root may, who writes for somebody else */
    (void)!fchmod(file->fd, old.st_mode & 0777);
}

/* --- a file with a temporary name, and one without any ------------------------------------------ */

static int draw_temporary(leat_atomic_file *file)
{
    const size_t folder = folder_length(file->path), room = strlen(file->path) + NAME_ROOM;
    const char *const name = file->path + folder;
    const bool shown =
        strlen(name) <= NAME_SHOWN; /* otherwise it might be too long for the file system */
    uint64_t salt;
    if (getrandom(&salt, sizeof salt, 0) != (ssize_t)sizeof salt)
        return -1;
    snprintf(file->temporary, room, "%.*s.%s%s%016llx.tmp", (int)folder, file->path,
             shown ? name : "", shown ? "." : "", (unsigned long long)salt);
    return 0;
}

/* Uses the umask, like any other file; mkstemp would set mode 0600. */
static int create_temporary(leat_atomic_file *file)
{
    for (int attempt = 0; attempt < ATTEMPTS && draw_temporary(file) == 0; attempt++) {
        file->fd =
            open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (file->fd >= 0 || errno != EEXIST)
            break;
    }
    return file->fd;
}

/* Writes the name of an open file in /proc. */
static void own_name(int fd, char out[OWN_ROOM])
{
    snprintf(out, OWN_ROOM, "/proc/self/fd/%d", fd);
}

/* Creates a file that disappears with its process. False: the file system does not support it, or there
 * is no /proc, which is needed to link it later. */
static bool create_nameless(leat_atomic_file *file)
{
    struct stat open_one, shown;
    char own[OWN_ROOM];
    const int folder = (int)folder_length(file->path);
    snprintf(file->temporary, strlen(file->path) + NAME_ROOM, "%.*s", folder ? folder : 1,
             folder ? file->path : ".");
    const int fd = open(file->temporary, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    *file->temporary = 0;
    if (fd < 0)
        return false;
    own_name(fd, own);
    if (fstat(fd, &open_one) < 0 || stat(own, &shown) < 0 || open_one.st_ino != shown.st_ino ||
        open_one.st_dev != shown.st_dev) {
        close(fd);
        return false;
    }
    file->fd = fd;
    return true;
}

int leat_atomic_file_open(leat_atomic_file **out, const char *path, unsigned flags,
                          leat_format_error *err)
{
    char *name = NULL;
    *out = NULL;
    int rc = check_target(path, err);
    if (rc == LEAT_FORMAT_OK)
        rc = leat_link_follow(path, &name, err);
    if (rc < 0)
        return rc;
    leat_atomic_file *file = malloc(sizeof *file);
    if (!file) {
        free(name);
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory for its buffer", path);
    }
    file->fd = -1;
    file->flags = flags;
    file->size = file->written = 0;
    file->buffered = 0;
    file->path = name;
    file->temporary = calloc(1, strlen(name) + NAME_ROOM);
    if (!file->temporary) {
        leat_atomic_file_close(&file);
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory for its name", path);
    }
    if (!create_nameless(file) && create_temporary(file) < 0) {
        const int error = errno;
        leat_atomic_file_close(&file);
        return leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s: cannot create a file there: %s", path,
                                leat_format_open_error(error));
    }
    keep_mode(file);
    *out = file;
    return LEAT_FORMAT_OK;
}

static int write_all(leat_atomic_file *file, const uint8_t *bytes, size_t size)
{
    while (size) {
        const ssize_t n = write(file->fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n ? errno : EIO;
            return -1;
        }
        bytes += n;
        size -= (size_t)n;
        file->written += (uint64_t)n;
    }
    return 0;
}

static int flush(leat_atomic_file *file)
{
    const size_t size = file->buffered;
    file->buffered = 0;
    return write_all(file, file->buffer, size);
}

int leat_atomic_file_write(leat_atomic_file *file, const void *bytes, size_t size,
                           leat_format_error *err)
{
    const uint8_t *from = bytes;
    if (file->fd < 0)
        return give_up_with(file, "writing after an error", EBADF, err);
    file->size += size;
    while (size) {
        if (!file->buffered && size >= BUFFER_BYTES) {
            if (write_all(file, from, size) < 0)
                return give_up_with(file, "writing", errno, err);
            break;
        }
        const size_t room = BUFFER_BYTES - file->buffered, n = size < room ? size : room;
        memcpy(file->buffer + file->buffered, from, n);
        file->buffered += n;
        from += n;
        size -= n;
        if (file->buffered == BUFFER_BYTES && flush(file) < 0)
            return give_up_with(file, "writing", errno, err);
    }
    return LEAT_FORMAT_OK;
}

uint64_t leat_atomic_file_size(const leat_atomic_file *file)
{
    return file->size;
}

/* Makes the new name durable. Some file systems cannot sync a folder and return EINVAL. */
static int sync_folder(const char *path)
{
    const size_t length = folder_length(path);
    char *folder = length ? strndup(path, length) : strdup(".");
    if (!folder)
        return -1;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (fd < 0)
        return -1;
    const int rc = fsync(fd), error = errno;
    close(fd);
    errno = error;
    return rc < 0 && error != EINVAL ? -1 : 0;
}

/* Links a nameless file under a temporary name. No call can link it over an existing final name. */
static int link_temporary(leat_atomic_file *file)
{
    char own[OWN_ROOM];
    own_name(file->fd, own);
    for (int attempt = 0; attempt < ATTEMPTS && draw_temporary(file) == 0; attempt++) {
        if (linkat(AT_FDCWD, own, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    *file->temporary = 0;
    return -1;
}

/* Copies a nameless file that cannot be linked into one with a temporary name. */
static int copy_to_temporary(leat_atomic_file *file)
{
    const int from = file->fd;
    int rc = -1, error;
    off_t at = 0;
    ssize_t n = -1;
    file->fd = -1;
    if (create_temporary(file) < 0) {
        *file->temporary = 0;
        file->fd = from;
        return -1;
    }
    keep_mode(file);
    file->written = 0;
    do {
        n = pread(from, file->buffer, BUFFER_BYTES, at);
        at += n > 0 ? n : 0;
    } while ((n > 0 && write_all(file, file->buffer, (size_t)n) == 0) || (n < 0 && errno == EINTR));
    if (n == 0)
        rc = 0;
    error = errno;
    close(from);
    errno = error;
    return rc;
}

/* Some network file systems know no RENAME_NOREPLACE, but a link that replaces nothing. */
static int give_name(const leat_atomic_file *file)
{
    if (!(file->flags & LEAT_ATOMIC_FILE_NEW))
        return rename(file->temporary, file->path);
    if (renameat2(AT_FDCWD, file->temporary, AT_FDCWD, file->path, RENAME_NOREPLACE) == 0)
        return 0;
    if ((errno != EINVAL && errno != ENOSYS) ||
        linkat(AT_FDCWD, file->temporary, AT_FDCWD, file->path, 0) < 0)
        return -1;
    unlink(file->temporary);
    return 0;
}

int leat_atomic_file_commit_unsynced(leat_atomic_file *file, leat_format_error *err)
{
    const bool sync = !(file->flags & LEAT_ATOMIC_FILE_NO_SYNC);
    if (file->fd < 0)
        return give_up_with(file, "committing after an error", EBADF, err);
    if (flush(file) < 0)
        return give_up_with(file, "writing", errno, err);
    if (!*file->temporary && link_temporary(file) < 0 && copy_to_temporary(file) < 0)
        return give_up_with(file, "renaming it to its name", errno, err);
    /* It has a name by now: btrfs is reported to keep nothing of a nameless file that is synced
     * (github.com/andreacorbellini/rust-atomic-write-file/issues/6). */
    if (sync && fsync(file->fd) < 0)
        return give_up_with(file, "syncing to disk", errno, err);
    /* A network file system can report a failed write only at close. */
    const int fd = file->fd;
    file->fd = -1;
    if (close(fd) < 0 || give_name(file) < 0) {
        const int error = errno;
        unlink(file->temporary);
        if (error == EEXIST)
            return leat_format_fail(err, LEAT_FORMAT_IO, 0,
                                    "%s: another program has made this file meanwhile, and it is "
                                    "not replaced; choose another name",
                                    file->path);
        return give_up_with(file, "renaming it to its name", error, err);
    }
    return LEAT_FORMAT_OK;
}

int leat_atomic_file_commit(leat_atomic_file *file, leat_format_error *err)
{
    const int rc = leat_atomic_file_commit_unsynced(file, err);
    if (rc < 0)
        return rc;
    if (!(file->flags & LEAT_ATOMIC_FILE_NO_SYNC) && sync_folder(file->path) < 0)
        return leat_format_fail(err, LEAT_FORMAT_IO, file->size,
                                "%s: written, but syncing its folder failed: %s", file->path,
                                strerror(errno));
    return LEAT_FORMAT_OK;
}

void leat_atomic_file_close(leat_atomic_file **file)
{
    if (!*file)
        return;
    give_up(*file);
    free((*file)->path);
    free((*file)->temporary);
    free(*file);
    *file = NULL;
}
