/* SPDX-License-Identifier: MIT
 *
 * readahead.c: reading ahead.
 *
 * DESIGN. Whoever holds the start token takes the next rows in order, asks the source where their
 * bytes are, gives them a place in the read memory and submits the reads of a whole group in one
 * system call. The read memory is a ring: places are given in the order of the rows and come free
 * when the oldest run is done, so there is no fragmentation, and since rows are claimed in order,
 * memory can never be held only by rows beyond the window: no deadlock. A record above a quarter of
 * the memory is not read ahead; the worker that runs it reads it into its scratch. A read that comes
 * back short or failed is simply read again there with pread, which knows the true error. If the kernel
 * refuses to take reads while the loader runs, all that are queued count as failed, and no more are made. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine.h"

#define GROUP       32                      /* reads per submission, about */
#define JOINED_MOST (256 << 10)             /* bytes of one joined read */
#define BLOCK_COST  (3 * LEAT_LAYOUT_ALIGN) /* what a direct read may take beyond its rows */

/* What cannot be done with the files of this set is known, and said, from the start. */
static void look_at_first_file(const leat_loader *loader)
{
    const leat_source *const source = loader->plan->source;
    leat_extent at;
    if (source->table->locate && source->table->locate(source, 0, &at, NULL) >= 0 && at.fd >= 0)
        leat_reader_is_direct(loader->ahead.reader, at.fd);
}

int leat_readahead_open(leat_loader *loader, leat_error *err)
{
    leat_readahead *const a = &loader->ahead;
    const leat_plan *const plan = loader->plan;
    const bool fetches = plan->source->table->locate != NULL;
    a->batch = loader->first;
    if (plan->engine.io == LEAT_IO_DIRECT && fetches)
        snprintf(loader->reader_reason, sizeof loader->reader_reason,
                 "io: direct needs reader: io_uring");
    if (!fetches || plan->engine.reader == LEAT_READER_PREAD)
        return LEAT_OK;
    a->n_settle = LEAT_SETTLE;
    a->bytes = a->window = (uint64_t)loader->budget.read_bytes;
    const int rc = leat_reader_open(&a->reader, a->bytes, plan->engine.io == LEAT_IO_DIRECT, err);
    if (rc == LEAT_E_UNSUPPORTED && plan->engine.reader == LEAT_READER_AUTO) {
        snprintf(loader->reader_reason, sizeof loader->reader_reason, "%.150s",
                 err ? err->message : "io_uring is refused");
        return LEAT_OK;
    }
    if (rc == LEAT_E_NOMEM)
        return leat_fail_in(err, rc, "engine.read_bytes is more than there is: ");
    if (rc < 0)
        return leat_fail_in(err, rc, "engine.reader: io_uring: ");
    look_at_first_file(loader);
    snprintf(loader->reader_reason, sizeof loader->reader_reason, "%s",
             leat_reader_note(a->reader));
    a->layout = (leat_coalesce){ .memory = leat_reader_memory(a->reader),
                                 .bytes = a->bytes,
                                 .most = leat_reader_fault.separate   ? 0
                                         : a->bytes / 4 < JOINED_MOST ? a->bytes / 4
                                                                      : JOINED_MOST };
    a->runs = calloc(LEAT_RUNS, sizeof *a->runs);
    return a->runs ? LEAT_OK
                   : leat_fail(err, LEAT_E_NOMEM, "reading: %d runs, %zu bytes each", LEAT_RUNS,
                               sizeof *a->runs);
}

/* All reads of a run are done: a span. One look at the clock serves all that end together. */
static void note_read_locked(leat_loader *loader, const leat_task *run)
{
    leat_readahead *const a = &loader->ahead;
    if (!a->reaped_ns)
        a->reaped_ns = leat_clock_ns();
    const leat_trace_span span = { .start_ns = run->started_ns,
                                   .end_ns = a->reaped_ns,
                                   .batch = run->batch,
                                   .record = run->rows[0].record,
                                   .bytes = run->bytes,
                                   .row = (uint32_t)run->row,
                                   .n = run->n,
                                   .kind = LEAT_TRACE_READ };
    leat_trace_put(&loader->read_spans, &span);
}

/* A read is done: each of its rows has its bytes, or will be read again by who runs it. */
static void finished(void *arg, void *tag, int result)
{
    leat_loader *const loader = arg;
    leat_readahead *const a = &loader->ahead;
    const leat_row_read *const first = tag;
    a->in_flight--;
    for (leat_row_read *row = tag, *next; row; row = next) {
        next = row->next;
        row->failed = result < 0 || (uint64_t)result < row->offset - first->from + row->size;
        if (row->failed)
            loader->n_reads_again++;
        else
            loader->n_bytes_read += row->size;
        if (--row->run->n_pending == 0) {
            row->run->state = LEAT_RUN_READY;
            note_read_locked(loader, row->run);
            leat_tune_read_locked(
                loader, row->run->submitted_ns ? a->reaped_ns - row->run->submitted_ns : 0);
        }
    }
}

void leat_readahead_reap_locked(leat_loader *loader)
{
    loader->ahead.reaped_ns = 0;
    if (loader->ahead.in_flight)
        leat_reader_reap(loader->ahead.reader, finished, loader);
}

/* The kernel takes no more reads: from now on who runs a row reads it, those that were queued too. */
static void give_up_locked(leat_loader *loader, int error)
{
    leat_readahead *const a = &loader->ahead;
    snprintf(loader->reader_reason, sizeof loader->reader_reason,
             "io_uring_enter is refused since batch %lld: %s", (long long)loader->next,
             strerror(error));
    a->refused = a->in_worker = true;
    a->blocked = a->stashed = false; /* what had no room needs none */
    leat_reader_drop(a->reader, finished, loader);
}

void leat_readahead_close(leat_loader *loader)
{
    leat_readahead *const a = &loader->ahead;
    if (a->reader) {
        pthread_mutex_lock(&loader->lock);
        leat_reader_drop(a->reader, finished, loader);
        for (leat_readahead_reap_locked(loader); a->in_flight; leat_readahead_reap_locked(loader)) {
            pthread_mutex_unlock(&loader->lock);
            leat_reader_wait(a->reader);
            pthread_mutex_lock(&loader->lock);
        }
        pthread_mutex_unlock(&loader->lock);
    }
    leat_reader_close(&a->reader);
    free(a->runs);
    a->runs = NULL;
}

/* Where the head may go to. Where nothing is read ahead, not far: should the page cache lose the files,
 * the next runs are. But one slow run at the tail must not keep the other threads from theirs. */
static uint64_t stop_locked(const leat_loader *loader)
{
    const leat_readahead *const a = &loader->ahead;
    const uint64_t most = a->tail + LEAT_RUNS;
    const uint64_t near = a->tail + a->n_done + 4 * (uint64_t)loader->n_threads + 4;
    return a->in_worker && near < most ? near : most;
}

bool leat_readahead_can_locked(const leat_loader *loader)
{
    const leat_readahead *const a = &loader->ahead;
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
    if (a->blocked && (a->open_bytes > a->window / 2 || a->tail == a->blocked_at))
        return open == 0;
    const uint64_t stop = stop_locked(loader);
    return a->head + (stop - a->tail - a->n_done) / 4 <= stop;
}

/* Where a row's bytes are read from; false: from nowhere, or by whoever runs it. */
static bool locate(const leat_loader *loader, leat_row_read *row, leat_extent *at)
{
    const leat_plan *const plan = loader->plan;
    const leat_source *const source = plan->source;
    const uint64_t record = leat_order_record(&plan->order, row->record);
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
    return at->fd >= 0;
}

/* Row i is a part of the record that the row before it is a part of: who runs them has it by then. */
static bool is_next_part(const leat_plan *plan, const leat_row_read *rows, uint64_t i)
{
    const uint64_t m = plan->order.parts;
    return plan->unbatches && i && rows[i].epoch == rows[i - 1].epoch &&
           rows[i].record / m == rows[i - 1].record / m;
}

/* Bytes of read memory that a row may take; 0: it is not read ahead. */
static uint64_t cost_of(const leat_readahead *a, const leat_row_read *row)
{
    const uint64_t cost = row->size + (row->direct ? BLOCK_COST : 0);
    return cost <= a->bytes / 4 ? cost : 0;
}

/* What others change while a group is made. */
typedef struct leat_start {
    uint64_t tail, stop, used_from, window, run_rows;
    uint32_t room; /* for reads */
    bool in_worker, refused;
} leat_start;

/* Whoever runs the row reads it. */
static bool reads_itself(const leat_start *now, const leat_row_read *row)
{
    return now->refused || (now->in_worker && !row->is_entry);
}

/* Fills in the next rows of the run at the head of the ring: where their bytes are. Its rows take at
 * most an eighth of the memory unless it is a single one; twice that with what lies between them. */
static void prepare(leat_loader *loader, leat_task *run, const leat_start *now)
{
    leat_readahead *const a = &loader->ahead;
    const leat_plan *const plan = loader->plan;
    uint64_t total = 0;
    run->batch = a->batch;
    run->row = a->row;
    run->place = leat_order_find(&plan->order, &a->order, (uint64_t)a->batch);
    run->bytes = 0;
    const uint64_t rest = run->place.rows - a->row;
    const uint64_t n_rows =
        leat_order_whole_rows(&plan->order, leat_order_position(&plan->order, &run->place, a->row),
                              now->run_rows, LEAT_RUN_MAX);
    run->n = 0;
    for (uint64_t i = 0; i < n_rows && i < rest; i++) {
        leat_row_read *const row = &run->rows[i];
        leat_extent at;
        *row = (leat_row_read){ .run = run };
        leat_order_row(&plan->order, &a->order, &run->place, a->row + i, &row->record, &row->epoch);
        if (!is_next_part(plan, run->rows, i) && locate(loader, row, &at)) {
            row->fd = at.fd;
            row->offset = at.offset;
            row->size = at.size;
            /* A cache's file stays unknown to the ring: a ring of a killed process lives on for a
             * moment, and would keep the file locked. */
            row->direct = !row->is_entry && leat_reader_is_direct(a->reader, at.fd);
            const uint64_t cost = reads_itself(now, row) ? 0 : cost_of(a, row);
            if (i && total + cost > a->bytes / 8)
                break;
            if (!cost)
                row->size = 0;
            total += cost;
            run->bytes += row->size;
        }
        run->n++;
    }
}

/* Gives the run its part of the read memory; its reads, or -1: no room. */
static int place(leat_readahead *a, leat_task *run, leat_task *before, uint64_t used_from)
{
    const int n_reads = leat_coalesce_place(&a->layout, run->rows, run->n, used_from,
                                            before ? &before->end : NULL, &run->end);
    run->n_pending = 0;
    for (uint32_t i = 0; i < run->n && n_reads >= 0; i++)
        run->n_pending += run->rows[i].bytes != NULL;
    return n_reads;
}

static void queue(leat_readahead *a, leat_task *run)
{
    for (uint32_t i = 0; i < run->n; i++) {
        leat_row_read *const row = &run->rows[i];
        if (row->length)
            leat_reader_queue(a->reader, row->fd, row->from, row->bytes - (row->offset - row->from),
                              row->length, row);
    }
}

/* Moves the cursor behind a run. */
static void advance(leat_readahead *a, const leat_task *run)
{
    a->row += run->n;
    if (a->row == run->place.rows) {
        a->row = 0;
        a->batch++;
    }
}

/* Runs that are submitted together. */
typedef struct leat_group {
    uint64_t head; /* behind the last */
    uint64_t tail; /* oldest run that was open when it was made */
    uint32_t n_reads, n_rows;
    bool blocked; /* the next run has no room */
} leat_group;

/* Prepares and places runs from the head of the ring on. */
static leat_group make_group(leat_loader *loader, int64_t end, const leat_start *now)
{
    leat_readahead *const a = &loader->ahead;
    leat_group g = { .head = a->head, .tail = now->tail };
    leat_task *before = NULL;
    uint64_t bytes = 0;
    while (g.head < now->stop && g.n_reads < GROUP && g.n_reads + LEAT_RUN_MAX <= now->room &&
           a->batch < end && bytes < LEAT_GROUP_BYTES) {
        leat_task *const run = &a->runs[g.head % LEAT_RUNS];
        if (!a->stashed)
            prepare(loader, run, now);
        const uint64_t whole = 2 * (run->bytes + run->n * BLOCK_COST); /* a run always fits */
        a->layout.end = now->window > whole ? now->window : whole < a->bytes ? whole : a->bytes;
        const int n_reads = place(a, run, before, now->used_from);
        a->stashed = g.blocked = n_reads < 0;
        if (g.blocked)
            break;
        advance(a, run);
        g.n_reads += (uint32_t)n_reads;
        g.n_rows += run->n_pending;
        bytes += run->bytes;
        before = run;
        g.head++;
    }
    leat_coalesce_close(&a->layout);
    return g;
}

/* Makes the runs of a group known to all. */
static void publish_locked(leat_loader *loader, const leat_group *g)
{
    leat_readahead *const a = &loader->ahead;
    const int64_t now = leat_clock_ns();
    for (uint64_t i = a->head; i < g->head; i++) {
        leat_task *const run = &a->runs[i % LEAT_RUNS];
        run->started_ns = now;
        run->submitted_ns = 0;
        a->open_bytes += run->bytes;
        run->state = run->n_pending ? LEAT_RUN_READING : LEAT_RUN_READY;
    }
    a->head = g->head;
    a->used_to = a->layout.to;
    a->in_flight += g->n_reads;
    loader->n_reads += g->n_reads;
    loader->n_reads_rows += g->n_rows;
    a->blocked = g->blocked;
    a->blocked_at = g->tail;
}

void leat_readahead_group_locked(leat_loader *loader)
{
    leat_readahead *const a = &loader->ahead;
    const int64_t end =
        loader->plan->prefetch || loader->asked > loader->end ? loader->end : loader->asked;
    if (a->head == a->tail) /* nothing is open: from the start again */
        a->used_from = a->used_to = a->layout.to =
            (a->used_to + a->bytes - 1) / a->bytes * a->bytes;
    const uint64_t first = a->head;
    const leat_start now = {
        .tail = a->tail,
        .stop = stop_locked(loader),
        .used_from = a->used_from,
        .window = a->window,
        .run_rows = loader->run_rows < LEAT_RUN_MAX ? loader->run_rows : LEAT_RUN_MAX,
        .room = LEAT_READER_DEPTH - a->in_flight,
        .in_worker = a->in_worker,
        .refused = a->refused,
    };
    a->starting = true;
    leat_wake_balance_locked(loader); /* this takes a while: rows may be for others */
    pthread_mutex_unlock(&loader->lock);
    const leat_group group = make_group(loader, end, &now);
    pthread_mutex_lock(&loader->lock);
    publish_locked(loader, &group);
    pthread_mutex_unlock(&loader->lock);
    for (uint64_t i = first; i < group.head; i++)
        queue(a, &a->runs[i % LEAT_RUNS]);
    const int n_left = leat_reader_submit(a->reader);
    const int64_t submitted_ns = leat_clock_ns();
    pthread_mutex_lock(&loader->lock);
    leat_readahead_reap_locked(loader);           /* what the page cache had is there already */
    for (uint64_t i = first; i < group.head; i++) /* nobody else fills the ring meanwhile */
        a->runs[i % LEAT_RUNS].submitted_ns = submitted_ns;
    a->unsubmitted = n_left > 0;
    if (n_left < 0 && !a->refused)
        give_up_locked(loader, -n_left);
    a->starting = false;
}

leat_task *leat_readahead_find_locked(const leat_loader *loader, int64_t only)
{
    const leat_readahead *const a = &loader->ahead;
    for (uint64_t i = a->tail; i < a->head; i++) {
        leat_task *const run = &a->runs[i % LEAT_RUNS];
        if (run->state != LEAT_RUN_READY || (only >= 0 && run->batch != only))
            continue;
        return leat_slot_can_claim_locked(loader, run->batch) ? run : NULL;
    }
    return NULL;
}

void leat_readahead_done_locked(leat_loader *loader, leat_task *run)
{
    leat_readahead *const a = &loader->ahead;
    run->state = LEAT_RUN_DONE;
    a->n_done++;
    while (a->tail < a->head && a->runs[a->tail % LEAT_RUNS].state == LEAT_RUN_DONE) {
        leat_task *const oldest = &a->runs[a->tail % LEAT_RUNS];
        oldest->state = LEAT_RUN_FREE;
        a->open_bytes -= oldest->bytes;
        a->used_from = oldest->end;
        a->tail++;
        a->n_done--;
    }
}
