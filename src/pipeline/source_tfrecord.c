/* SPDX-License-Identifier: MIT
 *
 * source_tfrecord.c: tf.train.Example messages in TFRecord files, found through their index files.
 *
 * DESIGN. A record's number says which shard it is in, and the shard's index where: so the engine reads
 * framed records, far ahead. Here they are checked (both CRCs); what is in them is the affair of
 * tfrecord_features.c, which settles it by the first record that can be read. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "digest.h"
#include "file_id.h"
#include "index.h"
#include "shard_set.h"
#include "source.h"
#include "source_seek.h"
#include "tfrecord.h"
#include "tfrecord_features.h"

#define DESCRIBE_TRIES 32 /* records that are read to learn what features hold */

typedef struct tfrecord_options {
    leat_strings files;
    const leat_node *features;
} tfrecord_options;

static const leat_option options[] = {
    LEAT_OPTION_STRINGS(tfrecord_options, files, NULL,
                        "files, or patterns with * and ?; read in byte order of their names, each "
                        "once"),
    LEAT_OPTION_NODE(tfrecord_options, features, "",
                     "tensor name: {key, type, shape} for each feature to read; default: image "
                     "(image/encoded or image) and label (image/class/label or label)"),
    LEAT_OPTION_END
};

typedef struct shard {
    char *path;
    int fd;
    leat_file_watch watch; /* any thread */
    leat_index index;
    leat_source_seek seek;
    uint64_t first; /* record of the set that its record 0 is */
} shard;

typedef struct tfrecord_source {
    leat_source base;
    shard *shards;
    size_t n_shards;
    bool lossy;  /* damage of a file is a record in its place, see index.h */
    char *notes; /* base.notes */
    leat_tfrecord_features features;
} tfrecord_source;

extern const leat_source_table leat_source_tfrecord;

static void close_tfrecord(leat_source *base)
{
    tfrecord_source *const source = (tfrecord_source *)base;
    for (size_t i = 0; i < source->n_shards; i++) {
        leat_index_close(&source->shards[i].index);
        leat_source_seek_close(&source->shards[i].seek);
        if (source->shards[i].fd >= 0)
            close(source->shards[i].fd);
        free(source->shards[i].path);
    }
    free(source->shards);
    free(source->notes);
    free(source);
}

static shard *shard_of(const tfrecord_source *source, uint64_t record)
{
    size_t low = 0, high = source->n_shards;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (source->shards[middle].first <= record)
            low = middle;
        else
            high = middle;
    }
    return &source->shards[low];
}

#define VERIFY_BYTES                                                                               \
    ((uint64_t)1 << 30) /* of data: the index of what lies beyond is checked as it is used */

/* Of a file that comes behind those that are open. */
static int open_index(const tfrecord_source *source, const char *path, uint64_t data_bytes,
                      leat_index *out, leat_format_error *err)
{
    const uint64_t before = source->base.n_bytes;
    const bool verify = before < VERIFY_BYTES && data_bytes <= VERIFY_BYTES - before;
    return leat_index_open(
        path, (verify ? LEAT_INDEX_VERIFY : 0u) | (source->lossy ? LEAT_INDEX_RESYNC : 0u), out,
        err);
}

static int open_shard(tfrecord_source *source, const char *path, leat_error *err)
{
    shard *const s = &source->shards[source->n_shards];
    leat_format_error inner;
    struct stat status;
    int rc;
    *s = (shard){ .fd = -1, .first = source->base.n_records };
    source->n_shards++;
    if (!(s->path = strdup(path)))
        return leat_fail(err, LEAT_E_NOMEM, "%s", path);
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not hold us up */
    if (s->fd < 0 || fstat(s->fd, &status) < 0)
        return leat_fail(err, LEAT_E_IO, "cannot open %s: %s", path, leat_format_open_error(errno));
    if (!S_ISREG(status.st_mode))
        return leat_fail(err, LEAT_E_IO, "%s is not a regular file", path);
    if (open_index(source, path, (uint64_t)status.st_size, &s->index, &inner) < 0)
        return leat_tfrecord_features_fail(err, &inner);
    leat_source_seek_open(&s->seek, path, s->index.data_bytes, s->index.n_records, &source->base);
    /* The index was made of what has the name; that must be what is open here. */
    const leat_file_id id = { s->index.data_bytes, s->index.data_mtime_ns };
    if ((rc = leat_file_id_check(&id, s->fd, path, err)) < 0)
        return rc;
    leat_file_watch_init(&s->watch, &id);
    source->base.n_records += s->index.n_records;
    source->base.n_bytes += (uint64_t)status.st_size;
    source->base.n_files++;
    source->base.lost_bytes += s->index.lost_bytes;
    source->base.seek_bytes += s->seek.index.memory_bytes;
    if (s->index.mapped)
        source->base.index_bytes += s->index.memory_bytes;
    else
        source->base.memory_bytes += s->index.memory_bytes;
    source->base.digest = leat_digest_chain(
        source->base.digest,
        leat_digest_row(&(uint64_t[2]){ s->index.n_records, (uint64_t)status.st_size }, 16,
                        source->n_shards));
    return LEAT_OK;
}

static int locate(const leat_source *base, uint64_t record, leat_extent *out, leat_error *err)
{
    shard *const s = shard_of((const tfrecord_source *)base, record);
    uint64_t offset, size;
    leat_format_error inner;
    int rc = leat_file_watch_check(&s->watch, s->fd, "", err);
    if (rc < 0)
        return rc;
    rc = leat_index_extent(&s->index, record - s->first, &offset, &size);
    if (rc < 0) {
        leat_format_fail(&inner, rc, 0,
                         "the index of %s is damaged at record %llu: remove %s.idx, it is "
                         "made anew",
                         s->path, (unsigned long long)(record - s->first), s->path);
        return leat_tfrecord_features_fail(err, &inner);
    }
    *out = (leat_extent){ s->fd, offset, (size_t)size };
    return LEAT_OK;
}

static void describe(const leat_source *base, uint64_t record, char *text, size_t size)
{
    const shard *const s = shard_of((const tfrecord_source *)base, record);
    uint64_t offset = 0, length = 0;
    leat_index_extent(&s->index, record - s->first, &offset, &length);
    snprintf(text, size, "%s, record %llu (byte %llu)", s->path,
             (unsigned long long)(record - s->first), (unsigned long long)offset);
}

static int parse(const leat_source *base, uint64_t record, const uint8_t *bytes, size_t size,
                 leat_scratch *scratch, leat_view *features, leat_error *err)
{
    const tfrecord_source *const source = (const tfrecord_source *)base;
    const uint8_t *payload;
    size_t payload_size;
    leat_feature found[LEAT_MAX_FEATURES];
    leat_format_error inner;
    if (leat_tfrecord_check(bytes, size, &payload, &payload_size, &inner) < 0 ||
        leat_example_scan(payload, payload_size, source->features.keys, (size_t)base->n_features,
                          found, &inner) < 0) {
        /* Written to while it was in use: then that is what is wrong with it. */
        shard *const s = shard_of(source, record);
        const int rc = leat_file_watch_check_now(&s->watch, s->fd, "", err);
        return rc < 0 ? rc : leat_tfrecord_features_fail(err, &inner);
    }
    const int rc = leat_tfrecord_features_view(&source->features, found, scratch, features, err);
    if (rc < 0)
        return rc;
    const shard *const s = shard_of(source, record);
    if (s->seek.feature < 0)
        return LEAT_OK;
    return leat_source_seek_add(&s->seek, record - s->first, payload, payload_size, scratch,
                                features, err);
}

/* Settles names, types and shapes by a record. */
static int describe_by(tfrecord_source *source, const tfrecord_options *o, uint64_t number,
                       const leat_node *where, leat_error *err)
{
    leat_extent at;
    leat_format_error inner;
    char name[512];
    leat_tfrecord_example by = { .name = name };
    describe(&source->base, number, name, sizeof name);
    int rc = locate(&source->base, number, &at, err);
    if (rc < 0)
        return rc;
    uint8_t *const bytes = malloc(at.size);
    if (!bytes)
        return leat_fail(err, LEAT_E_NOMEM, "%s: %zu bytes", name, at.size);
    rc = leat_source_pread(at.fd, bytes, at.size, at.offset, name, err);
    if (rc >= 0 && leat_tfrecord_check(bytes, at.size, &by.bytes, &by.size, &inner) < 0)
        rc = leat_fail(err, LEAT_E_DATA, "%s: %s", name, inner.text);
    else if (rc >= 0) {
        rc = leat_tfrecord_features_open(&source->features, &source->base, o->features, &by, where,
                                         err);
        if (rc == LEAT_E_DATA)
            rc = leat_fail_in(err, rc, "%s: ", name);
    }
    free(bytes);
    return rc;
}

static bool is_of_record(int rc)
{
    return rc == LEAT_E_DATA || rc == LEAT_E_IO;
}

/* By the first record, or, where that cannot be read, by one of some others: a bad record is the affair of
 * who comes to it. What a record that can be read lacks is not: then the config does not fit the data. */
static int describe_features(tfrecord_source *source, const tfrecord_options *o,
                             const leat_node *where, leat_error *err)
{
    const uint64_t n = source->base.n_records;
    const uint64_t n_tries = n < DESCRIBE_TRIES ? n : DESCRIBE_TRIES;
    leat_error first, again;
    int rc = describe_by(source, o, 0, where, &first);
    if (rc >= 0)
        return rc;
    for (uint64_t i = 1; i < n_tries && is_of_record(rc); i++) {
        const uint64_t number = n / n_tries * i;
        rc = describe_by(source, o, number, where, &again);
        if (rc >= 0) {
            rc = leat_source_add_note(
                &source->notes, err,
                "tfrecord: the first record cannot be read, so features are as in record %llu: %s",
                (unsigned long long)number, first.message);
            source->base.notes = source->notes;
            return rc;
        }
        if (!is_of_record(rc))
            first = again;
    }
    return leat_fail(err, first.code, "%s", first.message);
}

/* Which of the features each index of JPEG files is of. */
static void match_seeks(tfrecord_source *source)
{
    for (size_t k = 0; k < source->n_shards; k++) {
        leat_source_seek *const seek = &source->shards[k].seek;
        for (int32_t i = 0; i < source->base.n_features; i++)
            if (source->features.wanted[i].kind == LEAT_FEATURE_BYTES)
                leat_source_seek_offer(seek, i, source->features.wanted[i].key);
        source->base.seek_complete &= seek->feature >= 0;
    }
}

/* Of `n` of the files, the first of which is `path`. */
static int note_files(tfrecord_source *source, size_t n, const char *path, const char *one,
                      const char *more, leat_error *err)
{
    int rc = LEAT_OK;
    if (n == 1)
        rc = leat_source_add_note(&source->notes, err, "tfrecord: %.150s %s", path, one);
    else if (n > 1)
        rc = leat_source_add_note(&source->notes, err, "tfrecord: %zu files %s; the first: %.150s",
                                  n, more, path);
    source->base.notes = source->notes;
    return rc;
}

/* Before the files are opened and after: in between a conversion may have begun to replace them. */
static int check_sets(char *const *paths, size_t n, leat_error *err)
{
    leat_format_error inner;
    return leat_shard_set_check(paths, n, &inner) < 0 ? leat_tfrecord_features_fail(err, &inner)
                                                      : LEAT_OK;
}

/* Each damaged file: what of it is lost. */
static int note_damage(tfrecord_source *source, const shard *s, leat_error *err)
{
    const leat_index *const index = &s->index;
    uint64_t offset = 0, size = 0;
    if (!index->n_lost)
        return LEAT_OK;
    leat_index_extent(index, index->lost_first, &offset, &size);
    const int rc = leat_source_add_note(
        &source->notes, err,
        "tfrecord: %.150s is damaged: %llu bytes in %u place%s hold no record that could be found, "
        "the first at byte %llu (record %llu); each place counts as one bad record. `leat repair` "
        "writes a sound copy",
        s->path, (unsigned long long)index->lost_bytes, index->n_lost,
        index->n_lost == 1 ? "" : "s", (unsigned long long)offset,
        (unsigned long long)index->lost_first);
    source->base.notes = source->notes;
    return rc;
}

/* paths: sorted. */
static int open_shards(tfrecord_source *source, char *const *paths, leat_error *err)
{
    size_t n_empty = 0, n_again = 0;
    const char *empty = NULL, *again = NULL;
    for (size_t i = 0; paths[i]; i++) {
        if (i && !strcmp(paths[i - 1], paths[i])) {
            if (i < 2 || strcmp(paths[i - 2], paths[i]) != 0)
                again = n_again++ ? again : paths[i];
            continue;
        }
        int rc = open_shard(source, paths[i], err);
        if (rc >= 0)
            rc = note_damage(source, &source->shards[source->n_shards - 1], err);
        if (rc < 0)
            return rc;
        if (source->shards[source->n_shards - 1].index.n_records == 0)
            empty = n_empty++ ? empty : paths[i];
    }
    const int rc = note_files(source, n_empty, empty, "holds no record", "hold no record", err);
    return rc < 0 ? rc
                  : note_files(source, n_again, again, "is named again, and read once",
                               "are named again, and each is read once", err);
}

static int stamp(const leat_source *base, uint64_t *out, leat_error *err)
{
    const tfrecord_source *const source = (const tfrecord_source *)base;
    *out = 0;
    for (size_t i = 0; i < source->n_shards; i++) {
        struct stat status;
        if (fstat(source->shards[i].fd, &status) < 0)
            return leat_fail(err, LEAT_E_IO, "%s: %s", source->shards[i].path, strerror(errno));
        *out = leat_source_stamp(*out, &status);
    }
    return LEAT_OK;
}

static int open_tfrecord(const void *opts, const leat_node *where,
                         const leat_source_setting *setting, leat_source **out, leat_error *err)
{
    const tfrecord_options *const o = opts;
    char **paths = NULL;
    size_t n_paths = 0;
    tfrecord_source *source = NULL;
    int rc = leat_source_glob(&o->files, where, &paths, &n_paths, err);
    if (rc < 0)
        return rc;
    source = calloc(1, sizeof *source);
    if (source)
        source->shards = calloc(n_paths, sizeof *source->shards);
    if (!source || !source->shards) {
        rc = leat_fail(err, LEAT_E_NOMEM, "%zu files", n_paths);
        goto fail;
    }
    source->base.table = &leat_source_tfrecord;
    source->base.seek_complete = true;
    source->lossy = setting->lossy;
    if ((rc = check_sets(paths, n_paths, err)) < 0 || (rc = open_shards(source, paths, err)) < 0 ||
        (rc = check_sets(paths, n_paths, err)) < 0)
        goto fail;
    if (source->base.n_records == 0) {
        rc = leat_node_fail(where, err, LEAT_E_DATA, "no record in %zu file%s (first: %s)",
                            source->n_shards, source->n_shards == 1 ? "" : "s", paths[0]);
        goto fail;
    }
    if ((rc = describe_features(source, o, where, err)) < 0)
        goto fail;
    match_seeks(source);
    leat_source_free_paths(paths);
    *out = &source->base;
    return LEAT_OK;
fail:
    leat_source_free_paths(paths);
    if (source && source->shards)
        close_tfrecord(&source->base);
    else
        free(source);
    return rc;
}

const leat_source_table leat_source_tfrecord = {
    .kind = { "tfrecord", "tf.train.Example messages in TFRecord files", options },
    .options_size = sizeof(tfrecord_options),
    .open = open_tfrecord,
    .close = close_tfrecord,
    .locate = locate,
    .parse = parse,
    .stamp = stamp,
    .describe = describe,
};
