/* SPDX-License-Identifier: MIT
 *
 * wake.c: who sleeps, and whom a change wakes. A thread that changes the state of the engine calls
 * leat_wake_balance_locked(), or leat_wake_consumer_locked() if it looks for more work itself at once.
 * Invariant: nothing else wakes a thread of the engine, except leat_wake_stop(). Look here for a lost
 * wake-up.
 *
 * DESIGN. A thread that finds nothing to do sleeps in one of four places. While reads are in
 * flight, one thread, the leader, sleeps on the reader's eventfd. While all slots are in use and copies to a device are
 * in flight, one thread waits for the oldest copy (upload.c). Other workers sleep on `work`,
 * the consumer on `ready`. A change wakes one thread; that thread wakes the next one if there is
 * more work. n_signals counts signals not yet taken by a worker. A worker that wakes up when it is 0
 * sleeps again. A useless wake-up costs more than a short row, so no thread is woken for a few cheap
 * rows, or for work that the caller takes next.
 * When a worker sleeps so that the consumer computes in its place: takes_part.c. */
#include <errno.h>

#include "base/clock.h"
#include "engine.h"

#define REAP_NS  200000    /* how often the leader asks for copies that have ended */
#define WAKE_NS  40000     /* less work than this is not worth a wake-up */
#define CHECK_NS 100000000 /* while waiting for a device: how often to ask whether it has failed */

/* --- whom to wake ----------------------------------------------------------------------------- */

static void call_leader_locked(leat_readahead *a)
{
    if (!a->leader_called) {
        a->leader_called = true;
        leat_reader_wake(a->reader);
    }
}

static void call_consumer_locked(leat_loader *loader)
{
    if (loader->readahead.leader == LEAT_CONSUMER)
        call_leader_locked(&loader->readahead);
    else
        pthread_cond_signal(&loader->ready);
}

void leat_wake_consumer_locked(leat_loader *loader)
{
    atomic_fetch_add_explicit(&loader->n_changes, 1, memory_order_relaxed);
    if (loader->waits_for && loader->waits_for(loader))
        call_consumer_locked(loader);
}

/* Reads are in flight and nobody waits for them. */
static bool needs_leader_locked(const leat_loader *loader)
{
    return loader->readahead.in_flight && loader->readahead.leader == LEAT_NOBODY;
}

/* There is a short step to do: start a copy or reads, or make memory. */
static bool can_start_locked(const leat_loader *loader)
{
    return leat_upload_can_locked(loader) || leat_readahead_can_locked(loader) ||
           leat_buffer_can_make_locked(loader) || leat_slot_can_make_locked(loader);
}

bool leat_wake_is_replaced_locked(const leat_loader *loader)
{
    return leat_takes_part_locked(loader) && loader->taking && !loader->waits_for &&
           !can_start_locked(loader) &&
           leat_takes_part_suffice(loader, loader->n_threads - loader->n_sleepers);
}

/* There is work worth a wake-up. A few cheap rows are not: the consumer does them itself when it
 * asks for their batch. */
static bool worth_waking_locked(const leat_loader *loader)
{
    if (can_start_locked(loader) || leat_upload_can_await_locked(loader))
        return true;
    if (leat_sched_can_batch_ops_locked(loader, LEAT_WORKER_TURN))
        return true;
    if (!leat_sched_can_compute_locked(loader, LEAT_WORKER_TURN))
        return false;
    if (leat_takes_part_locked(loader) && !loader->waits_for)
        return !leat_takes_part_suffice(loader, loader->n_threads - loader->n_sleepers + 1);
    const leat_readahead *const a = &loader->readahead;
    if (!leat_readahead_is_off(a) || loader->cursor.token_taken || loader->device ||
        loader->deadline_near || loader->sample_ns <= 0)
        return true;
    const int64_t n_open = leat_loader_window_end(loader) - loader->cursor.batch;
    const double rows = (double)n_open * (double)leat_order_slot_rows(&loader->plan->order);
    return rows * loader->sample_ns >= WAKE_NS;
}

/* The sleeping consumer could do something. */
static bool concerns_consumer_locked(const leat_loader *loader)
{
    const leat_turn turn = { .is_consumer = true, .last_batch = loader->next_batch };
    return can_start_locked(loader) || leat_sched_can_batch_ops_locked(loader, turn) ||
           leat_sched_can_compute_locked(loader, turn) || needs_leader_locked(loader);
}

/* Wakes the consumer if what it waits for is there. Then wakes one thread for the work there is:
 * a worker if one sleeps, because it can go on with other batches; else the consumer. */
void leat_wake_balance_locked(leat_loader *loader)
{
    leat_readahead *const a = &loader->readahead;
    leat_wake_consumer_locked(loader);
    if (loader->n_sleepers && (needs_leader_locked(loader) || worth_waking_locked(loader))) {
        loader->n_sleepers--;
        loader->n_signals++;
        pthread_cond_signal(&loader->work);
    } else if (a->leader == LEAT_WORKER && !a->leader_called && worth_waking_locked(loader)) {
        call_leader_locked(a);
    } else if (loader->waits_for && concerns_consumer_locked(loader)) {
        call_consumer_locked(loader);
    }
}

void leat_wake_stop(leat_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->stop = true;
    pthread_cond_broadcast(&loader->work);
    pthread_cond_broadcast(&loader->ready);
    pthread_mutex_unlock(&loader->lock);
    if (loader->readahead.reader)
        leat_reader_wake(loader->readahead.reader);
}

/* --- sleeping --------------------------------------------------------------------------------- */

/* Sleeps on the eventfd until a read is done or somebody wakes the leader; or, unless until_ns is 0, until then. */
static void lead_locked(leat_loader *loader, leat_worker *worker, leat_role role, int64_t until_ns)
{
    leat_readahead *const a = &loader->readahead;
    const int64_t start = leat_clock_ns();
    leat_check(a->leader == LEAT_NOBODY);
    a->leader = role;
    a->leader_called = false;
    if (role == LEAT_WORKER)
        leat_stats_sleep_locked(loader, 1, start);
    if (!until_ns && leat_upload_can_await_locked(loader)) /* nobody else may be there to ask */
        until_ns = start + REAP_NS;
    pthread_mutex_unlock(&loader->lock);
    if (!until_ns || leat_reader_wait_until(a->reader, until_ns))
        leat_reader_wait(a->reader);
    pthread_mutex_lock(&loader->lock);
    a->leader = LEAT_NOBODY;
    const int64_t end = leat_sched_trace(worker, LEAT_TRACE_WAIT, start, -1, 0, 0, 0);
    if (role == LEAT_WORKER)
        leat_stats_sleep_locked(loader, -1, end);
    leat_readahead_reap_locked(loader);
    leat_wake_balance_locked(loader);
}

/* Sleeps on `ready`; unless until_ns is 0, until then at most. A failed device never calls back,
 * so the consumer asks it every CHECK_NS. */
static void wait_ready_locked(leat_loader *loader, int64_t until_ns)
{
    const int64_t check_ns = leat_clock_ns() + CHECK_NS;
    const bool checks = loader->device && (!until_ns || check_ns < until_ns);
    const int64_t at = checks ? check_ns : until_ns;
    const struct timespec until = { .tv_sec = at / 1000000000, .tv_nsec = at % 1000000000 };
    if (!at)
        pthread_cond_wait(&loader->ready, &loader->lock);
    else if (pthread_cond_timedwait(&loader->ready, &loader->lock, &until) == ETIMEDOUT && checks)
        leat_upload_check_locked(loader);
}

static void sleep_locked(leat_loader *loader, leat_worker *worker)
{
    const int64_t start = leat_clock_ns();
    leat_stats_sleep_locked(loader, 1, start);
    pthread_cond_wait(&loader->work, &loader->lock);
    const int64_t end = leat_sched_trace(worker, LEAT_TRACE_SLEEP, start, -1, 0, 0, 0);
    leat_stats_sleep_locked(loader, -1, end);
}

/* A copy that will free a slot is in flight. */
static void await_copy_locked(leat_loader *loader, leat_worker *worker)
{
    const bool is_consumer = worker == &loader->workers[loader->n_threads];
    const int64_t start = leat_clock_ns();
    if (!is_consumer)
        leat_stats_sleep_locked(loader, 1, start);
    leat_upload_await_locked(loader);
    const int64_t end = leat_sched_trace(worker, LEAT_TRACE_SLEEP, start, -1, 0, 0, 0);
    if (!is_consumer)
        leat_stats_sleep_locked(loader, -1, end);
}

void leat_wake_sleep_locked(leat_loader *loader, leat_worker *worker)
{
    if (needs_leader_locked(loader)) {
        lead_locked(loader, worker, LEAT_WORKER, 0);
        return;
    }
    if (leat_upload_can_await_locked(loader)) {
        await_copy_locked(loader, worker);
        return;
    }
    if (leat_takes_part_worker_spins_locked(loader, worker))
        return;
    worker->idle_since = 0;
    if (!leat_wake_is_replaced_locked(loader))
        leat_tune_idle_locked(loader);
    loader->n_sleepers++;
    while (!loader->n_signals && !loader->stop)
        sleep_locked(loader, worker);
    if (loader->n_signals) /* the thread that signalled has lowered n_sleepers */
        loader->n_signals--;
}

void leat_wake_wait_locked(leat_loader *loader, leat_worker *worker,
                           bool (*done)(const leat_loader *), int64_t until_ns)
{
    leat_check(!loader->waits_for);   /* one consumer at a time */
    leat_wake_balance_locked(loader); /* workers may work on later batches */
    if (!loader->n_threads && leat_upload_can_await_locked(loader)) { /* else a worker does */
        await_copy_locked(loader, worker);
        return;
    }
    if (leat_takes_part_spin_locked(loader, worker))
        return;
    loader->waits_for = done;
    if (needs_leader_locked(loader)) {
        lead_locked(loader, worker, LEAT_CONSUMER, until_ns);
    } else {
        const int64_t start = leat_clock_ns();
        wait_ready_locked(loader, until_ns);
        leat_sched_trace(worker, LEAT_TRACE_SLEEP, start, -1, 0, 0, 0);
    }
    loader->waits_for = NULL;
}
