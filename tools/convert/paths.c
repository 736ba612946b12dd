/* SPDX-License-Identifier: MIT */
#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "files.h"
#include "formats/format.h"
#include "formats/grow.h"
#include "formats/manifest.h"
#include "formats/pattern.h"
#include "formats/same_file.h"
#include "formats/shard_set.h"
#include "formats/side_file.h"
#include "print/terminal.h"

int leat_paths_append(leat_paths *paths, const char *path, leat_error *err)
{
    char **items = leat_grow(paths->items, paths->n, sizeof *items);
    if (items)
        paths->items = items;
    char *copy = items ? strdup(path) : NULL;
    if (!copy)
        return leat_files_no_memory(err);
    items[paths->n++] = copy;
    return LEAT_OK;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Compares the size of a file with what the manifest says of it. Whoever opens one that is missing says so. */
static int check_size(const char *path, const leat_manifest_shard *shard, const char *manifest,
                      leat_error *err)
{
    struct stat status;
    if (stat(path, &status) < 0 || (uint64_t)status.st_size == shard->bytes)
        return LEAT_OK;
    return leat_fail(err, LEAT_E_DATA,
                     "%s has %llu bytes, but %s says %llu: the file or the manifest is another "
                     "one; `leat index FILES --manifest NAME` writes a new manifest",
                     path, (unsigned long long)status.st_size, manifest,
                     (unsigned long long)shard->bytes);
}

/* The files that a manifest lists, in the order in which a source reads them. */
static int add_listed(leat_paths *paths, const char *name, bool compare, leat_error *err)
{
    leat_manifest manifest;
    leat_format_error why;
    int rc = LEAT_OK;
    if (leat_manifest_read(name, &manifest, &why) < 0 ||
        leat_manifest_sort(&manifest, name, &why) < 0)
        rc = leat_files_fail(err, &why);
    for (size_t i = 0; i < manifest.n_shards && rc == LEAT_OK; i++) {
        char *const path = leat_manifest_path(name, manifest.shards[i].file);
        rc = path ? leat_paths_append(paths, path, err) : leat_files_no_memory(err);
        if (rc == LEAT_OK && compare)
            rc = check_size(path, &manifest.shards[i], name, err);
        free(path);
    }
    leat_manifest_close(&manifest);
    return rc;
}

int leat_paths_add(leat_paths *paths, const char *pattern, bool compare, leat_error *err)
{
    glob_t found;
    leat_format_error why;
    int rc = LEAT_OK;
    const size_t first = paths->n;
    struct stat status;
    if (stat(pattern, &status) == 0 && S_ISDIR(status.st_mode))
        return leat_fail(err, LEAT_E_IO, "%s is a folder: name its files, such as %s/*.tfrecord",
                         pattern, pattern);
    if (access(pattern, F_OK) == 0 && leat_manifest_is(pattern))
        return add_listed(paths, pattern, compare, err);
    if (access(pattern, F_OK) == 0)
        return leat_paths_append(paths, pattern, err);
    const int error = errno;
    if (!leat_format_is_absent(error)) /* it may be a name, and no pattern */
        return leat_fail(err, LEAT_E_IO, "%s: %s", pattern, strerror(error));
    if (leat_pattern_glob(pattern, GLOB_NOSORT, &found, &why) < 0) {
        globfree(&found);
        return leat_files_fail(err, &why);
    }
    if (!found.gl_pathc) {
        globfree(&found);
        if (strstr(pattern, "://"))
            return leat_fail(err, LEAT_E_IO,
                             "%s: URLs are not supported yet; fetch the files first", pattern);
        return strpbrk(pattern, "*?[")
                   ? leat_fail(err, LEAT_E_IO, "%s: no file matches", pattern)
                   : leat_fail(err, LEAT_E_IO, "%s: %s", pattern, strerror(error));
    }
    for (size_t i = 0; i < found.gl_pathc && rc == LEAT_OK; i++)
        if (!leat_side_file_is(found.gl_pathv[i]))
            rc = leat_paths_append(paths, found.gl_pathv[i], err);
    globfree(&found);
    if (rc == LEAT_OK && paths->n == first)
        return leat_fail(err, LEAT_E_IO, "%s: no record file matches, only indexes and the like",
                         pattern);
    if (paths->n > first)
        qsort(paths->items + first, paths->n - first, sizeof *paths->items, by_bytes);
    return rc;
}

int leat_paths_expand(leat_paths *out, const char *const *arguments, int n, bool compare,
                      leat_error *err)
{
    int rc = LEAT_OK;
    *out = (leat_paths){ 0 };
    for (int i = 0; i < n && rc == LEAT_OK; i++)
        rc = leat_paths_add(out, arguments[i], compare, err);
    return rc < 0 ? rc : leat_paths_check(out, err);
}

int leat_paths_check(const leat_paths *paths, leat_error *err)
{
    leat_format_error why;
    return leat_shard_set_check(paths->items, paths->n, &why) < 0 ? leat_files_fail(err, &why)
                                                                  : LEAT_OK;
}

uint64_t leat_paths_stamp(int folder, const char *path)
{
    struct stat status;
    if (fstatat(folder, path, &status, 0) < 0)
        return 0;
    const uint64_t facts[] = { (uint64_t)status.st_size, (uint64_t)status.st_mtim.tv_sec,
                               (uint64_t)status.st_mtim.tv_nsec };
    return XXH3_64bits(facts, sizeof facts) | 1;
}

uint64_t leat_paths_sample(const leat_paths *paths)
{
    enum { BLOCK = 16384 };
    uint8_t block[BLOCK];
    uint64_t digest = 0;
    for (size_t i = 0; i < paths->n; i++) {
        struct stat status = { 0 };
        const int file = open(paths->items[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        const bool is_file = file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode);
        const int64_t size = is_file ? (int64_t)status.st_size : 0;
        digest = XXH3_64bits_withSeed(&size, sizeof size, digest);
        for (int k = 0; size && k < (size > BLOCK ? 3 : 1); k++) {
            const int64_t at = size > BLOCK ? (size - BLOCK) * k / 2 : 0;
            const ssize_t n = leat_format_pread(file, block, BLOCK, (uint64_t)at);
            digest = XXH3_64bits_withSeed(block, n > 0 ? (size_t)n : 0, digest);
        }
        if (file >= 0)
            close(file);
    }
    return digest;
}

typedef int find_same(char *const *paths, size_t n, size_t *first, size_t *n_again);

static int drop_again(leat_paths *paths, find_same *find, leat_error *err)
{
    size_t *const same = malloc((paths->n + 1) * sizeof *same);
    size_t n_again = 0, n = 0, first = 0;
    if (!same || find(paths->items, paths->n, same, &n_again) < 0) {
        free(same);
        return leat_files_no_memory(err);
    }
    while (n_again && same[first] == first)
        first++;
    if (n_again)
        leat_terminal_put(stderr, 0, 2, "note: %s is named twice%s and read once",
                          paths->items[same[first]], n_again > 1 ? ", as are other files," : "");
    for (size_t i = 0; i < paths->n; i++)
        if (same[i] != i)
            free(paths->items[i]);
        else
            paths->items[n++] = paths->items[i];
    paths->n = n;
    free(same);
    return LEAT_OK;
}

int leat_paths_once(leat_paths *paths, leat_error *err)
{
    return drop_again(paths, leat_same_file_find, err);
}

int leat_paths_names_once(leat_paths *paths, leat_error *err)
{
    return drop_again(paths, leat_same_file_find_in_folders, err);
}

void leat_paths_close(leat_paths *paths)
{
    for (size_t i = 0; i < paths->n; i++)
        free(paths->items[i]);
    free(paths->items);
    *paths = (leat_paths){ 0 };
}

int leat_paths_is_config(const char *path)
{
    const size_t n = strlen(path);
    return (n > 5 && !strcmp(path + n - 5, ".yaml")) || (n > 4 && !strcmp(path + n - 4, ".yml"));
}
