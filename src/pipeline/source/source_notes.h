/* SPDX-License-Identifier: MIT
 *
 * source_notes.h: what sources note of their files, in one wording. */
#ifndef LEAT_SOURCE_NOTES_H
#define LEAT_SOURCE_NOTES_H

#include "source.h"

/* Notes something about n files, if there are some. path: the first of them; one, more: what to say of one, of several. */
int leat_source_note_files(char **notes, const char *source, size_t n, const char *path,
                           const char *one, const char *more, leat_error *err);
/* Notes the files that are listed twice: what leat_same_file_find() has found. */
int leat_source_note_same(char **notes, const char *source, char *const *paths, const size_t *same,
                          size_t n, size_t n_again, leat_error *err);

#endif
