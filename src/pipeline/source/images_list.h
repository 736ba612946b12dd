/* SPDX-License-Identifier: MIT
 *
 * images_list.h: lists a folder of image files per class. The source `images` and `leat convert` call it.
 *
 * Classes are the sub-folders in byte order of their names; labels count from 0. An empty folder is a
 * class too. Files are in byte order of their names, so the same tree gives the same list everywhere.
 * The first bytes of a file tell whether it is an image (image_format.h); several threads read them, and its size.
 * Names that begin with a dot, files outside of class folders and files that are no images are left
 * out; `notes` says so. */
#ifndef LEAT_IMAGES_LIST_H
#define LEAT_IMAGES_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "config/node.h"

typedef struct leat_image_file {
    char *path;
    int64_t label;
    uint64_t bytes;        /* when it was listed; 0: unknown */
    _Atomic uint64_t seen; /* digest of size and mtime at the first read; 0: not read yet */
} leat_image_file;

typedef struct leat_images_list {
    leat_image_file *files;
    size_t n_files, room;
    int32_t n_classes;
    char *notes; /* see leat_source; NULL: none */
} leat_images_list;

/* Lists the images. A file that cannot be read counts as an image: reading its record fails later.
 *
 * threads  engine.threads; -1: four per core, since they mostly wait for the disk
 * where    for messages
 * out      close with leat_images_list_close(), also after an error */
int leat_images_list_open(const char *root, int64_t threads, const leat_node *where,
                          leat_images_list *out, leat_error *err);
void leat_images_list_close(leat_images_list *list);

#endif
