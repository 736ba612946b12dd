/* SPDX-License-Identifier: MIT
 *
 * sched.c: what a thread does next, and whom it wakes.
 *
 * Starts come first, because they are short and keep hardware busy: the copy of a full batch, then
 * reads; then runs of rows, oldest batch first. Everything here is a function of the state in
 * engine.h; no decision changes what is in a batch, only when. */
#include <errno.h>

#include "clock.h"
#include "engine.h"

#define GRAIN_NS    20000     /* work below two of these is not worth a wake-up */
#define CHECK_NS    100000000 /* between questions whether a device that keeps us waiting is lost */
#define STAMP_NS    30        /* one look at the clock */
#define STAMP_SHARE 0.005     /* of a sample's time may go into timing its stages */
#define CPU_NS      400       /* one look at the thread's CPU time */
#define CPU_SHARE   0.0005    /* of the time of samples may go into that */

/* Rows to compute: of one batch, with or without bytes read ahead. */
typedef struct leat_span {
    leat_run *run; /* NULL: read by whoever runs it */
    leat_slot *slot;
    leat_order_place place;
    int64_t batch;
    uint64_t row, n;
} leat_span;

/* --- which rows --------------------------------------------------------------------------------- */

/* Whose next step it is: a worker takes what is oldest, the consumer what its batch lacks, and that
 * only while a worker is asleep: no more compute than engine.threads says. */
static bool may_compute_locked(const leat_loader *loader, int64_t only)
{
    return only < 0 || !loader->n_threads || loader->n_asleep > 0;
}

static bool can_run_rows_locked(const leat_loader *loader, int64_t only)
{
    if (!may_compute_locked(loader, only))
        return false;
    if (loader->ahead.reader)
        return leat_start_find_locked(loader, only) != NULL;
    return (only < 0 || loader->claim_batch == only) &&
           leat_slot_can_claim_locked(loader, loader->claim_batch);
}

static bool can_finish_locked(const leat_loader *loader, int64_t only)
{
    return may_compute_locked(loader, only) && leat_finish_can_locked(loader, only);
}

static bool can_compute_locked(const leat_loader *loader, int64_t only)
{
    return can_finish_locked(loader, only) || can_run_rows_locked(loader, only);
}

/* Claims the next rows in order. */
static void claim_next_locked(leat_loader *loader, leat_span *out)
{
    const int64_t batch = loader->claim_batch;
    if (loader->claim_row == 0) {
        const leat_order_place place =
            leat_order_find(&loader->plan->order, &loader->claim_order, (uint64_t)batch);
        leat_slot_claim_locked(loader, batch, &place);
    }
    leat_slot *const slot = leat_loader_slot(loader, batch);
    const uint64_t rest = slot->place.rows - loader->claim_row;
    const leat_order *const order = &loader->plan->order;
    const uint64_t n =
        leat_order_whole_rows(order, leat_order_position(order, &slot->place, loader->claim_row),
                              loader->run_rows, UINT64_MAX);
    *out = (leat_span){ .slot = slot,
                        .place = slot->place,
                        .batch = batch,
                        .row = loader->claim_row,
                        .n = rest < n ? rest : n };
    loader->claim_row += out->n;
    if (loader->claim_row == slot->place.rows) {
        loader->claim_row = 0;
        loader->claim_batch++;
    }
}

static bool take_span_locked(leat_loader *loader, int64_t only, leat_span *out)
{
    if (loader->stop || !can_run_rows_locked(loader, only))
        return false;
    if (!loader->ahead.reader) {
        claim_next_locked(loader, out);
        return true;
    }
    leat_run *const run = leat_start_find_locked(loader, only);
    run->state = LEAT_RUN_RUNNING;
    *out = (leat_span){ .run = run,
                        .slot = leat_slot_claim_locked(loader, run->batch, &run->place),
                        .place = run->place,
                        .batch = run->batch,
                        .row = run->row,
                        .n = run->n };
    return true;
}

/* --- computing them ----------------------------------------------------------------------------- */

/* What running a span gave, to be booked under the lock. */
typedef struct leat_outcome {
    int64_t ns;
    uint64_t digest;
    uint64_t bad_row;
    leat_error error; /* of the lowest row that failed */
} leat_outcome;

#define AHEAD 16 /* rows whose records are looked up together */

typedef struct leat_row_id {
    uint64_t record, epoch;
} leat_row_id;

/* Which records stand in the next rows. Done for several rows at once, so that the look-ups overlap
 * and the source can fetch what it will be asked for. */
static void look_up(const leat_plan *plan, leat_worker *worker, const leat_span *span, uint64_t row,
                    leat_row_id ids[AHEAD])
{
    const leat_source *const source = plan->source;
    for (uint64_t i = 0; i < AHEAD && row + i < span->n; i++) {
        if (span->run)
            ids[i] =
                (leat_row_id){ span->run->rows[row + i].record, span->run->rows[row + i].epoch };
        else
            leat_order_row(&plan->order, &worker->order, &span->place, span->row + row + i,
                           &ids[i].record, &ids[i].epoch);
        const uint64_t record = leat_order_record(&plan->order, ids[i].record);
        if (plan->cache && leat_cache_hint(plan->cache, record))
            continue;
        if (source->table->hint)
            source->table->hint(source, record);
    }
}

/* How often samples are timed: one in so many, and of those one in cpu_every by the CPU's time. */
typedef struct leat_often {
    uint32_t timed_every, cpu_every;
} leat_often;

static leat_timing time_next(leat_worker *worker, const leat_often *often)
{
    if (worker->until_timed > 1 || often->timed_every == UINT32_MAX) {
        worker->until_timed--;
        return LEAT_UNTIMED;
    }
    worker->until_timed = often->timed_every;
    return ++worker->n_timed % often->cpu_every ? LEAT_TIMED : LEAT_TIMED_CPU;
}

/* One row; its digest, if wanted, goes into *digest. */
static int compute_row(leat_loader *loader, leat_worker *worker, const leat_span *span, uint64_t i,
                       const leat_row_id *id, const leat_often *often, uint64_t *digest,
                       leat_error *err)
{
    const leat_plan *const plan = loader->plan;
    const leat_row_read *const read = span->run ? &span->run->rows[i] : NULL;
    leat_stored stored = { 0 };
    if (read && read->bytes && !read->failed)
        stored = (leat_stored){ read->bytes, read->size, read->is_entry };
    const leat_timing timing = time_next(worker, often);
    worker->bucket = span->place.bucket;
    if (plan->on_error == LEAT_ON_ERROR_MASK)
        span->slot->memory[plan->valid_offset + span->row + i] = 1;
    int rc = leat_sample_run(plan, worker, id->record, id->epoch, &stored, span->slot->memory,
                             span->row + i, timing, err);
    if (rc < 0)
        rc = leat_bad_row(loader, worker, span->slot, span->row + i, id->record, id->epoch, err);
    if (rc >= 0 && plan->engine.digest && !plan->n_batch_links)
        *digest += leat_finish_digest_row(plan, &span->place, span->slot->memory, span->row + i);
    return rc;
}

/* Puts what a thread did since start_ns into its trace. Returns the time it ended. */
static int64_t note(leat_worker *worker, leat_trace_kind kind, int64_t start_ns, int64_t batch,
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

static void compute(leat_loader *loader, leat_worker *worker, const leat_span *span,
                    const leat_often *often, leat_outcome *out)
{
    const int64_t start = leat_clock_ns();
    leat_row_id ids[AHEAD];
    uint64_t first_record = 0;
    leat_error error;
    worker->batch = span->batch;
    out->digest = 0;
    out->error.code = LEAT_OK;
    for (uint64_t i = 0; i < span->n; i++) {
        if (i % AHEAD == 0)
            look_up(loader->plan, worker, span, i, ids);
        if (i == 0)
            first_record = leat_order_record(&loader->plan->order, ids[0].record);
        if (compute_row(loader, worker, span, i, &ids[i % AHEAD], often, &out->digest, &error) <
                0 &&
            out->error.code == LEAT_OK) {
            out->error = error;
            out->bad_row = span->row + i;
        }
    }
    out->ns =
        note(worker, LEAT_TRACE_ROWS, start, span->batch, span->row, span->n, first_record) - start;
}

static leat_often often_locked(const leat_loader *loader)
{
    if (!loader->plan->engine.timing)
        return (leat_often){ UINT32_MAX, UINT32_MAX };
    const double sample_ns = loader->sample_ns > 1 ? loader->sample_ns : 1000;
    const int32_t n_stamps = 3 + loader->plan->n_chains;
    const double timed = n_stamps * STAMP_NS / STAMP_SHARE / sample_ns;
    const double every = timed < 1 ? 1 : timed > 65536 ? 65536 : timed;
    const double looks = 1 + leat_sample_n_stages(loader->plan);
    const double cpu = looks * CPU_NS / CPU_SHARE / sample_ns / every;
    return (leat_often){ (uint32_t)every, cpu < 2 ? 2 : cpu > 65536 ? 65536 : (uint32_t)cpu + 1 };
}

static void book_locked(leat_loader *loader, leat_worker *worker, const leat_span *span,
                        const leat_outcome *outcome)
{
    leat_slot *const slot = span->slot;
    slot->digest += outcome->digest;
    if (outcome->error.code < 0 &&
        (slot->error.code == LEAT_OK || outcome->bad_row < slot->bad_row)) {
        slot->error = outcome->error;
        slot->bad_row = outcome->bad_row;
    }
    slot->left -= span->n;
    loader->busy_ns += outcome->ns;
    if (slot->left == 0)
        leat_finish_begin_locked(loader, slot);
    if (span->run)
        leat_start_done_locked(loader, span->run);
    leat_tune_span_locked(loader, span->n, outcome->ns);
    if (worker->read_waited)
        leat_tune_cold_locked(loader);
    worker->read_waited = false;
    if (slot->state == LEAT_SLOT_FULL)
        leat_tune_batch_locked(loader);
}

static void call_leader_locked(leat_ahead *a)
{
    if (!a->leader_called) {
        a->leader_called = true;
        leat_reader_wake(a->reader);
    }
}

static void call_consumer_locked(leat_loader *loader)
{
    if (loader->ahead.leader == LEAT_CONSUMER)
        call_leader_locked(&loader->ahead);
    else
        pthread_cond_signal(&loader->ready);
}

/* After a piece of work, by who goes on to the next piece: what there is to do is no news for others
 * yet, only that the consumer has what it waits for. To call somebody for what the caller is about to
 * take costs more than a short row. */
static void tell_consumer_locked(leat_loader *loader)
{
    if (loader->done && loader->done(loader))
        call_consumer_locked(loader);
}

static void run_span_locked(leat_loader *loader, leat_worker *worker, const leat_span *span)
{
    leat_outcome outcome;
    const leat_often often = often_locked(loader);
    leat_sched_balance_locked(loader); /* what is left may be for others */
    pthread_mutex_unlock(&loader->lock);
    compute(loader, worker, span, &often, &outcome);
    leat_sample_rest(worker, (size_t)loader->budget.scratch_bytes);
    pthread_mutex_lock(&loader->lock);
    book_locked(loader, worker, span, &outcome);
    tell_consumer_locked(loader);
}

/* A part of a batch whose rows are all there. */
static bool finish_part_locked(leat_loader *loader, leat_worker *worker, int64_t only)
{
    leat_finish_task task;
    leat_error error;
    uint64_t digest;
    if (loader->stop || !may_compute_locked(loader, only) ||
        !leat_finish_take_locked(loader, only, &task))
        return false;
    const int64_t batch = task.slot->batch;
    leat_sched_balance_locked(loader);
    pthread_mutex_unlock(&loader->lock);
    const int64_t start = leat_clock_ns();
    const int rc = leat_finish_run(loader->plan, worker, &task, &digest, &error);
    const int64_t end = note(worker, LEAT_TRACE_FINISH, start, batch, 0, 0, 0);
    pthread_mutex_lock(&loader->lock);
    loader->busy_ns += end - start;
    leat_finish_done_locked(loader, &task, digest, rc < 0 ? &error : NULL);
    if (task.slot->state == LEAT_SLOT_FULL)
        leat_tune_batch_locked(loader);
    tell_consumer_locked(loader);
    return true;
}

/* --- who does what ------------------------------------------------------------------------------- */

/* Does one thing if there is one; lets the lock go meanwhile. */
static bool step_locked(leat_loader *loader, leat_worker *worker, int64_t only)
{
    leat_span span;
    leat_start_reap_locked(loader);
    if (leat_ship_can_locked(loader)) {
        const int64_t start = leat_clock_ns(), batch = loader->ship;
        leat_ship_next_locked(loader);
        note(worker, LEAT_TRACE_SHIP, start, batch, 0, 0, 0);
    } else if (leat_start_can_locked(loader)) {
        const int64_t start = leat_clock_ns(), batch = loader->ahead.batch;
        leat_start_group_locked(loader);
        note(worker, LEAT_TRACE_START, start, batch, 0, 0, 0);
    } else if (leat_ship_can_make_locked(loader)) {
        leat_ship_make_locked(loader);
    } else if (leat_slot_can_make_locked(loader)) {
        leat_slot_make_locked(loader);
    } else if (finish_part_locked(loader, worker, only)) {
        return true;
    } else if (take_span_locked(loader, only, &span)) {
        run_span_locked(loader, worker, &span);
    } else {
        return false;
    }
    return true;
}

/* Sleep that has not ended is counted too: sum of the ends less sum of the starts, and those who are
 * asleep end now. */
static void fall_asleep_locked(leat_loader *loader, int64_t at)
{
    loader->n_asleep++;
    loader->sleep_ns -= at - loader->opened_ns;
}

static void wake_up_locked(leat_loader *loader, int64_t at)
{
    loader->n_asleep--;
    loader->sleep_ns += at - loader->opened_ns;
}

/* Sleeps on the eventfd until a read is done or somebody calls. */
static void lead_locked(leat_loader *loader, leat_worker *worker, leat_role role)
{
    leat_ahead *const a = &loader->ahead;
    const int64_t start = leat_clock_ns();
    a->leader = role;
    a->leader_called = false;
    if (role == LEAT_WORKER)
        fall_asleep_locked(loader, start);
    pthread_mutex_unlock(&loader->lock);
    leat_reader_wait(a->reader);
    pthread_mutex_lock(&loader->lock);
    a->leader = LEAT_NOBODY;
    const int64_t end = note(worker, LEAT_TRACE_WAIT, start, -1, 0, 0, 0);
    if (role == LEAT_WORKER)
        wake_up_locked(loader, end);
    leat_start_reap_locked(loader);
    leat_sched_balance_locked(loader);
}

/* As pthread_cond_wait, for the consumer of a device: a device that is lost calls nobody, so it is
 * asked now and then. */
static void wait_checking_locked(leat_loader *loader)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += CHECK_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (pthread_cond_timedwait(&loader->ready, &loader->lock, &until) == ETIMEDOUT)
        leat_ship_check_locked(loader);
}

static void sleep_locked(leat_loader *loader, leat_worker *worker, pthread_cond_t *until)
{
    const int64_t start = leat_clock_ns();
    if (until == &loader->work)
        fall_asleep_locked(loader, start);
    if (loader->device && until == &loader->ready)
        wait_checking_locked(loader);
    else
        pthread_cond_wait(until, &loader->lock);
    const int64_t end = note(worker, LEAT_TRACE_SLEEP, start, -1, 0, 0, 0);
    if (until == &loader->work)
        wake_up_locked(loader, end);
}

static bool leaderless_locked(const leat_loader *loader)
{
    return loader->ahead.in_flight && loader->ahead.leader == LEAT_NOBODY;
}

void leat_sched_work(void *arg, int i)
{
    leat_loader *const loader = arg;
    leat_worker *const worker = &loader->workers[i];
    pthread_mutex_lock(&loader->lock);
    while (!loader->stop) {
        if (step_locked(loader, worker, -1))
            continue;
        if (leaderless_locked(loader)) {
            lead_locked(loader, worker, LEAT_WORKER);
            continue;
        }
        leat_tune_idle_locked(loader);
        loader->n_sleepers++;
        while (!loader->n_calls && !loader->stop)
            sleep_locked(loader, worker, &loader->work);
        if (loader->n_calls) /* who called has taken one off n_sleepers */
            loader->n_calls--;
    }
    pthread_mutex_unlock(&loader->lock);
}

void leat_sched_help_locked(leat_loader *loader, bool (*done)(const leat_loader *))
{
    leat_worker *const worker = &loader->workers[loader->n_threads];
    while (!done(loader)) {
        if (step_locked(loader, worker, loader->next))
            continue;
        leat_sched_balance_locked(loader); /* there may be work on later batches */
        loader->done = done;
        if (leaderless_locked(loader))
            lead_locked(loader, worker, LEAT_CONSUMER);
        else
            sleep_locked(loader, worker, &loader->ready);
        loader->done = NULL;
    }
    leat_sched_balance_locked(loader); /* it may have led, or left something */
}

/* --- whom to wake -------------------------------------------------------------------------------- */

/* Something short that is done first: a copy, reads, memory. */
static bool can_start_locked(const leat_loader *loader)
{
    return leat_ship_can_locked(loader) || leat_start_can_locked(loader) ||
           leat_ship_can_make_locked(loader) || leat_slot_can_make_locked(loader);
}

/* Work that is worth a wake-up: all but a handful of cheap rows, which the consumer does itself when
 * it comes for them. */
static bool worth_waking_locked(const leat_loader *loader)
{
    if (can_start_locked(loader))
        return true;
    if (can_finish_locked(loader, -1))
        return true;
    if (!can_run_rows_locked(loader, -1))
        return false;
    if (loader->ahead.reader || loader->device || loader->sample_ns <= 0)
        return true;
    const int64_t n_open = leat_loader_limit(loader) - loader->claim_batch;
    const double rows = (double)n_open * (double)leat_order_slot_rows(&loader->plan->order);
    return rows * loader->sample_ns >= 2 * GRAIN_NS;
}

/* What the sleeping consumer could do. */
static bool concerns_consumer_locked(const leat_loader *loader)
{
    return can_start_locked(loader) || can_compute_locked(loader, loader->next) ||
           leaderless_locked(loader);
}

/* Calls the consumer if it has what it waits for; and one thread for what there is to do: a worker,
 * because it can go on with the next thing, or else the consumer. */
void leat_sched_balance_locked(leat_loader *loader)
{
    leat_ahead *const a = &loader->ahead;
    tell_consumer_locked(loader);
    if (loader->n_sleepers && (leaderless_locked(loader) || worth_waking_locked(loader))) {
        loader->n_sleepers--;
        loader->n_calls++;
        pthread_cond_signal(&loader->work);
    } else if (a->leader == LEAT_WORKER && !a->leader_called && worth_waking_locked(loader)) {
        call_leader_locked(a);
    } else if (loader->done && concerns_consumer_locked(loader)) {
        call_consumer_locked(loader);
    }
}

void leat_sched_stop(leat_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->stop = true;
    pthread_cond_broadcast(&loader->work);
    pthread_cond_broadcast(&loader->ready);
    pthread_mutex_unlock(&loader->lock);
    if (loader->ahead.reader)
        leat_reader_wake(loader->ahead.reader);
}
