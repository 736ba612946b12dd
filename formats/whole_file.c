/* SPDX-License-Identifier: MIT */
#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FIRST_BYTES = 16384,
    POLL_MS = 50,
    WAIT_MS = 10000 /* for a program that writes to a pipe */
};

static int fail(leat_format_error *err, const char *name, const char *text)
{
    return leat_format_fail(err, LEAT_FORMAT_IO, 0, "%s: %s", name, text);
}

static int fail_memory(leat_format_error *err, const char *name, size_t bytes)
{
    return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "%s: no memory for %zu bytes", name, bytes);
}

static int fail_large(leat_format_error *err, const char *name, size_t most)
{
    const bool small = most < 1 << 20;
    return leat_format_fail(err, LEAT_FORMAT_BAD, 0, "%s: larger than %zu %s", name,
                            small ? most : most >> 20, small ? "bytes" : "MiB");
}

/* Waits until a program has opened the pipe for writing. poll() is silent before the first writer opens it, and
 * also while a writer has not written yet; read() tells them apart.
 * *first   a byte that this has read; EOF: none */
static int wait_for_writer(int fd, const char *name, int *first, leat_format_error *err)
{
    struct pollfd about = { .fd = fd, .events = POLLIN };
    for (int waited = 0; waited < WAIT_MS; waited += POLL_MS) {
        unsigned char byte;
        if (poll(&about, 1, POLL_MS) > 0)
            return LEAT_FORMAT_OK;
        const ssize_t n = read(fd, &byte, 1);
        *first = n > 0 ? byte : EOF;
        if (n > 0 || (n < 0 && errno == EAGAIN))
            return LEAT_FORMAT_OK;
    }
    return fail(err, name, "no program writes to this pipe");
}

/* Opens without blocking, because open() of a named pipe waits for its writer. Reads block later. */
static int open_text(const char *path, size_t most, int *out, int *first, leat_format_error *err)
{
    struct stat about;
    const int fd = *out = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOMEM)
        return fail_memory(err, path, BUFSIZ);
    if (fd < 0)
        return fail(err, path, leat_format_open_error(errno));
    if (fstat(fd, &about) < 0)
        return fail(err, path, strerror(errno));
    if (S_ISDIR(about.st_mode))
        return fail(err, path, strerror(EISDIR));
    if (S_ISREG(about.st_mode) && (uint64_t)about.st_size > most)
        return fail_large(err, path, most);
    const int rc = S_ISFIFO(about.st_mode) ? wait_for_writer(fd, path, first, err) : LEAT_FORMAT_OK;
    if (rc == LEAT_FORMAT_OK && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) < 0)
        return fail(err, path, strerror(errno));
    return rc;
}

/* One byte more than `most` is asked for: it tells a text of this size from a larger one. */
int leat_whole_file_rest(FILE *file, const char *name, size_t most, char **out, size_t *n,
                         leat_format_error *err)
{
    size_t room = FIRST_BYTES < most ? FIRST_BYTES : most + 2, used = 0;
    char *text = NULL, *larger;
    int rc = LEAT_FORMAT_OK;
    *out = NULL;
    *n = 0;
    while (rc == LEAT_FORMAT_OK && (larger = realloc(text, room))) {
        text = larger;
        errno = 0;
        used += fread(text + used, 1, room - 1 - used, file);
        if (ferror(file) && errno == EINTR)
            clearerr(file);
        else if (ferror(file))
            rc = errno == ENOMEM ? fail_memory(err, name, room) : fail(err, name, strerror(errno));
        else if (used > most)
            rc = fail_large(err, name, most);
        else if (used < room - 1) {
            text[used] = 0;
            *out = text;
            *n = used;
            return LEAT_FORMAT_OK;
        } else
            room = room < most / 2 ? 2 * room : most + 2;
    }
    free(text);
    return rc < 0 ? rc : fail_memory(err, name, room);
}

int leat_whole_file_read(const char *path, size_t most, char **out, size_t *n,
                         leat_format_error *err)
{
    int fd, first = EOF;
    *out = NULL;
    *n = 0;
    int rc = open_text(path, most, &fd, &first, err);
    FILE *const file = rc == LEAT_FORMAT_OK ? fdopen(fd, "rb") : NULL;
    if (file && first != EOF)
        ungetc(first, file);
    if (file)
        rc = leat_whole_file_rest(file, path, most, out, n, err);
    else if (rc == LEAT_FORMAT_OK)
        rc = fail_memory(err, path, BUFSIZ);
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    return rc;
}
