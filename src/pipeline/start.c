/* SPDX-License-Identifier: MIT
 *
 * start.c: reading ahead.
 *
 * DESIGN. Whoever holds the start token takes the next rows in order, asks the source where their
 * bytes are, gives them a place in the read memory and submits the reads of a whole group in one
 * system call. The read memory is a ring: places are given in the order of the rows and come free
 * when the oldest run is done, so there is no fragmentation, and since rows are claimed in order,
 * memory can never be held only by rows beyond the window: no deadlock. A record above a quarter of
 * the memory is not read ahead; the worker that runs it reads it into its scratch. A read that comes
 * back short or failed is simply read again there with pread, which knows the true error. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine.h"

#define GROUP 32 /* reads per submission, about */

int leat_start_open(leat_loader *loader, leat_error *err)
{
    leat_ahead *const a = &loader->ahead;
    const leat_plan *const plan = loader->plan;
    const bool fetches = plan->source->table->locate != NULL;
    a->batch = loader->first;
    if (!fetches)
        return LEAT_OK;
    if (plan->engine.reader == LEAT_READER_PREAD)
        return LEAT_OK;
    uint64_t bytes = (uint64_t)plan->engine.read_bytes;
    if (!bytes) { /* two windows of mean records, within bounds */
        const uint64_t mean = plan->source->n_bytes / plan->source->n_records + 1;
        bytes = 2 * (uint64_t)(loader->prefetch + 1) * plan->order.batch_size * mean;
        bytes = bytes < 4 << 20 ? 4 << 20 : bytes > 64 << 20 ? 64 << 20 : bytes;
    }
    a->bytes = (bytes + 4095) / 4096 * 4096;
    const int rc = leat_reader_open(&a->reader, a->bytes, err);
    if (rc == LEAT_E_UNSUPPORTED && plan->engine.reader == LEAT_READER_AUTO) {
        snprintf(loader->reader_reason, sizeof loader->reader_reason, "%.150s",
                 err ? err->message : "io_uring is refused");
        return LEAT_OK;
    }
    if (rc == LEAT_E_NOMEM)
        return leat_fail_in(err, rc, "engine.read_bytes is more than there is: ");
    if (rc < 0)
        return leat_fail_in(err, rc, "engine.reader: io_uring: ");
    snprintf(loader->reader_reason, sizeof loader->reader_reason, "%s",
             leat_reader_note(a->reader));
    a->runs = calloc(LEAT_RUNS, sizeof *a->runs);
    if (!a->runs)
        return leat_fail(err, LEAT_E_NOMEM, "%d runs", LEAT_RUNS);
    loader->memory_bytes += (int64_t)(a->bytes + LEAT_RUNS * sizeof *a->runs);
    return LEAT_OK;
}

static void finished(void *arg, void *tag, int result)
{
    leat_loader *const loader = arg;
    leat_row_read *const row = tag;
    loader->ahead.in_flight--;
    if (result < 0 || (size_t)result != row->size)
        row->failed = true;
    else
        loader->n_bytes_read += row->size;
    if (--row->run->n_pending == 0)
        row->run->state = LEAT_RUN_READY;
}

void leat_start_reap_locked(leat_loader *loader)
{
    if (loader->ahead.in_flight)
        leat_reader_reap(loader->ahead.reader, finished, loader);
}

void leat_start_close(leat_loader *loader)
{
    leat_ahead *const a = &loader->ahead;
    if (a->reader) {
        leat_reader_submit(a->reader);
        pthread_mutex_lock(&loader->lock);
        for (leat_start_reap_locked(loader); a->in_flight; leat_start_reap_locked(loader)) {
            pthread_mutex_unlock(&loader->lock);
            leat_reader_submit(a->reader);
            leat_reader_wait(a->reader);
            pthread_mutex_lock(&loader->lock);
        }
        pthread_mutex_unlock(&loader->lock);
    }
    leat_reader_close(&a->reader);
    free(a->runs);
    a->runs = NULL;
}

bool leat_start_can_locked(const leat_loader *loader)
{
    const leat_ahead *const a = &loader->ahead;
    if (!a->reader || a->starting || loader->stop)
        return false;
    if (a->unsubmitted)
        return true;
    if (a->batch >= loader->end || (loader->plan->prefetch == 0 && a->batch >= loader->asked))
        return false;
    const uint64_t open = a->head - a->tail;
    if (open == LEAT_RUNS || a->in_flight + LEAT_RUN_MAX > LEAT_READER_DEPTH)
        return false;
    /* Refill in groups: when a quarter is free, or nothing is left to wait for. A run takes at most a
     * quarter of the memory, and up to another quarter is lost at the end of the ring. */
    if (a->blocked && a->used_to - a->used_from > a->bytes / 2)
        return open == 0;
    return open <= LEAT_RUNS / 4 * 3;
}

/* Fills in the next rows of the run at the head of the ring: where their bytes are. */
static void prepare(leat_loader *loader, leat_run *run, uint64_t n_rows)
{
    leat_ahead *const a = &loader->ahead;
    const leat_plan *const plan = loader->plan;
    const leat_source *const source = plan->source;
    uint64_t total = 0;
    run->batch = a->batch;
    run->row = a->row;
    run->place = leat_order_find(&plan->order, &a->order, (uint64_t)a->batch);
    const uint64_t rest = run->place.rows - a->row;
    run->n = 0;
    for (uint64_t i = 0; i < n_rows && i < rest; i++) {
        leat_row_read *const row = &run->rows[i];
        leat_extent at;
        *row = (leat_row_read){ .run = run };
        leat_order_row(&plan->order, &a->order, &run->place, a->row + i, &row->record, &row->epoch);
        if (source->table->locate(source, row->record, &at, NULL) >= 0 && at.size <= a->bytes / 4) {
            if (i && total + at.size > a->bytes / 4)
                break;
            row->fd = at.fd;
            row->offset = at.offset;
            row->size = at.size;
            total += at.size;
        }
        run->n++;
    }
    run->end = total; /* until it is placed */
}

/* Gives the run its part of the read memory. */
static bool place(leat_ahead *a, leat_run *run, uint64_t used_from, uint64_t *used_to)
{
    const uint64_t total = run->end;
    uint64_t from = *used_to;
    if (from % a->bytes + total > a->bytes) /* does not fit before the end: begin anew */
        from += a->bytes - from % a->bytes;
    if (from + total - used_from > a->bytes)
        return false;
    uint8_t *to = leat_reader_memory(a->reader) + from % a->bytes;
    run->end = from + total;
    run->n_pending = 0;
    for (uint32_t i = 0; i < run->n; i++) {
        leat_row_read *const row = &run->rows[i];
        if (row->size) {
            row->bytes = to;
            to += row->size;
            run->n_pending++;
        }
    }
    *used_to = run->end;
    return true;
}

static void queue(leat_ahead *a, leat_run *run)
{
    for (uint32_t i = 0; i < run->n; i++) {
        leat_row_read *const row = &run->rows[i];
        if (row->bytes)
            leat_reader_queue(a->reader, row->fd, row->offset, row->bytes, row->size, row);
    }
}

/* Moves the cursor behind a run. */
static void advance(leat_ahead *a, const leat_run *run)
{
    a->row += run->n;
    if (a->row == run->place.rows) {
        a->row = 0;
        a->batch++;
    }
}

void leat_start_group_locked(leat_loader *loader)
{
    leat_ahead *const a = &loader->ahead;
    const int64_t end =
        loader->plan->prefetch || loader->asked > loader->end ? loader->end : loader->asked;
    const uint64_t run_rows = loader->run_rows < LEAT_RUN_MAX ? loader->run_rows : LEAT_RUN_MAX;
    const uint64_t tail = a->tail, used_from = a->used_from;
    const uint32_t room = LEAT_READER_DEPTH - a->in_flight;
    uint64_t head = a->head, used_to = a->used_to;
    uint32_t n_reads = 0;
    bool blocked = false;
    a->starting = true;
    pthread_mutex_unlock(&loader->lock);
    while (head - tail < LEAT_RUNS && n_reads < GROUP && n_reads + LEAT_RUN_MAX <= room &&
           a->batch < end) {
        leat_run *const run = &a->runs[head % LEAT_RUNS];
        if (!a->stashed)
            prepare(loader, run, run_rows);
        a->stashed = blocked = !place(a, run, used_from, &used_to);
        if (blocked)
            break;
        advance(a, run);
        n_reads += run->n_pending;
        head++;
    }
    pthread_mutex_lock(&loader->lock);
    for (uint64_t i = a->head; i < head; i++) {
        leat_run *const run = &a->runs[i % LEAT_RUNS];
        run->state = run->n_pending ? LEAT_RUN_READING : LEAT_RUN_READY;
    }
    const uint64_t first = a->head;
    a->head = head;
    a->used_to = used_to;
    a->in_flight += n_reads;
    a->blocked = blocked;
    pthread_mutex_unlock(&loader->lock);
    for (uint64_t i = first; i < head; i++)
        queue(a, &a->runs[i % LEAT_RUNS]);
    const int n_left = leat_reader_submit(a->reader);
    if (n_left) /* the kernel lacks something: do not ask again at once */
        nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
    pthread_mutex_lock(&loader->lock);
    a->unsubmitted = n_left > 0;
    a->starting = false;
}

leat_run *leat_start_find_locked(const leat_loader *loader, int64_t only)
{
    const leat_ahead *const a = &loader->ahead;
    for (uint64_t i = a->tail; i < a->head; i++) {
        leat_run *const run = &a->runs[i % LEAT_RUNS];
        if (run->state != LEAT_RUN_READY || (only >= 0 && run->batch != only))
            continue;
        return leat_slot_can_claim_locked(loader, run->batch) ? run : NULL;
    }
    return NULL;
}

void leat_start_done_locked(leat_loader *loader, leat_run *run)
{
    leat_ahead *const a = &loader->ahead;
    run->state = LEAT_RUN_DONE;
    while (a->tail < a->head && a->runs[a->tail % LEAT_RUNS].state == LEAT_RUN_DONE) {
        leat_run *const oldest = &a->runs[a->tail % LEAT_RUNS];
        oldest->state = LEAT_RUN_FREE;
        a->used_from = oldest->end;
        a->tail++;
    }
}
