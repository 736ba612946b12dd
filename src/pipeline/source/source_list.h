/* SPDX-License-Identifier: MIT
 *
 * source_list.h: every source that a config can name, one line each. X(name) stands for
 * `leat_source_<name>` in `source_<name>.c`. Config, help, reference and tests loop over this list, so
 * that a new source means one file and one line. source_rows.c, source_compressed.c and source_notes.c are shared by
 * sources. */
#ifndef LEAT_SOURCE_LIST_H
#define LEAT_SOURCE_LIST_H

#include "source.h"

#define LEAT_SOURCE_LIST(X)                                                                        \
    X(tfrecord)                                                                                    \
    X(images)                                                                                      \
    X(npy)                                                                                         \
    X(csv)                                                                                         \
    X(idx)                                                                                         \
    X(cifar)                                                                                       \
    X(concat)                                                                                      \
    X(mix)                                                                                         \
    X(interleave)                                                                                  \
    X(zip)

#define LEAT_SOURCE_DECLARE(name) extern const leat_source_table leat_source_##name;
LEAT_SOURCE_LIST(LEAT_SOURCE_DECLARE)
#undef LEAT_SOURCE_DECLARE

#endif
