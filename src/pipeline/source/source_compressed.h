/* SPDX-License-Identifier: MIT
 *
 * source_compressed.h: reads records of compressed files by their offset in the decompressed data. The
 * source `tfrecord` calls it. */
#ifndef LEAT_SOURCE_COMPRESSED_H
#define LEAT_SOURCE_COMPRESSED_H

#include <stdbool.h>

#include "formats/decompress_index.h"
#include "leat/error.h"
#include "open_files.h"

#define LEAT_COMPRESSED_CHUNK ((uint64_t)4 << 20) /* decompressed bytes per chunk */

/* A file of a source. Never move it while in use: its address identifies its chunks. */
typedef struct leat_compressed_file {
    leat_open_file *file;
    leat_decompress_index index;
} leat_compressed_file;

typedef struct leat_compressed leat_compressed;

/* Opens the chunks that all files of a source share.
 * n_chunks     of all files
 * most_bytes   of the largest chunk */
int leat_compressed_open(leat_compressed **out, size_t n_chunks, size_t most_bytes,
                         leat_error *err);
void leat_compressed_close(leat_compressed **chunks);
size_t leat_compressed_bytes(const leat_compressed *chunks);

/* See leat_forked_hook. In a child, chunks of the parent's threads are given up. */
void leat_compressed_before_fork(leat_compressed *chunks);
void leat_compressed_after_fork(leat_compressed *chunks, bool is_child);

/* Copies bytes of the decompressed data, which must contain the whole range. Any thread; it can wait
 * for a thread that decompresses the same chunk.
 * returns  LEAT_OK, LEAT_E_DATA, LEAT_E_IO */
int leat_compressed_read(leat_compressed *chunks, const leat_compressed_file *file, uint64_t offset,
                         size_t size, uint8_t *to, leat_error *err);

#endif
