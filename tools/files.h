/* SPDX-License-Identifier: MIT
 *
 * files.h: helpers for files, and for stopping at a signal. All commands call them. */
#ifndef LEAT_FILES_H
#define LEAT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/format.h"
#include "formats/yaml_text.h"
#include "leat/error.h"

/* Writes a whole file under a temporary name, syncs it, then renames it: never half a file.
 * Returns LEAT_OK or LEAT_E_IO with the path. */
int leat_files_write(const char *path, const void *bytes, size_t n, leat_error *err);

/* What a file of one kind has at byte `at`, and its name for people ("a trace"). */
typedef struct leat_files_kind {
    const char *what;
    const char *begins;
    long at;
} leat_files_kind;

extern const leat_files_kind leat_files_svg;

/* For the path of every output option, before long work: creates missing folders, and checks that the file can be
 * written, so that a wrong name is found at the start. It leaves no file behind.
 *
 * kind     protects files against mistakes such as "--trace x.yaml": an existing regular file may be replaced only if
 *          it is empty or of this kind. NULL: any file may
 * returns  LEAT_OK; LEAT_E_IO, or LEAT_E_ARGUMENT for another kind, both with the path */
int leat_files_check(const char *path, const leat_files_kind *kind, leat_error *err);

/* Opens a file that grows while a command runs, such as a log. Links are followed as formats/link.h says.
 * flags    for open(): O_TRUNC, or O_APPEND
 * out      for reading and writing; fclose() it
 * returns  LEAT_OK, LEAT_E_IO with the path, LEAT_E_NOMEM */
int leat_files_stream(const char *path, int flags, FILE **out, leat_error *err);

/* Creates the parent folders of a path, like `mkdir -p`; not the last part. */
int leat_files_make_parents(const char *path, leat_error *err);

/* An error of formats/ as one of the library; returns its code. */
int leat_files_fail(leat_error *err, const leat_format_error *from);

/* Renames a file; leat_files_sync_folder_of() makes such renames durable. */
int leat_files_rename(const char *from, const char *to, leat_error *err);
int leat_files_sync_folder_of(const char *path, leat_error *err);

/* printf into new memory; NULL: out of memory. */
char *leat_files_text(const char *format, ...) LEAT_PRINTF(1, 2);
/* A text as a scalar of YAML (formats/yaml_text.h) in new memory; NULL: out of memory. */
char *leat_files_yaml(const char *text, leat_yaml_kind kind);
/* A hidden name beside a path, ".NAME" plus an ending, which patterns such as PREFIX-* do not match; in new
 * memory. A long NAME is replaced by 16 hex digits made of it, so that the hidden name fits where NAME
 * does. NULL: out of memory. */
char *leat_files_hidden(const char *path, const char *end);
/* Checks that the file system allows the name of a path with this ending, before long work.
 * Returns LEAT_OK or LEAT_E_IO. */
int leat_files_check_length(const char *path, const char *end, leat_error *err);

/* The signal that asked to stop (SIGINT, SIGTERM, SIGHUP) since leat_files_catch(), or 0. It may come
 * twice (timeout(1) sends it to the process and to its group), so a second one may be the same. */
void leat_files_catch(void);
int leat_files_caught(void);
/* After cleaning up: ends the process by that signal, so that shells see it. Returns if there was none. */
void leat_files_raise(void);

/* For commands with nothing to clean up: such a signal prints "leat COMMAND: stopped" and ends the
 * process by that signal at once. */
void leat_files_stop_at_once(const char *command);

/* For commands that have something to save: the first such signal is stored for leat_files_caught() and
 * reported on a terminal; one that comes half a second later or more ends the process like
 * leat_files_stop_at_once(). */
void leat_files_stop_soon(const char *command);

/* Units for people: "12.3 MB", "50,000". `text` has 32 bytes; returned. */
const char *leat_files_bytes_text(double bytes, char text[32]);
const char *leat_files_count_text(uint64_t n, char text[32]);
const char *leat_files_ms_text(double ms, char text[32]); /* without the unit */
/* That a cache was not filled before anything was measured. `text` has 160 bytes; returned. */
const char *leat_files_uncached_text(double uncached, char *text);
/* Cores this process may use. */
int leat_files_cores(void);
/* CLOCK_MONOTONIC. */
int64_t leat_files_now_ns(void);

#endif
