/* SPDX-License-Identifier: MIT
 *
 * takes_part.c: when the consumer computes in place of a worker. wake.c and sched.c ask. If it takes batch after batch
 * at once and tasks are short, handing over each batch would cost more than the thread gains. Then the consumer computes
 * rows of any batch and one worker sleeps, so that no more threads are awake than there are cores. A thread that lacks
 * work spins for a while before it sleeps: it yields its core and looks for a change. Invariant: the consumer replaces
 * a worker only while it is awake in leat_loader_next(), because a consumer that sleeps computes nothing. */
#include <sched.h>

#include "base/clock.h"
#include "engine.h"

#define SPIN_NS 30000 /* about the time of a sleep with its wake-up, on another core */
/* The consumer takes part in computing after AT_ONCE batches in a row that it took at once: it was away for less than
 * AWAY_NS, or than 1 / AWAY_SHARE of the time to compute a batch. Tasks must be short, because the consumer may be
 * computing rows of a later batch when its own batch is complete. */
#define AT_ONCE 16
/* Instead of AT_ONCE if only one thread may compute at a time: the consumer needs no core of its own. */
#define ALONE      2
#define AWAY_NS    1000
#define AWAY_SHARE 16
#define SHORT_NS   100000
#define FAR_NS     10000000 /* a deadline that is no further may end before the batch is there */

/* An absence that is short beside the time to compute a batch does not count. A consumer that leaves without a batch does
 * not take part any more (leat_sched_help_locked()). */
void leat_takes_part_note_locked(leat_loader *loader, int64_t now_ns, int64_t until_ns)
{
    const double batch_ns = (double)leat_order_slot_rows(&loader->plan->order) * loader->sample_ns;
    const double away_ns = (double)(now_ns - loader->got_ns);
    const bool at_once = away_ns < AWAY_NS || away_ns < batch_ns / AWAY_SHARE;
    const bool stays = !until_ns || until_ns - now_ns > FAR_NS;
    loader->n_at_once = at_once && stays ? loader->n_at_once + 1 : 0;
}

bool leat_takes_part_locked(const leat_loader *loader)
{
    const int64_t enough = leat_takes_part_suffice(loader, 1) ? ALONE : AT_ONCE;
    return loader->n_at_once >= enough && loader->n_threads && !loader->device &&
           leat_readahead_is_off(&loader->readahead) && loader->sample_ns > 0 &&
           (double)loader->task_rows * loader->sample_ns <= SHORT_NS;
}

bool leat_takes_part_suffice(const leat_loader *loader, int64_t n)
{
    const int most = loader->n_threads < loader->n_cores ? loader->n_threads : loader->n_cores;
    return n + 1 > most;
}

bool leat_takes_part_spin_locked(leat_loader *loader, leat_worker *worker)
{
    const int64_t now = leat_clock_ns();
    const uint32_t seen = atomic_load_explicit(&loader->n_changes, memory_order_relaxed);
    if (!worker->idle_since)
        worker->idle_since = now;
    if (!leat_takes_part_locked(loader) || now - worker->idle_since >= SPIN_NS)
        return false;
    pthread_mutex_unlock(&loader->lock);
    do
        sched_yield();
    while (atomic_load_explicit(&loader->n_changes, memory_order_relaxed) == seen &&
           leat_clock_ns() - worker->idle_since < SPIN_NS);
    pthread_mutex_lock(&loader->lock);
    return true;
}

bool leat_takes_part_worker_spins_locked(leat_loader *loader, leat_worker *worker)
{
    if (loader->worker_spins || loader->stop || leat_wake_is_replaced_locked(loader))
        return false;
    loader->worker_spins = true;
    const bool spun = leat_takes_part_spin_locked(loader, worker);
    loader->worker_spins = false;
    return spun;
}
