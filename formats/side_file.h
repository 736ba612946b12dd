/* SPDX-License-Identifier: MIT
 *
 * side_file.h: files that leat writes beside record files. A pattern such as data/train-* matches them too, but means
 * the records: who expands a pattern leaves them out. */
#ifndef LEAT_SIDE_FILE_H
#define LEAT_SIDE_FILE_H

#include "format.h"

/* Returns 1 for an index, which is FILE.idx or FILE.jpg.idx beside a file FILE, for names of classes, which are
 * PREFIX-labels.txt, and for manifests (manifest.h). */
int leat_side_file_is(const char *path);

/* The bytes of one: a mapping, or memory of its own if the file is small or very many are mapped. */
typedef struct leat_side_file {
    void *memory;
    size_t bytes;
    int is_mapped;
} leat_side_file;

/* Opens a side file for reading. Any thread.
 *
 * out      leat_side_file_close()
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_END: there is none; LEAT_FORMAT_STALE: it is empty or no regular file;
 *          LEAT_FORMAT_IO; LEAT_FORMAT_NOMEM. The text names the file */
int leat_side_file_open(const char *side, leat_side_file *out, leat_format_error *err);
void leat_side_file_close(leat_side_file *file);

/* LEAT_FORMAT_OK if there is none, it is empty, or it begins with `magic` (8 bytes; as many as it has). One that never was
 * an index of leat is not replaced, nor is one that cannot be read.
 * command  replaces it all the same; for the message */
int leat_side_file_check_replaced(const char *side, const char *magic, const char *command,
                                  leat_format_error *err);

/* LEAT_FORMAT_STALE, and why. */
int leat_side_file_stale(leat_format_error *err, const char *side, const char *why);

#endif
