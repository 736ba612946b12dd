/* SPDX-License-Identifier: MIT */
#include "same_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct identity {
    dev_t device;
    ino_t inode;
    off_t bytes;
    struct timespec mtime;
    size_t place; /* in the list */
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
    return (a->mtime.tv_nsec > b->mtime.tv_nsec) - (a->mtime.tv_nsec < b->mtime.tv_nsec);
}

static int compare(const void *one, const void *other)
{
    const identity *const a = one, *const b = other;
    const int order = compare_files(a, b);
    return order ? order : a->place < b->place ? -1 : a->place > b->place;
}

int leat_same_file_find(char *const *paths, size_t n, size_t *first, size_t *n_again)
{
    identity *const files = malloc((n + 1) * sizeof *files);
    struct stat status;
    size_t n_files = 0;
    *n_again = 0;
    if (!files)
        return LEAT_FORMAT_NOMEM;
    for (size_t i = 0; i < n; i++) {
        first[i] = i;
        if (stat(paths[i], &status) == 0)
            files[n_files++] =
                (identity){ status.st_dev, status.st_ino, status.st_size, status.st_mtim, i };
    }
    qsort(files, n_files, sizeof *files, compare);
    for (size_t begin = 0, i = 1; i < n_files; i++) {
        if (compare_files(&files[i], &files[begin]) != 0) {
            begin = i;
            continue;
        }
        first[files[i].place] = files[begin].place;
        *n_again += i == begin + 1;
    }
    free(files);
    return LEAT_FORMAT_OK;
}

/* --- by their folders ------------------------------------------------------------------------------ */

typedef struct in_folder {
    identity folder;  /* inode 0: not known */
    const char *name; /* in it; if it is not known, the path */
    size_t place;
} in_folder;

static int compare_names(const in_folder *a, const in_folder *b)
{
    const int order = compare_files(&a->folder, &b->folder);
    return order ? order : strcmp(a->name, b->name);
}

static int compare_in_folder(const void *one, const void *other)
{
    const in_folder *const a = one, *const b = other;
    const int order = compare_names(a, b);
    return order ? order : a->place < b->place ? -1 : a->place > b->place;
}

/* The first `length` bytes of a path are its folder; 0: this one. */
static identity look_at(const char *path, size_t length)
{
    struct stat status;
    char *const folder = length ? strndup(path, length) : strdup(".");
    const bool is_found = folder && stat(folder, &status) == 0;
    free(folder);
    return is_found ? (identity){ status.st_dev, status.st_ino, status.st_size, status.st_mtim, 0 }
                    : (identity){ 0 };
}

int leat_same_file_find_in_folders(char *const *paths, size_t n, size_t *first, size_t *n_again)
{
    in_folder *const files = malloc((n + 1) * sizeof *files);
    size_t before = 0;
    *n_again = 0;
    if (!files)
        return LEAT_FORMAT_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const char *const slash = strrchr(paths[i], '/');
        const size_t length = slash ? (size_t)(slash - paths[i]) + 1 : 0;
        const bool same = i && length == before && !memcmp(paths[i], paths[i - 1], length);
        files[i].folder = same ? files[i - 1].folder : look_at(paths[i], length);
        if (!files[i].folder.inode)
            files[i].folder = (identity){ 0 };
        files[i].name = files[i].folder.inode ? paths[i] + length : paths[i];
        files[i].place = first[i] = i;
        before = length;
    }
    qsort(files, n, sizeof *files, compare_in_folder);
    for (size_t begin = 0, i = 1; i < n; i++) {
        if (compare_names(&files[i], &files[begin]) != 0) {
            begin = i;
            continue;
        }
        first[files[i].place] = files[begin].place;
        *n_again += i == begin + 1;
    }
    free(files);
    return LEAT_FORMAT_OK;
}
