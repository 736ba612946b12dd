/* SPDX-License-Identifier: MIT */
#include "tfrecord_list.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/manifest.h"
#include "formats/same_file.h"
#include "formats/shard_gap.h"
#include "formats/side_file.h"
#include "tfrecord_features.h"

static int no_memory(const leat_tfrecord_list *list, leat_error *err)
{
    return leat_fail(err, LEAT_E_NOMEM, "tfrecord: names of %zu files", list->n);
}

static bool is_named(const leat_strings *files, const char *path)
{
    for (int32_t i = 0; i < files->n; i++)
        if (!strcmp(files->values[i].text, path))
            return true;
    return false;
}

/* Makes room for `more` files. */
static int grow(leat_tfrecord_list *list, size_t more, leat_error *err)
{
    leat_tfrecord_listed *const files =
        realloc(list->files, (list->n + more + 1) * sizeof *list->files);
    if (!files)
        return no_memory(list, err);
    list->files = files;
    return LEAT_OK;
}

/* --- patterns ------------------------------------------------------------------------------------ */

/* Adds the files of these patterns. */
static int add_patterns(leat_tfrecord_list *list, const leat_strings *patterns,
                        const leat_node *where, char **notes, leat_error *err)
{
    char **paths = NULL;
    size_t n = 0, n_side = 0, side = 0;
    int rc = leat_source_glob(patterns->values, patterns->n, where, &paths, &n, err);
    if (rc < 0 || (rc = grow(list, n, err)) < 0)
        goto end;
    for (size_t i = 0; i < n; i++) {
        if (leat_side_file_is(paths[i]) && !is_named(patterns, paths[i])) {
            side = n_side++ ? side : i;
            continue;
        }
        char *const path = strdup(paths[i]);
        if (!path) {
            rc = no_memory(list, err);
            goto end;
        }
        list->files[list->n++] = (leat_tfrecord_listed){ .path = path };
    }
    if (n_side == n)
        rc = leat_node_fail(where, err, LEAT_E_IO, "no record file matches '%s', only such as %s",
                            patterns->values[0].text, paths[side]);
    else if (n_side)
        rc = leat_source_add_note(
            notes, err, "tfrecord: %zu file%s beside record files left out; the first: %s", n_side,
            n_side == 1 ? "" : "s", paths[side]);
end:
    leat_source_free_paths(paths);
    return rc;
}

/* --- manifests ----------------------------------------------------------------------------------- */

static int add_manifest(leat_tfrecord_list *list, const char *name, leat_file_watch_id *id,
                        const leat_node *where, leat_error *err)
{
    leat_manifest manifest;
    leat_format_error why;
    struct stat status;
    if (stat(name, &status) == 0) /* if not, it cannot be read */
        *id = leat_file_watch_id_in(&status);
    int rc = leat_manifest_read(name, &manifest, &why);
    if (rc < 0 || (rc = leat_manifest_sort(&manifest, name, &why)) < 0)
        rc = leat_tfrecord_features_fail(err, &why);
    else if (!manifest.n_shards)
        rc = leat_node_fail(where, err, LEAT_E_IO, "%s lists no file", name);
    else
        rc = grow(list, manifest.n_shards, err);
    for (size_t i = 0; i < manifest.n_shards && rc == LEAT_OK; i++) {
        const leat_manifest_shard *const s = &manifest.shards[i];
        char *const path = leat_manifest_path(name, s->file);
        if (!path)
            rc = no_memory(list, err);
        else
            list->files[list->n++] = (leat_tfrecord_listed){ path, name, id, s->bytes, s->records };
    }
    list->n_of_manifests += manifest.n_shards;
    list->bytes_of_manifests += manifest.bytes;
    leat_manifest_close(&manifest);
    if (rc == LEAT_OK && list->bytes_of_manifests > INT64_MAX)
        rc = leat_node_fail(where, err, LEAT_E_DATA,
                            "with %s the manifests list more than 2^63 bytes", name);
    return rc;
}

static int add_manifests(leat_tfrecord_list *list, const leat_strings *patterns,
                         const leat_node *where, leat_error *err)
{
    size_t n;
    int rc = leat_source_glob(patterns->values, patterns->n, where, &list->manifests, &n, err);
    if (rc == LEAT_OK && !(list->ids = calloc(n, sizeof *list->ids)))
        rc = no_memory(list, err);
    for (size_t i = 0; rc == LEAT_OK && i < n; i++)
        if (!i || strcmp(list->manifests[i - 1], list->manifests[i]) != 0)
            rc = add_manifest(list, list->manifests[i], &list->ids[i], where, err);
    return rc;
}

/* --- all ----------------------------------------------------------------------------------------- */

/* Of a file that is listed twice, what a manifest says comes first. */
static int by_path(const void *one, const void *other)
{
    const leat_tfrecord_listed *const a = one, *const b = other;
    const int order = strcmp(a->path, b->path);
    return order ? order : !a->manifest - !b->manifest;
}

/* If some paths are absolute, as manifests may list them, all are: one order, whatever names lead to a file. */
static int make_alike(leat_tfrecord_list *list, leat_error *err)
{
    size_t n_absolute = 0;
    for (size_t i = 0; i < list->n; i++)
        n_absolute += *list->files[i].path == '/';
    if (n_absolute == 0 || n_absolute == list->n)
        return LEAT_OK;
    char *const folder = getcwd(NULL, 0);
    if (!folder)
        return leat_fail(err, errno == ENOMEM ? LEAT_E_NOMEM : LEAT_E_IO, "the current folder: %s",
                         strerror(errno));
    int rc = LEAT_OK;
    for (size_t i = 0; i < list->n && rc == LEAT_OK; i++) {
        char *const path = list->files[i].path, *whole = NULL;
        if (*path == '/')
            continue;
        if (asprintf(&whole, "%s/%s", folder[1] ? folder : "", path) < 0)
            rc = no_memory(list, err);
        else
            list->files[i].path = whole;
        free(rc == LEAT_OK ? path : NULL);
    }
    free(folder);
    return rc;
}

/* The files of manifests alone are not looked at, only their folders: there may be millions. */
static int find_same(leat_tfrecord_list *list, leat_error *err)
{
    if (!(list->same = malloc((list->n + 1) * sizeof *list->same)))
        return no_memory(list, err);
    const int rc =
        (list->n > list->n_of_manifests ? leat_same_file_find : leat_same_file_find_in_folders)(
            list->paths, list->n, list->same, &list->n_again);
    return rc < 0 ? no_memory(list, err) : LEAT_OK;
}

/* Manifests that do not agree cannot both be of the set that is there. */
static int check_twice(const leat_tfrecord_list *list, const leat_node *where, leat_error *err)
{
    for (size_t i = 0; i < list->n; i++) {
        const leat_tfrecord_listed *const a = &list->files[list->same[i]], *const b =
                                                                               &list->files[i];
        if (a->manifest && b->manifest && (a->bytes != b->bytes || a->n_records != b->n_records))
            return leat_node_fail(where, err, LEAT_E_DATA,
                                  "%s has other bytes or records in %s than in %s: one of the "
                                  "manifests is not of this set",
                                  a->path, a->manifest, b->manifest);
    }
    return LEAT_OK;
}

/* Names of existing folders are taken literally, whatever characters they have. */
static bool asks_for(const char *pattern, const char *path)
{
    const char *const of = strrchr(pattern, '/'), *const at = strrchr(path, '/');
    const size_t folder = of ? (size_t)(of - pattern) + 1 : 0;
    const bool same =
        at ? folder == (size_t)(at - path) + 1 && !memcmp(pattern, path, folder) : folder == 0;
    return (same && fnmatch(pattern + folder, path + folder, FNM_PERIOD) == 0) ||
           fnmatch(pattern, path, FNM_PATHNAME | FNM_PERIOD) == 0;
}

static bool asks(const char *path, const void *arg)
{
    const leat_strings *const files = arg;
    for (int32_t i = 0; i < files->n; i++)
        if (asks_for(files->values[i].text, path))
            return true;
    return false;
}

/* A copy that was cut short has lost whole files, which no error tells. */
static int note_gap(const leat_tfrecord_list *list, const leat_strings *files, char **notes,
                    leat_error *err)
{
    leat_shard_gap gap;
    if (leat_shard_gap_find(list->paths, list->n, asks, files, &gap) < 0)
        return no_memory(list, err);
    return *gap.path
               ? leat_source_add_note(notes, err,
                                      "tfrecord: %s is missing: of the %u files that the "
                                      "names of its set count, %u %s there",
                                      gap.path, gap.of, gap.there, gap.there == 1 ? "is" : "are")
               : LEAT_OK;
}

int leat_tfrecord_list_open(leat_tfrecord_list *out, const leat_strings *files,
                            const leat_node *where, char **notes, leat_error *err)
{
    leat_strings *const split = calloc(2, sizeof *split); /* patterns of files, and of manifests */
    int rc = LEAT_OK;
    *out = (leat_tfrecord_list){ 0 };
    if (!split)
        return no_memory(out, err);
    for (int32_t i = 0; i < files->n; i++) {
        leat_strings *const to = &split[leat_manifest_is(files->values[i].text)];
        to->values[to->n++] = files->values[i];
    }
    if (split[0].n || !split[1].n)
        rc = add_patterns(out, &split[0], where, notes, err);
    if (rc == LEAT_OK && split[1].n)
        rc = add_manifests(out, &split[1], where, err);
    free(split);
    out->paths = rc == LEAT_OK ? calloc(out->n + 1, sizeof *out->paths) : NULL;
    if (rc < 0 || !out->paths)
        return rc < 0 ? rc : no_memory(out, err);
    if ((rc = make_alike(out, err)) < 0)
        return rc;
    qsort(out->files, out->n, sizeof *out->files, by_path);
    for (size_t i = 0; i < out->n; i++)
        out->paths[i] = out->files[i].path;
    if ((rc = find_same(out, err)) < 0 || (rc = check_twice(out, where, err)) < 0)
        return rc;
    return note_gap(out, files, notes, err);
}

int leat_tfrecord_list_check(const leat_tfrecord_listed *file, int folder, leat_error *err)
{
    struct stat status;
    if (fstatat(folder, file->manifest, &status, 0) == 0) {
        const leat_file_watch_id now = leat_file_watch_id_in(&status);
        if (now.bytes == file->manifest_id->bytes && now.mtime_ns == file->manifest_id->mtime_ns)
            return LEAT_OK;
    }
    return leat_fail(err, LEAT_E_DATA,
                     "%s was changed or removed while it was in use, so %s may be of another set: "
                     "open the data again",
                     file->manifest, file->path);
}

void leat_tfrecord_list_close(leat_tfrecord_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->files[i].path);
    leat_source_free_paths(list->manifests);
    free(list->ids);
    free(list->same);
    free(list->files);
    free(list->paths);
    *list = (leat_tfrecord_list){ 0 };
}
