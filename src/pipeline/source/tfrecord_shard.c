/* SPDX-License-Identifier: MIT */
#include "tfrecord_shard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "formats/format.h"
#include "formats/side_file.h"
#include "formats/tfrecord.h"
#include "tfrecord_features.h"

#define VERIFY_BYTES ((uint64_t)1 << 30) /* index entries of later data are verified when used */

static bool is_named(const leat_strings *files, const char *path)
{
    for (int32_t i = 0; i < files->n; i++)
        if (!strcmp(files->values[i].text, path))
            return true;
    return false;
}

int leat_tfrecord_shard_find(const leat_strings *files, const leat_node *where, char ***out,
                             size_t *n_out, char **notes, leat_error *err)
{
    int rc = leat_source_glob(files, where, out, n_out, err);
    char **const paths = *out, *first = NULL;
    size_t n = 0;
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < *n_out; i++) {
        if (!leat_side_file_is(paths[i]) || is_named(files, paths[i]))
            paths[n++] = paths[i];
        else if (first)
            free(paths[i]);
        else
            first = paths[i];
    }
    if (n == 0)
        rc = leat_node_fail(where, err, LEAT_E_IO, "no record file matches '%s', only such as %s",
                            files->values[0].text, first);
    else if (first)
        rc = leat_source_add_note(
            notes, err, "tfrecord: %zu file%s beside record files left out; the first: %s",
            *n_out - n, *n_out - n == 1 ? "" : "s", first);
    free(first);
    paths[n] = NULL;
    *n_out = n;
    return rc;
}

void leat_tfrecord_shard_close(leat_tfrecord_shard *shard)
{
    leat_index_close(&shard->index);
    leat_inflate_index_close(&shard->inflated.index);
    leat_jpeg_seek_close(&shard->seek);
    leat_open_file_fini(&shard->file);
    free(shard->path);
}

int leat_tfrecord_shard_extent(const leat_tfrecord_shard *shard, uint64_t record, uint64_t *offset,
                               uint64_t *size)
{
    if (!shard->compression)
        return leat_index_extent(&shard->index, record, offset, size);
    *offset = shard->inflated.index.begins[record];
    *size = shard->inflated.index.begins[record + 1] - *offset;
    return LEAT_FORMAT_OK;
}

static int open_plain(leat_tfrecord_shard *s, bool skips_damage, leat_source *source,
                      leat_error *err)
{
    const uint64_t before = source->n_bytes;
    const bool verify = before < VERIFY_BYTES && s->bytes <= VERIFY_BYTES - before;
    const unsigned flags =
        (verify ? LEAT_INDEX_VERIFY : 0u) | (skips_damage ? LEAT_INDEX_RESYNC : 0u);
    leat_format_error why;
    if (leat_index_open(s->path, flags, &s->index, &why) < 0)
        return leat_tfrecord_features_fail(err, &why);
    leat_jpeg_seek_open(&s->seek, s->path, s->index.data_bytes, s->index.n_records, source);
    /* The index was made from the path. Check that it belongs to the open file. */
    const leat_file_watch_id id = { s->index.data_bytes, s->index.data_mtime_ns };
    const int rc = leat_file_watch_same(&id, s->file.fd, s->path, err);
    if (rc < 0)
        return rc;
    leat_file_watch_init(&s->file.watch, &id);
    s->n_records = s->index.n_records;
    source->n_bytes += s->bytes;
    source->lost_bytes += s->index.lost_bytes;
    source->seek_bytes += s->seek.index.memory_bytes;
    *(s->index.mapped ? &source->index_bytes : &source->memory_bytes) += s->index.memory_bytes;
    return LEAT_OK;
}

static int open_compressed(leat_tfrecord_shard *s, const leat_file_watch_id *id,
                           leat_source *source, leat_error *err)
{
    leat_inflate_index *const index = &s->inflated.index;
    leat_format_error why;
    s->inflated.file = &s->file;
    int rc = leat_inflate_index_build(s->file.fd, s->compression, LEAT_INFLATED_CHUNK, index, &why);
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
    s->seek.feature = -1;
    s->n_records = index->n_records;
    source->seek_complete = false;
    source->n_bytes += index->data_bytes;
    source->memory_bytes += index->memory_bytes;
    return LEAT_OK;
}

int leat_tfrecord_shard_open(leat_tfrecord_shard *s, const char *path, leat_open_files *files,
                             bool skips_damage, leat_source *source, leat_error *err)
{
    uint8_t begin[LEAT_TFRECORD_HEADER];
    leat_file_watch_id id;
    struct stat status;
    *s = (leat_tfrecord_shard){ .file.fd = -1, .first = source->n_records };
    if (!(s->path = strdup(path)))
        return leat_fail(err, LEAT_E_NOMEM, "%s", path);
    s->file.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a pipe must not block */
    if (s->file.fd < 0 || fstat(s->file.fd, &status) < 0)
        return leat_fail(err, LEAT_E_IO, "cannot open %s: %s", path, leat_format_open_error(errno));
    if (!S_ISREG(status.st_mode))
        return leat_fail(err, LEAT_E_IO, "%s is not a regular file", path);
    s->bytes = (uint64_t)status.st_size;
    s->file.path = s->path;
    s->file.inode = status.st_ino;
    const ssize_t n = leat_format_pread(s->file.fd, begin, sizeof begin, 0);
    if (n < 0 || leat_file_watch_id_of(s->file.fd, &id) < 0)
        return leat_fail(err, LEAT_E_IO, "%s: %s", path, strerror(errno));
    s->compression = leat_tfrecord_compression(begin, (size_t)n);
    const int rc = s->compression ? open_compressed(s, &id, source, err)
                                  : open_plain(s, skips_damage, source, err);
    if (rc < 0)
        return rc;
    leat_open_file_add(&s->file, files);
    source->n_files++;
    source->n_records += s->n_records;
    source->digest =
        leat_digest_chain(source->digest, leat_digest_row(&(uint64_t[2]){ s->n_records, s->bytes },
                                                          16, source->n_files));
    return LEAT_OK;
}
