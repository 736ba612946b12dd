/* SPDX-License-Identifier: MIT
 *
 * task.h: computes the rows of a task, and says how often samples are timed. sched.c
 * calls it. */
#ifndef LEAT_TASK_H
#define LEAT_TASK_H

#include "engine.h"

/* Rows of one batch that a thread has taken, with or without bytes read ahead. */
typedef struct leat_task {
    leat_read_task *read; /* NULL: nothing was read ahead */
    leat_slot *slot;
    leat_order_place place;
    int64_t batch;
    uint64_t row, n;
} leat_task;

/* The result of computing them. sched.c books it under the lock. */
typedef struct leat_outcome {
    int64_t ns;
    uint64_t digest;
    uint64_t bad_row; /* the lowest row that failed; valid when error.code < 0 */
    leat_error error; /* of that row */
} leat_outcome;

/* One sample in timed_every is timed; of those, one in cpu_every by CPU time. */
typedef struct leat_timing_rate {
    uint32_t timed_every, cpu_every;
} leat_timing_rate;

leat_timing_rate leat_task_timing_rate_locked(const leat_loader *loader);
/* Computes the rows, without the lock. After a row that failed it continues with the next. */
void leat_task_compute(leat_loader *loader, leat_worker *worker, const leat_task *task,
                       const leat_timing_rate *rate, leat_outcome *out);

#endif
