/* SPDX-License-Identifier: MIT
 *
 * batch_ops.h: a part of the batch ops of one batch. sched.c takes parts and batch_ops.c does
 * them. */
#ifndef LEAT_BATCH_OPS_H
#define LEAT_BATCH_OPS_H

#include "pipeline/sample/sample.h"

struct leat_slot;

/* Some pairs of rows for one op; or, when op is n_batch_ops, some rows for their digests. */
typedef struct leat_batch_ops_task {
    struct leat_slot *slot;
    int32_t op;
    uint64_t from, to;
} leat_batch_ops_task;

#endif
