/* SPDX-License-Identifier: MIT
 *
 * file_kind.h: protects files against mistakes such as "--trace x.yaml": an output replaces only its own kind. */
#ifndef LEAT_FILE_KIND_H
#define LEAT_FILE_KIND_H

#include <stdbool.h>

/* What a file of one kind has at byte `at`, and its name for people ("a picture"). */
typedef struct leat_file_kind {
    const char *what;
    const char *begins;
    long at;
} leat_file_kind;

extern const leat_file_kind leat_file_kind_trace; /* of a loader */

/* False: an existing regular file at `path` is neither empty nor of this kind, or cannot be read. */
bool leat_file_kind_may_replace(const char *path, const leat_file_kind *kind);

#endif
