/* SPDX-License-Identifier: MIT
 *
 * fuzz_decompress.c: any bytes as a GZIP or ZLIB file (the first byte chooses), read through, by records, and
 * by chunks from every point. What each way finds must agree. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/decompress_index.h"
#include "formats/tfrecord.h"
#include "fuzz_target.h"

enum { MOST = 1 << 20 }; /* of data: a file of 1 KB may hold a megabyte */

/* Reads through in pieces of random sizes; gives the code. */
static int read_through(int fd, const char *kind, uint8_t *to, size_t *size)
{
    leat_decompressor *decompressor;
    leat_format_error err = { 0 };
    size_t n, piece = 1;
    int rc;
    EXPECT(leat_decompress_open(&decompressor, NULL) == LEAT_FORMAT_OK);
    leat_decompress_begin(decompressor, fd, kind, 0);
    *size = 0;
    do {
        piece = (piece * 37 + 11) % 70000;
        if (piece > MOST - *size)
            piece = MOST - *size;
        rc = leat_decompress_read(decompressor, to + *size, piece, &n, &err);
        EXPECT(n <= piece);
        *size += n;
        EXPECT(leat_decompress_at(decompressor) == *size);
    } while (rc == LEAT_FORMAT_OK && n == piece && *size < MOST);
    EXPECT(rc == LEAT_FORMAT_OK || (rc == LEAT_FORMAT_BAD && err.code == rc && err.text[0]));
    leat_decompress_close(&decompressor);
    return rc;
}

static void by_chunks(int fd, const leat_decompress_index *index, const uint8_t *all)
{
    leat_decompressor *decompressor;
    uint8_t *const chunk = malloc((size_t)index->chunk_bytes);
    size_t n;
    EXPECT(chunk && leat_decompress_open(&decompressor, NULL) == LEAT_FORMAT_OK);
    for (size_t c = index->n_chunks; c-- > 0;) {
        EXPECT(leat_decompress_index_chunk(index, c, fd, decompressor, chunk, &n, NULL) == 0);
        EXPECT(memcmp(chunk, all + c * index->chunk_bytes, n) == 0);
    }
    leat_decompress_close(&decompressor);
    free(chunk);
}

/* The records must be those that the decompressed bytes have; gives their number. */
static uint64_t by_records(int fd, const uint8_t *all, size_t size, int is_damaged, int *rc)
{
    char path[64];
    leat_tfrecord_reader *reader;
    const uint8_t *payload;
    size_t n;
    uint64_t count = 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    EXPECT(leat_tfrecord_reader_open(&reader, path, 0, NULL) == LEAT_FORMAT_OK);
    while ((*rc = leat_tfrecord_reader_next(reader, &payload, &n, NULL)) == LEAT_FORMAT_OK) {
        const uint64_t at = leat_tfrecord_reader_offset(reader);
        const size_t end = (size_t)at + n + LEAT_TFRECORD_OVERHEAD;
        EXPECT(end <= size || is_damaged); /* how much comes before damage depends on the pieces */
        EXPECT(end > size || memcmp(payload, all + at + LEAT_TFRECORD_HEADER, n) == 0);
        count++;
    }
    leat_tfrecord_reader_close(&reader);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    leat_decompress_index index;
    size_t n_all;
    int rc_records;
    if (!size)
        return 0;
    const char *const kind = data[0] & 1 ? "ZLIB" : "GZIP";
    const size_t chunk = data[0] & 2 ? 700 : 40000;
    uint8_t *const all = malloc(MOST);
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    EXPECT(all && fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
    const int rc = read_through(fd, kind, all, &n_all);
    const char *const seen = leat_tfrecord_compression(data + 1, size - 1);
    if (n_all < MOST) {
        const int rc_index = leat_decompress_index_build(fd, kind, chunk, &index, NULL);
        EXPECT(rc == LEAT_FORMAT_OK || rc_index < 0);
        if (rc_index == LEAT_FORMAT_OK) {
            EXPECT(index.data_bytes == n_all);
            by_chunks(fd, &index, all);
        }
        if (seen && *seen == *kind) {
            const uint64_t n = by_records(fd, all, n_all, rc < 0, &rc_records);
            EXPECT(rc_records != LEAT_FORMAT_END || (rc_index == 0 && n == index.n_records));
        }
        leat_decompress_index_close(&index);
    }
    free(all);
    close(fd);
    return 0;
}
