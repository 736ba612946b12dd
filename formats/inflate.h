/* SPDX-License-Identifier: MIT
 *
 * inflate.h: what is inside a file that TensorFlow compressed as a whole: GZIP (RFC 1952, one member or
 * several, as `cat a.gz b.gz` makes them) or ZLIB (RFC 1950). Read from front to back, or from a point that
 * was kept on the way. */
#ifndef LEAT_INFLATE_H
#define LEAT_INFLATE_H

#include "format.h"

#define LEAT_INFLATE_LOOK 12 /* bytes that leat_inflate_kind() wants to see */

typedef struct leat_inflate leat_inflate;
typedef struct leat_inflate_point leat_inflate_point;

/* "GZIP", "ZLIB", or NULL: neither, by the first n bytes of a TFRecord file. A plain file of which the
 * first length is damaged is taken for itself. */
const char *leat_inflate_kind(const uint8_t *begin, size_t n);

/* One that stands nowhere. *out is NULL unless OK. */
int leat_inflate_open(leat_inflate **out, leat_format_error *err);
/* Frees, sets *inflate to NULL. Takes NULL. */
void leat_inflate_close(leat_inflate **inflate);

/* Puts it at the beginning of a file. The descriptor is borrowed; its position is not used. */
void leat_inflate_begin(leat_inflate *inflate, int fd, const char *kind);

/* Reads on.
 *
 * n        bytes that were written to `to`: fewer than size only at the end of the data
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD: damaged, truncated, a checksum or a length that does not fit
 *          (text: byte of the file), again on every later call; LEAT_FORMAT_IO */
int leat_inflate_read(leat_inflate *inflate, void *to, size_t size, size_t *n,
                      leat_format_error *err);
/* Bytes of data from the beginning to where it stands. */
uint64_t leat_inflate_at(const leat_inflate *inflate);

/* Where it stands now, to go on from later: about 90 KB, free(). NULL: out of memory. A point holds for any
 * leat_inflate and any descriptor of that file. */
leat_inflate_point *leat_inflate_keep(const leat_inflate *inflate);
void leat_inflate_resume(leat_inflate *inflate, int fd, const leat_inflate_point *point);
size_t leat_inflate_point_bytes(void);

#endif
