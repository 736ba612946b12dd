/* SPDX-License-Identifier: MIT
 *
 * leat index: makes or checks the index files of TFRecord files, and of the JPEG files in them. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "convert/file_set.h"
#include "convert/image_file.h"
#include "convert/paths.h"
#include "files.h"
#include "formats/example.h"
#include "formats/figure.h"
#include "formats/index.h"
#include "formats/jpeg_index.h"
#include "formats/same_file.h"
#include "formats/tfrecord.h"
#include "leat/jpeg_probe.h"
#include "print/json.h"
#include "print/progress.h"
#include "print/terminal.h"

struct index_options {
    int32_t check, rebuild, jpeg, quiet, progress;
    const char *feature, *manifest;
    int64_t every_mcus;
    const char *json;
};

static const leat_option options[] = {
    LEAT_OPTION_BOOL(struct index_options, check, "false",
                     "change nothing; list each file whose index is missing, stale or damaged, and "
                     "fail if there is one"),
    LEAT_OPTION_BOOL(struct index_options, rebuild, "false",
                     "rebuild the index even if it is up to date"),
    LEAT_OPTION_BOOL(struct index_options, jpeg, "false",
                     "also index the JPEG files, in NAME.tfrecord.jpg.idx: crops are then decoded "
                     "without the rest of the picture"),
    LEAT_OPTION_STRING(struct index_options, feature, NULL,
                       "feature that holds the JPEG files; default: image/encoded, or image"),
    LEAT_ROW_AUTO(struct index_options, every_mcus, 1, 65535,
                  "MCUs (blocks of 8 x 8 to 16 x 16 pixels) between two entries of the JPEG index, "
                  "which is rebuilt if it was made with another number; auto: those of an index "
                  "that fits, or enough for 64 pixels"),
    LEAT_OPTION_STRING(
        struct index_options, manifest, NULL,
        "also write a manifest of these files, NAME-manifest.json: their sizes, counts "
        "and digests; a config may name it in place of them"),
    LEAT_ROW_PROGRESS(struct index_options),
    LEAT_ROW_JSON(struct index_options),
    LEAT_OPTION_END
};

static json_t *add_file(json_t *list, const char *path, const leat_index *index)
{
    json_t *one = leat_json_row(list);
    leat_json_text(one, "file", path);
    leat_json_int(one, "records", (int64_t)index->n_records);
    leat_json_int(one, "bytes", (int64_t)index->data_bytes);
    leat_json_int(one, "lost_places", (int64_t)index->n_lost);
    leat_json_int(one, "lost_bytes", (int64_t)index->lost_bytes);
    leat_json_bool(one, "built", index->built);
    leat_json_bool(one, "on_disk", index->mapped);
    leat_json_text(one, "note", index->note);
    return one;
}

/* "index fits", "index rebuilt", or "index written" and why. */
static void print_state(bool built, bool rebuild, const char *note)
{
    printf("index %s", !built ? "fits" : rebuild ? "rebuilt" : "written");
    if (*note && !rebuild)
        printf(" (%s)", leat_terminal_name(note));
}

static void print_file(const char *path, const leat_index *index, bool rebuild)
{
    printf("%s: %s record%s, %s, ", leat_terminal_name(path),
           leat_figure_count(index->n_records).text, index->n_records == 1 ? "" : "s",
           leat_figure_bytes((double)index->data_bytes).text);
    print_state(index->built, rebuild, index->note);
    if (index->n_lost)
        printf(
            "; damaged in %u place%s, which count%s: %s lost (leat repair writes an intact copy)",
            index->n_lost, index->n_lost == 1 ? "" : "s",
            index->n_lost == 1 ? "s as a record" : " as records",
            leat_figure_bytes((double)index->lost_bytes).text);
    putchar('\n');
}

/* --- the index of JPEG files (formats/jpeg_index.h) --------------------------------------------*/

#define SCRATCH_BYTES ((size_t)1 << 34) /* address space: pictures may be very large */

/* Checks or makes the side index of one file. */
struct side {
    const struct index_options *o;
    leat_tfrecord_reader *reader;
    leat_jpeg_index_writer *writer; /* NULL: an index is being checked */
    leat_jpeg_index index;
    leat_scratch *scratch;
    char feature[LEAT_JPEG_INDEX_KEY_MAX + 1];
    uint64_t data_bytes, bytes; /* bytes: of the side file */
    /* Records by what makes them seekable: a table, or restart markers; or by why they are not: too few MCUs to gain (or
     * damaged); of a kind that libjpeg-turbo decodes, such as progressive; no JPEG file. */
    struct {
        uint64_t all, tables, restart_markers, small, other, none;
    } n;
    bool built;
    char note[480]; /* why it was built; "": it was not */
};

static leat_feature look_up(const uint8_t *example, size_t size, const char *key)
{
    const leat_feature_key wanted = { key, strlen(key) };
    leat_feature found = { 0 };
    if (leat_example_scan(example, size, &wanted, 1, &found, NULL) < 0)
        found.kind = LEAT_FEATURE_NONE;
    return found;
}

/* Finds the feature that holds the JPEG files, from the first record. */
static int choose_feature(struct side *m, const char *path, leat_error *err)
{
    const char *const names[] = { m->o->feature ? m->o->feature : "image/encoded",
                                  m->o->feature ? m->o->feature : "image" };
    const uint8_t *payload;
    size_t size;
    leat_format_error why;
    const int rc = leat_tfrecord_reader_next(m->reader, &payload, &size, &why);
    if (rc == LEAT_FORMAT_BAD || rc == LEAT_FORMAT_IO || rc == LEAT_FORMAT_NOMEM)
        return leat_files_fail(err, &why);
    for (int i = 0; i < 2; i++) {
        snprintf(m->feature, sizeof m->feature, "%s", names[i]);
        if (strlen(names[i]) > LEAT_JPEG_INDEX_KEY_MAX)
            return leat_fail(err, LEAT_E_ARGUMENT, "feature '%.100s': its name is too long",
                             names[i]);
        if (rc == LEAT_FORMAT_END || look_up(payload, size, names[i]).kind == LEAT_FEATURE_BYTES)
            return LEAT_OK;
    }
    return leat_fail(
        err, LEAT_E_DATA,
        "%s: record 0 has no bytes feature '%s': name the one with the JPEG files by --feature",
        path, names[1]);
}

/* Counts a record by what makes it seekable; `table` is the size of its table. */
static void count(struct side *m, const uint8_t *jpeg, size_t size, size_t table)
{
    leat_jpeg_info info = { 0 };
    m->n.all++;
    if (table) {
        m->n.tables++;
        return;
    }
    const bool is_jpeg = jpeg && leat_jpeg_probe(jpeg, size, &info, NULL) == LEAT_OK;
    if (info.restart_mcus)
        m->n.restart_markers++;
    else if (!is_jpeg)
        m->n.none++;
    else if (!info.is_own || info.is_progressive)
        m->n.other++;
    else
        m->n.small++;
}

/* *n: 0: the record has no table. */
static int make_table(struct side *m, const uint8_t *jpeg, size_t size, const void **table,
                      size_t *n, leat_error *err)
{
    const uint32_t every = m->o->every_mcus < 0 ? 0 : (uint32_t)m->o->every_mcus;
    *table = NULL;
    *n = 0;
    leat_scratch_reset(m->scratch);
    return jpeg ? leat_jpeg_make_table(jpeg, size, every, m->scratch, table, n, err) : LEAT_OK;
}

static int add_record(struct side *m, const leat_jpeg_index_id *id, const uint8_t *jpeg,
                      size_t size, leat_error *err)
{
    const void *table;
    size_t n;
    leat_format_error why;
    const int rc = make_table(m, jpeg, size, &table, &n, err);
    if (rc < 0)
        return rc;
    count(m, jpeg, size, n);
    return leat_jpeg_index_writer_add(m->writer, id, table, n, &why) < 0
               ? leat_files_fail(err, &why)
               : LEAT_OK;
}

static int check_record(struct side *m, const leat_jpeg_index_id *id, const uint8_t *jpeg,
                        size_t size, leat_error *err)
{
    const uint8_t *table;
    const void *wanted;
    size_t n, n_wanted;
    const uint64_t record = leat_tfrecord_reader_record(m->reader);
    int rc = leat_jpeg_index_find(&m->index, record, id, &table, &n);
    if (rc < 0)
        return leat_fail(err, LEAT_E_DATA, "%s at record %llu",
                         rc == LEAT_FORMAT_BAD ? "it is damaged" : "it was made for other data",
                         (unsigned long long)record);
    count(m, jpeg, size, n);
    if (m->o->every_mcus < 0) /* any number of MCUs will do */
        return LEAT_OK;
    if ((rc = make_table(m, jpeg, size, &wanted, &n_wanted, err)) < 0)
        return rc;
    return n == n_wanted && (!n || !memcmp(table, wanted, n))
               ? LEAT_OK
               : leat_fail(err, LEAT_E_DATA, "it was made with another --every-mcus");
}

/* Checks or adds every record. */
static int walk(struct side *m, const char *path, leat_error *err)
{
    leat_format_error why;
    const uint8_t *payload, *jpeg;
    size_t size, n;
    leat_tfrecord_reader_close(&m->reader); /* which chose the feature, or checked */
    memset(&m->n, 0, sizeof m->n);
    int rc = leat_tfrecord_reader_open(&m->reader, path, 0, &why);
    while (rc == LEAT_FORMAT_OK &&
           (rc = leat_tfrecord_reader_next(m->reader, &payload, &size, &why)) == LEAT_FORMAT_OK) {
        const leat_feature found = look_up(payload, size, m->feature);
        const leat_jpeg_index_id id = { size, leat_tfrecord_masked_crc(payload, size) };
        if (found.kind != LEAT_FEATURE_BYTES || found.n != 1 ||
            leat_feature_bytes(&found, 0, &jpeg, &n) < 0)
            jpeg = NULL;
        const int done = (m->writer ? add_record : check_record)(m, &id, jpeg, jpeg ? n : 0, err);
        if (done < 0)
            return done;
    }
    return rc == LEAT_FORMAT_END ? LEAT_OK : leat_files_fail(err, &why);
}

static int write_side(struct side *m, const char *path, leat_error *err)
{
    leat_format_error why;
    int rc = leat_jpeg_index_writer_open(&m->writer, path, m->feature, &why);
    if (rc < 0)
        return leat_files_fail(err, &why);
    if ((rc = walk(m, path, err)) < 0)
        return rc;
    m->bytes = leat_jpeg_index_writer_size(m->writer);
    m->built = true;
    return leat_jpeg_index_writer_commit(m->writer, m->data_bytes, &why) < 0
               ? leat_files_fail(err, &why)
               : LEAT_OK;
}

/* LEAT_OK if the existing side index fits every record; else `err` says why not. */
static int check_side(struct side *m, const char *path, uint64_t n_records, leat_error *err)
{
    leat_format_error why;
    if (leat_jpeg_index_open(path, m->data_bytes, n_records, &m->index, &why) < 0)
        return leat_files_fail(err, &why);
    m->bytes = m->index.memory_bytes;
    if (strcmp(m->index.key, m->feature) != 0)
        return leat_fail(err, LEAT_E_DATA, "it was made for feature '%s'", m->index.key);
    return walk(m, path, err);
}

/* Checks the side index against every record, and makes it when it is missing or does not fit, or (--check) fails then.
 * n_records: of the file, as its index says */
static int check_or_write(struct side *m, const char *path, uint64_t n_records, leat_error *err)
{
    leat_format_error why;
    leat_error reason = { 0 };
    if (leat_tfrecord_reader_open(&m->reader, path, 0, &why) < 0)
        return leat_files_fail(err, &why);
    m->data_bytes = leat_tfrecord_reader_file_size(m->reader);
    const int rc = choose_feature(m, path, err);
    if (rc < 0)
        return rc;
    if (m->o->rebuild)
        leat_fail(&reason, LEAT_E_ARGUMENT, "rebuild requested");
    else if (check_side(m, path, n_records, &reason) == LEAT_OK)
        return LEAT_OK;
    if (m->o->check)
        return leat_fail(err, LEAT_E_DATA, "%s: the index of its JPEG files: %s", path,
                         reason.message);
    snprintf(m->note, sizeof m->note, "%.470s", reason.message);
    return write_side(m, path, err);
}

/* --- its report --------------------------------------------------------------------------------*/

static void add_side(json_t *file, const struct side *side)
{
    json_t *one = leat_json_object(file, "jpeg");
    leat_json_text(one, "feature", side->feature);
    leat_json_int(one, "bytes", (int64_t)side->bytes);
    leat_json_int(one, "jpeg_index", (int64_t)side->n.tables);
    leat_json_int(one, "restart_markers", (int64_t)side->n.restart_markers);
    leat_json_int(one, "neither", (int64_t)(side->n.small + side->n.other + side->n.none));
    leat_json_int(one, "too_small", (int64_t)side->n.small);
    leat_json_int(one, "other_kind", (int64_t)side->n.other);
    leat_json_int(one, "no_jpeg", (int64_t)side->n.none);
    leat_json_bool(one, "built", side->built);
    leat_json_text(one, "note", side->note);
}

/* Prints the number of records without a table, for one reason. */
static void print_reason(uint64_t n, const char *why)
{
    if (n)
        printf("; %s %s", leat_figure_count(n).text, why);
}

static void print_side(const char *path, const struct side *side)
{
    printf("%s.jpg.idx: %s of %s records (%s more have restart markers", leat_terminal_name(path),
           leat_figure_count(side->n.tables).text, leat_figure_count(side->n.all).text,
           leat_figure_count(side->n.restart_markers).text);
    print_reason(side->n.small, "too small to need it, or damaged");
    print_reason(side->n.other, "progressive, or only decoded by libjpeg-turbo");
    print_reason(side->n.none, "no JPEG file");
    printf("), %s (%.2f %% of the data), ", leat_figure_bytes((double)side->bytes).text,
           side->data_bytes ? 100.0 * (double)side->bytes / (double)side->data_bytes : 0);
    print_state(side->built, side->o->rebuild, side->note);
    putchar('\n');
}

static int take_side(const struct index_options *o, const char *path, uint64_t n_records,
                     json_t *file, leat_error *err)
{
    struct side side = { .o = o };
    leat_format_error why;
    if (!o->check && !o->rebuild && leat_jpeg_index_check_replaced(path, &why) < 0)
        return leat_files_fail(err, &why);
    int rc = leat_image_scratch_open(&side.scratch, SCRATCH_BYTES, err);
    if (rc == LEAT_OK)
        rc = check_or_write(&side, path, n_records, err);
    if (rc == LEAT_OK)
        add_side(file, &side);
    if (rc == LEAT_OK && !leat_json_to_stdout(o->json))
        print_side(path, &side);
    leat_jpeg_index_writer_close(&side.writer);
    leat_jpeg_index_close(&side.index);
    leat_tfrecord_reader_close(&side.reader);
    leat_scratch_close(&side.scratch);
    return rc;
}

/* --- files -------------------------------------------------------------------------------------*/

/* Handles one file. It is an error here if the index cannot be written; other commands use it from memory. */
static int take_file(const char *path, unsigned flags, leat_index *index, leat_error *err)
{
    leat_format_error why = { 0 };
    if (leat_index_open(path, flags, index, &why) < 0)
        return leat_files_fail(err, &why);
    if (index->n_lost && (flags & LEAT_INDEX_NO_BUILD))
        return leat_fail(err, LEAT_E_DATA,
                         "%s: %s in %u place%s are damaged; `leat repair` writes an intact copy",
                         path, leat_figure_bytes((double)index->lost_bytes).text, index->n_lost,
                         index->n_lost == 1 ? "" : "s");
    if (index->built && !index->mapped)
        return leat_fail(err, LEAT_E_IO, "no index was written: %s", index->unwritten);
    return LEAT_OK;
}

static int add_to_manifest(const struct index_options *o, const char *path, const leat_index *index,
                           leat_set_manifest *manifest, leat_error *err)
{
    if (index->n_lost)
        return leat_fail(err, LEAT_E_DATA,
                         "%s is damaged, so no manifest is written: `leat repair` writes an intact "
                         "copy",
                         path);
    const int rc = leat_set_manifest_add_file(manifest, path, index->n_records, o->manifest, err);
    if (rc == LEAT_OK && manifest->shards[manifest->n - 1].bytes != index->data_bytes)
        return leat_fail(err, LEAT_E_DATA, "%s was changed meanwhile: run this again", path);
    return rc;
}

static int report_bad(leat_paths *bad, const char *path, leat_error *err)
{
    leat_command_fail("index", err);
    return leat_paths_append(bad, path, err);
}

/* One that fails twice, by its index and by a manifest, is one. */
static int fail_bad(const leat_paths *bad, size_t n_files, leat_error *err)
{
    size_t *const first = malloc((bad->n + 1) * sizeof *first);
    size_t n_again, n = 0;
    const int rc = first ? leat_same_file_find_in_folders(bad->items, bad->n, first, &n_again) : -1;
    for (size_t i = 0; i < bad->n && rc >= 0; i++)
        n += first[i] == i;
    free(first);
    if (rc < 0)
        return leat_files_no_memory(err);
    return leat_fail(
        err, LEAT_E_DATA,
        "%zu of %zu file%s failed the check; without --check missing or stale indexes are made", n,
        n_files, n_files == 1 ? "" : "s");
}

/* Compares the files with the manifests among the arguments, and reports each that differs. */
static int check_manifests(const leat_call *call, leat_paths *bad, leat_error *err)
{
    leat_manifest m;
    leat_format_error why;
    for (int i = 0; i < call->n_arguments; i++) {
        if (!leat_manifest_is(call->arguments[i]))
            continue;
        int rc = LEAT_OK;
        if (leat_manifest_read(call->arguments[i], &m, &why) < 0)
            rc = leat_files_fail(err, &why);
        for (size_t k = 0; k < m.n_shards && rc == LEAT_OK; k++) {
            char *const path = leat_manifest_path(call->arguments[i], m.shards[k].file);
            rc = path ? LEAT_OK : leat_files_no_memory(err);
            if (path && leat_set_manifest_check(path, &m.shards[k], err) < 0)
                rc = report_bad(bad, path, err);
            free(path);
        }
        leat_manifest_close(&m);
        if (rc < 0)
            return rc;
    }
    return LEAT_OK;
}

/* Whether --manifest can be written. */
static int check_name(const struct index_options *o, leat_error *err)
{
    if (!o->manifest)
        return LEAT_OK;
    if (!leat_manifest_is(o->manifest))
        return leat_fail(
            err, LEAT_E_ARGUMENT,
            "--manifest %s: the name must be manifest.json, or end in -manifest.json or "
            ".manifest.json: readers know a manifest by its name",
            o->manifest);
    static const leat_output_kind kind = { "a manifest", "{\"leat_manifest\":", 0 };
    return leat_files_check(o->manifest, &kind, err);
}

/* Handles the index of a file and the index of its JPEG files. manifest: NULL if the file is not listed */
static int take_both(const struct index_options *o, const char *path, json_t *list,
                     uint64_t *records, leat_set_manifest *manifest, leat_error *err)
{
    const unsigned flags = LEAT_INDEX_VERIFY | LEAT_INDEX_RESYNC |
                           (o->check ? LEAT_INDEX_NO_BUILD : 0u) |
                           (o->rebuild ? LEAT_INDEX_REBUILD : 0u);
    leat_index index = { 0 };
    int rc = take_file(path, flags, &index, err);
    if (rc == LEAT_OK) {
        json_t *file = add_file(list, path, &index);
        *records += index.n_records;
        if (!leat_json_to_stdout(o->json))
            print_file(path, &index, o->rebuild);
        if (manifest)
            rc = add_to_manifest(o, path, &index, manifest, err);
        if (o->jpeg && rc == LEAT_OK)
            rc = take_side(o, path, index.n_records, file, err);
    }
    leat_index_close(&index);
    return rc;
}

/* A file has an index for each of its names (links), but a manifest lists it once, by the first.
 *
 * first    receives the first name of each file, i where it is name i itself; free() it, also after an error. NULL: no
 *          manifest is wanted */
static int find_listed(const leat_paths *paths, const char *manifest, size_t **first,
                       leat_error *err)
{
    size_t n_again, i = 0;
    *first = NULL;
    if (!manifest)
        return LEAT_OK;
    *first = malloc((paths->n + 1) * sizeof **first);
    if (!*first || leat_same_file_find(paths->items, paths->n, *first, &n_again) < 0)
        return leat_files_no_memory(err);
    while (n_again && (*first)[i] == i)
        i++;
    if (n_again)
        leat_terminal_put(stderr, 0, 2, "note: %s has several names%s and is listed once",
                          paths->items[(*first)[i]], n_again > 1 ? ", as have other files," : "");
    return LEAT_OK;
}

/* listed: as find_listed() gives it */
static int write_manifest(const leat_set_manifest *manifest, const leat_paths *paths,
                          const size_t *listed, const char *at, leat_error *err)
{
    char **const given = malloc((paths->n + 1) * sizeof *given);
    bool keeps;
    size_t n = 0;
    if (!given)
        return leat_files_no_memory(err);
    for (size_t i = 0; i < paths->n; i++) /* of several names a source takes the smallest */
        if (listed[i] == i || strcmp(paths->items[i], given[listed[i]]) < 0)
            given[listed[i]] = paths->items[i];
    for (size_t i = 0; i < paths->n; i++)
        if (listed[i] == i)
            given[n++] = given[i];
    int rc = leat_set_manifest_keeps_order(manifest, given, at, &keeps, err);
    if (rc == LEAT_OK)
        rc = leat_set_manifest_write(manifest, at, err);
    if (rc == LEAT_OK && !keeps)
        leat_terminal_put(stderr, 0, 2,
                          "note: %s lists real paths, and a source reads files in the order of "
                          "their names: not the order that the names given here have (a link, . or "
                          "..), so batches differ from those of these names",
                          leat_terminal_name(at));
    free(given);
    return rc;
}

/* Names of side files are longer than those of their data. */
static int check_lengths(const leat_paths *paths, bool jpeg, leat_error *err)
{
    int rc = LEAT_OK;
    for (size_t i = 0; i < paths->n && rc == LEAT_OK; i++)
        rc = leat_files_check_length(paths->items[i], jpeg ? ".jpg.idx" : ".idx", err);
    return rc;
}

static int run(const leat_call *call, leat_error *err)
{
    const struct index_options *o = call->options;
    leat_paths paths, bad = { 0 };
    uint64_t records = 0;
    leat_set_manifest manifest = { 0 };
    size_t *listed = NULL;
    if (!o->jpeg && (o->feature || o->every_mcus >= 0))
        return leat_command_misuse("index", "--feature and --every-mcus are for --jpeg");
    if (o->check && (o->rebuild || o->manifest))
        return leat_command_misuse("index", "--check and --%s exclude each other",
                                   o->rebuild ? "rebuild" : "manifest");
    int rc;
    if ((rc = leat_paths_expand(&paths, call->arguments, call->n_arguments, !o->check, err)) ==
            LEAT_OK &&
        (rc = leat_paths_names_once(&paths, err)) == LEAT_OK &&
        (rc = find_listed(&paths, o->manifest, &listed, err)) == LEAT_OK &&
        (rc = check_lengths(&paths, o->jpeg, err)) == LEAT_OK)
        rc = leat_json_check(o->json, err);
    if (rc == LEAT_OK)
        rc = check_name(o, err);
    json_t *json = leat_json_open("index"), *list = leat_json_list(json, "files");
    leat_progress progress;
    leat_progress_init(&progress, "index", "files", rc == LEAT_OK ? paths.n : 0,
                       o->quiet ? LEAT_PROGRESS_OFF : o->progress);
    for (size_t i = 0; i < paths.n && rc == LEAT_OK; i++) {
        rc = take_both(o, paths.items[i], list, &records,
                       listed && listed[i] == i ? &manifest : NULL, err);
        if (rc < 0 && o->check) /* continue, to report all errors at once */
            rc = report_bad(&bad, paths.items[i], err);
        leat_progress_show(&progress, i + 1);
    }
    leat_progress_fini(&progress);
    if (rc == LEAT_OK && o->check)
        rc = check_manifests(call, &bad, err);
    if (rc == LEAT_OK && o->manifest)
        rc = write_manifest(&manifest, &paths, listed, o->manifest, err);
    leat_set_manifest_close(&manifest);
    free(listed);
    if (rc == LEAT_OK && bad.n)
        rc = fail_bad(&bad, paths.n, err);
    leat_paths_close(&paths);
    leat_paths_close(&bad);
    leat_json_int(json, "records", (int64_t)records);
    if (rc == LEAT_OK)
        rc = leat_json_write(json, o->json, err);
    else
        json_decref(json);
    return rc;
}

const leat_command leat_command_index = {
    .name = "index",
    .summary = "make or check the index files of TFRecord files",
    .arguments = "FILE...",
    .text =
        "An index, NAME.tfrecord.idx, says where each record begins, so that records can be "
        "read in any order. `leat convert` writes it, and a loader makes a missing one; this "
        "command makes it beforehand, or checks it. An index is stale when the size or "
        "modification time of its file has changed. --check compares these, verifies the "
        "index's own checksums, and reads no record: it does not see bytes that changed and left "
        "size and time as they were. --rebuild reads every length, --check --jpeg every record, "
        "and "
        "--check of a manifest every byte. Where a length is damaged or the end is "
        "cut off, the index continues at the next intact record; see `leat help repair`.\n\n"
        "--jpeg makes a second index, NAME.tfrecord.jpg.idx, of the JPEG files in the records: "
        "the places inside each where a decoder can start. Loaders use it automatically "
        "(engine.jpeg_index) to decode parts of files that have no restart markers. The data "
        "files do not change. The index takes about 2 % of their size. Batches are the same "
        "with and without it; a record that has changed since is detected and read without it. "
        "Making it takes as long as decoding the files once on one core; several processes may "
        "index different files at once.\n\n"
        "--manifest NAME-manifest.json also writes one JSON file that lists these files, with "
        "their sizes, numbers of records and digests (XXH3 of all bytes, so each file is read). A "
        "config that names it instead of the files opens a set of 100,000 files without a look "
        "at each. Where an argument is a manifest it stands for its files, and --check then "
        "compares these with it.\n\n"
        "An index appears whole or not at all. A run that is stopped or killed leaves nothing "
        "behind; over a network, or on another file system without nameless files, it leaves a "
        "file .NAME.*.tmp (.*.tmp where NAME is long), which nothing reads and which can be "
        "deleted.",
    .example = "  leat index 'data/train-*.tfrecord'\n  leat index --check data/*.tfrecord\n"
               "  leat index --jpeg 'data/train-*.tfrecord'\n"
               "  leat index 'data/train-*.tfrecord' --manifest data/train-manifest.json\n"
               "  leat index --check data/train-manifest.json",
    .n_min = 1,
    .n_max = -1,
    LEAT_COMMAND_OPTIONS(struct index_options),
    .run = run,
};
