/* SPDX-License-Identifier: MIT
 *
 * images_list.h: lists a folder per class with image files in it. Classes are the sub-folders in byte order
 * of their names, labels count from 0 (an empty folder is a class too); files are in byte order of their
 * names, so the same tree gives the same list everywhere. What is an image is told by its first bytes
 * (image_format.h), which several threads read. Names that begin with a dot, files beside the class folders,
 * and files that are no images are left out, and that is said in `notes`. */
#ifndef LEAT_IMAGES_LIST_H
#define LEAT_IMAGES_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "config/node.h"

typedef struct leat_image_file {
    char *path;
    int64_t label;
    _Atomic uint64_t
        seen; /* the source's: digest of size and mtime when it was first read; 0: not yet */
} leat_image_file;

typedef struct leat_images_list {
    leat_image_file *files;
    size_t n_files, room;
    int32_t n_classes;
    char *notes; /* as leat_source's; NULL: none */
} leat_images_list;

/* A file that may not be read is taken for an image: it is an error of its record then.
 *
 * threads  as engine.threads has it; -1: four per core, since they mostly wait for the disk
 * where    for messages
 * out      filled, also after an error: leat_images_list_close() */
int leat_images_list_open(const char *root, int64_t threads, const leat_node *where,
                          leat_images_list *out, leat_error *err);
void leat_images_list_close(leat_images_list *list);

#endif
