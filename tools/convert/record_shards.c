/* SPDX-License-Identifier: MIT */
#include "record_shards.h"

#include <stdlib.h>
#include <unistd.h>

#include "files.h"
#include "shard_names.h"

static int open_names(leat_record_shards *s, leat_error *err)
{
    const int32_t n = s->n_shards;
    s->names = calloc((size_t)n, sizeof *s->names);
    s->parts = calloc((size_t)n, sizeof *s->parts);
    for (int32_t i = 0; s->names && s->parts && i < n; i++) {
        s->names[i] = leat_shard_name(s->prefix, i, n);
        s->parts[i] = s->names[i] ? leat_files_hidden(s->names[i], ".part") : NULL;
        if (!s->parts[i])
            return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    }
    return s->names && s->parts ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "out of memory");
}

int leat_record_shards_open(leat_record_shards *s, leat_error *err)
{
    int rc;
    if ((rc = open_names(s, err)) < 0 || (rc = leat_files_make_parents(s->prefix, err)) < 0)
        return rc;
    return leat_shard_names_check_length(s->prefix, s->n_shards, err);
}

int leat_record_shards_lock(leat_record_shards *s, leat_error *err)
{
    const int rc = leat_lock_open(&s->lock, s->prefix, err);
    return rc < 0 ? rc : leat_shard_names_check(s->prefix, s->n_shards, err);
}

static int close_shard(leat_record_shards *s, leat_error *err)
{
    leat_format_error why;
    if (!s->writer)
        return LEAT_OK;
    s->bytes += leat_tfrecord_writer_size(s->writer);
    const int rc = leat_tfrecord_writer_commit(s->writer, &why);
    leat_tfrecord_writer_close(&s->writer);
    return rc < 0 ? leat_files_fail(err, &why) : LEAT_OK;
}

int leat_record_shards_next(leat_record_shards *s, uint64_t takes, leat_error *err)
{
    leat_format_error why;
    const int rc = close_shard(s, err);
    if (rc < 0)
        return rc;
    s->left = takes;
    return leat_tfrecord_writer_open(&s->writer, s->parts[s->n_parts++], &why) < 0
               ? leat_files_fail(err, &why)
               : LEAT_OK;
}

/* Records of a shard; sizes differ by at most one. */
static uint64_t share_of(const leat_record_shards *s, int32_t shard)
{
    const uint64_t n = (uint64_t)s->n_shards;
    return s->total / n + ((uint64_t)shard < s->total % n);
}

int leat_record_shards_write(leat_record_shards *s, const void *record, size_t size,
                             leat_error *err)
{
    leat_format_error why;
    int rc = LEAT_OK;
    if (s->left == 0)
        rc = leat_record_shards_next(s, share_of(s, s->n_parts), err);
    if (rc == LEAT_OK && leat_tfrecord_writer_write(s->writer, record, size, &why) < 0)
        rc = leat_files_fail(err, &why);
    s->left -= s->left != UINT64_MAX;
    leat_progress_show(s->progress, ++s->records);
    return rc;
}

int leat_record_shards_commit(leat_record_shards *s, leat_error *err)
{
    int rc;
    if ((rc = close_shard(s, err)) < 0 ||
        (rc = leat_shard_names_begin(s->prefix, s->n_shards, err)) < 0)
        return rc;
    for (int32_t i = 0; i < s->n_shards; i++)
        if ((rc = leat_files_rename(s->parts[i], s->names[i], err)) < 0)
            return rc;
    if ((rc = leat_shard_names_end(s->prefix, err)) < 0)
        return rc;
    return leat_shard_names_index(s->prefix, s->n_shards, err);
}

void leat_record_shards_close(leat_record_shards *s)
{
    leat_tfrecord_writer_close(&s->writer);
    for (int32_t i = 0; i < s->n_parts; i++)
        unlink(s->parts[i]); /* renamed ones no longer exist */
    for (int32_t i = 0; i < s->n_shards; i++) {
        if (s->names)
            free(s->names[i]);
        if (s->parts)
            free(s->parts[i]);
    }
    free(s->names);
    free(s->parts);
    leat_lock_close(&s->lock);
}
