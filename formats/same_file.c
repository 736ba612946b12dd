/* SPDX-License-Identifier: MIT */
#include "same_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct identity {
    dev_t device;
    ino_t inode; /* 0: not known */
    off_t bytes;
    struct timespec mtime;
    const char *name; /* "": it is the file; else it is the file's folder, or not known */
    size_t place;     /* in the list */
} identity;

/* The order of two files; 0: they are one. Of some file systems inodes are alike or 0: size and time tell most of these. */
static int compare_files(const identity *a, const identity *b)
{
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->inode != b->inode)
        return a->inode < b->inode ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    if (a->mtime.tv_sec != b->mtime.tv_sec)
        return a->mtime.tv_sec < b->mtime.tv_sec ? -1 : 1;
    if (a->mtime.tv_nsec != b->mtime.tv_nsec)
        return a->mtime.tv_nsec < b->mtime.tv_nsec ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int compare(const void *one, const void *other)
{
    const identity *const a = one, *const b = other;
    const int order = compare_files(a, b);
    return order ? order : a->place < b->place ? -1 : a->place > b->place;
}

/* Sorts the files, and notes for each which is the first of its names. */
static void find_first(identity *files, size_t n, size_t *first, size_t *n_again)
{
    qsort(files, n, sizeof *files, compare);
    *n_again = 0;
    for (size_t begin = 0, i = 1; i < n; i++) {
        if (compare_files(&files[i], &files[begin]) != 0) {
            begin = i;
            continue;
        }
        first[files[i].place] = files[begin].place;
        *n_again += i == begin + 1;
    }
}

static bool look_at(const char *path, identity *out)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return false;
    out->device = status.st_dev;
    out->inode = status.st_ino;
    out->bytes = status.st_size;
    out->mtime = status.st_mtim;
    out->name = "";
    return true;
}

int leat_same_file_find(char *const *paths, size_t n, size_t *first, size_t *n_again)
{
    identity *const files = malloc((n + 1) * sizeof *files);
    size_t n_files = 0;
    if (!files)
        return LEAT_FORMAT_NOMEM;
    for (size_t i = 0; i < n; i++) {
        first[i] = files[n_files].place = i;
        n_files += look_at(paths[i], &files[n_files]);
    }
    find_first(files, n_files, first, n_again);
    free(files);
    return LEAT_FORMAT_OK;
}

/* --- by their folders ------------------------------------------------------------------------------ */

/* The first `length` bytes of a path are its folder; 0: this one. */
static identity look_at_folder(const char *path, size_t length)
{
    identity out = { 0 };
    char *const folder = length ? strndup(path, length) : strdup(".");
    const bool is_known = folder && look_at(folder, &out) && out.inode;
    free(folder);
    return is_known ? out : (identity){ 0 };
}

int leat_same_file_find_in_folders(char *const *paths, size_t n, size_t *first, size_t *n_again)
{
    identity *const files = malloc((n + 1) * sizeof *files);
    size_t before = 0;
    if (!files)
        return LEAT_FORMAT_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const char *const slash = strrchr(paths[i], '/');
        const size_t length = slash ? (size_t)(slash - paths[i]) + 1 : 0;
        const bool same = i && length == before && !memcmp(paths[i], paths[i - 1], length);
        files[i] = same ? files[i - 1] : look_at_folder(paths[i], length);
        files[i].name = files[i].inode ? paths[i] + length : paths[i];
        files[i].place = first[i] = i;
        before = length;
    }
    find_first(files, n, first, n_again);
    free(files);
    return LEAT_FORMAT_OK;
}
