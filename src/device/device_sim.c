/* SPDX-License-Identifier: MIT
 *
 * device_sim.c: a simulated accelerator.
 *
 * DESIGN. Start and end of work are computed when it is enqueued, and never change:
 *
 *     kernel  start = max(now, tail of stream, tail of compute engine, its launch)
 *             launch = max(now, launch before) + launch_ns, one host queue for all streams
 *     copy    start = max(now, tail of stream, tail of copy engine), one engine per direction
 *     event   the tail of the stream when it is recorded; waiting on one raises the waiter's tail
 *
 * An engine runs work in the order of enqueueing. Work that waits for an event delays all later work on
 * the same engine, also from other streams.
 *
 * Only copies and host calls do real work. Both are tasks with a time. The one thread of the device runs
 * them in order of (time, number). A copy moves its bytes at its END, so reusing a slot too early shows
 * as wrong data. An event is done when its time has come and all earlier tasks have run.
 *
 * Moving bytes takes a memcpy and a wake-up, on a core that the pipeline could use: on a 2-core machine
 * 20 µs + 60 µs per MB, so 2.3 ms for a batch of 256 uint8 images of 224 × 224. A real device does not
 * need the core. `copy_data: false` simulates only the time. */
#include "device_sim.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/pool.h"
#include "leat/error.h"

/* --- tasks --------------------------------------------------------------------------------- */

/* The real work of a simulated device: copies and host calls. One thread runs each
 * task at its time, in order of (time, number). */

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
    leat_sim_place at; /* filled by push */
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

#define LAST ((leat_sim_place){ INT64_MAX, UINT64_MAX })

/* Makes room for one more task. LEAT_OK or LEAT_E_NOMEM. */
static int device_sim_tasks_reserve_locked(leat_sim_tasks *tasks)
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

/* Adds a task, after a reserve. at_ns: not before leat_clock_ns(), read under the same lock. */
static leat_sim_place device_sim_tasks_push_locked(leat_sim_tasks *tasks, int64_t at_ns,
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
static bool device_sim_tasks_ran_locked(const leat_sim_tasks *tasks, leat_sim_place at)
{
    const bool queued = tasks->n_tasks && !leat_sim_before(at, tasks->heap[0].at);
    return !queued && leat_sim_before(at, tasks->running);
}

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){ ns / 1000000000, ns % 1000000000 };
}

static void run_first_locked(leat_sim_tasks *tasks)
{
    const leat_sim_task task = pop_locked(tasks);
    tasks->running = task.at;
    pthread_mutex_unlock(&tasks->lock);
    memcpy(task.to, task.from, task.bytes);
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

/* Waits for a time, and for all tasks up to and including a place. */
static void device_sim_tasks_wait(leat_sim_tasks *tasks, int64_t until_ns, leat_sim_place at)
{
    const struct timespec until = timespec_of(until_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
    pthread_mutex_lock(&tasks->lock);
    tasks->n_waiting++;
    while (!device_sim_tasks_ran_locked(tasks, at))
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

static void free_tasks(leat_sim_tasks *tasks)
{
    pthread_cond_destroy(&tasks->ran);
    pthread_cond_destroy(&tasks->wake);
    pthread_mutex_destroy(&tasks->lock);
    free(tasks->heap);
}

/* Starts the thread. Returns LEAT_OK, LEAT_E_NOMEM or LEAT_E_DEVICE; after an error, do not call
 * device_sim_tasks_fini. */
static int device_sim_tasks_init(leat_sim_tasks *tasks, leat_error *err)
{
    *tasks = (leat_sim_tasks){ .room = 64, .running = LAST };
    tasks->heap = malloc(tasks->room * sizeof *tasks->heap);
    if (!tasks->heap)
        return leat_fail(err, LEAT_E_NOMEM, "%zu bytes", tasks->room * sizeof *tasks->heap);
    pthread_mutex_init(&tasks->lock, NULL);
    init_conds(tasks);
    const int rc = leat_pool_start(&tasks->thread, 0, device_thread, tasks);
    if (rc) {
        free_tasks(tasks);
        return leat_fail(err, LEAT_E_DEVICE, "cannot start its thread: %s", strerror(rc));
    }
    return LEAT_OK;
}

/* Runs the remaining tasks, each at its time, and stops the thread. */
static void device_sim_tasks_fini(leat_sim_tasks *tasks)
{
    pthread_mutex_lock(&tasks->lock);
    tasks->stop = true;
    pthread_cond_signal(&tasks->wake);
    pthread_mutex_unlock(&tasks->lock);
    pthread_join(tasks->thread, NULL);
    free_tasks(tasks);
}

enum copy_engine { TO_DEVICE, TO_HOST, ON_DEVICE, N_COPY_ENGINES };

struct sim_device {
    leat_device base;
    leat_sim_options options;        /* [const after open] */
    leat_sim_tasks tasks;            /* its lock guards all fields below, and streams and events */
    int64_t launch_ns;               /* time of the last launch */
    int64_t compute_ns;              /* tails of the engines */
    int64_t copy_ns[N_COPY_ENGINES]; /* when each is free */
};

struct sim_stream {
    leat_stream base;
    int64_t tail_ns; /* end of its last work */
    leat_sim_work work;
    leat_sim_place behind; /* last task before its next work */
};

struct sim_event {
    leat_event base;
    int64_t at_ns; /* 0: never recorded, done */
    leat_sim_place behind;
};

/* --- arithmetic ---------------------------------------------------------------------------- */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns the time of an amount at a rate; at most 11 days, so that sums do not overflow. */
static int64_t time_of(double amount, double rate)
{
    const double ns = amount / rate * 1e9;
    return ns > 0 ? (int64_t)(ns < 1e15 ? ns + 0.5 : 1e15) : 0; /* also 0 for NaN */
}

static struct sim_device *device_of(const leat_stream *stream)
{
    return (struct sim_device *)stream->device;
}

/* --- device -------------------------------------------------------------------------------- */

static int sim_open(const char *spec, leat_device **out, leat_error *err)
{
    struct sim_device *device = calloc(1, sizeof *device);
    if (!device)
        return leat_fail(err, LEAT_E_NOMEM, "%zu bytes", sizeof *device);
    leat_device_info *info = &device->base.info;
    int rc = leat_device_sim_parse(spec, &device->options, info->text, sizeof info->text, err);
    if (rc < 0 || (rc = device_sim_tasks_init(&device->tasks, err)) < 0) {
        free(device);
        return rc;
    }
    if (device->options.open_ns)
        leat_clock_nap(device->options.open_ns);
    device->base.table = &leat_device_sim;
    info->available = info->simulated = 1;
    if (!*spec || !strcmp(spec, leat_device_sim_preset(0)->name))
        snprintf(info->name, sizeof info->name, "sim");
    *out = &device->base;
    return LEAT_OK;
}

static void sim_close(leat_device *base)
{
    struct sim_device *device = (struct sim_device *)base;
    device_sim_tasks_fini(&device->tasks);
    free(device);
}

static size_t sim_list(leat_device_info *out, size_t n)
{
    size_t i = 0;
    leat_sim_options options;
    for (; leat_device_sim_preset(i); i++) {
        const char *name = leat_device_sim_preset(i)->name;
        if (i >= n)
            continue;
        out[i] = (leat_device_info){ .available = 1, .simulated = 1 };
        snprintf(out[i].name, sizeof out[i].name, i ? "sim:%s" : "sim", name);
        leat_device_sim_parse(name, &options, out[i].text, sizeof out[i].text, NULL);
    }
    return i;
}

/* --- streams and events -------------------------------------------------------------------- */

static int sim_stream_open(leat_device *device, leat_stream **out, leat_error *err)
{
    struct sim_stream *stream = calloc(1, sizeof *stream);
    *out = NULL;
    if (!stream)
        return leat_fail(err, LEAT_E_NOMEM, "stream: %zu bytes", sizeof *stream);
    stream->base.device = device;
    stream->behind = LEAT_SIM_FIRST;
    *out = &stream->base;
    return LEAT_OK;
}

static int sim_stream_sync(leat_stream *base, leat_error *err)
{
    struct sim_device *device = device_of(base);
    const struct sim_stream *stream = (struct sim_stream *)base;
    (void)err;
    pthread_mutex_lock(&device->tasks.lock);
    const int64_t at_ns = stream->tail_ns;
    const leat_sim_place behind = stream->behind;
    pthread_mutex_unlock(&device->tasks.lock);
    device_sim_tasks_wait(&device->tasks, at_ns, behind);
    return LEAT_OK;
}

static void sim_stream_close(leat_stream *stream)
{
    if (!stream)
        return;
    sim_stream_sync(stream, NULL);
    free(stream);
}

static void sim_stream_unwrap(leat_stream *stream)
{
    free(stream);
}

static int sim_event_open(leat_device *device, leat_event **out, leat_error *err)
{
    struct sim_event *event = calloc(1, sizeof *event);
    *out = NULL;
    if (!event)
        return leat_fail(err, LEAT_E_NOMEM, "event: %zu bytes", sizeof *event);
    event->base.device = device;
    event->behind = LEAT_SIM_FIRST;
    *out = &event->base;
    return LEAT_OK;
}

static void sim_event_close(leat_event *event)
{
    free(event);
}

static int sim_event_record(leat_event *base, leat_stream *on)
{
    struct sim_device *device = device_of(on);
    struct sim_event *event = (struct sim_event *)base;
    const struct sim_stream *stream = (struct sim_stream *)on;
    pthread_mutex_lock(&device->tasks.lock);
    event->at_ns = later(leat_clock_ns(), stream->tail_ns);
    event->behind = stream->behind;
    pthread_mutex_unlock(&device->tasks.lock);
    return LEAT_OK;
}

static int sim_stream_wait(leat_stream *base, leat_event *on)
{
    struct sim_device *device = device_of(base);
    struct sim_stream *stream = (struct sim_stream *)base;
    const struct sim_event *event = (struct sim_event *)on;
    pthread_mutex_lock(&device->tasks.lock);
    stream->tail_ns = later(stream->tail_ns, event->at_ns);
    if (leat_sim_before(stream->behind, event->behind))
        stream->behind = event->behind;
    pthread_mutex_unlock(&device->tasks.lock);
    return LEAT_OK;
}

static int sim_event_query(leat_event *base)
{
    struct sim_device *device = (struct sim_device *)base->device;
    const struct sim_event *event = (struct sim_event *)base;
    pthread_mutex_lock(&device->tasks.lock);
    const bool done = leat_clock_ns() >= event->at_ns &&
                      device_sim_tasks_ran_locked(&device->tasks, event->behind);
    pthread_mutex_unlock(&device->tasks.lock);
    return done ? LEAT_OK : LEAT_E_AGAIN;
}

static int sim_event_sync(leat_event *base)
{
    struct sim_device *device = (struct sim_device *)base->device;
    const struct sim_event *event = (struct sim_event *)base;
    pthread_mutex_lock(&device->tasks.lock);
    const int64_t at_ns = event->at_ns;
    const leat_sim_place behind = event->behind;
    pthread_mutex_unlock(&device->tasks.lock);
    device_sim_tasks_wait(&device->tasks, at_ns, behind);
    return LEAT_OK;
}

static int64_t sim_event_ns(leat_event *base)
{
    struct sim_device *device = (struct sim_device *)base->device;
    pthread_mutex_lock(&device->tasks.lock);
    const int64_t at_ns = ((struct sim_event *)base)->at_ns;
    pthread_mutex_unlock(&device->tasks.lock);
    return at_ns;
}

/* --- work ---------------------------------------------------------------------------------- */

int leat_device_sim_busy(leat_stream *base, int64_t ns)
{
    struct sim_device *device = device_of(base);
    struct sim_stream *stream = (struct sim_stream *)base;
    pthread_mutex_lock(&device->tasks.lock);
    device->launch_ns = later(leat_clock_ns(), device->launch_ns) + device->options.launch_ns;
    const int64_t start_ns = later(device->launch_ns, later(stream->tail_ns, device->compute_ns));
    stream->tail_ns = device->compute_ns = start_ns + later(ns, 0);
    stream->work.work_ns += later(ns, 0);
    stream->work.n_launches++;
    stream->work.launch_ns += device->options.launch_ns;
    pthread_mutex_unlock(&device->tasks.lock);
    return LEAT_OK;
}

int leat_device_sim_kernel(leat_stream *stream, double flops, double bytes)
{
    const leat_sim_options *options = &device_of(stream)->options;
    const int64_t roof =
        later(time_of(flops, options->peak_flops), time_of(bytes, options->memory_bytes_per_s));
    return leat_device_sim_busy(stream, later(roof, options->kernel_min_ns));
}

leat_sim_work leat_device_sim_work(const leat_stream *stream)
{
    struct sim_device *device = device_of(stream);
    pthread_mutex_lock(&device->tasks.lock);
    const leat_sim_work work = ((const struct sim_stream *)stream)->work;
    pthread_mutex_unlock(&device->tasks.lock);
    return work;
}

/* Bytes: each operand is read once, the result is written once. */
static int sim_matmul(leat_stream *stream, leat_precision precision, const float *a, const float *b,
                      float *c, int64_t rows, int64_t n)
{
    const double square = (double)n * (double)n, part = (double)rows * (double)n;
    (void)precision;
    (void)a;
    (void)b;
    (void)c;
    return leat_device_sim_kernel(stream, 2 * part * (double)n, 4 * (square + 2 * part));
}

static int sim_add(leat_stream *stream, const float *a, const float *b, float *c, int64_t n)
{
    (void)a;
    (void)b;
    (void)c;
    return leat_device_sim_kernel(stream, (double)n, 12 * (double)n);
}

/* The bytes take no time here: `ns` is the whole time. */
static int sim_synthetic_work(leat_stream *stream, int64_t ns, int64_t launches, void *memory,
                              size_t bytes)
{
    int rc = LEAT_OK;
    (void)memory;
    (void)bytes;
    for (int64_t i = 0; i < launches && rc == LEAT_OK; i++)
        rc = leat_device_sim_busy(stream, ns / launches);
    return rc;
}

/* Copies on a stream follow one another, and so do those of one engine. */
static int enqueue_copy(leat_stream *base, leat_sim_task item, double bytes_per_s,
                        enum copy_engine engine)
{
    struct sim_device *device = device_of(base);
    struct sim_stream *stream = (struct sim_stream *)base;
    pthread_mutex_lock(&device->tasks.lock);
    const int rc = device_sim_tasks_reserve_locked(&device->tasks);
    if (rc == LEAT_OK) {
        const int64_t start_ns =
            later(leat_clock_ns(), later(stream->tail_ns, device->copy_ns[engine]));
        stream->tail_ns = device->copy_ns[engine] =
            start_ns + device->options.copy_latency_ns + time_of((double)item.bytes, bytes_per_s);
        if (device->options.copy_data)
            stream->behind = device_sim_tasks_push_locked(&device->tasks, stream->tail_ns, &item);
    }
    pthread_mutex_unlock(&device->tasks.lock);
    return rc;
}

static int sim_copy_to_device(leat_stream *stream, void *to, const void *from, size_t bytes,
                              bool pinned)
{
    const leat_sim_options *options = &device_of(stream)->options;
    const leat_sim_task item = { .to = to, .from = from, .bytes = bytes };
    if (pinned)
        return enqueue_copy(stream, item, options->copy_bytes_per_s, TO_DEVICE);
    const int rc = enqueue_copy(stream, item, options->pageable_bytes_per_s, TO_DEVICE);
    return rc < 0 ? rc : sim_stream_sync(stream, NULL); /* a pageable copy is synchronous */
}

static int sim_copy_to_host(leat_stream *stream, void *to, const void *from, size_t bytes)
{
    return enqueue_copy(stream, (leat_sim_task){ .to = to, .from = from, .bytes = bytes },
                        device_of(stream)->options.copy_bytes_per_s, TO_HOST);
}

/* Each byte is read and written. */
static int sim_copy_on_device(leat_stream *stream, void *to, const void *from, size_t bytes)
{
    return enqueue_copy(stream, (leat_sim_task){ .to = to, .from = from, .bytes = bytes },
                        device_of(stream)->options.memory_bytes_per_s / 2, ON_DEVICE);
}

const leat_device_table leat_device_sim = {
    .kind = "sim",
    .help = "a simulated accelerator with a clock of its own; it computes nothing",
    .options = leat_device_sim_options,
    .open = sim_open,
    .close = sim_close,
    .list = sim_list,
    .device_alloc = leat_device_host_alloc,
    .device_free = leat_device_host_free,
    .pinned_alloc = leat_device_host_alloc,
    .pinned_free = leat_device_host_free,
    .stream_open = sim_stream_open,
    .stream_close = sim_stream_close,
    .stream_sync = sim_stream_sync,
    .stream_unwrap = sim_stream_unwrap,
    .event_open = sim_event_open,
    .event_close = sim_event_close,
    .event_record = sim_event_record,
    .stream_wait = sim_stream_wait,
    .event_query = sim_event_query,
    .event_sync = sim_event_sync,
    .event_ns = sim_event_ns,
    .copy_to_device = sim_copy_to_device,
    .copy_to_host = sim_copy_to_host,
    .copy_on_device = sim_copy_on_device,
    .synthetic_work = sim_synthetic_work,
    .matmul = sim_matmul,
    .add = sim_add,
};
