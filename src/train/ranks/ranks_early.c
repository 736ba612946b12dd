/* SPDX-License-Identifier: MIT
 *
 * ranks_early.c: the functions of ranks_early.h, which describes them. */
#include "ranks_early.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/pool.h"

struct leat_ranks_early {
    leat_ranks *ranks, channel;
    int32_t n_chunks;
    int (*sum)(void *owner, int32_t chunk, leat_error *err);
    void *owner;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int32_t ready, done; /* chunks that may be summed; that have been */
    int rc;              /* of this step; the other chunks are then left out */
    leat_error error;
    bool started, stop;
    atomic_int awaited;
};

/* --- the thread ------------------------------------------------------------------------------ */

static void *run(void *arg)
{
    leat_ranks_early *const o = arg;
    pthread_mutex_lock(&o->lock);
    while (!o->stop) {
        if (o->done == o->ready) {
            pthread_cond_wait(&o->changed, &o->lock);
            continue;
        }
        const int32_t chunk = o->done;
        int rc = o->rc;
        pthread_mutex_unlock(&o->lock);
        if (rc == LEAT_OK)
            rc = o->sum(o->owner, chunk, &o->error);
        pthread_mutex_lock(&o->lock);
        o->rc = o->rc < 0 ? o->rc : rc;
        o->done++;
        if (o->done == o->n_chunks)
            pthread_cond_broadcast(&o->changed);
    }
    pthread_mutex_unlock(&o->lock);
    return NULL;
}

int leat_ranks_early_open(leat_ranks *ranks, int32_t n_chunks,
                          int (*sum)(void *owner, int32_t chunk, leat_error *err), void *owner,
                          leat_ranks_early **out, leat_error *err)
{
    leat_ranks_early *const o = calloc(1, sizeof *o);
    pthread_condattr_t monotonic;
    *out = o;
    if (!o)
        return leat_fail(err, LEAT_E_NOMEM, "ranks: no memory for sums of gradients");
    *o = (leat_ranks_early){ .ranks = ranks, .n_chunks = n_chunks, .sum = sum, .owner = owner };
    o->channel = (leat_ranks){ .table = ranks->table,
                               .rank = ranks->rank,
                               .n = ranks->n,
                               .here = ranks->here,
                               .own = ranks->own,
                               .channel = 1,
                               .awaited = &o->awaited,
                               .deadline_ns = ranks->deadline_ns,
                               .latency_ns = ranks->latency_ns,
                               .ns_per_byte = ranks->ns_per_byte };
    pthread_mutex_init(&o->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&o->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    o->started = leat_pool_start(&o->thread, 0, run, o) == 0;
    return o->started ? LEAT_OK
                      : leat_fail(err, LEAT_E_NOMEM,
                                  "training: cannot start the thread that sums "
                                  "gradients");
}

leat_ranks *leat_ranks_early_channel(leat_ranks_early *o)
{
    return &o->channel;
}

void leat_ranks_early_close(leat_ranks_early *o)
{
    if (!o)
        return;
    pthread_mutex_lock(&o->lock);
    o->stop = true;
    pthread_cond_broadcast(&o->changed);
    pthread_mutex_unlock(&o->lock);
    if (o->started)
        pthread_join(o->thread, NULL);
    pthread_cond_destroy(&o->changed);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

/* --- a step ---------------------------------------------------------------------------------- */

void leat_ranks_early_begin(leat_ranks_early *o)
{
    pthread_mutex_lock(&o->lock);
    o->ready = o->done = 0;
    o->rc = LEAT_OK;
    pthread_mutex_unlock(&o->lock);
}

void leat_ranks_early_ready(leat_ranks_early *o, int32_t n)
{
    pthread_mutex_lock(&o->lock);
    if (n > o->ready) {
        o->ready = n;
        pthread_cond_broadcast(&o->changed);
    }
    pthread_mutex_unlock(&o->lock);
}

/* What the other channel knows of ranks that are gone or late. */
static void take_failure(leat_ranks_early *o)
{
    leat_ranks *const to = o->ranks;
    if (o->channel.broken == LEAT_OK || to->broken < 0)
        return;
    to->broken = o->channel.broken;
    to->error = o->channel.error;
    to->reports |= o->channel.reports;
    to->is_told |= o->channel.is_told;
}

int leat_ranks_early_finish(leat_ranks_early *o, leat_error *err)
{
    enum { LOOK_NS = 50 * 1000 * 1000 };
    const leat_ranks_wait wait = leat_ranks_wait_begin(o->ranks);
    pthread_mutex_lock(&o->lock);
    const bool failed = o->ranks->broken < 0;
    if (failed && o->rc == LEAT_OK)
        o->rc = o->ranks->broken;
    o->ready = o->n_chunks;
    pthread_cond_broadcast(&o->changed);
    atomic_store(&o->awaited, failed ? LEAT_RANKS_GIVEN_UP : LEAT_RANKS_AWAITED);
    while (o->done < o->n_chunks) {
        const int64_t ns = leat_clock_ns() + LOOK_NS;
        const struct timespec until = { ns / 1000000000, ns % 1000000000 };
        pthread_cond_timedwait(&o->changed, &o->lock, &until);
        leat_ranks_came(o->ranks);
    }
    atomic_store(&o->awaited, LEAT_RANKS_NOT_AWAITED);
    const int rc = o->rc;
    pthread_mutex_unlock(&o->lock);
    leat_ranks_wait_end(o->ranks, wait);
    take_failure(o);
    return rc < 0 ? leat_fail_as(err, failed ? &o->ranks->error : &o->error) : LEAT_OK;
}
