/* SPDX-License-Identifier: MIT */
#include "format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int leat_format_fail(leat_format_error *err, int code, uint64_t offset, const char *format, ...)
{
    if (err) {
        va_list args;
        err->code = code;
        err->offset = offset;
        err->what = 0;
        va_start(args, format);
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return code;
}

const char *leat_format_open_error(int error)
{
    return error == EMFILE ? "Too many open files; allow this process more of them (ulimit -n)"
                           : strerror(error);
}

int leat_format_is_absent(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG ||
           error == EINVAL; /* CIFS: a name that its server cannot have */
}

/* Some kernels (to 6.4) let no read of io_uring wait for a disk whose file is O_NONBLOCK. */
int leat_format_open_at(int folder, const char *path)
{
    const int fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0)
        fcntl(fd, F_SETFL, 0);
    return fd;
}

int leat_format_open(const char *path)
{
    return leat_format_open_at(AT_FDCWD, path);
}

ssize_t leat_format_pread(int fd, void *to, size_t size, uint64_t offset)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t n = pread(fd, (char *)to + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}
