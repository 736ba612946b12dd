/* SPDX-License-Identifier: MIT
 *
 * batch_ops.h: batch ops, done when the last row of a batch is there. */
#ifndef LEAT_BATCH_OPS_H
#define LEAT_BATCH_OPS_H

#include "pipeline/sample/sample.h"

struct leat_slot;

/* A part of what is to be done to a batch: some pairs of one op, or (op = n_batch_ops) the digests of
 * some rows. */
typedef struct leat_batch_ops_task {
    struct leat_slot *slot;
    int32_t op;
    uint64_t from, to;
} leat_batch_ops_task;

#endif
