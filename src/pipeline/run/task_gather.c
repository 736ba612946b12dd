/* SPDX-License-Identifier: MIT
 *
 * task_gather.c: computes the rows of a task that are copies of their records, many at a time. task.c calls it.
 * Invariant: as in task.c. */
#include <string.h>

#include "task.h"

/* Sets the valid marks of n copied rows and adds their digests. */
static void note_rows(const leat_loader *loader, const leat_row_work *work, uint64_t row,
                      uint64_t n, leat_outcome *out)
{
    const leat_plan *const plan = loader->plan;
    uint8_t *const memory = work->slot->memory;
    if (plan->on_error == LEAT_ON_ERROR_MASK)
        memset(memory + plan->valid_offset + row, 1, n);
    for (uint64_t i = 0; i < n && plan->engine.digest && !plan->n_batch_ops; i++)
        out->digest += leat_slot_digest_row(plan, &work->place, memory, row + i);
}

/* Computes row i of the task one by one, as task.c does. */
static void compute_one(leat_loader *loader, leat_worker *worker, const leat_row_work *work,
                        uint64_t i, const leat_timing_rate *rate, leat_outcome *out)
{
    uint64_t sample, epoch;
    leat_order_row(&loader->plan->order, &worker->order, &work->place, work->row + i, &sample,
                   &epoch);
    leat_task_row(loader, worker, work, i, sample, epoch, rate, out);
}

uint64_t leat_task_gather(leat_loader *loader, leat_worker *worker, const leat_row_work *work,
                          const leat_timing_rate *rate, leat_outcome *out)
{
    const leat_plan *const plan = loader->plan;
    uint64_t records[LEAT_GATHER_ROWS], first_record = 0;
    for (uint64_t i = 0; i < work->n; i += LEAT_GATHER_ROWS) {
        const uint64_t rest = work->n - i, row = work->row + i;
        const uint64_t n = rest < LEAT_GATHER_ROWS ? rest : LEAT_GATHER_ROWS;
        leat_order_rows(&plan->order, &worker->order, &work->place, row, n, records);
        first_record = i ? first_record : records[0];
        for (uint64_t k = 0; k < n; k++) {
            const uint64_t done =
                leat_gather_run(plan, worker, records + k, n - k, work->slot->memory, row + k,
                                leat_task_time_next(worker, rate, (uint32_t)(n - k)));
            note_rows(loader, work, row + k, done, out);
            k += done;
            if (k < n)
                compute_one(loader, worker, work, i + k, rate, out);
        }
    }
    return first_record;
}
