/* SPDX-License-Identifier: MIT */
#include "tfrecord_shard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/scratch.h"
#include "formats/format.h"
#include "formats/little_endian.h"
#include "formats/tfrecord.h"
#include "tfrecord_features.h"

#define VERIFY_BYTES ((uint64_t)1 << 30) /* index entries of later data are verified when used */

void leat_tfrecord_shard_close(leat_tfrecord_shard *shard)
{
    leat_tfrecord_opened *const opened = leat_tfrecord_shard_opened(shard);
    if (opened) {
        leat_index_close(&opened->index);
        leat_decompress_index_close(&opened->compressed.index);
        leat_jpeg_index_close(&opened->seek.index);
    }
    free(opened);
    atomic_init(&shard->opened, NULL);
    leat_open_file_fini(&shard->file);
}

int leat_tfrecord_shard_extent(const leat_tfrecord_shard *shard, uint64_t record, uint64_t *offset,
                               uint64_t *size)
{
    const leat_tfrecord_opened *const opened = leat_tfrecord_shard_opened(shard);
    if (!opened)
        return LEAT_FORMAT_BAD;
    if (!opened->compression)
        return leat_index_extent_read(&opened->index, record, offset, size);
    *offset = opened->compressed.index.begins[record];
    *size = opened->compressed.index.begins[record + 1] - *offset;
    return LEAT_FORMAT_OK;
}

/* Opens the index of JPEG files if it exists and fits; otherwise notes that in the source. */
static void open_seek(const char *at, leat_tfrecord_opened *o, leat_source *seen)
{
    leat_format_error why;
    o->seek.feature = -1;
    const int rc =
        leat_jpeg_index_open(at, o->index.data_bytes, o->index.n_records, &o->seek.index, &why);
    if (rc == LEAT_FORMAT_OK)
        return;
    seen->seek_complete = false;
    if (rc != LEAT_FORMAT_END && !seen->seek_note[0])
        snprintf(seen->seek_note, sizeof seen->seek_note, "%.190s", why.text);
}

static int open_plain(leat_tfrecord_shard *s, const char *at, leat_tfrecord_opened *o,
                      bool skips_damage, leat_source *seen, leat_error *err)
{
    const uint64_t before = seen->n_bytes;
    const bool verify = before < VERIFY_BYTES && o->bytes <= VERIFY_BYTES - before;
    const unsigned flags =
        (verify ? LEAT_INDEX_VERIFY : 0u) | (skips_damage ? LEAT_INDEX_RESYNC : 0u);
    leat_format_error why;
    if (leat_index_open(at, flags, &o->index, &why) < 0)
        return leat_tfrecord_features_fail(err, &why);
    open_seek(at, o, seen);
    /* The index was made from the path. Check that it belongs to the open file. */
    const leat_file_watch_id id = { o->index.data_bytes, o->index.data_mtime_ns };
    const int rc = leat_file_watch_same(&id, s->file.fd, s->path, err);
    if (rc < 0)
        return rc;
    leat_file_watch_init(&s->file.watch, &id);
    o->n_records = o->index.n_records;
    seen->n_bytes += o->bytes - o->index.lost_bytes;
    seen->lost_bytes += o->index.lost_bytes;
    seen->seek_bytes += o->seek.index.memory_bytes;
    *(o->index.mapped ? &seen->index_bytes : &seen->memory_bytes) += o->index.memory_bytes;
    return LEAT_OK;
}

static int open_compressed(leat_tfrecord_shard *s, leat_tfrecord_opened *o,
                           const leat_file_watch_id *id, leat_source *seen, leat_error *err)
{
    leat_decompress_index *const index = &o->compressed.index;
    leat_format_error why;
    o->compressed.file = &s->file;
    int rc =
        leat_decompress_index_build(s->file.fd, o->compression, LEAT_COMPRESSED_CHUNK, index, &why);
    /* If the file was changed meanwhile, report the change: it explains other errors. */
    const int changed = leat_file_watch_same(id, s->file.fd, s->path, err);
    if (changed < 0)
        return changed;
    if (rc < 0) {
        if (why.code == LEAT_FORMAT_BAD)
            return leat_fail(err, LEAT_E_DATA,
                             "%s: %s; on_error cannot leave out a part of a compressed file: "
                             "`leat repair` writes a plain copy of the intact records",
                             s->path, why.text);
        rc = leat_tfrecord_features_fail(err, &why);
        return leat_fail_in(err, rc, "%s: ", s->path);
    }
    leat_file_watch_init(&s->file.watch, id);
    o->seek.feature = -1;
    o->n_records = index->n_records;
    seen->seek_complete = false;
    seen->n_bytes += index->data_bytes;
    seen->saved_bytes += (int64_t)(index->data_bytes - o->bytes);
    seen->memory_bytes += index->memory_bytes;
    return LEAT_OK;
}

static int open_file(leat_tfrecord_shard *s, const char *at, leat_tfrecord_opened *o,
                     bool skips_damage, leat_source *seen, leat_error *err)
{
    uint8_t begin[LEAT_TFRECORD_HEADER];
    leat_file_watch_id id;
    struct stat status;
    s->file.fd = leat_format_open(at);
    if (s->file.fd < 0 || fstat(s->file.fd, &status) < 0)
        return leat_fail(err, LEAT_E_IO, "cannot open %s: %s", s->path,
                         leat_format_open_error(errno));
    if (!S_ISREG(status.st_mode))
        return leat_fail(err, LEAT_E_IO, "%s is not a regular file", s->path);
    o->bytes = (uint64_t)status.st_size;
    if (s->listed->manifest && o->bytes != s->listed->bytes)
        return leat_fail(err, LEAT_E_DATA,
                         "%s has %llu bytes, but %s says %llu: the file or the manifest is another "
                         "one; `leat index --manifest` writes a new manifest",
                         s->path, (unsigned long long)o->bytes, s->listed->manifest,
                         (unsigned long long)s->listed->bytes);
    s->file.inode = status.st_ino;
    const ssize_t n = leat_format_pread(s->file.fd, begin, sizeof begin, 0);
    if (n < 0 || leat_file_watch_id_of(s->file.fd, &id) < 0)
        return leat_fail(err, LEAT_E_IO, "%s: %s", s->path, strerror(errno));
    o->compression = leat_tfrecord_compression(begin, (size_t)n);
    if (o->compression && s->listed->manifest)
        return leat_fail(
            err, LEAT_E_DATA,
            "%s is %s-compressed, but a manifest (%s) lists plain files: `leat convert "
            "tfrecord` makes them",
            s->path, o->compression, s->listed->manifest);
    const int rc = o->compression ? open_compressed(s, o, &id, seen, err)
                                  : open_plain(s, at, o, skips_damage, seen, err);
    if (rc < 0 || !s->listed->manifest || o->n_records == s->listed->n_records)
        return rc;
    return leat_fail(err, LEAT_E_DATA,
                     "%s has %llu records, but %s says %llu: the file or the manifest is another "
                     "one; `leat index --manifest` writes a new manifest",
                     s->path, (unsigned long long)o->n_records, s->listed->manifest,
                     (unsigned long long)s->listed->n_records);
}

void leat_tfrecord_shard_match_seek(leat_tfrecord_opened *opened,
                                    const leat_tfrecord_features *features)
{
    const leat_jpeg_index *const index = &opened->seek.index;
    for (int32_t i = 0; index->memory && features->base && i < features->base->n_features; i++)
        if (features->wanted[i].kind == LEAT_FEATURE_BYTES &&
            !strcmp(features->wanted[i].key, index->key))
            opened->seek.feature = i;
}

void leat_tfrecord_shard_init(leat_tfrecord_shard *s, const leat_tfrecord_listed *listed)
{
    *s = (leat_tfrecord_shard){ .listed = listed,
                                .path = listed->path,
                                .file = { .path = listed->path, .fd = -1 },
                                .n_records = listed->n_records,
                                .bytes = listed->bytes };
}

int leat_tfrecord_shard_open(leat_tfrecord_shard *s, const char *at, leat_open_files *files,
                             bool skips_damage, leat_source *seen,
                             const leat_tfrecord_features *features, leat_error *err)
{
    leat_tfrecord_opened *const opened = calloc(1, sizeof *opened);
    if (!opened)
        return leat_fail(err, LEAT_E_NOMEM, "%s: no memory", s->path);
    const int rc = open_file(s, at, opened, skips_damage, seen, err);
    if (rc < 0) {
        leat_tfrecord_shard half = { .opened = opened, .file = { .fd = s->file.fd } };
        leat_tfrecord_shard_close(&half);
        s->file.fd = -1;
        return rc;
    }
    if (!s->listed->manifest) {
        s->n_records = opened->n_records;
        s->bytes = opened->bytes;
    }
    leat_tfrecord_shard_match_seek(opened, features);
    leat_open_file_add(&s->file, files);
    atomic_store_explicit(&s->opened, opened, memory_order_release);
    return LEAT_OK;
}

void leat_tfrecord_shard_count(leat_tfrecord_shard *s, leat_source *source)
{
    const uint64_t facts[2] = { s->n_records, s->bytes };
    s->first = source->n_records;
    source->n_records += s->n_records;
    source->digest = leat_digest_chain(source->digest, leat_digest_row(facts, 16, source->n_files));
}

int leat_tfrecord_shard_add_seek(const leat_tfrecord_shard *shard, uint64_t record,
                                 const uint8_t *payload, size_t payload_size, leat_scratch *scratch,
                                 leat_view *features, leat_error *err)
{
    const leat_tfrecord_seek *const seek = &leat_tfrecord_shard_opened(shard)->seek;
    /* The CRC of the data follows it in the framing. */
    const leat_jpeg_index_id id = { payload_size, leat_load_u32(payload + payload_size) };
    const uint8_t *table = NULL;
    size_t n = 0;
    const int rc = leat_jpeg_index_find(&seek->index, record, &id, &table, &n);
    if (rc == LEAT_FORMAT_OK && !n)
        return LEAT_OK;
    leat_seek *const out = leat_scratch_take(scratch, sizeof *out);
    if (!out)
        return leat_fail(err, LEAT_E_NOMEM, "%zu bytes do not fit in scratch", sizeof *out);
    *out = (leat_seek){ .table = table, .bytes = n, .refused = rc != LEAT_FORMAT_OK };
    features[seek->feature].seek = out;
    return LEAT_OK;
}
