/* SPDX-License-Identifier: MIT
 *
 * task.h: computes the rows of a task, and says how often samples are timed. sched.c
 * calls it. */
#ifndef LEAT_TASK_H
#define LEAT_TASK_H

#include "engine.h"

/* Rows of one batch that a thread has taken, with or without bytes read ahead. */
typedef struct leat_row_work {
    leat_task *task; /* NULL: nothing was read ahead */
    leat_slot *slot;
    leat_order_place place;
    int64_t batch;
    uint64_t row, n;
} leat_row_work;

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

/* How to time the next n rows: timed if any of them is due. */
leat_timing leat_task_time_next(leat_worker *worker, const leat_timing_rate *rate, uint32_t n);
/* Computes row i of the task. Adds its digest, if one is wanted, or its error to *out. */
void leat_task_row(leat_loader *loader, leat_worker *worker, const leat_row_work *work, uint64_t i,
                   uint64_t sample, uint64_t epoch, const leat_timing_rate *rate,
                   leat_outcome *out);
/* task_gather.c: computes all rows, which are copies of their records. Returns the record of the first. */
uint64_t leat_task_gather(leat_loader *loader, leat_worker *worker, const leat_row_work *work,
                          const leat_timing_rate *rate, leat_outcome *out);
leat_timing_rate leat_task_timing_rate_locked(const leat_loader *loader);
/* Computes the rows, without the lock. After a row that failed it continues with the next. */
void leat_task_compute(leat_loader *loader, leat_worker *worker, const leat_row_work *work,
                       const leat_timing_rate *rate, leat_outcome *out);

#endif
