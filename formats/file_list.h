/* SPDX-License-Identifier: MIT
 *
 * file_list.h: a list of files with their labels. The source `images` and `leat convert` call it. It is
 *   - a CSV or TSV file with a column of paths and columns of labels (csv.h), or
 *   - a text file with one path a line, or
 *   - a folder, whose files are listed in byte order of their paths.
 * The class can also be a part of the path (pattern.h). Entries are in the order of the list. A path is
 * relative to `root`, or absolute. Nothing tells here whether the files exist. */
#ifndef LEAT_FILE_LIST_H
#define LEAT_FILE_LIST_H

#include "list_labels.h"

enum { LEAT_LIST_HEADER_AUTO, LEAT_LIST_HEADER_YES, LEAT_LIST_HEADER_NO };

typedef struct leat_file_list_options {
    const char *root; /* "": the folder of the list */
    const char
        *delimiter;      /* "auto": ',' in NAME.csv, a tab in NAME.tsv, else each line is a path */
    const char *file;    /* column of the paths: its name, or its number from 0; "": the first */
    const char **labels; /* columns of the labels, as `file` */
    size_t n_labels;     /* 0: of two columns the other one; of one column none */
    const char *suffix;  /* is added to each path */
    const char *class_from; /* see pattern.h; "": the class is no part of the path */
    int header; /* AUTO: the first line is one if a column is given by its name that is there, or if
                             * its path has neither '.' nor '/' and is no file */
    leat_list_type type;
    int skip; /* leave out names without a class; otherwise they are errors */
} leat_file_list_options;

typedef struct leat_file_entry {
    char *name;  /* path, with the suffix */
    size_t line; /* of the list, from 1; 0: it is a folder */
} leat_file_entry;

typedef struct leat_file_list {
    char *name, *root; /* of the list; paths are relative to the root */
    leat_file_entry *entries;
    size_t n;
    leat_list_labels labels; /* of entry i from [i * n_columns] on; n_columns 0: no labels */
    char header[160]; /* the first line, if it was taken as a header unasked; "": it was not */
    size_t n_unmatched, n_repeated;                 /* left out; files that are listed before */
    char first_unmatched[160], first_repeated[160]; /* with the line */
} leat_file_list;

/* Whether `path` has to be opened here: it is a file, or there is a class_from. */
int leat_file_list_wants(const char *path, const leat_file_list_options *options);
/* Returns the first option that is set and has no effect, because `path` is a folder; NULL: none. */
const char *leat_file_list_unused(const char *path, const leat_file_list_options *options);

/* Returns LEAT_FORMAT_OK; LEAT_FORMAT_BAD with list and line; LEAT_FORMAT_IO; LEAT_FORMAT_NOMEM.
 * out: leat_file_list_close(), also after an error */
int leat_file_list_open(leat_file_list *out, const char *path,
                        const leat_file_list_options *options, leat_format_error *err);
/* The same for a list in memory. `path` is its name. */
int leat_file_list_parse(leat_file_list *out, const char *path, const uint8_t *bytes, size_t n,
                         const leat_file_list_options *options, leat_format_error *err);
void leat_file_list_close(leat_file_list *list);

/* Returns the number of classes: of names, or the highest label + 1; 0: unknown. */
int32_t leat_file_list_classes(const leat_file_list *list);

/* One option of lists is the same option everywhere. */
#define LEAT_LIST_HELP_ROOT                                                                        \
    "folder that relative paths of a list start from; default: the folder of the list"
#define LEAT_LIST_HELP_DELIMITER                                                                   \
    "byte between two fields of a list; auto: a comma in NAME.csv, a tab in NAME.tsv, else each "  \
    "line is a path"
#define LEAT_LIST_HELP_HEADER                                                                      \
    "the first line of a list has names of columns; auto: if a column is given by name, or if "    \
    "its "                                                                                         \
    "path has no '.' or '/' and is no file"
#define LEAT_LIST_HELP_FILE                                                                        \
    "column of a list with the paths: its name, or its number from 0; default: the first"
#define LEAT_LIST_HELP_LABEL                                                                       \
    "columns of a list with the labels, by name or number; several make a vector; default: of "    \
    "two "                                                                                         \
    "columns the other one"
#define LEAT_LIST_HELP_TYPE                                                                        \
    "class: names, numbered from 0 in byte order; int64 and float32: numbers as they are; auto: "  \
    "int64 if the first label is a whole number, else class, but not of numbers alone"
#define LEAT_LIST_HELP_SUFFIX "text to add to each path of a list, such as .jpg"
#define LEAT_LIST_HELP_CLASS_FROM                                                                  \
    "regular expression (POSIX extended, and \\d \\w \\s); its first group in the path is the "    \
    "class, for a list of paths or for all files in a folder"
#define LEAT_LIST_TYPE_WORDS   "auto", "class", "int64", "float32", NULL
#define LEAT_LIST_HEADER_WORDS "auto", "true", "false", NULL

#endif
