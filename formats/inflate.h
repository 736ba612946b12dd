/* SPDX-License-Identifier: MIT
 *
 * inflate.h: decompresses a file that was compressed as a whole, as TensorFlow and gzip do: GZIP (RFC 1952,
 * one or several members, as from `cat a.gz b.gz`) or ZLIB (RFC 1950), or bare DEFLATE data inside a file.
 * It reads from the start or from a stored point. tfrecord_reader.c, inflate_index.c, zip.c and the source
 * `idx` use it. */
#ifndef LEAT_INFLATE_H
#define LEAT_INFLATE_H

#include "format.h"

#define LEAT_INFLATE_LOOK 12 /* bytes that leat_inflate_kind() needs */

typedef struct leat_inflate leat_inflate;
typedef struct leat_inflate_point leat_inflate_point;

/* Detects the format from the first n bytes of a TFRecord file. Returns "GZIP", "ZLIB", or NULL for a
 * plain file, also if its first length is damaged. */
const char *leat_inflate_kind(const uint8_t *begin, size_t n);

/* Opens a decompressor without a file. *out is NULL unless OK. */
int leat_inflate_open(leat_inflate **out, leat_format_error *err);
/* Frees it and sets *inflate to NULL. Takes NULL. */
void leat_inflate_close(leat_inflate **inflate);

/* Moves to compressed data. The descriptor is borrowed; its position is not used.
 *
 * kind    "GZIP", "ZLIB", or "DEFLATE" for bare data (RFC 1951), which end by themselves, without a
 *         checksum
 * offset  of their first byte in the file */
void leat_inflate_begin(leat_inflate *inflate, int fd, const char *kind, uint64_t offset);

/* Reads the next bytes.
 *
 * n        bytes written to `to`; fewer than size only at the end of the data
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD: damaged, truncated, or a wrong checksum or length
 *          (text: byte of the file), again on every later call; LEAT_FORMAT_IO */
int leat_inflate_read(leat_inflate *inflate, void *to, size_t size, size_t *n,
                      leat_format_error *err);
/* Returns the current offset in the decompressed data. */
uint64_t leat_inflate_at(const leat_inflate *inflate);

/* Stores the current position as a point of about 90 KB; free() it. NULL: out of memory. A point works
 * with any leat_inflate and any descriptor of that file. */
leat_inflate_point *leat_inflate_keep(const leat_inflate *inflate);
void leat_inflate_resume(leat_inflate *inflate, int fd, const leat_inflate_point *point);
size_t leat_inflate_point_bytes(void);

#endif
