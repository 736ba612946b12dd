/* SPDX-License-Identifier: MIT
 *
 * source_tfrecord.c: tf.train.Example messages in TFRecord files, found through their index files.
 * The engine reads framed records; here they are checked (both CRCs) and scanned for features. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "digest.h"
#include "example.h"
#include "file_id.h"
#include "index.h"
#include "scratch.h"
#include "source.h"
#include "source_seek.h"
#include "tfrecord.h"

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

typedef struct feature_options {
    leat_string key;
    int32_t type;
    const leat_node *shape;
} feature_options;

/* `shape` of a feature, read. */
typedef struct shape_options {
    leat_i64s dims;
} shape_options;

enum { TYPE_AUTO, TYPE_BYTES, TYPE_INT64, TYPE_FLOAT };
static const char *const types[] = { "auto", "bytes", "int64", "float", NULL };

static const leat_option feature_table[] = {
    LEAT_OPTION_STRING(feature_options, key, "", "name in the record; default: the tensor's name"),
    LEAT_OPTION_ENUM(feature_options, type, "auto", types,
                     "kind of list it is; auto: as in the first record"),
    LEAT_OPTION_NODE(
        feature_options, shape, "",
        "dimensions of int64 and float features, [] for a scalar; the first may be -1: "
        "records differ in it; default: as many values as in the first record"),
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

typedef struct wanted_feature {
    char key[LEAT_OPTION_STRING_MAX];
    int32_t kind; /* LEAT_FEATURE_* */
    uint64_t n;   /* values; bytes: 1; of one step of the first dim where records differ in it */
    bool varies;  /* records differ in their number of steps */
} wanted_feature;

typedef struct tfrecord_source {
    leat_source base;
    shard *shards;
    size_t n_shards;
    char *notes; /* base.notes */
    wanted_feature wanted[LEAT_MAX_FEATURES];
    leat_feature_key keys[LEAT_MAX_FEATURES];
} tfrecord_source;

extern const leat_source_table leat_source_tfrecord;

static int from_format(leat_error *err, const leat_format_error *inner)
{
    static const int codes[] = { LEAT_OK,   LEAT_E_END,   LEAT_E_DATA,
                                 LEAT_E_IO, LEAT_E_NOMEM, LEAT_E_DATA };
    return leat_fail(err, codes[-inner->code], "%s", inner->text);
}

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

/* before: bytes of the files that were opened before this one. */
static int open_index(const char *path, uint64_t before, uint64_t data_bytes, leat_index *out,
                      leat_format_error *err)
{
    const bool verify = before < VERIFY_BYTES && data_bytes <= VERIFY_BYTES - before;
    return leat_index_open(path, verify ? LEAT_INDEX_VERIFY : 0, out, err);
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
        return leat_fail(err, LEAT_E_IO, "cannot open %s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return leat_fail(err, LEAT_E_IO, "%s is not a regular file", path);
    if (open_index(path, source->base.n_bytes, (uint64_t)status.st_size, &s->index, &inner) < 0)
        return from_format(err, &inner);
    leat_source_seek_open(&s->seek, path, s->index.data_bytes, s->index.n_records, &source->base);
    /* The index was made of what has the name; that must be what is open here. */
    const leat_file_id id = { s->index.data_bytes, s->index.data_mtime_ns };
    if ((rc = leat_file_id_check(&id, s->fd, path, err)) < 0)
        return rc;
    leat_file_watch_init(&s->watch, &id);
    source->base.n_records += s->index.n_records;
    source->base.n_bytes += (uint64_t)status.st_size;
    source->base.n_files++;
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
        return from_format(err, &inner);
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

static const char *kind_text(int32_t kind)
{
    return kind == LEAT_FEATURE_BYTES   ? "bytes"
           : kind == LEAT_FEATURE_FLOAT ? "float"
           : kind == LEAT_FEATURE_INT64 ? "int64"
                                        : "nothing";
}

/* One feature's values into a view. */
static int view_of(const wanted_feature *wanted, const leat_feature_info *info,
                   const leat_feature *found, leat_scratch *scratch, leat_view *out,
                   leat_error *err)
{
    leat_format_error inner;
    const bool none = wanted->varies && found->kind == LEAT_FEATURE_NONE; /* an empty list */
    if (found->kind != wanted->kind && !none)
        return leat_fail(err, LEAT_E_DATA, "feature '%s' holds %s where %s is expected",
                         wanted->key, kind_text(found->kind), kind_text(wanted->kind));
    if (wanted->varies && found->n % wanted->n)
        return leat_fail(err, LEAT_E_DATA,
                         "feature '%s' has %llu values where a multiple of %llu is expected",
                         wanted->key, (unsigned long long)found->n, (unsigned long long)wanted->n);
    if (found->n != wanted->n && !wanted->varies)
        return leat_fail(err, LEAT_E_DATA, "feature '%s' has %llu values where %llu are expected",
                         wanted->key, (unsigned long long)found->n, (unsigned long long)wanted->n);
    *out = (leat_view){ .shape = info->shape };
    if (found->kind == LEAT_FEATURE_BYTES) {
        const uint8_t *bytes;
        size_t size;
        if (leat_feature_bytes(found, 0, &bytes, &size) < 0)
            return leat_fail(err, LEAT_E_DATA, "feature '%s' is damaged", wanted->key);
        out->shape.dims[0] = (int64_t)size;
        out->data = (void *)(uintptr_t)bytes; /* the engine writes only to memory it owns */
        return LEAT_OK;
    }
    if (wanted->varies)
        out->shape.dims[0] = (int64_t)(found->n / wanted->n);
    out->data = leat_scratch_take(scratch, (size_t)leat_shape_bytes(&out->shape));
    if (!out->data)
        return leat_fail(err, LEAT_E_NOMEM, "feature '%s' does not fit in scratch", wanted->key);
    if (found->n == 0)
        return LEAT_OK;
    const int rc = found->kind == LEAT_FEATURE_INT64
                       ? leat_feature_int64s(found, out->data, found->n, &inner)
                       : leat_feature_floats(found, out->data, found->n, &inner);
    return rc < 0 ? from_format(err, &inner) : LEAT_OK;
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
        leat_example_scan(payload, payload_size, source->keys, (size_t)base->n_features, found,
                          &inner) < 0) {
        /* Written to while it was in use: then that is what is wrong with it. */
        shard *const s = shard_of(source, record);
        const int rc = leat_file_watch_check_now(&s->watch, s->fd, "", err);
        return rc < 0 ? rc : from_format(err, &inner);
    }
    for (int32_t i = 0; i < base->n_features; i++) {
        const int rc =
            view_of(&source->wanted[i], &base->features[i], &found[i], scratch, &features[i], err);
        if (rc < 0)
            return rc;
    }
    const shard *const s = shard_of(source, record);
    if (s->seek.feature < 0)
        return LEAT_OK;
    return leat_source_seek_add(&s->seek, record - s->first, payload, payload_size, scratch,
                                features, err);
}

/* --- open: which features ---------------------------------------------------------------------- */

/* Names and kinds of all features in an Example, for messages. */
static void list_features(const uint8_t *example, size_t size, char *text, size_t room)
{
    leat_feature_key name;
    leat_feature feature;
    size_t used = 0;
    text[0] = 0;
    leat_example_iter at = leat_example_iterate(example, size);
    while (leat_example_next(&at, &name, &feature, NULL) == LEAT_FORMAT_OK && used < room)
        used += (size_t)snprintf(text + used, room - used, "%s%.*s (%s)", used ? ", " : "",
                                 (int)name.length, name.name, kind_text(feature.kind));
}

static leat_feature look_up(const uint8_t *example, size_t size, const char *key)
{
    const leat_feature_key wanted_key = { key, strlen(key) };
    leat_feature found = { 0 };
    if (leat_example_scan(example, size, &wanted_key, 1, &found, NULL) < 0)
        found.kind = LEAT_FEATURE_NONE;
    return found;
}

/* varies: records differ in the number of values. */
static int add_feature(tfrecord_source *source, const char *name, const feature_options *given,
                       bool varies, const uint8_t *example, size_t size, const leat_node *where,
                       leat_error *err)
{
    if (source->base.n_features == LEAT_MAX_FEATURES)
        return leat_node_fail(where, err, LEAT_E_CONFIG, "more than %d features",
                              LEAT_MAX_FEATURES);
    const int32_t i = source->base.n_features;
    wanted_feature *const w = &source->wanted[i];
    leat_feature_info *const info = &source->base.features[i];
    snprintf(info->name, sizeof info->name, "%s", name);
    snprintf(w->key, sizeof w->key, "%s", given->key.text[0] ? given->key.text : name);
    leat_feature first = look_up(example, size, w->key);
    static const int32_t kinds[] = { LEAT_FEATURE_NONE, LEAT_FEATURE_BYTES, LEAT_FEATURE_INT64,
                                     LEAT_FEATURE_FLOAT };
    if (first.kind == LEAT_FEATURE_NONE &&
        varies) /* an empty list, of which the type must be given */
        first.kind = kinds[given->type];
    if (first.kind == LEAT_FEATURE_NONE) {
        char list[512];
        list_features(example, size, list, sizeof list);
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "the first record has no feature '%s' (for tensor '%s'); it has: %s"
                              "%s",
                              w->key, name, list,
                              varies ? "; if it is an empty list, give its type" : "");
    }
    w->kind = given->type == TYPE_AUTO ? first.kind : kinds[given->type];
    if (w->kind != first.kind)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "feature '%s' holds %s in the first record, not %s", w->key,
                              kind_text(first.kind), kind_text(w->kind));
    const int64_t n = w->kind == LEAT_FEATURE_BYTES ? LEAT_UNKNOWN_DIM : (int64_t)first.n;
    info->shape = leat_shape_make(w->kind == LEAT_FEATURE_BYTES   ? LEAT_U8
                                  : w->kind == LEAT_FEATURE_INT64 ? LEAT_I64
                                                                  : LEAT_F32,
                                  w->kind == LEAT_FEATURE_BYTES || n != 1 ? 1 : 0, &n);
    w->n = w->kind == LEAT_FEATURE_BYTES ? 1 : first.n;
    source->keys[i] = (leat_feature_key){ w->key, strlen(w->key) };
    source->base.n_features++;
    return LEAT_OK;
}

/* `shape: [2, 3]`, `shape: [-1, 3]`. */
static int read_shape(const leat_node *node, shape_options *out, leat_error *err)
{
    static const leat_option table[] = {
        LEAT_OPTION_I64S(shape_options, dims, "[]", -1, 1 << 30, "dimensions"), LEAT_OPTION_END
    };
    const int rc = leat_node_options(node, node, "shape", table, out, err);
    for (int32_t d = 0; d < out->dims.n && rc >= 0 && node; d++)
        if (out->dims.values[d] < 1 && !(d == 0 && out->dims.values[d] == -1))
            return leat_node_fail(
                node, err, LEAT_E_CONFIG,
                "a dimension is at least 1; only the first may be -1, where records "
                "differ in it");
    return rc;
}

/* Of the feature added last, where records differ in the first dim. */
static int set_varying(tfrecord_source *source, const leat_i64s *dims, const leat_node *node,
                       leat_error *err)
{
    const int32_t i = source->base.n_features - 1;
    leat_shape *const shape = &source->base.features[i].shape;
    *shape = leat_shape_make(shape->dtype, dims->n, dims->values);
    shape->dims[0] = 1;
    const int64_t n = leat_shape_elements(shape);
    if (n < 1)
        return leat_node_fail(node, err, LEAT_E_CONFIG, "these dimensions are too large");
    shape->dims[0] = LEAT_UNKNOWN_DIM;
    source->wanted[i].varies = true;
    source->wanted[i].n = (uint64_t)n;
    return LEAT_OK;
}

/* The shape of the feature added last. */
static int set_shape(tfrecord_source *source, const leat_node *node, const shape_options *read,
                     leat_error *err)
{
    const shape_options given = *read;
    const int32_t i = source->base.n_features - 1;
    leat_feature_info *const info = &source->base.features[i];
    if (!node)
        return LEAT_OK;
    if (source->wanted[i].kind == LEAT_FEATURE_BYTES)
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "a bytes feature has no shape: use op decode_raw in a map");
    if (given.dims.n > LEAT_MAX_RANK)
        return leat_node_fail(node, err, LEAT_E_CONFIG, "more than %d dimensions", LEAT_MAX_RANK);
    if (given.dims.n && given.dims.values[0] < 0)
        return set_varying(source, &given.dims, node, err);
    info->shape = leat_shape_make(info->shape.dtype, given.dims.n, given.dims.values);
    if (leat_shape_elements(&info->shape) != (int64_t)source->wanted[i].n)
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "this shape holds %lld values, feature '%s' has %llu in the first "
                              "record",
                              (long long)leat_shape_elements(&info->shape), source->wanted[i].key,
                              (unsigned long long)source->wanted[i].n);
    return LEAT_OK;
}

static int add_default(tfrecord_source *source, const char *name, const char *const *keys,
                       const uint8_t *example, size_t size, const leat_node *where, leat_error *err)
{
    feature_options given = { .type = TYPE_AUTO };
    for (size_t i = 0; keys[i]; i++) {
        snprintf(given.key.text, sizeof given.key.text, "%s", keys[i]);
        if (look_up(example, size, keys[i]).kind != LEAT_FEATURE_NONE)
            break;
    }
    return add_feature(source, name, &given, false, example, size, where, err);
}

static int add_given(tfrecord_source *source, const leat_node *features, const uint8_t *example,
                     size_t size, leat_error *err)
{
    int rc = LEAT_OK;
    if (features->kind != LEAT_NODE_MAP)
        return leat_node_fail(features, err, LEAT_E_CONFIG,
                              "features is a mapping, such as `x: {key: my/x, type: float}`");
    for (const leat_node *node = features->first; node && rc >= 0; node = node->next) {
        feature_options given;
        shape_options shape;
        char what[300];
        snprintf(what, sizeof what, "feature '%s'", node->key);
        rc = leat_node_options(node, node, what, feature_table, &given, err);
        if (rc >= 0)
            rc = read_shape(given.shape, &shape, err);
        const bool varies = rc >= 0 && shape.dims.n && shape.dims.values[0] < 0;
        if (rc >= 0)
            rc = add_feature(source, node->key, &given, varies, example, size, node, err);
        if (rc >= 0)
            rc = set_shape(source, given.shape, &shape, err);
    }
    return rc;
}

static int add_features(tfrecord_source *source, const tfrecord_options *o, const uint8_t *example,
                        size_t size, const leat_node *where, leat_error *err)
{
    static const char *const images[] = { "image/encoded", "image", NULL };
    static const char *const labels[] = { "image/class/label", "label", NULL };
    if (o->features)
        return add_given(source, o->features, example, size, err);
    const int rc = add_default(source, "image", images, example, size, where, err);
    return rc < 0 ? rc : add_default(source, "label", labels, example, size, where, err);
}

/* Reads the first record and settles names, types and shapes by it. */
static int describe_features(tfrecord_source *source, const tfrecord_options *o,
                             const leat_node *where, leat_error *err)
{
    leat_extent at;
    leat_format_error inner;
    const uint8_t *example;
    size_t size;
    char record[512];
    describe(&source->base, 0, record, sizeof record);
    int rc = locate(&source->base, 0, &at, err);
    if (rc < 0)
        return rc;
    uint8_t *const bytes = malloc(at.size);
    if (!bytes)
        return leat_fail(err, LEAT_E_NOMEM, "%s: %zu bytes", record, at.size);
    rc = leat_source_pread(at.fd, bytes, at.size, at.offset, record, err);
    if (rc >= 0 && leat_tfrecord_check(bytes, at.size, &example, &size, &inner) < 0) {
        from_format(err, &inner);
        rc = leat_fail_in(err, LEAT_E_DATA, "%s: ", record);
    }
    if (rc >= 0)
        rc = add_features(source, o, example, size, where, err);
    free(bytes);
    return rc;
}

/* Which of the features each index of JPEG files is of. */
static void match_seeks(tfrecord_source *source)
{
    for (size_t k = 0; k < source->n_shards; k++) {
        leat_source_seek *const seek = &source->shards[k].seek;
        for (int32_t i = 0; i < source->base.n_features; i++)
            if (source->wanted[i].kind == LEAT_FEATURE_BYTES)
                leat_source_seek_offer(seek, i, source->wanted[i].key);
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
        const int rc = open_shard(source, paths[i], err);
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
    (void)setting;
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
    if ((rc = open_shards(source, paths, err)) < 0)
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
