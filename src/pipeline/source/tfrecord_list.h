/* SPDX-License-Identifier: MIT
 *
 * tfrecord_list.h: the files of a source `tfrecord`: those of patterns, and those that manifests list
 * (formats/manifest.h). source_tfrecord.c opens it; it does not change afterwards. */
#ifndef LEAT_TFRECORD_LIST_H
#define LEAT_TFRECORD_LIST_H

#include "file_watch.h"
#include "source.h"

typedef struct leat_tfrecord_listed {
    char *path;
    const char *manifest;                  /* that lists it; NULL: a pattern has found it */
    const leat_file_watch_id *manifest_id; /* as it was read */
    uint64_t bytes, n_records;             /* as the manifest has them */
} leat_tfrecord_listed;

typedef struct leat_tfrecord_list {
    leat_tfrecord_listed
        *files; /* in byte order of their paths; one that is named twice is there twice */
    size_t n, n_of_manifests;
    uint64_t bytes_of_manifests;
    char **paths;            /* the same */
    size_t *same;            /* as in same_file.h; if all are of manifests, by path */
    size_t n_again;          /* files that are there twice or more */
    char **manifests;        /* their names; NULL-ended */
    leat_file_watch_id *ids; /* of manifests */
} leat_tfrecord_list;

/* Finds the files. Leaves out what leat writes beside record files (side_file.h) unless it is named in full, and appends
 * a line about that to *notes.
 *
 * out      leat_tfrecord_list_close(), also after an error
 * returns  LEAT_OK; LEAT_E_IO: no file, or a manifest cannot be read; LEAT_E_DATA: it is damaged; LEAT_E_CONFIG;
 *          LEAT_E_NOMEM */
int leat_tfrecord_list_open(leat_tfrecord_list *out, const leat_strings *files,
                            const leat_node *where, char **notes, leat_error *err);
/* LEAT_E_DATA: the manifest that lists this file was changed or removed since, so the file may be one of another set.
 * folder: that relative paths count from, or AT_FDCWD */
int leat_tfrecord_list_check(const leat_tfrecord_listed *file, int folder, leat_error *err);
void leat_tfrecord_list_close(leat_tfrecord_list *list);

#endif
