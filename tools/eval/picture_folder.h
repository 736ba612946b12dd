/* SPDX-License-Identifier: MIT
 *
 * picture_folder.h: image files from anywhere as a folder that the source `images` reads, in the given order. */
#ifndef LEAT_PICTURE_FOLDER_H
#define LEAT_PICTURE_FOLDER_H

#include <stdint.h>

#include "leat/error.h"

typedef struct leat_picture_folder {
    char path[64]; /* of a temporary folder with links to the files; "": none */
    const char *const *files;
    int n;
    int64_t n_classes; /* empty folders beside the first, so that the source has so many classes */
} leat_picture_folder;

/* Makes it. Returns LEAT_OK, or LEAT_E_IO or LEAT_E_DATA with the name of a file that cannot be read or is no
 * image. Close in both cases. */
int leat_picture_folder_open(leat_picture_folder *folder, const char *const *files, int n,
                             int64_t n_classes, leat_error *err);
void leat_picture_folder_close(leat_picture_folder *folder);
/* Puts the name of the file in the place of the link's in a message. */
void leat_picture_folder_name(const leat_picture_folder *folder, leat_error *err);

#endif
