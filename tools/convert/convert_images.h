/* SPDX-License-Identifier: MIT
 *
 * convert_images.h: writes images, of a folder with one sub-folder per class or of a list, as TFRecord shards with
 * a label map and index files. */
#ifndef LEAT_CONVERT_IMAGES_H
#define LEAT_CONVERT_IMAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/file_list.h"
#include "leat/error.h"

typedef struct leat_convert_images {
    const char *folder; /* or list */
    leat_file_list_options list;
    const char *prefix; /* PREFIX-00000-of-00008.tfrecord */
    int32_t n_shards;   /* -1: 1 */
    int32_t threads;    /* at least 1 */
    bool is_shuffled;   /* by `seed`; false: by class, then by name */
    uint64_t seed;
    int32_t restart_mcus; /* 0: JPEG files are copied unchanged */
    bool keep_metadata;   /* of rewritten JPEG files */
    bool verify;          /* decode every image */
    bool skip_bad;        /* leave out what is no image, and list it */
    bool recursive;       /* also folders inside a class folder */
    int32_t progress;     /* LEAT_PROGRESS_* */
    const char *json;     /* --json */
} leat_convert_images;

/* Writes label map and shards under temporary names and renames them when all are complete and on disk; makes
 * their indexes; reports the result. After an error or a signal nothing is left. The bytes do not depend on
 * `threads`.
 *
 * returns  LEAT_OK; LEAT_E_DATA with the file that is no image; LEAT_E_ARGUMENT: more shards than files;
 *          LEAT_E_UNSUPPORTED; LEAT_E_IO; LEAT_E_NOMEM; LEAT_E_CANCELED */
int leat_convert_images_run(const leat_convert_images *o, leat_error *err);

#endif
