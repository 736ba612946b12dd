/* SPDX-License-Identifier: MIT
 *
 * inflate_index.h: where the records of a compressed TFRecord file begin in what it decompresses to, and a
 * point to go on from at every chunk of that. It is made by decompressing the file once, and is kept in
 * memory only: 8 bytes a record and about 90 KB a chunk. */
#ifndef LEAT_INFLATE_INDEX_H
#define LEAT_INFLATE_INDEX_H

#include "inflate.h"

/* Filled by build; read-only afterwards, any thread. */
typedef struct leat_inflate_index {
    uint64_t n_records;
    uint64_t data_bytes;  /* decompressed */
    uint64_t chunk_bytes; /* chunk c begins at c * chunk_bytes */
    size_t n_chunks;
    leat_inflate_point **points; /* of each chunk */
    uint64_t *begins;            /* n_records + 1: the last is data_bytes */
    size_t memory_bytes;
} leat_inflate_index;

/* Decompresses the file and checks its checksums and the CRC of every length.
 *
 * kind     of leat_inflate_kind()
 * out      leat_inflate_index_close(), also after an error
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD (text: what, byte; not the file's name); LEAT_FORMAT_IO; _NOMEM */
int leat_inflate_index_build(int fd, const char *kind, uint64_t chunk_bytes,
                             leat_inflate_index *out, leat_format_error *err);
/* Takes one that was closed or zeroed. */
void leat_inflate_index_close(leat_inflate_index *index);

/* Decompresses chunk c into `to` (chunk_bytes; the last one may be shorter): *n bytes.
 * inflate  of the caller; wherever it stood */
int leat_inflate_index_chunk(const leat_inflate_index *index, size_t c, int fd,
                             leat_inflate *inflate, uint8_t *to, size_t *n, leat_format_error *err);

#endif
