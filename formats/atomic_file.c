/* SPDX-License-Identifier: MIT */
#include "atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20 };

struct leat_atomic_file {
    char *path;      /* the final name */
    char *temporary; /* exists on disk while fd >= 0 */
    int fd;          /* -1 once committed or given up */
    unsigned flags;
    uint64_t size; /* bytes taken, written or still in the buffer */
    size_t buffered;
    uint8_t buffer[BUFFER_BYTES];
};

/* Length of the folder part of a path, with its slash; 0 when there is none. */
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
    unlink(file->temporary);
    file->fd = -1;
}

static int give_up_with(leat_atomic_file *file, const char *doing, int error,
                        leat_format_error *err)
{
    give_up(file);
    return leat_format_fail(err, LEAT_FORMAT_IO, file->size,
                            "%s: %s: %s (%llu bytes so far; nothing was left under this name)",
                            file->path, doing, strerror(error), (unsigned long long)file->size);
}

static int check_target(const char *path, leat_format_error *err)
{
    struct stat st;
    if (!path[folder_length(path)])
        return leat_format_fail(err, LEAT_FORMAT_IO, 0, "\"%s\" is not the name of a file", path);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return leat_format_fail(err, LEAT_FORMAT_IO, 0,
                                "%s: exists and is not a regular file; choose another name", path);
    return LEAT_FORMAT_OK;
}

/* mkstemp would give mode 0600; here the umask decides, as for any other file. */
static int create_temporary(leat_atomic_file *file)
{
    const size_t folder = folder_length(file->path), room = strlen(file->path) + 24;
    for (int attempt = 0; attempt < 100; attempt++) {
        uint64_t salt;
        if (getrandom(&salt, sizeof salt, 0) != (ssize_t)sizeof salt)
            return -1;
        snprintf(file->temporary, room, "%.*s.%s.%016llx.tmp", (int)folder, file->path,
                 file->path + folder, (unsigned long long)salt);
        file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->fd >= 0 || errno != EEXIST)
            return file->fd;
    }
    return -1;
}

int leat_atomic_file_open(leat_atomic_file **out, const char *path, unsigned flags,
                          leat_format_error *err)
{
    *out = NULL;
    const int rc = check_target(path, err);
    if (rc < 0)
        return rc;
    leat_atomic_file *file = malloc(sizeof *file);
    if (!file)
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory for its buffer", path);
    file->fd = -1;
    file->flags = flags;
    file->size = 0;
    file->buffered = 0;
    file->path = strdup(path);
    file->temporary = malloc(strlen(path) + 24);
    if (!file->path || !file->temporary) {
        leat_atomic_file_close(&file);
        return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory for its name", path);
    }
    if (create_temporary(file) < 0) {
        const int error = errno;
        leat_atomic_file_close(&file);
        return leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s: cannot create a file there: %s", path,
                                strerror(error));
    }
    *out = file;
    return LEAT_FORMAT_OK;
}

static int write_through(leat_atomic_file *file, const uint8_t *bytes, size_t size)
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
    }
    return 0;
}

static int flush(leat_atomic_file *file)
{
    const size_t size = file->buffered;
    file->buffered = 0;
    return write_through(file, file->buffer, size);
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
            if (write_through(file, from, size) < 0)
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

/* Makes the new name itself durable. Some file systems cannot sync a folder and say EINVAL. */
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

int leat_atomic_file_commit(leat_atomic_file *file, leat_format_error *err)
{
    const int sync = !(file->flags & LEAT_ATOMIC_FILE_NO_SYNC);
    if (file->fd < 0)
        return give_up_with(file, "committing after an error", EBADF, err);
    if (flush(file) < 0)
        return give_up_with(file, "writing", errno, err);
    if (sync && fsync(file->fd) < 0)
        return give_up_with(file, "syncing to disk", errno, err);
    /* A network file system may report a failed write as late as close. */
    const int fd = file->fd;
    file->fd = -1;
    if (close(fd) < 0 || rename(file->temporary, file->path) < 0) {
        const int error = errno;
        unlink(file->temporary);
        return give_up_with(file, "putting it under its name", error, err);
    }
    if (sync && sync_folder(file->path) < 0)
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
