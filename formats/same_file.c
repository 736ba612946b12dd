/* SPDX-License-Identifier: MIT */
#include "same_file.h"

#include <stdlib.h>
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
