/* SPDX-License-Identifier: MIT */
#include "decompress_index.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "tfrecord.h"

typedef unsigned long long ull;

/* Walks over records; their bytes come in pieces. */
struct walk {
    leat_decompress_index *index;
    uint64_t at;   /* bytes so far */
    uint64_t skip; /* bytes left of the current record, without its header */
    size_t have;   /* bytes of the current header */
    uint8_t header[LEAT_TFRECORD_HEADER];
};

static int fail_memory(const leat_decompress_index *index, leat_format_error *err)
{
    return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0,
                            "no memory for the offsets of %llu compressed records",
                            (ull)index->n_records);
}

/* Appends the start of a record, or the end of the data. */
static int append(struct walk *walk, uint64_t begin, leat_format_error *err)
{
    leat_decompress_index *const index = walk->index;
    uint64_t *const larger = leat_grow(index->begins, (size_t)index->n_records, sizeof *larger);
    if (!larger)
        return fail_memory(index, err);
    index->begins = larger;
    index->begins[index->n_records++] = begin;
    return LEAT_FORMAT_OK;
}

static int begin_record(struct walk *walk, leat_format_error *err)
{
    const uint64_t begin = walk->at - LEAT_TFRECORD_HEADER;
    leat_format_error inner;
    uint64_t length;
    int rc = leat_tfrecord_check_length(walk->header, &length, &inner);
    if (rc < 0)
        return leat_format_fail(err, rc, begin,
                                "record %llu at byte %llu of the decompressed data: %s",
                                (ull)walk->index->n_records, (ull)begin, inner.text);
    if (length > INT64_MAX)
        return leat_format_fail(err, LEAT_FORMAT_BAD, begin,
                                "record %llu at byte %llu of the decompressed data: truncated",
                                (ull)walk->index->n_records, (ull)begin);
    walk->have = 0;
    walk->skip = length + (LEAT_TFRECORD_OVERHEAD - LEAT_TFRECORD_HEADER);
    return append(walk, begin, err);
}

static int take(struct walk *walk, const uint8_t *bytes, size_t n, leat_format_error *err)
{
    int rc = LEAT_FORMAT_OK;
    while (n && rc == LEAT_FORMAT_OK) {
        const size_t want = walk->skip ? n : sizeof walk->header - walk->have;
        size_t some = want < n ? want : n;
        if (walk->skip) {
            some = walk->skip < some ? (size_t)walk->skip : some;
            walk->skip -= some;
        } else {
            memcpy(walk->header + walk->have, bytes, some);
            walk->have += some;
        }
        walk->at += some;
        bytes += some;
        n -= some;
        if (walk->have == sizeof walk->header)
            rc = begin_record(walk, err);
    }
    return rc;
}

static int end(struct walk *walk, leat_format_error *err)
{
    leat_decompress_index *const index = walk->index;
    if (walk->have || walk->skip)
        return leat_format_fail(err, LEAT_FORMAT_BAD, walk->at,
                                "truncated: the decompressed data ends at byte %llu, inside record "
                                "%llu",
                                (ull)walk->at, (ull)(index->n_records - !!walk->skip));
    index->data_bytes = walk->at;
    const int rc = append(walk, walk->at, err);
    index->n_records -= rc == LEAT_FORMAT_OK;
    return rc;
}

static int keep_point(leat_decompress_index *index, const leat_decompressor *decompressor,
                      leat_format_error *err)
{
    void *const larger = leat_grow(index->points, index->n_chunks, sizeof *index->points);
    if (!larger)
        return fail_memory(index, err);
    index->points = larger;
    if (!(index->points[index->n_chunks] = leat_decompress_keep(decompressor)))
        return fail_memory(index, err);
    index->n_chunks++;
    return LEAT_FORMAT_OK;
}

static int walk_chunks(struct walk *walk, leat_decompressor *decompressor, uint8_t *chunk,
                       leat_format_error *err)
{
    const size_t size = (size_t)walk->index->chunk_bytes;
    size_t n = size;
    int rc = LEAT_FORMAT_OK;
    while (n == size && rc == LEAT_FORMAT_OK) {
        rc = keep_point(walk->index, decompressor, err);
        if (rc == LEAT_FORMAT_OK)
            rc = leat_decompress_read(decompressor, chunk, size, &n, err);
        if (rc == LEAT_FORMAT_OK)
            rc = take(walk, chunk, n, err);
    }
    return rc == LEAT_FORMAT_OK ? end(walk, err) : rc;
}

int leat_decompress_index_build(int fd, const char *kind, uint64_t chunk_bytes,
                                leat_decompress_index *out, leat_format_error *err)
{
    struct walk walk = { .index = out };
    leat_decompressor *decompressor = NULL;
    *out = (leat_decompress_index){ .chunk_bytes = chunk_bytes };
    uint8_t *const chunk = malloc((size_t)chunk_bytes);
    int rc = chunk ? leat_decompress_open(&decompressor, err) : fail_memory(out, err);
    if (rc == LEAT_FORMAT_OK) {
        leat_decompress_begin(decompressor, fd, kind, 0);
        rc = walk_chunks(&walk, decompressor, chunk, err);
    }
    leat_decompress_close(&decompressor);
    free(chunk);
    out->memory_bytes = (size_t)(out->n_records + 1) * sizeof *out->begins +
                        out->n_chunks * leat_decompress_point_bytes();
    return rc;
}

void leat_decompress_index_close(leat_decompress_index *index)
{
    for (size_t i = 0; i < index->n_chunks; i++)
        free(index->points[i]);
    free(index->points);
    free(index->begins);
    *index = (leat_decompress_index){ 0 };
}

int leat_decompress_index_chunk(const leat_decompress_index *index, size_t c, int fd,
                                leat_decompressor *decompressor, uint8_t *to, size_t *n,
                                leat_format_error *err)
{
    const uint64_t left = index->data_bytes - c * index->chunk_bytes;
    const size_t size = (size_t)(left < index->chunk_bytes ? left : index->chunk_bytes);
    leat_decompress_resume(decompressor, fd, index->points[c]);
    const int rc = leat_decompress_read(decompressor, to, size, n, err);
    if (rc == LEAT_FORMAT_OK && *n < size)
        return leat_format_fail(err, LEAT_FORMAT_BAD, c * index->chunk_bytes,
                                "the decompressed data ends before byte %llu: the file was changed "
                                "while it was in use",
                                (ull)(c * index->chunk_bytes + size));
    return rc;
}
