/* SPDX-License-Identifier: MIT
 *
 * cpu_team.c: the functions of cpu_team.h, which describes them. net_cpu.c and cpu_step.c call them. */
#include "cpu_team.h"

#include <stdlib.h>

#include "base/pool.h"

enum { SPINS = 2000 }; /* some ten microseconds */

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Waits until *number is no longer `old`. Its writer changes it under the lock and then wakes. */
static void wait_for_change(leat_cpu_team *team, atomic_uint *number, unsigned old)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(number, memory_order_acquire) != old)
            return;
        relax();
    }
    pthread_mutex_lock(&team->lock);
    while (atomic_load_explicit(number, memory_order_acquire) == old)
        pthread_cond_wait(&team->wake, &team->lock);
    pthread_mutex_unlock(&team->lock);
}

int32_t leat_cpu_team_claim(leat_cpu_team *team)
{
    return atomic_fetch_add_explicit(&team->claimed, 1, memory_order_relaxed);
}

/* Each thread adds to `arrived` (release); the last one reads it (acquire) and changes `meeting` (release).
 * From its own arrival on, a thread that lost its core may find the next job begun, with another number at
 * work: so it reads that number before. */
void leat_cpu_team_meet(leat_cpu_team *team, void (*between)(void *owner))
{
    const int32_t n_at_work = team->n_at_work;
    const unsigned meeting = atomic_load_explicit(&team->meeting, memory_order_relaxed);
    const int32_t before = atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel);
    if (before + 1 < n_at_work) {
        wait_for_change(team, &team->meeting, meeting);
        return;
    }
    if (between)
        between(team->owner);
    atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&team->claimed, 0, memory_order_relaxed);
    if (n_at_work == 1)
        return;
    pthread_mutex_lock(&team->lock);
    atomic_fetch_add_explicit(&team->meeting, 1, memory_order_release);
    pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->lock);
}

typedef struct member {
    leat_cpu_team *team;
    int32_t thread;
} member;

/* A thread without part in a job waits again while the others work, so it reads the job under the lock: the
 * job of `seen`, or a later one if it slept longer. */
static bool take_part(leat_cpu_team *team, int32_t thread, unsigned *seen, bool *stop)
{
    pthread_mutex_lock(&team->lock);
    *seen = atomic_load_explicit(&team->jobs, memory_order_relaxed);
    *stop = team->stop;
    const bool mine = thread < team->n_at_work;
    pthread_mutex_unlock(&team->lock);
    return mine;
}

static void *run_member(void *arg)
{
    const member me = *(member *)arg;
    leat_cpu_team *team = me.team;
    unsigned seen = 0;
    bool stop = false;
    free(arg);
    for (;;) {
        wait_for_change(team, &team->jobs, seen);
        const bool mine = take_part(team, me.thread, &seen, &stop);
        if (stop)
            return NULL;
        if (mine) {
            team->work(team->owner, me.thread);
            leat_cpu_team_meet(team, NULL);
        }
    }
}

void leat_cpu_team_run(leat_cpu_team *team, int32_t n)
{
    pthread_mutex_lock(&team->lock);
    team->n_at_work = n < team->n_threads ? n : team->n_threads;
    if (team->n_at_work > 1) {
        atomic_fetch_add_explicit(&team->jobs, 1, memory_order_release);
        pthread_cond_broadcast(&team->wake);
    }
    pthread_mutex_unlock(&team->lock);
    team->work(team->owner, 0);
    leat_cpu_team_meet(team, NULL);
}

static int start(leat_cpu_team *team, int32_t thread)
{
    member *me = malloc(sizeof *me);
    if (!me)
        return -1;
    *me = (member){ team, thread };
    /* oneDNN lets the stack pointer point into its buffers: no signal's handler may run there. */
    const int rc = leat_pool_start(&team->threads[team->n_started], 0, run_member, me);
    team->n_started += rc == 0;
    if (rc)
        free(me);
    return rc ? -1 : 0;
}

int leat_cpu_team_open(leat_cpu_team *team, int32_t n_threads, leat_cpu_work *work, void *owner,
                       leat_error *err)
{
    *team = (leat_cpu_team){ .owner = owner, .work = work, .n_threads = n_threads, .n_at_work = 1 };
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->wake, NULL);
    team->threads = calloc((size_t)n_threads, sizeof *team->threads);
    for (int32_t i = 1; i < n_threads; i++)
        if (!team->threads || start(team, i) < 0)
            return leat_fail(err, LEAT_E_NOMEM, "training: cannot start thread %d of %d", i + 1,
                             n_threads);
    return LEAT_OK;
}

void leat_cpu_team_close(leat_cpu_team *team)
{
    if (!team->work)
        return;
    pthread_mutex_lock(&team->lock);
    team->stop = true;
    atomic_fetch_add_explicit(&team->jobs, 1, memory_order_release);
    pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->lock);
    for (int32_t i = 0; i < team->n_started; i++)
        pthread_join(team->threads[i], NULL);
    free(team->threads);
    pthread_cond_destroy(&team->wake);
    pthread_mutex_destroy(&team->lock);
    team->work = NULL;
}
