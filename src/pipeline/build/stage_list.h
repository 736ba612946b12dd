/* SPDX-License-Identifier: MIT
 *
 * stage_list.h: every stage, one line each, in the order of `leat help --reference`. X(name) stands for
 * `leat_stage_<name>` in `stage_<name>.c`; those that only count are in `stage_count.c`. Config, help,
 * reference and tests loop over this list, so that a new stage means one file and one line. */
#ifndef LEAT_STAGE_LIST_H
#define LEAT_STAGE_LIST_H

#include "stage.h"

#define LEAT_STAGE_LIST(X)                                                                         \
    X(shuffle)                                                                                     \
    X(repeat)                                                                                      \
    X(take)                                                                                        \
    X(skip)                                                                                        \
    X(shard)                                                                                       \
    X(batch)                                                                                       \
    X(prefetch)                                                                                    \
    X(map)                                                                                         \
    X(filter)                                                                                      \
    X(cache)                                                                                       \
    X(unbatch)                                                                                     \
    X(on_error)                                                                                    \
    X(padded_batch)                                                                                \
    X(bucket_by_length)

#define LEAT_STAGE_DECLARE(name) extern const leat_stage_table leat_stage_##name;
LEAT_STAGE_LIST(LEAT_STAGE_DECLARE)
#undef LEAT_STAGE_DECLARE

#endif
