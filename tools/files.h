/* SPDX-License-Identifier: MIT
 *
 * files.h: writes, checks and names files. All commands call it. */
#ifndef LEAT_FILES_H
#define LEAT_FILES_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/format.h"
#include "formats/output_kind.h"
#include "formats/yaml_text.h"
#include "leat/error.h"

/* Writes a whole file under a temporary name, syncs it, then renames it: never half a file.
 * Returns LEAT_OK or LEAT_E_IO with the path. */
int leat_files_write(const char *path, const void *bytes, size_t n, leat_error *err);

/* How the pictures of leat begin: more classes and the end of the tag follow. */
#define LEAT_FILES_SVG "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"leat"

extern const leat_output_kind leat_files_svg;

/* For the path of every output option, before long work: creates missing folders, and checks that the file can be
 * written, so that a wrong name is found at the start. It leaves no file behind.
 *
 * kind     an existing regular file may be replaced only if it is empty or of this kind. NULL: any file may
 * returns  LEAT_OK; LEAT_E_IO, or LEAT_E_ARGUMENT for another kind, both with the path */
int leat_files_check(const char *path, const leat_output_kind *kind, leat_error *err);

/* True if both paths lead to one file, or would if it were made. */
bool leat_files_same(const char *a, const char *b);

/* Opens a file that grows while a command runs, such as a log. Links are followed as formats/link.h says.
 * out      for reading, and writing at its end; fclose() it
 * returns  LEAT_OK, LEAT_E_IO with the path, LEAT_E_NOMEM */
int leat_files_stream(const char *path, FILE **out, leat_error *err);
/* Ends a half line of a process that was killed or had a full disk, so that the next line is whole. */
void leat_files_end_line(FILE *file);

/* Creates the parent folders of a path, like `mkdir -p`; not the last part. */
int leat_files_make_parents(const char *path, leat_error *err);

/* An error of formats/ as one of the library; returns its code. */
int leat_files_fail(leat_error *err, const leat_format_error *from);
/* LEAT_E_NOMEM: "out of memory" */
int leat_files_no_memory(leat_error *err);

/* Renames a file; leat_files_sync_folder_of() makes such renames durable. */
int leat_files_rename(const char *from, const char *to, leat_error *err);
int leat_files_sync_folder_of(const char *path, leat_error *err);

/* printf into new memory; NULL: out of memory. */
char *leat_files_text(const char *format, ...) LEAT_PRINTF(1, 2);
/* printf into `room`, or, where that is too small, into new memory. Out of memory cuts the text off.
 *
 * copy     the new memory; NULL: none. free() it in any case
 * returns  the text */
const char *leat_files_text_in(char *room, size_t size, char **copy, const char *format,
                               va_list args) LEAT_PRINTF(4, 0);
/* Closes a stream of open_memstream(text, …). *text must be NULL before that is called, because it is freed if the stream
 * was not opened. Returns *text; NULL: out of memory, or the stream was not opened. */
char *leat_files_close_text(FILE *stream, char **text);
/* printf behind a text that is there; what does not fit into `size` bytes is cut off. */
void leat_files_append(char *text, size_t size, const char *format, ...) LEAT_PRINTF(3, 4);
bool leat_files_ends_with(const char *text, const char *end);
/* The last part of a path. */
const char *leat_files_base_name(const char *path);
/* Removes slashes at the end of a path, which may be NULL. Returns it. */
char *leat_files_cut_slashes(char *path);
/* A text as a scalar of YAML (formats/yaml_text.h) in new memory; NULL: out of memory. */
char *leat_files_yaml(const char *text, leat_yaml_kind kind);
/* A hidden name beside a path, ".NAME" plus an ending, which patterns such as PREFIX-* do not match; in new
 * memory. A long NAME is replaced by 16 hex digits made of it, so that the hidden name fits where NAME
 * does. NULL: out of memory. */
char *leat_files_hidden(const char *path, const char *end);
/* Checks that the file system allows the name of a path with this ending, before long work.
 * Returns LEAT_OK or LEAT_E_IO. */
int leat_files_check_length(const char *path, const char *end, leat_error *err);

#endif
