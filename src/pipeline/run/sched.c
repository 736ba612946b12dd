/* SPDX-License-Identifier: MIT
 *
 * sched.c: what a thread does next. Workers loop in leat_sched_work(); loader.c calls leat_sched_help_locked() for the
 * consumer. Invariant: a decision here changes when a batch is made, never what is in it.
 *
 * DESIGN. Short steps that keep hardware busy come first: the copy of a full batch, then reads. Computing comes last:
 * batch ops, then tasks, oldest batch first. */
#include "base/clock.h"
#include "engine.h"

/* --- which rows ------------------------------------------------------------------------------- */

/* A worker may always compute. The consumer computes only while a worker sleeps, so that no more threads compute than
 * engine.threads says, and only if its deadline leaves time for it. */
static bool may_compute_locked(const leat_loader *loader, leat_turn turn)
{
    return !turn.is_consumer || !loader->n_threads ||
           (loader->n_asleep > 0 && !loader->deadline_near);
}

/* The next rows have no task, and can be computed. */
static bool can_claim_locked(const leat_loader *loader, int64_t last_batch)
{
    const leat_cursor *const next = &loader->cursor;
    return leat_readahead_is_off(&loader->readahead) && !next->token_taken &&
           next->batch <= last_batch && leat_slot_can_claim_locked(loader, next->batch);
}

bool leat_sched_can_compute_locked(const leat_loader *loader, leat_turn turn)
{
    return may_compute_locked(loader, turn) &&
           (leat_readahead_find_locked(loader, turn.last_batch) ||
            can_claim_locked(loader, turn.last_batch));
}

bool leat_sched_can_batch_ops_locked(const leat_loader *loader, leat_turn turn)
{
    return may_compute_locked(loader, turn) && leat_batch_ops_can_locked(loader, turn.last_batch);
}

/* Without read-ahead: claims the next rows in order. */
static void claim_next_locked(leat_loader *loader, leat_task *out)
{
    leat_cursor *const next = &loader->cursor;
    const leat_order *const order = &loader->plan->order;
    const leat_order_place place = leat_order_find(order, &next->order, (uint64_t)next->batch);
    const uint64_t rest = place.rows - next->row;
    const uint64_t n = leat_order_whole_rows(order, leat_order_position(&place, next->row),
                                             loader->task_rows, UINT64_MAX);
    *out = (leat_task){ .slot = leat_slot_claim_locked(loader, next->batch, &place),
                        .place = place,
                        .batch = next->batch,
                        .row = next->row,
                        .n = rest < n ? rest : n };
    loader->readahead.stashed = false; /* the stashed task was prepared for these rows */
    leat_cursor_advance(next, &place, out->n);
}

static bool take_task_locked(leat_loader *loader, leat_turn turn, leat_task *out)
{
    if (loader->stop || !may_compute_locked(loader, turn))
        return false;
    leat_read_task *const ahead = leat_readahead_find_locked(loader, turn.last_batch);
    if (!ahead) {
        const bool can = can_claim_locked(loader, turn.last_batch);
        if (can)
            claim_next_locked(loader, out);
        return can;
    }
    leat_check(ahead->state == LEAT_READ_TASK_READY);
    ahead->state = LEAT_READ_TASK_RUNNING;
    *out = (leat_task){ .read = ahead,
                        .slot = leat_slot_claim_locked(loader, ahead->batch, &ahead->place),
                        .place = ahead->place,
                        .batch = ahead->batch,
                        .row = ahead->row,
                        .n = ahead->n };
    return true;
}

/* --- doing a piece of work -------------------------------------------------------------------- */

int64_t leat_sched_trace(leat_worker *worker, leat_trace_kind kind, int64_t start_ns, int64_t batch,
                         uint64_t row, uint64_t n, uint64_t record)
{
    const leat_trace_span span = { .start_ns = start_ns,
                                   .end_ns = leat_clock_ns(),
                                   .batch = batch,
                                   .record = record,
                                   .row = (uint32_t)row,
                                   .n = (uint32_t)n,
                                   .kind = kind };
    leat_trace_put(&worker->trace.spans, &span);
    return span.end_ns;
}

/* Adds the outcome of a task to its slot and to the totals. */
static void book_locked(leat_loader *loader, leat_worker *worker, const leat_task *task,
                        const leat_outcome *outcome)
{
    leat_slot *const slot = task->slot;
    slot->digest += outcome->digest;
    if (outcome->error.code < 0 &&
        (slot->error.code == LEAT_OK || outcome->bad_row < slot->bad_row)) {
        slot->error = outcome->error;
        slot->bad_row = outcome->bad_row;
    }
    leat_check(slot->state == LEAT_SLOT_FILLING && slot->n_left >= task->n);
    slot->n_left -= task->n;
    loader->busy_ns += outcome->ns;
    if (slot->n_left == 0)
        leat_batch_ops_begin_locked(loader, slot);
    if (task->read)
        leat_readahead_done_locked(loader, task->read);
    leat_adapt_rows_locked(loader, task->n, outcome->ns);
    if (worker->read_waited || worker->n_files_waited)
        leat_adapt_cache_miss_locked(loader, worker->n_files_waited, task->n, outcome->ns);
    worker->read_waited = false;
    worker->n_files_waited = 0;
    if (slot->state == LEAT_SLOT_FULL)
        leat_adapt_batch_locked(loader);
}

/* Computes some rows. Returns false if there are none. */
static bool run_task_locked(leat_loader *loader, leat_worker *worker, leat_turn turn)
{
    leat_task task;
    leat_outcome outcome;
    if (!take_task_locked(loader, turn, &task))
        return false;
    const leat_timing_rate rate = leat_task_timing_rate_locked(loader);
    leat_wake_balance_locked(loader); /* there may be more work, for others */
    pthread_mutex_unlock(&loader->lock);
    leat_task_compute(loader, worker, &task, &rate, &outcome);
    leat_sample_trim(worker, (size_t)loader->budget.scratch_bytes);
    pthread_mutex_lock(&loader->lock);
    book_locked(loader, worker, &task, &outcome);
    loader->help_ns += turn.is_consumer ? outcome.ns : 0;
    worker->idle_since = 0;
    leat_wake_consumer_locked(loader);
    return true;
}

/* Does a range of the batch ops of a batch. Returns false if there is none. */
static bool run_batch_ops_locked(leat_loader *loader, leat_worker *worker, leat_turn turn)
{
    leat_batch_ops_range range;
    leat_error error;
    uint64_t digest;
    if (loader->stop || !may_compute_locked(loader, turn) ||
        !leat_batch_ops_take_locked(loader, turn.last_batch, &range))
        return false;
    const int64_t batch = range.slot->batch;
    leat_wake_balance_locked(loader);
    pthread_mutex_unlock(&loader->lock);
    const int64_t start = leat_clock_ns();
    const int rc = leat_batch_ops_run(loader->plan, worker, &range, &digest, &error);
    leat_sample_trim(worker, (size_t)loader->budget.scratch_bytes);
    const int64_t end = leat_sched_trace(worker, LEAT_TRACE_BATCH_OPS, start, batch, 0, 0, 0);
    pthread_mutex_lock(&loader->lock);
    loader->busy_ns += end - start;
    loader->help_ns += turn.is_consumer ? end - start : 0;
    leat_batch_ops_done_locked(loader, &range, digest, rc < 0 ? &error : NULL);
    if (range.slot->state == LEAT_SLOT_FULL)
        leat_adapt_batch_locked(loader);
    leat_wake_consumer_locked(loader);
    return true;
}

/* --- who does what ---------------------------------------------------------------------------- */

/* Does one step. Returns false if there is nothing to do. Releases the lock meanwhile. */
static bool step_locked(leat_loader *loader, leat_worker *worker, leat_turn turn)
{
    leat_readahead_reap_locked(loader);
    if (leat_slot_is_short_locked(loader))
        leat_upload_reap_locked(loader);
    if (leat_upload_can_locked(loader)) {
        const int64_t start = leat_clock_ns(), batch = loader->upload_batch;
        leat_upload_next_locked(loader);
        leat_sched_trace(worker, LEAT_TRACE_UPLOAD, start, batch, 0, 0, 0);
    } else if (leat_readahead_can_locked(loader)) {
        const int64_t start = leat_clock_ns(), batch = loader->cursor.batch;
        leat_readahead_group_locked(loader);
        leat_sched_trace(worker, LEAT_TRACE_READAHEAD, start, batch, 0, 0, 0);
    } else if (leat_buffer_can_make_locked(loader)) {
        leat_buffer_make_locked(loader);
    } else if (leat_slot_can_make_locked(loader)) {
        leat_slot_make_locked(loader);
    } else {
        return run_batch_ops_locked(loader, worker, turn) || run_task_locked(loader, worker, turn);
    }
    return true;
}

void leat_sched_work(void *arg, int i)
{
    leat_loader *const loader = arg;
    leat_worker *const worker = &loader->workers[i];
    pthread_mutex_lock(&loader->lock);
    while (!loader->stop) {
        if (leat_wake_is_replaced_locked(loader) || !step_locked(loader, worker, LEAT_WORKER_TURN))
            leat_wake_sleep_locked(loader, worker);
    }
    pthread_mutex_unlock(&loader->lock);
}

bool leat_sched_help_locked(leat_loader *loader, bool (*done)(const leat_loader *),
                            int64_t until_ns)
{
    leat_worker *const worker = &loader->workers[loader->n_threads];
    bool is_done = done(loader);
    worker->idle_since = 0;
    loader->deadline_near =
        until_ns && (loader->sample_ns <= 0 || 2 * loader->sample_ns * (double)loader->task_rows >
                                                   (double)(until_ns - leat_clock_ns()));
    while (!is_done) {
        const leat_turn turn = { .is_consumer = true,
                                 .last_batch = leat_wake_consumer_computes_locked(loader)
                                                   ? INT64_MAX
                                                   : loader->next_batch };
        const bool worked = step_locked(loader, worker, turn);
        is_done = done(loader);
        if (!is_done && until_ns && leat_clock_ns() >= until_ns)
            break; /* after a step, so that even a deadline of 0 makes progress */
        if (!worked && !is_done)
            leat_wake_wait_locked(loader, worker, done, until_ns);
        is_done = done(loader);
    }
    loader->deadline_near = loader->deadline_near && !is_done;
    if (!is_done)
        loader->n_at_once = 0;        /* nobody computes in place of a worker from here on */
    leat_wake_balance_locked(loader); /* the work that is left is for others now */
    loader->deadline_near = false;
    return is_done;
}
