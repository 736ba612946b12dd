/* SPDX-License-Identifier: MIT
 *
 * readahead_group.c: prepares the next tasks, places their bytes in the read memory, and submits
 * their reads together. sched.c calls leat_readahead_group_locked(). Invariant: only the holder
 * of the token is in here. It takes the lock to publish tasks and to book reads, and works
 * without it otherwise. */
#include <string.h>

#include "base/clock.h"
#include "engine.h"

#define GROUP_READS 32                        /* reads per submission, about */
#define BLOCK_COST  (3 * LEAT_COALESCE_ALIGN) /* what a direct read may take beyond its rows */

/* Finds where a row's bytes are. False: they are not in a file, or its worker reads them. */
static bool locate(const leat_loader *loader, leat_row_read *row, leat_extent *at)
{
    const leat_plan *const plan = loader->plan;
    const leat_source *const source = plan->source;
    const uint64_t record = leat_order_record(&plan->order, row->sample);
    if (leat_device_cache_has(loader->device_cache, record))
        return false;
    switch (plan->cache ? leat_cache_find(plan->cache, record, at) : LEAT_CACHE_NONE) {
    case LEAT_CACHE_IN_MEMORY:
        return false;
    case LEAT_CACHE_IN_FILE:
        row->is_entry = true;
        break;
    case LEAT_CACHE_NONE:
        if (!source->table->locate || source->table->locate(source, record, at, NULL) < 0)
            return false;
    }
    return at->fd >= 0 || loader->readahead.by_threads;
}

/* Row i and the row before are parts of the same record: the worker still has that record. */
static bool is_next_part(const leat_plan *plan, const leat_row_read *rows, uint64_t i)
{
    const uint64_t m = plan->order.samples_per_record;
    return plan->unbatches && i && rows[i].epoch == rows[i - 1].epoch &&
           rows[i].sample / m == rows[i - 1].sample / m;
}

/* Read memory that a row may take, in bytes; 0: it is not read ahead. */
static uint64_t cost_of(const leat_readahead *a, const leat_row_read *row)
{
    const uint64_t cost = row->size + (row->direct ? BLOCK_COST : 0);
    return cost <= a->bytes / 4 ? cost : 0;
}

/* A copy of what other threads may change while a group is made. */
typedef struct leat_readahead_limits {
    uint64_t tail, used_from, bytes_ahead, task_rows;
    uint32_t room; /* for reads */
} leat_readahead_limits;

/* Fills the task at the head of the ring with the next rows, and where their bytes are. Its rows take at
 * most 1/8 of the memory (a single row may take more); with gaps, at most 1/4. */
static void prepare(leat_loader *loader, leat_read_task *task, const leat_readahead_limits *now)
{
    leat_readahead *const a = &loader->readahead;
    leat_cursor *const next = &loader->cursor;
    const leat_plan *const plan = loader->plan;
    uint64_t total = 0;
    task->batch = next->batch;
    task->row = next->row;
    task->place = leat_order_find(&plan->order, &next->order, (uint64_t)next->batch);
    task->bytes = 0;
    const uint64_t rest = task->place.rows - next->row;
    const uint64_t n_rows = leat_order_whole_rows(
        &plan->order, leat_order_position(&task->place, next->row), now->task_rows, LEAT_TASK_ROWS);
    task->n = 0;
    for (uint64_t i = 0; i < n_rows && i < rest; i++) {
        leat_row_read *const row = &task->rows[i];
        leat_extent at;
        *row = (leat_row_read){ .task = task };
        leat_order_row(&plan->order, &next->order, &task->place, next->row + i, &row->sample,
                       &row->epoch);
        if (!is_next_part(plan, task->rows, i) && locate(loader, row, &at)) {
            row->fd = at.fd;
            row->offset = at.offset;
            row->size = at.size;
            /* A cache's file is never registered: the ring of a killed process lives on for a
             * moment and would keep the file locked. */
            row->direct = !row->is_entry && leat_reader_is_direct(a->reader, at.fd);
            const uint64_t cost = cost_of(a, row);
            if (i && total + cost > a->bytes / 8)
                break;
            if (!cost)
                row->size = 0;
            total += cost;
            task->bytes += row->size;
        }
        task->n++;
    }
}

/* Gives the task its part of the read memory. Returns the number of its reads, or -1: no room. */
static int place(leat_readahead *a, leat_read_task *task, leat_read_task *before,
                 uint64_t used_from)
{
    const int n_reads = leat_coalesce_place(&a->coalesce, task->rows, task->n, used_from,
                                            before ? &before->end : NULL, &task->end);
    task->n_pending = 0;
    for (uint32_t i = 0; i < task->n && n_reads >= 0; i++)
        task->n_pending += task->rows[i].bytes != NULL;
    return n_reads;
}

static void queue(leat_readahead *a, leat_read_task *task)
{
    for (uint32_t i = 0; i < task->n; i++) {
        leat_row_read *const row = &task->rows[i];
        if (row->length)
            leat_reader_queue(a->reader, row);
    }
}

/* Tasks that are submitted together. */
typedef struct leat_group {
    uint64_t head; /* behind its last task */
    uint64_t tail; /* oldest task that was open when it was made */
    uint32_t n_reads, n_rows;
    bool blocked; /* the next task has no room */
} leat_group;

/* Prepares and places tasks from the head of the ring on. */
static leat_group make_group(leat_loader *loader, int64_t end, const leat_readahead_limits *now)
{
    leat_readahead *const a = &loader->readahead;
    leat_group g = { .head = a->head, .tail = now->tail };
    leat_read_task *before = NULL;
    uint64_t bytes = 0;
    while (g.head < now->tail + LEAT_TASKS && g.n_reads < GROUP_READS &&
           g.n_reads + LEAT_TASK_ROWS <= now->room && loader->cursor.batch < end &&
           bytes < LEAT_GROUP_BYTES) {
        leat_read_task *const task = &a->tasks[g.head % LEAT_TASKS];
        if (!a->stashed)
            prepare(loader, task, now);
        const uint64_t whole = 2 * (task->bytes + task->n * BLOCK_COST); /* one task always fits */
        a->coalesce.end = now->bytes_ahead > whole ? now->bytes_ahead
                          : whole < a->bytes       ? whole
                                                   : a->bytes;
        const int n_reads = place(a, task, before, now->used_from);
        a->stashed = g.blocked = n_reads < 0;
        if (g.blocked)
            break;
        leat_cursor_advance(&loader->cursor, &task->place, task->n);
        g.n_reads += (uint32_t)n_reads;
        g.n_rows += task->n_pending;
        bytes += task->bytes;
        before = task;
        g.head++;
    }
    leat_coalesce_close(&a->coalesce);
    return g;
}

/* Makes the tasks of a group visible to all threads. */
static void publish_locked(leat_loader *loader, const leat_group *g)
{
    leat_readahead *const a = &loader->readahead;
    const int64_t now = leat_clock_ns();
    for (uint64_t i = a->head; i < g->head; i++) {
        leat_read_task *const task = &a->tasks[i % LEAT_TASKS];
        task->started_ns = now;
        task->submitted_ns = 0;
        task->at_once = a->by_threads;
        a->open_bytes += task->bytes;
        task->state = task->n_pending ? LEAT_READ_TASK_READING : LEAT_READ_TASK_READY;
    }
    a->head = g->head;
    a->used_to = a->coalesce.to;
    a->in_flight += g->n_reads;
    if (g->n_reads >= GROUP_READS / 2)
        a->is_single = g->n_rows < 2 * g->n_reads;
    loader->n_reads += g->n_reads;
    loader->n_reads_rows += g->n_rows;
    a->blocked = g->blocked;
    a->blocked_at = g->tail;
}

/* The kernel takes no more reads: from now on workers read their rows, also those that were
 * queued. */
static void give_up_locked(leat_loader *loader, int error)
{
    leat_readahead *const a = &loader->readahead;
    snprintf(loader->reader_reason, sizeof loader->reader_reason,
             "io_uring_enter is refused since batch %lld: %s", (long long)loader->next_batch,
             strerror(error));
    a->refused = true;
    leat_readahead_drop_locked(loader);
}

void leat_readahead_group_locked(leat_loader *loader)
{
    leat_readahead *const a = &loader->readahead;
    const int64_t end = loader->plan->prefetch || loader->asked > loader->end_batch
                            ? loader->end_batch
                            : loader->asked;
    if (a->head == a->tail) /* nothing is open: begin at the start of the memory */
        a->used_from = a->used_to = a->coalesce.to =
            (a->used_to + a->bytes - 1) / a->bytes * a->bytes;
    const uint64_t first = a->head;
    const leat_readahead_limits now = {
        .tail = a->tail,
        .used_from = a->used_from,
        .bytes_ahead = a->bytes_ahead,
        .task_rows = loader->task_rows < LEAT_TASK_ROWS ? loader->task_rows : LEAT_TASK_ROWS,
        .room = (a->by_threads ? LEAT_READER_ROWS : LEAT_READER_DEPTH) - a->in_flight,
    };
    leat_check(!loader->cursor.token_taken);
    loader->cursor.token_taken = true;
    leat_wake_balance_locked(loader); /* this takes a while: others may compute */
    pthread_mutex_unlock(&loader->lock);
    const leat_group group = make_group(loader, end, &now);
    pthread_mutex_lock(&loader->lock);
    publish_locked(loader, &group);
    pthread_mutex_unlock(&loader->lock);
    for (uint64_t i = first; i < group.head; i++)
        queue(a, &a->tasks[i % LEAT_TASKS]);
    const int n_left = leat_reader_submit(a->reader);
    const int64_t submitted_ns = leat_clock_ns();
    pthread_mutex_lock(&loader->lock);
    leat_readahead_reap_locked(loader);           /* reads from the page cache are done already */
    for (uint64_t i = first; i < group.head; i++) /* nobody else adds tasks meanwhile */
        a->tasks[i % LEAT_TASKS].submitted_ns = submitted_ns;
    a->unsubmitted = n_left > 0;
    if (n_left < 0 && !a->refused)
        give_up_locked(loader, -n_left);
    loader->cursor.token_taken = false;
}
