/* SPDX-License-Identifier: MIT
 *
 * scan.h: lists image files: a folder with one sub-folder per class, classes and files in byte order of their
 * names, so that the list is the same on every machine and in every locale; or a list of files (file_list.h). */
#ifndef LEAT_SCAN_H
#define LEAT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/file_list.h"
#include "image_record.h"
#include "leat/error.h"

typedef struct leat_scan_file {
    const char *path; /* relative to the root: "cat/0001.jpg"; of a list also absolute */
    int32_t label;    /* place of its class, from 0; not with given labels that are no classes */
} leat_scan_file;

typedef struct leat_scan {
    const char *root; /* folder that paths start from. The caller's, or that of the list */
    char **classes;   /* none: the labels of the list are numbers, or there are none */
    size_t n_classes;
    leat_scan_file *files; /* by class, then by name; or in the order of the list */
    size_t n_files;
    size_t n_outside; /* files beside the class folders: they have no class */
    char *outside;    /* the first of them; NULL: none */
    char **left_out;  /* "cat/link: a link to what is not there" */
    size_t n_left_out;
    leat_file_list *given; /* the list; NULL: a folder of classes */
} leat_scan;

typedef struct leat_scan_options {
    /* What is in a folder inside a class belongs to the class; otherwise it is an error. */
    bool recursive;
    bool skip_bad; /* names that are neither file nor folder, and links in a circle, are left out;
                     * otherwise they are errors */
    leat_file_list_options list;
} leat_scan_options;

/* Names that begin with '.' are passed over.
 * path     folder, or list
 * out      filled; leat_scan_close(), also after an error
 * returns  LEAT_OK, LEAT_E_IO (cannot read; nothing there), LEAT_E_DATA (not such a folder or list),
 *          LEAT_E_NOMEM; the message names the folder */
int leat_scan_open(leat_scan *out, const char *path, const leat_scan_options *options,
                   leat_error *err);
void leat_scan_close(leat_scan *scan);

/* The label of a file; valid as long as the scan. */
leat_image_label leat_scan_label(const leat_scan *scan, size_t file);
/* Writes where a file was found, as the beginning of a message that goes on with its path: "train.csv:7: set/". */
void leat_scan_place(const leat_scan *scan, size_t file, char *text, size_t size);

#endif
