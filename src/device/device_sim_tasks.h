/* SPDX-License-Identifier: MIT
 *
 * device_sim_tasks.h: the real work of a simulated device: copies and host calls. One thread runs each
 * task at its time, in order of (time, number). device_sim.c calls it. */
#ifndef LEAT_DEVICE_SIM_TASKS_H
#define LEAT_DEVICE_SIM_TASKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "leat/error.h"

/* Place of a task in the order of execution. */
typedef struct leat_sim_place {
    int64_t at_ns;
    uint64_t number;
} leat_sim_place;

#define LEAT_SIM_FIRST ((leat_sim_place){ INT64_MIN, 0 }) /* before every task */

static inline bool leat_sim_before(leat_sim_place a, leat_sim_place b)
{
    return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.number < b.number;
}

typedef struct leat_sim_task {
    leat_sim_place at;  /* filled by push */
    void (*fn)(void *); /* NULL: a copy */
    void *arg;
    void *to;
    const void *from;
    size_t bytes;
} leat_sim_task;

typedef struct leat_sim_tasks {
    pthread_mutex_t lock; /* guards all below, and fields of the owner */
    pthread_cond_t wake;  /* signals the thread: a new first task, or stop */
    pthread_cond_t ran;   /* signals waiting threads: a task has run */
    pthread_t thread;
    leat_sim_task *heap; /* binary heap, first at [0] */
    size_t n_tasks, room;
    leat_sim_place running; /* place of the running task, or a place after all tasks if none runs */
    uint64_t n_numbers;
    int n_waiting; /* threads that wait for `ran` */
    bool stop;
} leat_sim_tasks;

/* Starts the thread. Returns LEAT_OK, LEAT_E_NOMEM or LEAT_E_DEVICE; after an error, do not call
 * leat_device_sim_tasks_fini. */
int leat_device_sim_tasks_init(leat_sim_tasks *tasks, leat_error *err);
/* Runs the remaining tasks, each at its time, and stops the thread. */
void leat_device_sim_tasks_fini(leat_sim_tasks *tasks);

/* Makes room for one more task. LEAT_OK or LEAT_E_NOMEM. */
int leat_device_sim_tasks_reserve_locked(leat_sim_tasks *tasks);
/* Adds a task, after a reserve. at_ns: not before leat_clock_ns(), read under the same lock. */
leat_sim_place leat_device_sim_tasks_push_locked(leat_sim_tasks *tasks, int64_t at_ns,
                                                 const leat_sim_task *task);
/* True: all tasks up to and including this place have run. */
bool leat_device_sim_tasks_ran_locked(const leat_sim_tasks *tasks, leat_sim_place at);
/* Waits for a time, and for all tasks up to and including a place. */
void leat_device_sim_tasks_wait(leat_sim_tasks *tasks, int64_t until_ns, leat_sim_place at);

#endif
