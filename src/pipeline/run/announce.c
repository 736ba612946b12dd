/* SPDX-License-Identifier: MIT
 *
 * announce.c: a shuffle in blocks, of files that do not fit in memory, needs the pieces of a window all at once, at its
 * start: the kernel is asked to read them during the window before. readahead.c and task.c call it. */
#include "engine.h"

#define EACH 16 /* rows of which one is announced: a piece of a file has hundreds */

int64_t leat_announce_distance(const leat_loader *loader)
{
    const leat_plan *const plan = loader->plan;
    const leat_order *const order = &plan->order;
    const uint64_t kept = (uint64_t)loader->budget.kept_bytes;
    if (!kept || kept >= plan->source->keep_bytes || !plan->source->table->announce)
        return 0;
    for (int32_t i = 0; i < order->n_before; i++) {
        const leat_shuffle *const shuffle = &order->before[i].shuffle;
        const uint64_t streams = shuffle->streams ? shuffle->streams : 1;
        const uint64_t part = order->before[i].n_in / streams + 1;
        if (order->before[i].kind == LEAT_ORDER_SHUFFLE && shuffle->block)
            return (int64_t)((shuffle->window < part ? shuffle->window : part) /
                             (order->batch_size / streams)) +
                   1;
    }
    return 0;
}

void leat_announce_rows(const leat_loader *loader, leat_worker *worker, const leat_task *task)
{
    const leat_plan *const plan = loader->plan;
    const int64_t batch = task->batch + loader->announce;
    if (!loader->announce || batch >= loader->end_batch)
        return;
    const leat_order_place place =
        leat_order_find(&plan->order, &worker->order_ahead, (uint64_t)batch);
    for (uint64_t i = 0; i < task->n && task->row + i < place.rows; i += EACH) {
        uint64_t sample, epoch;
        leat_order_row(&plan->order, &worker->order_ahead, &place, task->row + i, &sample, &epoch);
        plan->source->table->announce(plan->source, leat_order_record(&plan->order, sample));
    }
}
