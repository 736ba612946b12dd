/* SPDX-License-Identifier: MIT
 *
 * list_labels.h: the labels of a list of files, added row by row as text: class names, whole numbers or floats.
 * file_list.c calls it. */
#ifndef LEAT_LIST_LABELS_H
#define LEAT_LIST_LABELS_H

#include "format.h"

typedef enum leat_list_type {
    LEAT_LIST_AUTO, /* INT64 if the first label is a whole number, else CLASS, see leat_list_labels_are_numbers() */
    LEAT_LIST_CLASS,
    LEAT_LIST_INT64,
    LEAT_LIST_FLOAT32
} leat_list_type;

typedef struct leat_list_labels {
    leat_list_type type;
    size_t n_columns, n; /* labels of a row; all values */
    int64_t *ints;       /* CLASS: place in `classes`; INT64. Owned */
    float *floats;       /* FLOAT32. Owned */
    char **classes;      /* CLASS: in byte order, after leat_list_labels_end(). Owned */
    size_t n_classes;
    int64_t low, high; /* INT64: of all values */
    void *tree;        /* while names are added */
} leat_list_labels;

/* Adds a value. LEAT_FORMAT_BAD: it is none of this type; the message says what is expected, not where. */
int leat_list_labels_add(leat_list_labels *labels, const char *text, leat_format_error *err);
/* Sorts the classes, and numbers them from 0. */
int leat_list_labels_end(leat_list_labels *labels, leat_format_error *err);
/* After the end: whether there are classes, and all their names are numbers, so that they may be meant as these. */
int leat_list_labels_are_numbers(const leat_list_labels *labels);
void leat_list_labels_close(leat_list_labels *labels);

#endif
