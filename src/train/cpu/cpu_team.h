/* SPDX-License-Identifier: MIT
 *
 * cpu_team.h: the threads of the CPU backend. They wait for a job, work on it together, and meet.
 *
 * DESIGN: a waiting thread spins for a short time, in which the others usually arrive, and then sleeps, so that
 * a core becomes free for a late thread or a worker of the pipeline. Work is claimed one item at a time, so
 * that a thread that lost its core for a while holds up the others by one item. */
#ifndef LEAT_CPU_TEAM_H
#define LEAT_CPU_TEAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "leat/error.h"

typedef void leat_cpu_work(void *owner, int32_t thread);

typedef struct leat_cpu_team {
    void *owner;
    leat_cpu_work *work;
    int32_t n_threads; /* with the caller's, which is thread 0 */
    int32_t n_at_work; /* [lock] of this job: threads 0 … n_at_work - 1 */
    pthread_t *threads;
    int32_t n_started;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_uint jobs;    /* begun; threads wait for the next */
    atomic_uint meeting; /* number of the present meeting */
    atomic_int arrived;  /* at it */
    atomic_int claimed;  /* items of this phase */
    bool stop;           /* [lock] */
} leat_cpu_team;

/* Starts n_threads - 1 threads, which call work(owner, thread) for every job. */
int leat_cpu_team_open(leat_cpu_team *team, int32_t n_threads, leat_cpu_work *work, void *owner,
                       leat_error *err);
void leat_cpu_team_close(leat_cpu_team *team);
/* Runs a job on the first n threads, with the caller as thread 0; returns when all are done. */
void leat_cpu_team_run(leat_cpu_team *team, int32_t n);
/* Inside of a job: the next item of this phase, from 0. */
int32_t leat_cpu_team_claim(leat_cpu_team *team);
/* Inside of a job: waits until all have come. The last to come calls between(owner) (NULL: nothing) before
 * anyone goes on, and begins a new phase. What threads wrote before is seen by all after. */
void leat_cpu_team_meet(leat_cpu_team *team, void (*between)(void *owner));

#endif
