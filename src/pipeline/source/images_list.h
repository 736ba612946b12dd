/* SPDX-License-Identifier: MIT
 *
 * images_list.h: lists image files: those of a folder per class, or of a list (file_list.h). The source
 * `images` calls it.
 *
 * Of a folder, classes are the sub-folders in byte order of their names; labels count from 0. An empty folder is a
 * class too. Files are in byte order of their names, so the same tree gives the same list everywhere.
 * The first bytes of a file tell whether it is an image (image_format.h); several threads read them, and its size.
 * Names that begin with a dot are passed over. Files outside of class folders and files that are no images are left
 * out; `notes` says so. A file that a list names has to be an image. */
#ifndef LEAT_IMAGES_LIST_H
#define LEAT_IMAGES_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "config/node.h"
#include "formats/file_list.h"

typedef struct leat_image_file {
    char *path;
    int64_t label;         /* if the labels of a list are no int64 scalars: its entry there */
    uint64_t bytes;        /* when it was listed; 0: unknown */
    _Atomic uint64_t seen; /* digest of size and mtime at the first read; 0: not read yet */
} leat_image_file;

typedef struct leat_images_list {
    leat_image_file *files;
    size_t n_files, room;
    int32_t n_classes;
    char **classes;        /* names of the n_classes folders; NULL: a list */
    char *notes, *moved;   /* see leat_source; NULL: none */
    size_t root_length;    /* bytes of the folder that paths start with */
    leat_file_list *given; /* the list; NULL: a folder per class */
} leat_images_list;

/* Lists the images. A file that cannot be read counts as an image: reading its record fails later. But a file of a
 * list has to be there.
 *
 * root     folder of classes, or what file_list.h reads
 * options  of lists
 * threads  engine.threads; -1: four per core, since they mostly wait for the disk
 * where    for messages
 * out      close with leat_images_list_close(), also after an error */
int leat_images_list_open(const char *root, const leat_file_list_options *options, int64_t threads,
                          const leat_node *where, leat_images_list *out, leat_error *err);
void leat_images_list_close(leat_images_list *list);
/* Returns the path of a file from the folder on; the whole path if the file is elsewhere. */
const char *leat_images_list_name(const leat_images_list *list, size_t file);

#endif
