/* SPDX-License-Identifier: MIT
 *
 * readahead.c: reads the bytes of rows before they are computed. sched.c calls it. Invariant: tasks get read memory in
 * the order of their rows. So rows inside the window always get memory before rows beyond it: no deadlock.
 *
 * DESIGN. The thread that holds the token takes the next rows in order, asks the source where
 * their bytes are, places them in the read memory, and submits the reads of a whole group in one
 * system call. The read memory is a ring that comes free task by task, so it does not fragment.
 *
 * A record larger than a quarter of the memory is not read ahead: the worker that runs the row
 * reads it into scratch. A row whose read failed or came back short is read again there with
 * pread, which reports the true error. If the kernel refuses reads while the loader runs, all
 * queued reads count as failed, and no more are made. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "announce.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "engine.h"

#define JOINED_MOST (256 << 10) /* bytes of one joined read */

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
        snprintf(loader->reader_reason, sizeof loader->reader_reason,
                 "io: direct needs reader: io_uring");
    const uint64_t kept = (uint64_t)loader->budget.kept_bytes;
    if (kept && plan->source->table->keep(plan->source, kept, err) < 0)
        snprintf(loader->reader_reason, sizeof loader->reader_reason,
                 "the files are not kept in memory: %.100s", err ? err->message : "no memory");
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
        snprintf(loader->reader_reason, sizeof loader->reader_reason, "%.150s",
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
        snprintf(loader->reader_reason, sizeof loader->reader_reason,
                 "io: direct needs two descriptors for each of %llu files (ulimit -n)",
                 (unsigned long long)plan->source->n_files);
    else
        snprintf(loader->reader_reason, sizeof loader->reader_reason, "%s",
                 leat_reader_note(a->reader));
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

/* All reads of a task are done: puts them into the trace. Tasks of one reap share one reading of
 * the clock. */
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
            leat_tune_read_locked(loader, row->task->submitted_ns && !row->task->at_once
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

void leat_readahead_drop_locked(leat_loader *loader)
{
    leat_reader_drop(loader->readahead.reader, finished, loader);
}

void leat_readahead_close(leat_loader *loader)
{
    leat_readahead *const a = &loader->readahead;
    if (a->reader) {
        pthread_mutex_lock(&loader->lock);
        leat_readahead_drop_locked(loader);
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
