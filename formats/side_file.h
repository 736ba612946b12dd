/* SPDX-License-Identifier: MIT
 *
 * side_file.h: files that leat writes beside record files. A pattern such as data/train-* matches them too, but means
 * the records: who expands a pattern leaves them out. Indexes are mapped. */
#ifndef LEAT_SIDE_FILE_H
#define LEAT_SIDE_FILE_H

#include "format.h"

/* Returns 1 for an index, which is FILE.idx or FILE.jpg.idx beside a file FILE, and for names of classes, which are
 * PREFIX-labels.txt. */
int leat_side_file_is(const char *path);

/* Maps a side file for reading; munmap() it.
 *
 * returns  LEAT_FORMAT_OK; LEAT_FORMAT_END: there is none; LEAT_FORMAT_STALE: it is empty or no regular file;
 *          LEAT_FORMAT_IO. The text names the file */
int leat_side_file_map(const char *side, void **memory, size_t *bytes, leat_format_error *err);

/* LEAT_FORMAT_STALE, and why. */
int leat_side_file_stale(leat_format_error *err, const char *side, const char *why);

#endif
