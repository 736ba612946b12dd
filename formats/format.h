/* SPDX-License-Identifier: MIT
 *
 * format.h: errors of all readers and writers in this folder. The files here handle bytes only: no
 * threads, no policy, no config. They include nothing from the rest of leat. */
#ifndef LEAT_FORMAT_H
#define LEAT_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    LEAT_FORMAT_OK = 0,
    LEAT_FORMAT_END = -1, /* no more records */
    LEAT_FORMAT_BAD = -2, /* not this format, or damaged */
    LEAT_FORMAT_IO = -3,  /* a system call failed; text has strerror */
    LEAT_FORMAT_NOMEM = -4,
    LEAT_FORMAT_STALE = -5 /* a side file does not match its data file */
};

typedef struct leat_format_error {
    int code;
    uint64_t offset; /* of the error, in the file or buffer */
    int what; /* offset in `text` of the reason, behind file and position; 0: it is all reason */
    char text[512]; /* what, where (file, record, offset) and what to do */
} leat_format_error;

/* Fills *err, which can be NULL. Returns code. */
int leat_format_fail(leat_format_error *err, int code, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Opens a file for reading and does not wait where it is a pipe: check that it is a regular file before reading. Returns
 * the descriptor, or -1 with errno. */
int leat_format_open(const char *path);
/* The same; a relative path counts from `folder`, a descriptor or AT_FDCWD. */
int leat_format_open_at(int folder, const char *path);

/* Reads bytes of a file, fewer only if it ends before. Handles signals and short reads. The position of `fd`
 * does not change. Returns the number of bytes, or -1 with errno. */
ssize_t leat_format_pread(int fd, void *to, size_t size, uint64_t offset);

/* Returns the text of an errno of open(): strerror(), and what to do if that is known. Valid as long as
 * the text of strerror(). */
const char *leat_format_open_error(int error);

/* Whether this errno of stat(), lstat() or access() says that there is no such file. Any other leaves open whether there
 * is one. */
int leat_format_is_absent(int error);

#endif
