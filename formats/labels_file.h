/* SPDX-License-Identifier: MIT
 *
 * labels_file.h: the names of the classes of a set of TFRecord files, from PREFIX-labels.txt beside them: a name per
 * line, in the order of the labels. The source `tfrecord` and `leat convert tfrecord` call it. */
#ifndef LEAT_LABELS_FILE_H
#define LEAT_LABELS_FILE_H

#include "format.h"

typedef enum {
    LEAT_LABELS_FILE_SAME, /* all sets have the same names, some perhaps only the first, or all have none */
    LEAT_LABELS_FILE_MISSING,    /* some have names, the same ones, others none */
    LEAT_LABELS_FILE_DIFFERENT,  /* a class has two names */
    LEAT_LABELS_FILE_UNREADABLE, /* a file is there and cannot be read, or is no text */
} leat_labels_file_state;

typedef struct leat_labels_file {
    char **names;
    size_t n;   /* 0: the sets have no names, or not the same ones */
    char *text; /* which the names are in */
    leat_labels_file_state state;
    leat_format_error why; /* unless SAME */
} leat_labels_file;

/* Reads those of all sets that these files are of. Without names a set is complete, so all that can be wrong with them is
 * a `state`.
 *
 * paths    files of a set stand together
 * out      leat_labels_file_close() it, also after an error
 * returns  LEAT_FORMAT_OK or LEAT_FORMAT_NOMEM */
int leat_labels_file_read(const char *const *paths, size_t n_paths, leat_labels_file *out,
                          leat_format_error *err);
void leat_labels_file_close(leat_labels_file *labels);

#endif
