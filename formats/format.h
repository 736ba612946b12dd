/* SPDX-License-Identifier: MIT
 *
 * format.h: how every reader and writer of this folder reports what is wrong. The files here know
 * bytes only: no threads, no policy, no config, nothing else of leat. */
#ifndef LEAT_FORMAT_H
#define LEAT_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    LEAT_FORMAT_OK = 0,
    LEAT_FORMAT_END = -1, /* no more records */
    LEAT_FORMAT_BAD = -2, /* the bytes are not of this format, or damaged */
    LEAT_FORMAT_IO = -3,  /* the system refused: text has strerror */
    LEAT_FORMAT_NOMEM = -4,
    LEAT_FORMAT_STALE = -5 /* a side file that does not fit its data any more */
};

typedef struct leat_format_error {
    int code;
    uint64_t offset; /* byte of the file or buffer where it was found */
    char text[512];  /* what, where (file, record, offset) and what to do */
} leat_format_error;

/* Fills *err (may be NULL), returns code. */
int leat_format_fail(leat_format_error *err, int code, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Reads the first bytes of a file, fewer only where it ends; the offset of `fd` stays. Goes on after a
 * signal or a short read. Returns how many there are, or -1 with errno. */
ssize_t leat_format_read_first(int fd, void *to, size_t size);

/* Why a file could not be opened, of its errno: strerror(), and what to do where that is known. Valid as
 * long as strerror()'s text is. */
const char *leat_format_open_error(int error);

#endif
