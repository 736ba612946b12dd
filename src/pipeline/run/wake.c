/* SPDX-License-Identifier: MIT
 *
 * wake.c: who sleeps, and whom a change wakes. A thread that changes the state of the engine calls
 * leat_wake_balance_locked(), or leat_wake_consumer_locked() if it looks for more work itself at once. Invariant:
 * nothing else wakes a thread of the engine, except leat_wake_stop(). Look here for a lost wake-up.
 *
 * DESIGN. A thread that finds nothing to do sleeps in one of four places. While reads are in flight, one thread, the
 * leader, sleeps on the reader's eventfd. While all slots are in use and copies to a device are in flight, one thread
 * waits for the oldest copy (upload.c). Other workers sleep on `work`, the consumer on `ready`. A change wakes one
 * thread; that thread wakes the next one if there is more work. n_signals counts signals not yet taken by a worker. A
 * worker that wakes up when it is 0 sleeps again. A useless wake-up costs more than a short row, so no thread is woken
 * for a few cheap rows, or for work that the caller takes next.
 *
 * If the consumer takes batch after batch at once and tasks are short, handing over each batch would cost more than the
 * thread gains. Then the consumer computes rows of any batch and one worker sleeps, so that no more threads are awake
 * than there are cores. A thread that lacks work spins for a while before it sleeps: it yields its core and looks for a
 * change. The replaced worker goes on when the consumer has been gone for LEFT_NS, as after some batches at once. */
#include <errno.h>
#include <sched.h>

#include "base/clock.h"
#include "engine.h"

#define REAP_NS  200000    /* how often the leader asks for copies that have ended */
#define WAKE_NS  40000     /* less work than this is not worth a wake-up */
#define CHECK_NS 100000000 /* while waiting for a device: how often to ask whether it has failed */
#define SPIN_NS  30000     /* about the time of a sleep with its wake-up, on another core */
/* The consumer takes part in computing after AT_ONCE batches in a row that it took at once: it was away for less than
 * AWAY_NS, or than 1 / AWAY_SHARE of the time to compute a batch. Tasks must be short, because the consumer may be
 * computing rows of a later batch when its own batch is complete. */
#define AT_ONCE    16
#define ALONE      2 /* instead, if only one thread may compute: the consumer needs no own core */
#define AWAY_NS    1000
#define AWAY_SHARE 16
#define SHORT_NS   100000
#define FAR_NS     10000000 /* a deadline that is no further may end before the batch is there */
#define LEFT_NS    5000000  /* longer than a short absence; a wake-up as often costs nothing */

/* --- a consumer that computes in place of a worker -------------------------------------------- */

/* n workers and the consumer are as many threads as may compute, or as there are cores. */
static bool threads_suffice(const leat_loader *loader, int64_t n)
{
    const int most = loader->n_threads < loader->n_cores ? loader->n_threads : loader->n_cores;
    return n + 1 > most;
}

/* An absence that is short beside the time to compute a batch does not count. A consumer that leaves without a batch does
 * not take part any more (leat_sched_help_locked()). */
void leat_wake_note_request_locked(leat_loader *loader, int64_t now_ns, int64_t until_ns)
{
    const double batch_ns = (double)leat_order_most_rows(&loader->plan->order) * loader->sample_ns;
    const double away_ns = (double)(now_ns - loader->got_ns);
    const bool at_once = away_ns < AWAY_NS || away_ns < batch_ns / AWAY_SHARE;
    const bool stays = !until_ns || until_ns - now_ns > FAR_NS;
    loader->n_at_once = at_once && stays ? loader->n_at_once + 1 : 0;
}

bool leat_wake_consumer_computes_locked(const leat_loader *loader)
{
    const int64_t enough = threads_suffice(loader, 1) ? ALONE : AT_ONCE;
    return loader->n_at_once >= enough && loader->n_threads && !loader->device &&
           leat_readahead_is_off(&loader->readahead) && loader->sample_ns > 0 &&
           (double)loader->task_rows * loader->sample_ns <= SHORT_NS;
}

/* It has not come back, so it computes in place of nobody. */
static bool consumer_left_locked(const leat_loader *loader)
{
    return leat_wake_consumer_computes_locked(loader) && !loader->taking &&
           leat_clock_ns() - loader->got_ns >= LEFT_NS;
}

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
    return leat_wake_consumer_computes_locked(loader) && loader->taking && !loader->waits_for &&
           !can_start_locked(loader) &&
           threads_suffice(loader, loader->n_threads - loader->n_sleepers);
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
    if (leat_wake_consumer_computes_locked(loader) && !loader->waits_for)
        return !threads_suffice(loader, loader->n_threads - loader->n_sleepers + 1);
    const leat_readahead *const a = &loader->readahead;
    if (!leat_readahead_is_off(a) || loader->cursor.token_taken || loader->device ||
        loader->deadline_near || loader->sample_ns <= 0)
        return true;
    const int64_t n_open = leat_loader_window_end(loader) - loader->cursor.batch;
    const double rows = (double)n_open * (double)leat_order_most_rows(&loader->plan->order);
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
    leat_stats_sleep_locked(loader, role == LEAT_WORKER, start);
    if (!until_ns && leat_upload_can_await_locked(loader)) /* nobody else may be there to ask */
        until_ns = start + REAP_NS;
    pthread_mutex_unlock(&loader->lock);
    if (!until_ns || leat_reader_wait_until(a->reader, until_ns))
        leat_reader_wait(a->reader);
    pthread_mutex_lock(&loader->lock);
    a->leader = LEAT_NOBODY;
    const int64_t end = leat_sched_trace(worker, LEAT_TRACE_WAIT, start, -1, 0, 0, 0);
    leat_stats_sleep_locked(loader, -(role == LEAT_WORKER), end);
    leat_readahead_reap_locked(loader);
    leat_wake_balance_locked(loader);
}

int leat_wake_sleep_on_locked(leat_loader *loader, pthread_cond_t *on, int64_t until_ns)
{
    const struct timespec until = { until_ns / 1000000000, until_ns % 1000000000 };
    return until_ns ? pthread_cond_timedwait(on, &loader->lock, &until)
                    : pthread_cond_wait(on, &loader->lock);
}

/* A failed device never calls back, so the consumer asks it every CHECK_NS. */
static void wait_ready_locked(leat_loader *loader, int64_t until_ns)
{
    const int64_t check_ns = leat_clock_ns() + CHECK_NS;
    const bool checks = loader->device && (!until_ns || check_ns < until_ns);
    const int rc = leat_wake_sleep_on_locked(loader, &loader->ready, checks ? check_ns : until_ns);
    if (rc == ETIMEDOUT && checks)
        leat_upload_check_locked(loader);
}

static void sleep_locked(leat_loader *loader, leat_worker *worker)
{
    const int64_t start = leat_clock_ns();
    const bool replaced = leat_wake_consumer_computes_locked(loader);
    leat_stats_sleep_locked(loader, 1, start);
    leat_wake_sleep_on_locked(loader, &loader->work, replaced ? start + LEFT_NS : 0);
    const int64_t end = leat_sched_trace(worker, LEAT_TRACE_SLEEP, start, -1, 0, 0, 0);
    leat_stats_sleep_locked(loader, -1, end);
}

/* A copy that will free a slot is in flight. */
static void await_copy_locked(leat_loader *loader, leat_worker *worker)
{
    const int n = worker != &loader->workers[loader->n_threads]; /* the consumer is no worker */
    const int64_t start = leat_clock_ns();
    leat_stats_sleep_locked(loader, n, start);
    leat_upload_await_locked(loader);
    const int64_t end = leat_sched_trace(worker, LEAT_TRACE_SLEEP, start, -1, 0, 0, 0);
    leat_stats_sleep_locked(loader, -n, end);
}

/* Waits for a short task: yields the core until something changes, instead of sleeping. False: the thread must sleep,
 * because it has spun for as long as a sleep takes, or because tasks are not short. */
static bool spin_locked(leat_loader *loader, leat_worker *worker)
{
    const int64_t now = leat_clock_ns();
    const uint32_t seen = atomic_load_explicit(&loader->n_changes, memory_order_relaxed);
    if (!worker->idle_since)
        worker->idle_since = now;
    if (!leat_wake_consumer_computes_locked(loader) || now - worker->idle_since >= SPIN_NS)
        return false;
    pthread_mutex_unlock(&loader->lock);
    do
        sched_yield();
    while (atomic_load_explicit(&loader->n_changes, memory_order_relaxed) == seen &&
           leat_clock_ns() - worker->idle_since < SPIN_NS);
    pthread_mutex_lock(&loader->lock);
    return true;
}

/* The same for workers, of which one spins at a time. */
static bool spin_alone_locked(leat_loader *loader, leat_worker *worker)
{
    if (loader->worker_spins || loader->stop || leat_wake_is_replaced_locked(loader))
        return false;
    loader->worker_spins = true;
    const bool spun = spin_locked(loader, worker);
    loader->worker_spins = false;
    return spun;
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
    if (spin_alone_locked(loader, worker))
        return;
    worker->idle_since = 0;
    if (!leat_wake_is_replaced_locked(loader))
        leat_adapt_idle_locked(loader);
    loader->n_sleepers++;
    while (!loader->n_signals && !loader->stop && !consumer_left_locked(loader))
        sleep_locked(loader, worker);
    if (loader->n_signals) { /* the thread that signalled has lowered n_sleepers */
        loader->n_signals--;
    } else if (!loader->stop) {
        loader->n_sleepers--;
        loader->n_at_once = 0;
    }
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
    if (spin_locked(loader, worker))
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
