/* SPDX-License-Identifier: MIT
 *
 * picture_folder.h: image files from anywhere as a temporary folder of links, which the source `images` reads in the order
 * given, and what a config changes for it. `leat predict` calls it. */
#ifndef LEAT_PICTURE_FOLDER_H
#define LEAT_PICTURE_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "leat/config.h"
#include "leat/plan.h"

enum { LEAT_PICTURE_LABELS = 4096 }; /* most of one image */

typedef struct leat_picture_folder {
    char path[64]; /* "": there is none */
    const char *const *files;
    int n;
    int64_t n_classes; /* empty folders beside the first, so that the source has so many classes */
    int n_labels; /* more than 0: a list names the links, each with so many labels: 1, 0, 0 …, or 0 */
    bool real_labels; /* of float32 */
} leat_picture_folder;

/* Makes it; `files` is borrowed. Returns LEAT_OK, or LEAT_E_IO or LEAT_E_DATA with the name of a file that cannot be read or
 * is no image. Close in both cases. */
int leat_picture_folder_open(leat_picture_folder *folder, const char *const *files, int n,
                             int64_t n_classes, int n_labels, bool real_labels, leat_error *err);
/* Removes it. */
void leat_picture_folder_close(leat_picture_folder *folder);
/* The source of a config that reads it, "source={images: …}", in new memory; NULL: out of memory. */
char *leat_picture_folder_source(const leat_picture_folder *folder);
/* Puts the name of the file in the place of the link's in a message. */
void leat_picture_folder_name(const leat_picture_folder *folder, leat_error *err);

/* picture_pipeline.c */

/* The tensors of the folder are `image` and `label`. Makes them train.input and train.target, has the section's maps work on
 * them where they work on what the section's own source calls so, and takes maps on other tensors away. LEAT_E_CONFIG where
 * nothing tells on which a map works.
 * section  NULL: the top
 * plan     of the section as it is; NULL: it cannot be opened */
int leat_picture_pipeline(leat_config *config, const char *section, const leat_plan *plan,
                          leat_error *err);
/* Labels of a sample of the section's own source, where it has several; else 0. real: they are float32. */
int leat_picture_labels(const leat_config *config, const char *section, bool *real);

#endif
