/* SPDX-License-Identifier: MIT
 *
 * task.h: computing the rows of a span, and how often their stages are timed. */
#ifndef LEAT_TASK_H
#define LEAT_TASK_H

#include "engine.h"

/* Rows to compute: of one batch, with or without bytes read ahead. */
typedef struct leat_work {
    leat_task *run; /* NULL: read by whoever runs it */
    leat_slot *slot;
    leat_order_place place;
    int64_t batch;
    uint64_t row, n;
} leat_work;

/* What running a span gave, to be booked under the lock. */
typedef struct leat_outcome {
    int64_t ns;
    uint64_t digest;
    uint64_t bad_row;
    leat_error error; /* of the lowest row that failed */
} leat_outcome;

/* How often samples are timed: one in so many, and of those one in cpu_every by the CPU's time. */
typedef struct leat_sampling {
    uint32_t timed_every, cpu_every;
} leat_sampling;

leat_sampling leat_timing_rate_locked(const leat_loader *loader);
/* Does it, without the lock. A row that fails does not keep the others from being done. */
void leat_task_compute(leat_loader *loader, leat_worker *worker, const leat_work *span,
                       const leat_sampling *often, leat_outcome *out);

#endif
