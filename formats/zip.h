/* SPDX-License-Identifier: MIT
 *
 * zip.h: the members of a ZIP archive, as numpy.savez() writes it: stored or deflated, also with the 64-bit
 * fields of large archives. Encrypted members and other methods are refused. */
#ifndef LEAT_ZIP_H
#define LEAT_ZIP_H

#include "format.h"

#define LEAT_ZIP_MOST_MEMBERS 65536

typedef struct leat_zip_member {
    const char *name;
    uint64_t offset;       /* of its first byte in the file */
    uint64_t stored_bytes; /* in the file; all of them are inside it */
    uint64_t bytes;        /* decompressed */
    uint32_t crc;          /* CRC-32 of the decompressed bytes */
    int deflated;
} leat_zip_member;

typedef struct leat_zip {
    leat_zip_member *members;
    size_t n_members;
    uint8_t *directory; /* the names point into it */
} leat_zip;

/* Whether a file with these first n bytes can be an archive. */
int leat_zip_begins(const uint8_t *begin, size_t n);

/* Reads the directory of an archive.
 *
 * out      close with leat_zip_close(), also after an error
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD: damaged, truncated, or a member that cannot be read;
 *          LEAT_FORMAT_IO; LEAT_FORMAT_NOMEM */
int leat_zip_open(int fd, leat_zip *out, leat_format_error *err);
void leat_zip_close(leat_zip *zip);

/* Reads the first n bytes of a member, which has as many, without a check of its CRC-32. */
int leat_zip_begin(int fd, const leat_zip_member *member, uint8_t *to, size_t n,
                   leat_format_error *err);

/* Reads a whole member into `to`, which has room for its bytes, and checks its CRC-32. */
int leat_zip_read(int fd, const leat_zip_member *member, uint8_t *to, leat_format_error *err);

#endif
