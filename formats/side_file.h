/* SPDX-License-Identifier: MIT
 *
 * side_file.h: files that leat writes beside record files. A pattern such as data/train-* matches them too, but means
 * the records: who expands a pattern leaves them out. */
#ifndef LEAT_SIDE_FILE_H
#define LEAT_SIDE_FILE_H

/* Returns 1 for an index, which is FILE.idx or FILE.jpg.idx beside a file FILE, and for names of classes, which are
 * PREFIX-labels.txt. */
int leat_side_file_is(const char *path);

#endif
