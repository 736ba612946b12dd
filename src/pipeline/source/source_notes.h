/* SPDX-License-Identifier: MIT
 *
 * source_notes.h: what sources note of their files: for people in one wording, and in the digest. */
#ifndef LEAT_SOURCE_NOTES_H
#define LEAT_SOURCE_NOTES_H

#include "source.h"

/* Returns the length of the folder that both paths begin with, with its '/'. */
size_t leat_source_common_folder(const char *one, const char *other);
/* Counts the next file; the digest gets its name, below the folder of all files, which may lie elsewhere later. */
void leat_source_count_file(leat_source *source, const char *name);

/* Notes something about n files, if there are some. path: the first of them; one, more: what to say of one, of several. */
int leat_source_note_files(char **notes, const char *source, size_t n, const char *path,
                           const char *one, const char *more, leat_error *err);
/* Notes the files that are listed twice: what leat_same_file_find() has found. */
int leat_source_note_same(char **notes, const char *source, char *const *paths, const size_t *same,
                          size_t n, size_t n_again, leat_error *err);

#endif
