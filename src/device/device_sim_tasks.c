/* SPDX-License-Identifier: MIT */
#include "device_sim_tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/check.h"
#include "base/clock.h"

#define LAST ((leat_sim_place){ INT64_MAX, UINT64_MAX })

int leat_device_sim_tasks_reserve_locked(leat_sim_tasks *tasks)
{
    if (tasks->n_tasks < tasks->room)
        return LEAT_OK;
    leat_sim_task *heap = realloc(tasks->heap, 2 * tasks->room * sizeof *heap);
    if (!heap)
        return LEAT_E_NOMEM;
    tasks->heap = heap;
    tasks->room *= 2;
    return LEAT_OK;
}

leat_sim_place leat_device_sim_tasks_push_locked(leat_sim_tasks *tasks, int64_t at_ns,
                                                 const leat_sim_task *task)
{
    leat_sim_task *heap = tasks->heap;
    const leat_sim_place at = { at_ns, ++tasks->n_numbers };
    leat_check(tasks->n_tasks < tasks->room);
    size_t i = tasks->n_tasks++;
    for (; i && leat_sim_before(at, heap[(i - 1) / 2].at); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = *task;
    heap[i].at = at;
    if (i == 0)
        pthread_cond_signal(&tasks->wake);
    return at;
}

static leat_sim_task pop_locked(leat_sim_tasks *tasks)
{
    leat_sim_task *heap = tasks->heap;
    const leat_sim_task first = heap[0], last = heap[--tasks->n_tasks];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < tasks->n_tasks; i = child) {
        if (child + 1 < tasks->n_tasks && leat_sim_before(heap[child + 1].at, heap[child].at))
            child++;
        if (!leat_sim_before(heap[child].at, last.at))
            break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return first;
}

/* A new task never gets a place before one that has run: its time is not before now, and the thread
 * starts no task before its time. */
bool leat_device_sim_tasks_ran_locked(const leat_sim_tasks *tasks, leat_sim_place at)
{
    const bool queued = tasks->n_tasks && !leat_sim_before(at, tasks->heap[0].at);
    return !queued && leat_sim_before(at, tasks->running);
}

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){ ns / 1000000000, ns % 1000000000 };
}

static void run_task(const leat_sim_task *task)
{
    if (task->fn)
        task->fn(task->arg);
    else
        memcpy(task->to, task->from, task->bytes);
}

static void run_first_locked(leat_sim_tasks *tasks)
{
    const leat_sim_task task = pop_locked(tasks);
    tasks->running = task.at;
    pthread_mutex_unlock(&tasks->lock);
    run_task(&task);
    pthread_mutex_lock(&tasks->lock);
    tasks->running = LAST;
    if (tasks->n_waiting)
        pthread_cond_broadcast(&tasks->ran);
}

static void *device_thread(void *arg)
{
    leat_sim_tasks *tasks = arg;
    prctl(PR_SET_TIMERSLACK, 1UL); /* by default, timers are up to 50 µs late */
    pthread_mutex_lock(&tasks->lock);
    while (!tasks->stop || tasks->n_tasks) {
        if (!tasks->n_tasks) {
            pthread_cond_wait(&tasks->wake, &tasks->lock);
        } else if (leat_clock_ns() < tasks->heap[0].at.at_ns) {
            const struct timespec at = timespec_of(tasks->heap[0].at.at_ns);
            pthread_cond_timedwait(&tasks->wake, &tasks->lock, &at);
        } else {
            run_first_locked(tasks);
        }
    }
    pthread_mutex_unlock(&tasks->lock);
    return NULL;
}

void leat_device_sim_tasks_wait(leat_sim_tasks *tasks, int64_t until_ns, leat_sim_place at)
{
    const struct timespec until = timespec_of(until_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
    pthread_mutex_lock(&tasks->lock);
    tasks->n_waiting++;
    while (!leat_device_sim_tasks_ran_locked(tasks, at))
        pthread_cond_wait(&tasks->ran, &tasks->lock);
    tasks->n_waiting--;
    pthread_mutex_unlock(&tasks->lock);
}

static void init_conds(leat_sim_tasks *tasks)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&tasks->wake, &attr);
    pthread_cond_init(&tasks->ran, &attr);
    pthread_condattr_destroy(&attr);
}

static void release(leat_sim_tasks *tasks)
{
    pthread_cond_destroy(&tasks->ran);
    pthread_cond_destroy(&tasks->wake);
    pthread_mutex_destroy(&tasks->lock);
    free(tasks->heap);
}

int leat_device_sim_tasks_init(leat_sim_tasks *tasks, leat_error *err)
{
    *tasks = (leat_sim_tasks){ .room = 64, .running = LAST };
    tasks->heap = malloc(tasks->room * sizeof *tasks->heap);
    if (!tasks->heap)
        return leat_fail(err, LEAT_E_NOMEM, "%zu bytes", tasks->room * sizeof *tasks->heap);
    pthread_mutex_init(&tasks->lock, NULL);
    init_conds(tasks);
    const int rc = pthread_create(&tasks->thread, NULL, device_thread, tasks);
    if (rc) {
        release(tasks);
        return leat_fail(err, LEAT_E_DEVICE, "cannot start its thread: %s", strerror(rc));
    }
    return LEAT_OK;
}

void leat_device_sim_tasks_fini(leat_sim_tasks *tasks)
{
    pthread_mutex_lock(&tasks->lock);
    tasks->stop = true;
    pthread_cond_signal(&tasks->wake);
    pthread_mutex_unlock(&tasks->lock);
    pthread_join(tasks->thread, NULL);
    release(tasks);
}
