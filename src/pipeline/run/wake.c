/* SPDX-License-Identifier: MIT
 *
 * wake.c: who sleeps, and whom a change wakes.
 *
 * DESIGN. A thread that finds nothing to do sleeps in one of three places: one of them as leader on the
 * reader's eventfd while reads are in flight, other workers on `work`, the consumer on `ready`.
 * leat_wake_balance_locked() follows every change and is the one place that decides whom it concerns, so
 * that is where to look for a lost wake-up. It calls one thread for the work there is; who comes calls
 * the next, if there is more. A call is counted (n_calls) until a worker answers it, so who wakes up
 * without one goes back to sleep. Threads that wake up in vain cost more than short rows take: nobody is
 * called for a handful of cheap rows, nor by a thread that is about to look for its next piece of work. */
#include <errno.h>

#include "base/clock.h"
#include "engine.h"

#define GRAIN_NS 20000     /* work below two of these is not worth a wake-up */
#define CHECK_NS 100000000 /* between questions whether a device that keeps us waiting is lost */

/* --- whom to wake -------------------------------------------------------------------------------- */

static void call_leader_locked(leat_readahead *a)
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

void leat_wake_consumer_locked(leat_loader *loader)
{
    if (loader->done && loader->done(loader))
        call_consumer_locked(loader);
}

static bool leaderless_locked(const leat_loader *loader)
{
    return loader->ahead.in_flight && loader->ahead.leader == LEAT_NOBODY;
}

/* Something short that is done first: a copy, reads, memory. */
static bool can_start_locked(const leat_loader *loader)
{
    return leat_ship_can_locked(loader) || leat_readahead_can_locked(loader) ||
           leat_ship_can_make_locked(loader) || leat_slot_can_make_locked(loader);
}

/* Work that is worth a wake-up: all but a handful of cheap rows, which the consumer does itself when
 * it comes for them. */
static bool worth_waking_locked(const leat_loader *loader)
{
    if (can_start_locked(loader))
        return true;
    if (leat_sched_can_finish_locked(loader, -1))
        return true;
    if (!leat_sched_can_run_locked(loader, -1))
        return false;
    if (loader->ahead.reader || loader->device || loader->hurries || loader->sample_ns <= 0)
        return true;
    const int64_t n_open = leat_loader_limit(loader) - loader->claim_batch;
    const double rows = (double)n_open * (double)leat_order_slot_rows(&loader->plan->order);
    return rows * loader->sample_ns >= 2 * GRAIN_NS;
}

/* What the sleeping consumer could do. */
static bool concerns_consumer_locked(const leat_loader *loader)
{
    return can_start_locked(loader) || leat_sched_can_finish_locked(loader, loader->next) ||
           leat_sched_can_run_locked(loader, loader->next) || leaderless_locked(loader);
}

/* Calls the consumer if it has what it waits for; and one thread for what there is to do: a worker,
 * because it can go on with the next thing, or else the consumer. */
void leat_wake_balance_locked(leat_loader *loader)
{
    leat_readahead *const a = &loader->ahead;
    leat_wake_consumer_locked(loader);
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

void leat_wake_stop(leat_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->stop = true;
    pthread_cond_broadcast(&loader->work);
    pthread_cond_broadcast(&loader->ready);
    pthread_mutex_unlock(&loader->lock);
    if (loader->ahead.reader)
        leat_reader_wake(loader->ahead.reader);
}

/* --- sleeping ------------------------------------------------------------------------------------ */

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

/* Sleeps on the eventfd until a read is done or somebody calls; or until a time, unless that is 0. */
static void lead_locked(leat_loader *loader, leat_worker *worker, leat_role role, int64_t until_ns)
{
    leat_readahead *const a = &loader->ahead;
    const int64_t start = leat_clock_ns();
    a->leader = role;
    a->leader_called = false;
    if (role == LEAT_WORKER)
        fall_asleep_locked(loader, start);
    pthread_mutex_unlock(&loader->lock);
    if (!until_ns || leat_reader_wait_until(a->reader, until_ns))
        leat_reader_wait(a->reader);
    pthread_mutex_lock(&loader->lock);
    a->leader = LEAT_NOBODY;
    const int64_t end = leat_trace_note(worker, LEAT_TRACE_WAIT, start, -1, 0, 0, 0);
    if (role == LEAT_WORKER)
        wake_up_locked(loader, end);
    leat_readahead_reap_locked(loader);
    leat_wake_balance_locked(loader);
}

/* As pthread_cond_wait, for the consumer; until a time, unless that is 0. A device that is lost calls
 * nobody, so it is asked now and then. */
static void wait_ready_locked(leat_loader *loader, int64_t until_ns)
{
    const int64_t check_ns = leat_clock_ns() + CHECK_NS;
    const bool checks = loader->device && (!until_ns || check_ns < until_ns);
    const int64_t at = checks ? check_ns : until_ns;
    const struct timespec until = { .tv_sec = at / 1000000000, .tv_nsec = at % 1000000000 };
    if (!at)
        pthread_cond_wait(&loader->ready, &loader->lock);
    else if (pthread_cond_timedwait(&loader->ready, &loader->lock, &until) == ETIMEDOUT && checks)
        leat_ship_check_locked(loader);
}

static void sleep_locked(leat_loader *loader, leat_worker *worker)
{
    const int64_t start = leat_clock_ns();
    fall_asleep_locked(loader, start);
    pthread_cond_wait(&loader->work, &loader->lock);
    wake_up_locked(loader, leat_trace_note(worker, LEAT_TRACE_SLEEP, start, -1, 0, 0, 0));
}

void leat_wake_rest_locked(leat_loader *loader, leat_worker *worker)
{
    if (leaderless_locked(loader)) {
        lead_locked(loader, worker, LEAT_WORKER, 0);
        return;
    }
    leat_tune_idle_locked(loader);
    loader->n_sleepers++;
    while (!loader->n_calls && !loader->stop)
        sleep_locked(loader, worker);
    if (loader->n_calls) /* who called has taken one off n_sleepers */
        loader->n_calls--;
}

void leat_wake_wait_locked(leat_loader *loader, leat_worker *worker,
                           bool (*done)(const leat_loader *), int64_t until_ns)
{
    leat_wake_balance_locked(loader); /* there may be work on later batches */
    loader->done = done;
    if (leaderless_locked(loader)) {
        lead_locked(loader, worker, LEAT_CONSUMER, until_ns);
    } else {
        const int64_t start = leat_clock_ns();
        wait_ready_locked(loader, until_ns);
        leat_trace_note(worker, LEAT_TRACE_SLEEP, start, -1, 0, 0, 0);
    }
    loader->done = NULL;
}
