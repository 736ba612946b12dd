/* SPDX-License-Identifier: MIT
 *
 * readahead.c: reads the bytes of rows before they are computed. sched.c calls it. Invariant: tasks get read memory in
 * the order of their rows. So rows inside the window always get memory before rows beyond it: no deadlock.
 *
 * DESIGN. The thread that holds the token takes the next rows in order, asks the source where their bytes are, places
 * them in the read memory, and submits the reads of a whole group in one system call. The read memory is a ring that
 * comes free task by task, so it does not fragment.
 *
 * A record larger than a quarter of the memory is not read ahead: the worker that runs the row reads it into scratch. A
 * row whose read failed or came back short is read again there with pread, which reports the true error. If the kernel
 * refuses reads while the loader runs, all queued reads count as failed, and no more are made. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/text.h"
#include "engine.h"

#define GROUP_READS 32                        /* reads per submission, about */
#define BLOCK_COST  (3 * LEAT_COALESCE_ALIGN) /* what a direct read may take beyond its rows */
#define JOINED_MOST (256 << 10)               /* bytes of one joined read */

/* Why the reader is not the one of the config. */
LEAT_PRINTF(2, 3)
static void say_why(leat_loader *loader, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    leat_text_v(loader->reader_reason, sizeof loader->reader_reason, format, args);
    va_end(args);
}

/* Learns from the first file at open, and not later, whether direct reads work. */
static void probe_first_file(const leat_loader *loader)
{
    const leat_source *const source = loader->plan->source;
    leat_extent at;
    if (source->table->locate && source->table->locate(source, 0, &at, NULL) >= 0 && at.fd >= 0)
        leat_reader_is_direct(loader->readahead.reader, at.fd);
}

/* Direct reads need a second descriptor of each file. */
static bool can_read_directly(const leat_loader *loader)
{
    const uint64_t n = loader->plan->source->n_files;
    return leat_descriptors_want(n, 0).room >= (int64_t)n;
}

/* Makes one read, in a thread of the reader (reader_threads.h): the first call asks the disk for what the page cache
 * lacks, the second waits for it. Changes nothing but the row, so it needs no lock. */
static int read_row(void *arg, leat_row_read *row)
{
    const leat_plan *const plan = ((const leat_loader *)arg)->plan;
    uint8_t *const to = leat_row_read_to(row);
    const bool again = row->waited;
    int rc = LEAT_OK;
    if (!row->is_entry) {
        rc = plan->source->table->read(plan->source, leat_order_record(&plan->order, row->sample),
                                       to, row->length, &row->fd);
        row->waited |= row->fd >= 0;
    } else if (again) {
        rc = leat_source_pread(row->fd, to, row->length, row->from, NULL, NULL);
    } else {
        row->waited = !leat_source_pread_begin(row->fd, to, row->length, row->from);
    }
    if (rc < 0)
        return rc == LEAT_E_AGAIN ? EMFILE : EIO;
    return row->waited && !again ? EINPROGRESS : 0;
}

int leat_readahead_open(leat_loader *loader, leat_error *err)
{
    leat_readahead *const a = &loader->readahead;
    const leat_plan *const plan = loader->plan;
    loader->cursor.batch = loader->first_batch;
    a->by_threads = leat_budget_reads_in_threads(plan);
    if (plan->engine.io == LEAT_IO_DIRECT && plan->source->table->locate &&
        !plan->source->table->read)
        say_why(loader, "io: direct needs reader: io_uring");
    const uint64_t kept = (uint64_t)loader->budget.kept_bytes;
    if (kept && plan->source->table->keep(plan->source, kept, err) < 0)
        say_why(loader, "the files are not kept in memory: %.100s",
                err ? err->message : "no memory");
    else
        loader->announce = leat_announce_distance(loader);
    if (!loader->budget.read_bytes)
        return LEAT_OK;
    a->n_settle = LEAT_SETTLE;
    a->bytes = a->bytes_ahead = (uint64_t)loader->budget.read_bytes;
    a->is_single = a->by_threads;
    const bool direct = plan->engine.io == LEAT_IO_DIRECT && can_read_directly(loader);
    const int rc = a->by_threads
                       ? leat_reader_open_threads(&a->reader, a->bytes, read_row, loader, err)
                       : leat_reader_open(&a->reader, a->bytes, direct, err);
    if (rc == LEAT_E_UNSUPPORTED && plan->engine.reader == LEAT_READER_AUTO) {
        say_why(loader, "%.150s",
                err             ? err->message
                : a->by_threads ? "no threads"
                                : "io_uring is refused");
        return LEAT_OK;
    }
    if (rc == LEAT_E_NOMEM)
        return leat_fail_in(err, rc, "engine.read_bytes does not fit in memory: ");
    if (rc < 0)
        return leat_fail_in(err, rc, "engine.reader: io_uring: ");
    probe_first_file(loader);
    if (plan->engine.io == LEAT_IO_DIRECT && !direct && !a->by_threads)
        say_why(loader, "io: direct needs two descriptors for each of %llu files (ulimit -n)",
                (unsigned long long)plan->source->n_files);
    else
        say_why(loader, "%s", leat_reader_note(a->reader));
    a->coalesce = (leat_coalesce){ .memory = leat_reader_memory(a->reader),
                                   .bytes = a->bytes,
                                   .most = leat_reader_fault.separate   ? 0
                                           : a->bytes / 4 < JOINED_MOST ? a->bytes / 4
                                                                        : JOINED_MOST };
    a->tasks = calloc(LEAT_TASKS, sizeof *a->tasks);
    return a->tasks ? LEAT_OK
                    : leat_fail(err, LEAT_E_NOMEM, "reading: %d tasks, %zu bytes each", LEAT_TASKS,
                                sizeof *a->tasks);
}

/* All reads of a task are done: puts them into the trace. Tasks of one reap share one reading of the clock. */
static void note_read_locked(leat_loader *loader, const leat_read_task *task)
{
    leat_readahead *const a = &loader->readahead;
    if (!a->reaped_ns)
        a->reaped_ns = leat_clock_ns();
    const leat_trace_span span = { .start_ns = task->started_ns,
                                   .end_ns = a->reaped_ns,
                                   .batch = task->batch,
                                   .record = leat_order_record(&loader->plan->order,
                                                               task->rows[0].sample),
                                   .bytes = task->bytes,
                                   .row = (uint32_t)task->row,
                                   .n = task->n,
                                   .kind = LEAT_TRACE_READ };
    leat_trace_put(&loader->read_spans, &span);
}

/* A read is done: each of its rows has its bytes, or is marked to be read again by its worker. */
static void finished(void *arg, leat_row_read *first, int result)
{
    leat_loader *const loader = arg;
    leat_readahead *const a = &loader->readahead;
    leat_check(a->in_flight > 0);
    a->in_flight--;
    for (leat_row_read *row = first, *next; row; row = next) {
        next = row->next;
        row->task->at_once &= !first->waited;
        row->failed = result < 0 || (uint64_t)result < row->offset - first->from + row->size;
        if (row->failed)
            loader->n_reads_again++;
        else
            loader->n_bytes_read += row->size;
        leat_check(row->task->state == LEAT_READ_TASK_READING && row->task->n_pending > 0);
        if (--row->task->n_pending == 0) {
            row->task->state = LEAT_READ_TASK_READY;
            note_read_locked(loader, row->task);
            leat_adapt_read_locked(loader, row->task->submitted_ns && !row->task->at_once
                                               ? a->reaped_ns - row->task->submitted_ns
                                               : 0);
        }
    }
}

void leat_readahead_reap_locked(leat_loader *loader)
{
    loader->readahead.reaped_ns = 0;
    if (loader->readahead.in_flight)
        leat_reader_reap(loader->readahead.reader, finished, loader);
}

/* Ends all reads that the kernel has not taken, as failed. */
static void drop_locked(leat_loader *loader)
{
    leat_reader_drop(loader->readahead.reader, finished, loader);
}

void leat_readahead_close(leat_loader *loader)
{
    leat_readahead *const a = &loader->readahead;
    if (a->reader) {
        pthread_mutex_lock(&loader->lock);
        drop_locked(loader);
        for (leat_readahead_reap_locked(loader); a->in_flight; leat_readahead_reap_locked(loader)) {
            pthread_mutex_unlock(&loader->lock);
            leat_reader_wait(a->reader);
            pthread_mutex_lock(&loader->lock);
        }
        pthread_mutex_unlock(&loader->lock);
    }
    leat_reader_close(&a->reader);
    free(a->tasks);
    a->tasks = NULL;
}

bool leat_readahead_can_locked(const leat_loader *loader)
{
    const leat_readahead *const a = &loader->readahead;
    if (!a->reader || loader->cursor.token_taken || loader->stop)
        return false;
    if (a->unsubmitted)
        return true;
    if (leat_readahead_is_off(a))
        return false;
    const int64_t next = loader->cursor.batch;
    if (next >= loader->end_batch || (loader->plan->prefetch == 0 && next >= loader->asked))
        return false;
    const uint64_t open = a->head - a->tail;
    if (open == LEAT_TASKS ||
        a->in_flight + LEAT_TASK_ROWS > (a->by_threads ? LEAT_READER_ROWS : LEAT_READER_DEPTH))
        return false;
    /* Refill in groups: when half is free, or nothing is left to wait for. A task takes at most
     * a quarter of the memory, and up to another quarter is lost at the end of the ring. */
    if (a->blocked && (a->open_bytes > a->bytes_ahead / 2 || a->tail == a->blocked_at))
        return open == 0;
    return open + (LEAT_TASKS - a->n_done) / 4 <= LEAT_TASKS;
}

/* --- a group of tasks: only the holder of the token is here. It takes the lock to publish tasks and to book reads --- */

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

/* The kernel takes no more reads: from now on workers read their rows, also those that were queued. */
static void give_up_locked(leat_loader *loader, int error)
{
    leat_readahead *const a = &loader->readahead;
    say_why(loader, "io_uring_enter is refused since batch %lld: %s", (long long)loader->next_batch,
            strerror(error));
    a->refused = true;
    drop_locked(loader);
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

/* --- tasks that are ready --------------------------------------------------------------------- */

leat_read_task *leat_readahead_find_locked(const leat_loader *loader, int64_t last_batch)
{
    const leat_readahead *const a = &loader->readahead;
    for (uint64_t i = a->tail; i < a->head; i++) {
        leat_read_task *const task = &a->tasks[i % LEAT_TASKS];
        if (task->state != LEAT_READ_TASK_READY || task->batch > last_batch)
            continue;
        return leat_slot_can_claim_locked(loader, task->batch) ? task : NULL;
    }
    return NULL;
}

void leat_readahead_done_locked(leat_loader *loader, leat_read_task *task)
{
    leat_readahead *const a = &loader->readahead;
    leat_check(task->state == LEAT_READ_TASK_RUNNING);
    task->state = LEAT_READ_TASK_DONE;
    a->n_done++;
    while (a->tail < a->head && a->tasks[a->tail % LEAT_TASKS].state == LEAT_READ_TASK_DONE) {
        leat_read_task *const oldest = &a->tasks[a->tail % LEAT_TASKS];
        oldest->state = LEAT_READ_TASK_FREE;
        a->open_bytes -= oldest->bytes;
        a->used_from = oldest->end;
        a->tail++;
        a->n_done--;
    }
}
