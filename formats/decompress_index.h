/* SPDX-License-Identifier: MIT
 *
 * decompress_index.h: the index of a compressed TFRecord file: offsets of its records in the decompressed
 * data, and a restart point for every chunk. The source `tfrecord` uses it. Building it decompresses the
 * file once. It is in memory only: 8 bytes per record and about 90 KB per chunk. */
#ifndef LEAT_DECOMPRESS_INDEX_H
#define LEAT_DECOMPRESS_INDEX_H

#include "decompress.h"

/* Filled by build; then read-only, for any thread. */
typedef struct leat_decompress_index {
    uint64_t n_records;
    uint64_t data_bytes;  /* decompressed */
    uint64_t chunk_bytes; /* chunk c starts at c * chunk_bytes */
    size_t n_chunks;
    leat_decompress_point **points; /* one per chunk */
    uint64_t *begins;               /* n_records + 1 offsets; the last is data_bytes */
    size_t memory_bytes;
} leat_decompress_index;

/* Decompresses the file and checks its checksums and the CRC of every length.
 *
 * kind     from leat_decompress_kind()
 * out      close with leat_decompress_index_close(), also after an error
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_BAD (text: what and where, without the file name);
 *          LEAT_FORMAT_IO; LEAT_FORMAT_NOMEM */
int leat_decompress_index_build(int fd, const char *kind, uint64_t chunk_bytes,
                                leat_decompress_index *out, leat_format_error *err);
/* Takes an index that was closed or zeroed. */
void leat_decompress_index_close(leat_decompress_index *index);

/* Decompresses chunk c into `to`: *n bytes, chunk_bytes unless it is the last chunk.
 * decompressor  of the caller; its position does not matter */
int leat_decompress_index_chunk(const leat_decompress_index *index, size_t c, int fd,
                                leat_decompressor *decompressor, uint8_t *to, size_t *n,
                                leat_format_error *err);

#endif
