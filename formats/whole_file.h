/* SPDX-License-Identifier: MIT
 *
 * whole_file.h: reads a text as a whole: configs, lists of names, logs, reports. Sources and commands call it.
 * Every text has a limit, so that no device or pipe without an end fills the memory. */
#ifndef LEAT_WHOLE_FILE_H
#define LEAT_WHOLE_FILE_H

#include <stdio.h>

#include "format.h"

/* A file of a path: a regular file, a device, or a pipe such as that of a shell's <(...).
 *
 * most     bytes
 * out      free() it; a zero byte follows the text. NULL: it was not read
 * n        bytes without that zero byte
 * returns  LEAT_FORMAT_OK, LEAT_FORMAT_IO (also for a folder, and for a named pipe that no program opens for
 *          writing within ten seconds), LEAT_FORMAT_BAD (more than `most` bytes) or LEAT_FORMAT_NOMEM */
int leat_whole_file_read(const char *path, size_t most, char **out, size_t *n,
                         leat_format_error *err);

/* The rest of an open stream; `name` is for messages. Otherwise like leat_whole_file_read(). */
int leat_whole_file_rest(FILE *file, const char *name, size_t most, char **out, size_t *n,
                         leat_format_error *err);

#endif
