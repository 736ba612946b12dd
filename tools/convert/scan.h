/* SPDX-License-Identifier: MIT
 *
 * scan.h: lists an image folder: one sub-folder per class, classes and files in byte order of their
 * names, so that the list is the same on every machine and in every locale. */
#ifndef LEAT_SCAN_H
#define LEAT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leat/error.h"

typedef struct leat_scan_file {
    const char *path; /* relative to the folder: "cat/0001.jpg" */
    int32_t label;    /* place of its class, from 0 */
} leat_scan_file;

typedef struct leat_scan {
    char **classes;
    size_t n_classes;
    leat_scan_file *files; /* by class, then by name */
    size_t n_files;
    size_t n_outside; /* files beside the class folders: they have no class */
    char *outside;    /* the first of them; NULL: none */
    char **left_out;  /* "cat/link: a link to what is not there" */
    size_t n_left_out;
} leat_scan;

typedef struct leat_scan_options {
    /* What is in a folder inside a class belongs to the class; otherwise it is an error. */
    bool recursive;
    bool skip_bad; /* names that are neither file nor folder, and links in a circle, are left out;
                     * otherwise they are errors */
} leat_scan_options;

/* Names that begin with '.' are passed over.
 * out      filled; leat_scan_close(), also after an error
 * returns  LEAT_OK, LEAT_E_IO (cannot read; nothing there), LEAT_E_DATA (not such a folder),
 *          LEAT_E_NOMEM; the message names the folder */
int leat_scan_open(leat_scan *out, const char *folder, const leat_scan_options *options,
                   leat_error *err);
void leat_scan_close(leat_scan *scan);

#endif
