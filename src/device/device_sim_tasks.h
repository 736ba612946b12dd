/* SPDX-License-Identifier: MIT
 *
 * device_sim_tasks.h: the things a simulated device really does, each at its time: bytes that are
 * copied and host functions that are called, by one thread, in order of (time, number). */
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
    pthread_mutex_t lock; /* guards all below; the owner may guard more with it */
    pthread_cond_t wake;  /* to the thread: a task became the first, or stop */
    pthread_cond_t ran;   /* from the thread: a task has run */
    pthread_t thread;
    leat_sim_task *heap; /* binary heap, first at [0] */
    size_t n_tasks, room;
    leat_sim_place running; /* of the task in the thread's hands; after all others when none is */
    uint64_t n_numbers;
    int n_waiting; /* threads that wait for `ran` */
    bool stop;
} leat_sim_tasks;

/* Starts the thread. Returns LEAT_OK, LEAT_E_NOMEM or LEAT_E_DEVICE; then there is nothing to
 * undo. */
int leat_device_sim_tasks_init(leat_sim_tasks *tasks, leat_error *err);
/* Runs what is left, each at its time, and stops the thread. */
void leat_device_sim_tasks_fini(leat_sim_tasks *tasks);

/* Makes room for one more; LEAT_OK or LEAT_E_NOMEM. */
int leat_device_sim_tasks_reserve_locked(leat_sim_tasks *tasks);
/* Adds a task for a time that is not before leat_clock_ns() as read under the lock. */
leat_sim_place leat_device_sim_tasks_push_locked(leat_sim_tasks *tasks, int64_t at_ns,
                                                 const leat_sim_task *task);
/* Have all tasks up to and including this place run? */
bool leat_device_sim_tasks_ran_locked(const leat_sim_tasks *tasks, leat_sim_place at);
/* Sleeps until a time has come and all tasks up to and including a place have run. */
void leat_device_sim_tasks_wait(leat_sim_tasks *tasks, int64_t until_ns, leat_sim_place at);

#endif
