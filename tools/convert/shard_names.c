/* SPDX-License-Identifier: MIT
 *
 * shard_names.c: the names of the files of a set: makes them, and checks which are taken (file_set.h). */
#include "convert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "files.h"
#include "formats/figure.h"
#include "formats/index.h"
#include "formats/link.h"
#include "formats/shard_set.h"
#include "print/json.h"
#include "print/terminal.h"

static int digits_of(int32_t n_shards)
{
    const int n = snprintf(NULL, 0, "%d", n_shards);
    return n > LEAT_SHARD_SET_DIGITS ? n : LEAT_SHARD_SET_DIGITS;
}

char *leat_shard_name(const char *prefix, int32_t shard, int32_t n_shards)
{
    return leat_files_text("%s-%0*d%s", prefix, digits_of(n_shards), shard,
                           leat_shard_name_end(n_shards).text);
}

leat_shard_name_ending leat_shard_name_end(int32_t n_shards)
{
    leat_shard_name_ending end;
    snprintf(end.text, sizeof end.text, "-of-%0*d.tfrecord", digits_of(n_shards), n_shards);
    return end;
}

void leat_shard_names_add(json_t *object, const leat_convert *how, const char *labels)
{
    const leat_convert_part part = how->part;
    leat_json_int(object, "part", part.of ? part.number : 1);
    leat_json_int(object, "parts", part.of ? part.of : 1);
    json_t *list = leat_json_list(object, "shards");
    for (int32_t i = 0; i < how->n_shards; i++) {
        if (!leat_convert_part_has(part, i))
            continue;
        char *name = leat_shard_name(how->prefix, i, how->n_shards);
        leat_json_append(list, name);
        free(name);
    }
    leat_json_text(object, "labels", labels);
}

void leat_shard_names_print(const leat_convert *how, uint64_t bytes)
{
    const leat_convert_part part = how->part;
    const int n = part.of ? (how->n_shards - part.number + part.of) / part.of : how->n_shards;
    printf("%s, in %d file%s %s-*%s", leat_figure_bytes((double)bytes).text, n, n == 1 ? "" : "s",
           leat_terminal_name(how->prefix), leat_shard_name_end(how->n_shards).text);
}

/* It replaces no other file, and its text can hold the names of the set. */
static int check_manifest(const char *prefix, leat_error *err)
{
    static const leat_output_kind kind = { "a manifest", "{\"leat_manifest\":", 0 };
    json_t *const text = json_string(leat_files_base_name(prefix));
    json_decref(text);
    if (!text)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "%s: the name is not UTF-8, so %s-manifest.json cannot hold it", prefix,
                         prefix);
    char *const name = leat_files_text("%s-manifest.json", prefix);
    const int rc = name ? leat_files_check(name, &kind, err) : leat_files_no_memory(err);
    free(name);
    return rc;
}

/* PREFIX-labels.txt can be a text of the user, as long as no other file of a set is beside it. */
static int check_labels(const char *prefix, int32_t n_shards, leat_error *err)
{
    struct stat status;
    char *const labels = leat_files_text("%s-labels.txt", prefix);
    char *const others[] = { leat_shard_name(prefix, 0, n_shards),
                             leat_files_text("%s-manifest.json", prefix),
                             leat_files_text("%s" LEAT_SHARD_SET_MARKER, prefix) };
    const bool found = labels && stat(labels, &status) == 0;
    bool in_set = !found || status.st_size == 0;
    int rc = labels ? LEAT_OK : leat_files_no_memory(err);
    if (labels && !found && !leat_format_is_absent(errno))
        rc = leat_fail(err, LEAT_E_IO, "%s: %s", labels, strerror(errno));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        in_set = in_set || (others[i] && stat(others[i], &status) == 0);
        free(others[i]);
    }
    if (rc == LEAT_OK && !in_set)
        rc = leat_fail(err, LEAT_E_ARGUMENT,
                       "%s: exists and belongs to no set of records; choose another PREFIX, or "
                       "remove it",
                       labels);
    free(labels);
    return rc;
}

int leat_shard_names_check(const char *prefix, int32_t n_shards, leat_error *err)
{
    int rc = check_manifest(prefix, err);
    if (rc == LEAT_OK) /* first: labels beside a set of another size are its own */
        rc = leat_file_set_check(prefix, leat_shard_name_end(n_shards).text, err);
    return rc < 0 ? rc : check_labels(prefix, n_shards, err);
}

int leat_shard_names_lock(leat_file_set *set, const leat_convert *how, leat_error *err)
{
    char end[96];
    int rc;
    snprintf(end, sizeof end, "-%0*d%s.idx", digits_of(how->n_shards), 0,
             leat_shard_name_end(how->n_shards).text);
    if ((rc = leat_files_make_parents(how->prefix, err)) < 0 ||
        (rc = leat_files_check_length(how->prefix, end, err)) < 0 ||
        (rc = leat_file_set_open(set, how->prefix, how->part, err)) < 0)
        return rc;
    return leat_shard_names_check(how->prefix, how->n_shards, err);
}

static bool is_shard(const char *prefix, char *path)
{
    const size_t n = strlen(path);
    if (leat_files_ends_with(path, ".idx"))
        path[n - 4] = 0;
    path[leat_shard_set_prefix(path)] = 0;
    return *path && leat_files_same(path, prefix);
}

int leat_shard_names_check_json(const char *prefix, const char *json, leat_error *err)
{
    static const char *const others[] = { "-labels.txt", "-manifest.json", LEAT_SHARD_SET_MARKER };
    char *path = NULL;
    leat_format_error why;
    if (!json || leat_json_to_stdout(json) || leat_link_follow(json, &path, &why) < 0)
        return leat_json_check(json, err); /* which names such a link */
    bool taken = false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char *const name = leat_files_text("%s%s", prefix, others[i]);
        taken |= name && leat_files_same(path, name);
        free(name);
    }
    taken |= is_shard(prefix, path);
    free(path);
    return taken
               ? leat_fail(err, LEAT_E_ARGUMENT,
                           "--json: %s is a name of the set's own files: choose another name", json)
               : leat_json_check(json, err);
}

int leat_shard_names_index(const char *prefix, int32_t n_shards, leat_error *err)
{
    for (int32_t i = 0; i < n_shards; i++) {
        leat_format_error why = { 0 };
        leat_index index = { 0 };
        char *name = leat_shard_name(prefix, i, n_shards);
        if (!name)
            return leat_files_no_memory(err);
        const int rc = leat_index_open(name, 0, &index, &why);
        if (rc == LEAT_FORMAT_OK && *index.unwritten)
            leat_terminal_put(stderr, 0, 2, "note: no index was written: %s", index.unwritten);
        leat_index_close(&index);
        free(name);
        if (rc < 0)
            return leat_files_fail(err, &why);
    }
    return LEAT_OK;
}

/* Which file a name leads to; both 0: none. */
typedef struct place {
    dev_t device;
    ino_t file;
} place;

static int find_place(const char *name, place *out, leat_error *err)
{
    struct stat status;
    *out = (place){ 0 };
    if (!name)
        return leat_files_no_memory(err);
    if (stat(name, &status) == 0)
        *out = (place){ status.st_dev, status.st_ino };
    else if (!leat_format_is_absent(errno))
        return leat_fail(err, LEAT_E_IO, "%s: %s", name, strerror(errno));
    return LEAT_OK;
}

static int compare_places(const void *a, const void *b)
{
    const place *const x = a, *const y = b;
    return x->file != y->file ? (x->file > y->file) - (x->file < y->file)
                              : (x->device > y->device) - (x->device < y->device);
}

/* Names the files of a set by number: its shards, then what stands beside them. */
static char *name_of(const char *prefix, int32_t n_shards, int32_t i)
{
    return i < n_shards
               ? leat_shard_name(prefix, i, n_shards)
               : leat_files_text(i == n_shards ? "%s-labels.txt" : "%s-manifest.json", prefix);
}

int leat_shard_names_check_apart(const leat_convert *how, const char *const *inputs, size_t n,
                                 leat_error *err)
{
    const int32_t n_names = how->n_shards + 2;
    size_t n_there = 0;
    place *const there = calloc((size_t)n_names, sizeof *there);
    int rc = there ? LEAT_OK : leat_files_no_memory(err);
    for (int32_t i = 0; rc == LEAT_OK && i < n_names; i++) {
        char *const name = name_of(how->prefix, how->n_shards, i);
        rc = find_place(name, &there[n_there], err);
        n_there += there[n_there].file != 0;
        free(name);
    }
    if (n_there)
        qsort(there, n_there, sizeof *there, compare_places);
    for (size_t k = 0; k < n && n_there && rc == LEAT_OK; k++) {
        place input;
        rc = find_place(inputs[k], &input, err);
        if (input.file && bsearch(&input, there, n_there, sizeof *there, compare_places))
            rc = leat_fail(err, LEAT_E_ARGUMENT,
                           "%s is an input and would be overwritten: choose another PREFIX",
                           inputs[k]);
    }
    free(there);
    return rc;
}
