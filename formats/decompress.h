/* SPDX-License-Identifier: MIT
 *
 * decompress.h: decompresses a file that was compressed as a whole, as TensorFlow and gzip do: GZIP (RFC 1952,
 * one or several members, as from `cat a.gz b.gz`) or ZLIB (RFC 1950), or bare DEFLATE data inside a file.
 * It reads from the start or from a stored point. tfrecord_reader.c, decompress_index.c, zip.c and the source
 * `idx` use it. */
#ifndef LEAT_DECOMPRESS_H
#define LEAT_DECOMPRESS_H

#include "format.h"

#define LEAT_DECOMPRESS_LOOK 12 /* bytes that leat_decompress_kind() needs */

typedef struct leat_decompressor leat_decompressor;
typedef struct leat_decompress_point leat_decompress_point;

/* Detects the format from the first n bytes of a TFRecord file. Returns "GZIP", "ZLIB", or NULL for a
 * plain file, also if its first length is damaged. */
const char *leat_decompress_kind(const uint8_t *begin, size_t n);

/* Opens a decompressor without a file. *out is NULL unless OK. */
int leat_decompress_open(leat_decompressor **out, leat_format_error *err);
/* Frees it and sets *decompressor to NULL. Takes NULL. */
void leat_decompress_close(leat_decompressor **decompressor);

/* Moves to compressed data. The descriptor is borrowed; its position is not used.
 *
 * kind    "GZIP", "ZLIB", or "DEFLATE" for bare data (RFC 1951), which end by themselves, without a
 *         checksum
 * offset  of their first byte in the file */
void leat_decompress_begin(leat_decompressor *decompressor, int fd, const char *kind,
                           uint64_t offset);

/* Reads the next bytes.
 *
 * n        bytes written to `to`; fewer than size only at the end of the data
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD: damaged, truncated, or a wrong checksum or length
 *          (text: byte of the file), again on every later call; LEAT_FORMAT_IO */
int leat_decompress_read(leat_decompressor *decompressor, void *to, size_t size, size_t *n,
                         leat_format_error *err);
/* Returns the current offset in the decompressed data. */
uint64_t leat_decompress_at(const leat_decompressor *decompressor);

/* Stores the current position as a point of about 90 KB; free() it. NULL: out of memory. A point works
 * with any leat_decompressor and any descriptor of that file. */
leat_decompress_point *leat_decompress_keep(const leat_decompressor *decompressor);
void leat_decompress_resume(leat_decompressor *decompressor, int fd,
                            const leat_decompress_point *point);
size_t leat_decompress_point_bytes(void);

#endif
