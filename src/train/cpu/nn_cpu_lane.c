/* SPDX-License-Identifier: MIT
 *
 * nn_cpu_lane.c: the threads of the CPU backend: they wait for a job, work on their rows, and meet.
 * A waiting lane spins for a short time, in which the others usually arrive, and then sleeps, so that a
 * core becomes free for a late lane. */
#include <stdlib.h>

#include "nn_cpu.h"

enum { LOOKS = 2000 }; /* some ten microseconds */

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Waits until *number is no longer `old`. Its writer changes it under the lock and then wakes. */
static void wait_for_change(leat_net *net, atomic_uint *number, unsigned old)
{
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load_explicit(number, memory_order_acquire) != old)
            return;
        relax();
    }
    pthread_mutex_lock(&net->lock);
    while (atomic_load_explicit(number, memory_order_acquire) == old)
        pthread_cond_wait(&net->wake, &net->lock);
    pthread_mutex_unlock(&net->lock);
}

/* The last to arrive opens the next meeting. What lanes wrote before is seen by all after: each adds
 * to `arrived` (release), the last reads it (acquire) and changes `meeting` (release). */
void leat_cpu_lane_meet(leat_net *net)
{
    const int32_t n = net->job.n_lanes;
    const unsigned meeting = atomic_load_explicit(&net->meeting, memory_order_relaxed);
    if (n == 1)
        return;
    if (atomic_fetch_add_explicit(&net->arrived, 1, memory_order_acq_rel) + 1 < n) {
        wait_for_change(net, &net->meeting, meeting);
        return;
    }
    atomic_store_explicit(&net->arrived, 0, memory_order_relaxed);
    pthread_mutex_lock(&net->lock);
    atomic_fetch_add_explicit(&net->meeting, 1, memory_order_release);
    pthread_cond_broadcast(&net->wake);
    pthread_mutex_unlock(&net->lock);
}

int64_t leat_cpu_lane_rows(const leat_cpu_job *job, int32_t lane, int64_t *first)
{
    *first = job->rows * lane / job->n_lanes;
    return job->rows * (lane + 1) / job->n_lanes - *first;
}

/* A lane without rows waits again while the others work, so it reads the job under the
 * lock: the job of `seen`, or a later one if it slept longer. */
static bool take_part(leat_net *net, int32_t lane, unsigned *seen, bool *stop)
{
    pthread_mutex_lock(&net->lock);
    *seen = atomic_load_explicit(&net->jobs, memory_order_relaxed);
    *stop = net->stop;
    const bool mine = lane < net->job.n_lanes;
    pthread_mutex_unlock(&net->lock);
    return mine;
}

static void *run_lane(void *arg)
{
    leat_cpu_lane *lane = arg;
    leat_net *net = lane->net;
    unsigned seen = 0;
    bool stop = false;
    leat_onednn_enter(lane->dn);
    for (;;) {
        wait_for_change(net, &net->jobs, seen);
        const bool mine = take_part(net, lane->index, &seen, &stop);
        if (stop)
            return NULL;
        if (mine) {
            leat_cpu_lane_work(lane);
            leat_cpu_lane_meet(net);
        }
    }
}

void leat_cpu_lane_run(leat_net *net, const leat_cpu_job *job)
{
    pthread_mutex_lock(&net->lock);
    net->job = *job;
    atomic_fetch_add_explicit(&net->jobs, 1, memory_order_release);
    pthread_cond_broadcast(&net->wake);
    pthread_mutex_unlock(&net->lock);
    leat_onednn_enter(net->lanes[0].dn);
    leat_cpu_lane_work(&net->lanes[0]);
    leat_onednn_leave(net->lanes[0].dn);
    leat_cpu_lane_meet(net);
}

int leat_cpu_lane_start(leat_net *net, leat_error *err)
{
    for (int32_t i = 1; i < net->n_lanes; i++) {
        if (pthread_create(&net->lanes[i].thread, NULL, run_lane, &net->lanes[i]) != 0)
            return leat_fail(err, LEAT_E_NOMEM, "training: cannot start thread %d of %d", i + 1,
                             net->n_lanes);
        net->lanes[i].started = true;
    }
    return LEAT_OK;
}

void leat_cpu_lane_stop(leat_net *net)
{
    pthread_mutex_lock(&net->lock);
    net->stop = true;
    atomic_fetch_add_explicit(&net->jobs, 1, memory_order_release);
    pthread_cond_broadcast(&net->wake);
    pthread_mutex_unlock(&net->lock);
    for (int32_t i = 1; i < net->n_lanes; i++)
        if (net->lanes[i].started)
            pthread_join(net->lanes[i].thread, NULL);
}
