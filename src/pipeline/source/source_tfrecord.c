/* SPDX-License-Identifier: MIT
 *
 * source_tfrecord.c: tf.train.Example messages in TFRecord files, found through their index files.
 *
 * DESIGN. The number of a record tells its shard; the index of the shard tells its place. So the engine
 * reads framed records far ahead. This file checks both CRCs; tfrecord_features.c reads the features. Records of
 * kept files and of compressed ones have no bytes that the engine could read (tfrecord_load.c). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/search.h"
#include "base/working_folder.h"
#include "formats/figure.h"
#include "formats/shard_set.h"
#include "formats/tfrecord.h"
#include "source_list.h"
#include "source_notes.h"
#include "tfrecord_impl.h"

#define DESCRIBE_TRIES 32 /* records to try in order to learn the features */

typedef struct tfrecord_options {
    leat_strings files;
    const leat_node *features;
} tfrecord_options;

static const leat_option options[] = {
    LEAT_OPTION_STRINGS(
        tfrecord_options, files, NULL,
        "files, or patterns with * and ?, or manifests (PREFIX-manifest.json), which "
        "stand for the files that they list; each is read once, in byte order of "
        "their names"),
    LEAT_OPTION_NODE(
        tfrecord_options, features, "",
        "tensor name: {key, type, shape, default, value} for each feature to read; default: image "
        "(image/encoded or image) and label (image/class/label or label)"),
    LEAT_OPTION_END
};

/* A child may use the source. What threads of the parent had in use at the fork stays so in the child: a piece that they
 * were reading, a file that they had claimed. Others do not wait for these. */
static void before_fork(void *arg)
{
    leat_tfrecord_source *const source = arg;
    if (source->late)
        leat_tfrecord_late_before_fork(source->late);
    if (source->chunks)
        leat_compressed_before_fork(source->chunks);
    pthread_mutex_lock(&source->kept->lock);
    pthread_mutex_lock(&source->files.lock);
}

static void after_fork(void *arg, bool is_child)
{
    leat_tfrecord_source *const source = arg;
    pthread_mutex_unlock(&source->files.lock);
    pthread_mutex_unlock(&source->kept->lock);
    if (source->chunks)
        leat_compressed_after_fork(source->chunks, is_child);
    if (source->late)
        leat_tfrecord_late_after_fork(source->late);
}

static void close_tfrecord(leat_source *base)
{
    leat_tfrecord_source *const source = (leat_tfrecord_source *)base;
    leat_forked_forget(&source->forked);
    for (size_t i = 0; i < source->n_shards; i++)
        leat_tfrecord_shard_close(&source->shards[i]);
    leat_compressed_close(&source->chunks);
    leat_tfrecord_labels_close(source);
    leat_kept_files_close(&source->kept);
    leat_open_files_fini(&source->files);
    leat_tfrecord_late_fini(source);
    leat_tfrecord_list_close(&source->list);
    free(source->shards);
    free(source->base.notes);
    free(source->moved);
    free(source);
}

leat_tfrecord_shard *leat_tfrecord_shard_of(const leat_tfrecord_source *source, uint64_t record)
{
    return &source->shards[LEAT_SEARCH_LAST(source->shards, first, source->n_shards, record)];
}

/* Allocates the chunks of compressed files. */
static int open_chunks(leat_tfrecord_source *source, leat_error *err)
{
    uint64_t n = 0, most = 0;
    const leat_tfrecord_shard *first = NULL;
    size_t n_files = 0;
    for (size_t i = 0; i < source->n_shards; i++) {
        const leat_tfrecord_opened *const opened = leat_tfrecord_shard_opened(&source->shards[i]);
        if (!opened || !opened->compression)
            continue;
        const leat_decompress_index *const index = &opened->compressed.index;
        const uint64_t bytes =
            index->data_bytes < index->chunk_bytes ? index->data_bytes : index->chunk_bytes;
        first = n_files++ ? first : &source->shards[i];
        n += index->n_chunks;
        most = bytes > most ? bytes : most;
    }
    if (!first)
        return LEAT_OK;
    int rc = leat_compressed_open(&source->chunks, (size_t)n, (size_t)most, err);
    if (rc < 0)
        return rc;
    source->base.memory_bytes += leat_compressed_bytes(source->chunks);
    return leat_source_add_note(
        &source->base.notes, err,
        "tfrecord: %s%s %s-compressed: each chunk of %d MiB is decompressed once in file order "
        "or with `shuffle: {window: N}`, but once per record with a global shuffle; `leat convert "
        "tfrecord` makes plain files",
        first->path, n_files == 1 ? " is" : " and others are",
        leat_tfrecord_shard_opened(first)->compression, (int)(LEAT_COMPRESSED_CHUNK >> 20));
}

static int locate(const leat_source *base, uint64_t record, leat_extent *out, leat_error *err)
{
    const leat_tfrecord_source *const source = (const leat_tfrecord_source *)base;
    leat_tfrecord_shard *const s = leat_tfrecord_shard_of(source, record);
    uint64_t offset, size;
    leat_format_error inner;
    int rc;
    if ((rc = leat_tfrecord_ready(source, s, err)) < 0 ||
        (rc = leat_open_file_check(&s->file, err)) < 0)
        return rc;
    rc = leat_tfrecord_shard_extent(s, record - s->first, &offset, &size);
    if (rc < 0) {
        leat_format_fail(&inner, rc, 0,
                         "the index of %s is damaged at record %llu: remove %s.idx; it is "
                         "made again",
                         s->path, (unsigned long long)(record - s->first), s->path);
        return leat_tfrecord_features_fail(err, &inner);
    }
    if (leat_tfrecord_shard_opened(s)->compression || leat_kept_files_started(source->kept))
        *out = (leat_extent){ .fd = -1 };
    else if (source->files.rotates)
        *out = (leat_extent){ .fd = -1, .size = (size_t)size };
    else
        *out = (leat_extent){ s->file.fd, offset, (size_t)size };
    return LEAT_OK;
}

static void describe(const leat_source *base, uint64_t record, char *text, size_t size)
{
    const leat_tfrecord_shard *const s =
        leat_tfrecord_shard_of((const leat_tfrecord_source *)base, record);
    const leat_tfrecord_opened *const opened = leat_tfrecord_shard_opened(s);
    uint64_t offset = 0, length = 0;
    const int n =
        snprintf(text, size, "%s, record %llu", s->path, (unsigned long long)(record - s->first));
    if (!opened || n < 0 || (size_t)n >= size)
        return;
    leat_tfrecord_shard_extent(s, record - s->first, &offset, &length);
    snprintf(text + n, size - (size_t)n, " (byte %llu%s)", (unsigned long long)offset,
             opened->compression ? " of the decompressed data" : "");
}

static const char *file_of(const leat_source *base, uint64_t record)
{
    return leat_tfrecord_shard_of((const leat_tfrecord_source *)base, record)->path;
}

int leat_tfrecord_find(const leat_tfrecord_source *source, const uint8_t *bytes, size_t size,
                       uint8_t *checked, leat_feature *found, leat_format_error *err)
{
    const uint8_t *payload = bytes + LEAT_TFRECORD_HEADER;
    size_t payload_size = size - LEAT_TFRECORD_OVERHEAD;
    if (*checked == LEAT_KEPT_ALIKE) {
        leat_example_layout_take(&source->layout, payload, found);
        return LEAT_FORMAT_OK;
    }
    if (*checked == LEAT_KEPT_UNKNOWN) {
        const int rc = leat_tfrecord_check(bytes, size, &payload, &payload_size, err);
        if (rc < 0)
            return rc;
        *checked = LEAT_KEPT_INTACT;
    }
    if (leat_example_layout_match(&source->layout, payload, payload_size, found)) {
        *checked = LEAT_KEPT_ALIKE;
        return LEAT_FORMAT_OK;
    }
    return leat_example_scan(payload, payload_size, source->features.keys,
                             (size_t)source->base.n_features, found, err);
}

int leat_tfrecord_parse(const leat_source *base, uint64_t record, const uint8_t *bytes, size_t size,
                        uint8_t *checked, leat_scratch *scratch, leat_view *features,
                        leat_error *err)
{
    const leat_tfrecord_source *const source = (const leat_tfrecord_source *)base;
    leat_feature found[LEAT_MAX_FEATURES];
    leat_format_error inner;
    if (leat_tfrecord_find(source, bytes, size, checked, found, &inner) < 0) {
        /* If the file was changed while in use, report the change: it explains the error. */
        leat_tfrecord_shard *const s = leat_tfrecord_shard_of(source, record);
        const int rc = leat_open_file_check_now(&s->file, err);
        return rc < 0 ? rc : leat_tfrecord_features_fail(err, &inner);
    }
    const int rc = leat_tfrecord_features_view(&source->features, found, scratch, features, err);
    if (rc < 0)
        return rc;
    const leat_tfrecord_shard *const s = leat_tfrecord_shard_of(source, record);
    if (leat_tfrecord_shard_opened(s)->seek.feature < 0)
        return LEAT_OK;
    return leat_tfrecord_shard_add_seek(s, record - s->first, bytes + LEAT_TFRECORD_HEADER,
                                        size - LEAT_TFRECORD_OVERHEAD, scratch, features, err);
}

static int parse(const leat_source *base, uint64_t record, const uint8_t *bytes, size_t size,
                 leat_scratch *scratch, leat_view *features, leat_error *err)
{
    uint8_t checked = LEAT_KEPT_UNKNOWN;
    return leat_tfrecord_parse(base, record, bytes, size, &checked, scratch, features, err);
}

/* --- open ------------------------------------------------------------------------------------------ */

/* Sets names, types and shapes from one record. */
static int describe_by(leat_tfrecord_source *source, const tfrecord_options *o, uint64_t number,
                       const leat_node *where, leat_error *err)
{
    leat_tfrecord_shard *const s = leat_tfrecord_shard_of(source, number);
    leat_extent at;
    leat_format_error inner;
    char name[512];
    leat_tfrecord_example by = { .name = name };
    uint64_t offset, size;
    int rc = locate(&source->base, number, &at, err);
    if (rc < 0)
        return rc;
    describe(&source->base, number, name, sizeof name);
    leat_tfrecord_shard_extent(s, number - s->first, &offset, &size);
    uint8_t *const bytes = malloc((size_t)size);
    if (!bytes)
        return leat_fail(err, LEAT_E_NOMEM, "%s: %llu bytes", name, (unsigned long long)size);
    const leat_tfrecord_opened *const opened = leat_tfrecord_shard_opened(s);
    rc = opened->compression ? leat_compressed_read(source->chunks, &opened->compressed, offset,
                                                    (size_t)size, bytes, err)
                             : leat_tfrecord_read_plain(s, bytes, (size_t)size, offset, name, err);
    if (rc >= 0 && leat_tfrecord_check(bytes, (size_t)size, &by.bytes, &by.size, &inner) < 0) {
        leat_tfrecord_features_fail(err, &inner);
        rc = leat_fail_in(err, LEAT_E_DATA, "%s: ", name);
    } else if (rc >= 0) {
        rc = leat_tfrecord_features_open(&source->features, &source->base, o->features, &by, where,
                                         err);
        if (rc == LEAT_E_DATA)
            rc = leat_fail_in(err, rc, "%s: ", name);
        leat_example_layout_make(by.bytes, by.size, source->features.keys,
                                 (size_t)source->base.n_features, &source->layout);
    }
    free(bytes);
    return rc;
}

static bool is_of_record(int rc)
{
    return rc == LEAT_E_DATA || rc == LEAT_E_IO;
}

/* Sets the features from the first record. If it is damaged and bad records do not stop the run, tries
 * some others. A readable record without a feature is a config error, so it ends the search. */
static int describe_features(leat_tfrecord_source *source, const tfrecord_options *o,
                             const leat_node *where, bool skips_damage, leat_error *err)
{
    const uint64_t n = source->base.n_records;
    const uint64_t n_tries = !skips_damage ? 1 : n < DESCRIBE_TRIES ? n : DESCRIBE_TRIES;
    leat_error first, again;
    int rc = describe_by(source, o, 0, where, &first);
    if (rc >= 0)
        return rc;
    for (uint64_t i = 1; i < n_tries && is_of_record(rc); i++) {
        const uint64_t number = n / n_tries * i;
        rc = describe_by(source, o, number, where, &again);
        if (rc >= 0)
            return leat_source_add_note(
                &source->base.notes, err,
                "tfrecord: the first record cannot be read, so features are as in record %llu: %s",
                (unsigned long long)number, first.message);
        if (!is_of_record(rc))
            first = again;
    }
    return leat_fail_as(err, &first);
}

/* Finds the feature of each JPEG index. */
static void match_seeks(leat_tfrecord_source *source)
{
    for (size_t k = 0; k < source->n_shards; k++) {
        leat_tfrecord_opened *const opened = leat_tfrecord_shard_opened(&source->shards[k]);
        if (opened)
            leat_tfrecord_shard_match_seek(opened, &source->features);
        source->base.seek_complete &= opened && opened->seek.feature >= 0;
    }
}

/* Registers plain files with kept_files, and sets keep_bytes, can_gather and scatter. */
static void set_ways(leat_tfrecord_source *source)
{
    bool all_plain = true, all_fixed = true;
    for (size_t i = 0; i < source->n_shards; i++) {
        leat_tfrecord_shard *const s = &source->shards[i];
        const leat_tfrecord_opened *const opened = leat_tfrecord_shard_opened(s);
        const bool is_plain = !opened || !opened->compression;
        all_plain &= is_plain;
        if (is_plain)
            leat_kept_files_add(source->kept, &s->file, s->bytes,
                                source->verifies_always ? 0 : s->n_records, &s->kept);
    }
    for (int32_t i = 0; i < source->base.n_features; i++)
        all_fixed &= !source->features.wanted[i].varies && source->features.wanted[i].value < 0;
    source->base.keep_bytes = all_plain ? leat_kept_files_memory(source->kept) : 0;
    source->base.keep_tables = leat_kept_files_tables(source->kept);
    source->base.can_gather = all_plain && all_fixed;
    leat_tfrecord_scatter_make(source);
}

/* Called before and after opening the files: a conversion may replace them in between. */
static int check_sets(char *const *paths, size_t n, leat_error *err)
{
    leat_format_error inner;
    return leat_shard_set_check(paths, n, &inner) < 0 ? leat_tfrecord_features_fail(err, &inner)
                                                      : LEAT_OK;
}

/* Only the first file is told: there may be many. */
static int tell_moved(leat_tfrecord_source *source, const leat_tfrecord_shard *s,
                      const leat_index *index, leat_error *err)
{
    source->base.moved.n_places += index->n_lost;
    if (source->moved)
        return LEAT_OK;
    const int rc = leat_source_add_note(
        &source->moved, err,
        "%s is damaged, and how many records are lost in it is not known: replace the file",
        s->path);
    source->base.moved.why = source->moved;
    source->base.moved.n_before =
        source->base.n_records + index->lost_first + 1; /* it is one itself */
    return rc;
}

/* Notes what a damaged file has lost. */
static int note_damage(leat_tfrecord_source *source, const leat_tfrecord_shard *s, leat_error *err)
{
    const leat_index *const index = &leat_tfrecord_shard_opened(s)->index;
    uint64_t offset = 0, size = 0;
    if (!index->n_lost)
        return LEAT_OK;
    leat_index_extent(index, index->lost_first, &offset, &size);
    const int rc = tell_moved(source, s, index, err);
    if (rc < 0)
        return rc;
    return leat_source_add_note(
        &source->base.notes, err,
        "tfrecord: %s is damaged: %s in %u place%s lost, the first at byte %llu (record "
        "%llu); each place is one bad record. `leat repair` writes an intact copy",
        s->path, leat_figure_bytes((double)index->lost_bytes).text, index->n_lost,
        index->n_lost == 1 ? "" : "s", (unsigned long long)offset,
        (unsigned long long)index->lost_first);
}

/* Opens the next file, or leaves that for later. */
static int take_shard(leat_tfrecord_source *source, const leat_tfrecord_listed *listed,
                      leat_error *err)
{
    leat_tfrecord_shard *const s = &source->shards[source->n_shards++];
    int rc = LEAT_OK;
    leat_tfrecord_shard_init(s, listed);
    if (source->late && listed->manifest) {
        source->base.n_bytes += s->bytes;
        source->base.index_bytes += leat_index_side_bytes(s->n_records);
    } else {
        rc = leat_tfrecord_shard_open(s, s->path, &source->files, source->skips_damage,
                                      &source->base, &source->features, err);
        if (rc >= 0)
            rc = note_damage(source, s, err);
    }
    if (rc < 0)
        return rc;
    char *const *const paths = source->list.paths; /* in byte order */
    const size_t above = leat_source_common_folder(paths[0], paths[source->list.n - 1]);
    leat_source_count_file(&source->base, listed->path + above);
    leat_tfrecord_shard_count(s, &source->base);
    return LEAT_OK;
}

/* What the files take beside their indexes; of those that are opened late, as if they were open. */
static uint64_t memory_of(const leat_tfrecord_source *source)
{
    const leat_tfrecord_list *const list = &source->list;
    uint64_t bytes =
        list->n * (sizeof *source->shards + sizeof *list->files + sizeof *list->paths) +
        source->n_shards * sizeof(leat_tfrecord_opened);
    for (size_t i = 0; i < list->n; i++) /* about what malloc rounds up to */
        bytes += strlen(list->files[i].path) / 16 * 16 + 32;
    return bytes;
}

static int open_shards(leat_tfrecord_source *source, leat_error *err)
{
    const leat_tfrecord_list *const list = &source->list;
    size_t n_empty = 0;
    const char *empty = NULL;
    for (size_t i = 0; i < list->n; i++) {
        if (list->same[i] != i)
            continue;
        const int rc = take_shard(source, &list->files[i], err);
        if (rc < 0)
            return rc;
        if (source->shards[source->n_shards - 1].n_records == 0)
            empty = n_empty++ ? empty : list->files[i].path;
    }
    int rc = leat_source_note_files(&source->base.notes, "tfrecord", n_empty, empty,
                                    "holds no record", "hold no record", err);
    if (rc >= 0)
        rc = leat_source_note_same(&source->base.notes, "tfrecord", list->paths, list->same,
                                   list->n, list->n_again, err);
    free(source->list.same); /* of millions of files */
    source->list.same = NULL;
    return rc;
}

/* Refuses a set of which some files are open and others were put in their place. */
static int check_replaced(const leat_tfrecord_source *source, leat_error *err)
{
    struct stat status;
    for (size_t i = 0; i < source->n_shards; i++) {
        leat_tfrecord_shard *const s = &source->shards[i];
        if (leat_tfrecord_shard_opened(s) && stat(s->path, &status) == 0 &&
            status.st_ino != s->file.inode)
            return leat_fail(err, LEAT_E_DATA,
                             "%s was replaced while its set was opened: open the data again",
                             s->path);
    }
    return LEAT_OK;
}

/* Of files that take turns, which may be millions, only those are opened whose content is in the stamp. */
static int stamp(const leat_source *base, leat_file_watch_stamp *out, leat_error *err)
{
    const leat_tfrecord_source *const source = (const leat_tfrecord_source *)base;
    int rc = LEAT_OK;
    for (size_t i = 0; i < source->n_shards && rc >= 0; i++) {
        const leat_tfrecord_shard *const s = &source->shards[i];
        const leat_file_watch_id *const id = &s->file.watch.id;
        const bool is_open = leat_tfrecord_shard_opened(s), stays = is_open && !s->file.files;
        struct stat status;
        if (leat_file_watch_stamp_skips(out))
            continue;
        if ((stays ? fstat(s->file.fd, &status)
                   : fstatat(source->files.folder, s->path, &status, 0)) < 0)
            return leat_fail(err, LEAT_E_IO, "%s: %s", s->path, strerror(errno));
        const leat_file_watch_id now = leat_file_watch_id_in(&status);
        if (is_open && (now.bytes != id->bytes || now.mtime_ns != id->mtime_ns ||
                        status.st_ino != s->file.inode))
            return leat_fail(err, LEAT_E_DATA,
                             "%s: the file was changed while it was in use; open the data again",
                             s->path);
        rc = leat_file_watch_stamp_add(out, source->files.folder, s->path, stays ? s->file.fd : -1,
                                       &status, err);
    }
    return rc;
}

static int check_read(const leat_source *base, leat_error *err)
{
    const leat_tfrecord_source *const source = (const leat_tfrecord_source *)base;
    for (size_t i = 0; i < source->n_shards; i++) {
        leat_tfrecord_shard *const s = &source->shards[i];
        const int rc =
            leat_tfrecord_shard_opened(s) ? leat_open_file_check_read(&s->file, err) : LEAT_OK;
        if (rc < 0)
            return leat_fail_in(err, rc, "%s: ", s->path);
    }
    return LEAT_OK;
}

/* Files that take turns, and their manifests, are opened again by their names. */
static int keep_folder(leat_tfrecord_source *source, leat_error *err)
{
    const leat_tfrecord_list *const list = &source->list;
    bool decides = false;
    for (size_t i = 0; i < list->n && !decides; i++)
        decides = leat_working_folder_decides(list->paths[i]) ||
                  (list->files[i].manifest && leat_working_folder_decides(list->files[i].manifest));
    return decides ? leat_working_folder_keep(&source->files.folder, err) : LEAT_OK;
}

/* Decides how many files stay open. Files that take turns have no descriptor to read ahead with: each record is
 * read like a file of its own. */
static int limit_files(leat_tfrecord_source *source, size_t n, leat_error *err)
{
    char note[400];
    leat_open_files_init(&source->files, n, source->late != NULL, note, sizeof note);
    source->base.fixed_sizes = true;
    if (source->files.rotates)
        source->table.read = leat_tfrecord_read;
    const int rc = source->files.rotates ? keep_folder(source, err) : LEAT_OK;
    if (rc < 0)
        return rc;
    return *note ? leat_source_add_note(&source->base.notes, err, "tfrecord: %s", note) : LEAT_OK;
}

static int open_tfrecord(const void *opts, const leat_node *where,
                         const leat_source_setting *setting, leat_source **out, leat_error *err)
{
    const tfrecord_options *const o = opts;
    leat_tfrecord_source *source = calloc(1, sizeof *source);
    if (!source)
        return leat_fail(err, LEAT_E_NOMEM, "%zu bytes", sizeof *source);
    source->files.folder = AT_FDCWD;
    int rc = leat_tfrecord_list_open(&source->list, &o->files, where, &source->base.notes, err);
    if (rc < 0 || (rc = leat_tfrecord_late_init(source, err)) < 0)
        goto fail;
    char **const paths = source->list.paths;
    const size_t n_paths = source->list.n;
    source->shards = calloc(n_paths, sizeof *source->shards);
    source->kept = leat_kept_files_open();
    if (!source->shards || !source->kept) {
        rc = leat_fail(err, LEAT_E_NOMEM, "%zu files", n_paths);
        goto fail;
    }
    source->table = leat_source_tfrecord;
    source->base.table = &source->table;
    source->base.seek_complete = true;
    source->skips_damage = setting->skips_damage;
    source->verifies_always = setting->verifies_always;
    if ((rc = limit_files(source, n_paths, err)) < 0 ||
        (rc = check_sets(paths, n_paths, err)) < 0 || (rc = open_shards(source, err)) < 0 ||
        (rc = check_sets(paths, n_paths, err)) < 0 || (rc = check_replaced(source, err)) < 0 ||
        (rc = open_chunks(source, err)) < 0)
        goto fail;
    if (source->base.n_records == 0) {
        rc = leat_node_fail(where, err, LEAT_E_DATA, "no record in %zu file%s (first: %s)",
                            source->n_shards, source->n_shards == 1 ? "" : "s", paths[0]);
        goto fail;
    }
    if ((rc = describe_features(source, o, where, setting->skips_damage, err)) < 0)
        goto fail;
    for (size_t i = 0; i < source->n_shards; i++)
        paths[i] = source->shards[i].listed->path; /* those that are read */
    if ((rc = leat_tfrecord_labels_read(source, paths, source->n_shards, err)) < 0)
        goto fail;
    match_seeks(source);
    source->base.memory_bytes += memory_of(source);
    set_ways(source);
    source->forked =
        (leat_forked_hook){ .before = before_fork, .after = after_fork, .arg = source };
    leat_forked_watch(&source->forked);
    *out = &source->base;
    return LEAT_OK;
fail:
    close_tfrecord(&source->base);
    return rc;
}

const leat_source_table leat_source_tfrecord = {
    .kind = { "tfrecord", "tf.train.Example messages in TFRecord files", options },
    .options_size = sizeof(tfrecord_options),
    .open = open_tfrecord,
    .close = close_tfrecord,
    .locate = locate,
    .parse = parse,
    .load = leat_tfrecord_load,
    .hint = leat_tfrecord_hint,
    .announce = leat_tfrecord_announce,
    .gather = leat_tfrecord_gather,
    .keep = leat_tfrecord_keep,
    .stamp = stamp,
    .check_read = check_read,
    .describe = describe,
    .file = file_of,
};
