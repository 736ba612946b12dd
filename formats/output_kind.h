/* SPDX-License-Identifier: MIT
 *
 * output_kind.h: protects files against mistakes such as "--trace x.yaml": an output replaces only its own kind. */
#ifndef LEAT_OUTPUT_KIND_H
#define LEAT_OUTPUT_KIND_H

#include <stdbool.h>

/* What a file of one kind has at byte `at`, and its name for people ("a picture"). */
typedef struct leat_output_kind {
    const char *what;
    const char *begins;
    long at;
} leat_output_kind;

#define LEAT_OUTPUT_KIND_SPANS                                                                     \
    "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" /* what is before the events */

extern const leat_output_kind leat_output_kind_trace; /* of a loader */

/* False: an existing regular file at `path` is neither empty nor of this kind, or cannot be read, and errno is 0; or
 * errno says why it is not known whether there is one. */
bool leat_output_kind_may_replace(const char *path, const leat_output_kind *kind);

#endif
