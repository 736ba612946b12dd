/* SPDX-License-Identifier: MIT
 *
 * reader_threads.c: implements reader_threads.h.
 *
 * DESIGN. Rows wait in one list, first in, first out, under one lock. A finished row goes to a stack that needs no
 * lock, so that it can be emptied by a thread that holds another one. */
#include "reader_threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/eventfd.h"
#include "base/pool.h"
#include "reader.h"

#define FILES_SHARE                                                                                \
    8 /* the threads may open 1 / FILES_SHARE of the files that the process may have */

struct leat_reader_threads {
    leat_read_row *read; /* [const after open] */
    void *arg;           /* [const after open] */
    int wake_fd;         /* [const after open] */
    leat_pool *pool;     /* [const after open] */

    leat_row_read *queued, *queued_last; /* not yet submitted; by `next_done` [who queues] */

    pthread_mutex_t lock;
    pthread_cond_t work;           /* the threads sleep here */
    leat_row_read *waiting, *last; /* by `next_done` [lock] */
    int n_busy, most;              /* threads that read; how many may [lock] */
    bool stop;                     /* [lock] */

    /* finish() pushes and then looks whether it is watched; who sleeps does the reverse. In one order of all four,
     * at least one of them sees the other. */
    _Atomic bool watched;
    _Atomic bool dropped;          /* leat_reader_threads_drop() to each thread */
    _Atomic(leat_row_read *) done; /* each thread to leat_reader_threads_take() */
};

/* --- the threads ------------------------------------------------------------------------------ */

static void finish(leat_reader_threads *threads, leat_row_read *row, int error)
{
    row->error = (uint8_t)error;
    leat_row_read *before = atomic_load_explicit(&threads->done, memory_order_relaxed);
    do
        row->next_done = before;
    while (!atomic_compare_exchange_weak_explicit(&threads->done, &before, row,
                                                  memory_order_seq_cst, memory_order_relaxed));
    if (atomic_load(&threads->watched))
        leat_eventfd_signal(threads->wake_fd);
}

static leat_row_read *take_waiting_locked(leat_reader_threads *threads)
{
    leat_row_read *const row = threads->waiting;
    threads->waiting = row->next_done;
    threads->n_busy++;
    return row;
}

/* Puts a row back in front, and lets no more threads read than read now. */
static void put_back_locked(leat_reader_threads *threads, leat_row_read *row)
{
    if (threads->most > threads->n_busy)
        threads->most = threads->n_busy ? threads->n_busy : 1;
    row->next_done = threads->waiting;
    if (!threads->waiting)
        threads->last = row;
    threads->waiting = row;
}

/* Reads one row. Releases the lock meanwhile. */
static void read_one_locked(leat_reader_threads *threads)
{
    const bool alone = threads->most == 1;
    leat_row_read *const row = take_waiting_locked(threads);
    pthread_mutex_unlock(&threads->lock);
    const int error = atomic_load_explicit(&threads->dropped, memory_order_relaxed)
                          ? ECANCELED
                          : threads->read(threads->arg, row);
    const bool again = error == EMFILE && !alone;
    if (!again)
        finish(threads, row, error);
    pthread_mutex_lock(&threads->lock);
    threads->n_busy--;
    if (again)
        put_back_locked(threads, row);
}

static void work(void *arg, int i)
{
    leat_reader_threads *const threads = arg;
    (void)i;
    pthread_mutex_lock(&threads->lock);
    while (!threads->stop) {
        if (threads->waiting && threads->n_busy < threads->most)
            read_one_locked(threads);
        else
            pthread_cond_wait(&threads->work, &threads->lock);
    }
    pthread_mutex_unlock(&threads->lock);
}

/* --- open and close --------------------------------------------------------------------------- */

static int n_threads(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / FILES_SHARE >= LEAT_READER_THREADS)
        return LEAT_READER_THREADS;
    return limit.rlim_cur < 2 * FILES_SHARE ? 2 : (int)(limit.rlim_cur / FILES_SHARE);
}

int leat_reader_threads_open(leat_reader_threads **out, leat_read_row *read, void *arg, int wake_fd,
                             leat_error *err)
{
    leat_reader_threads *const threads = calloc(1, sizeof *threads);
    *out = threads;
    if (!threads)
        return leat_fail(err, LEAT_E_NOMEM, "reading threads: %zu bytes", sizeof *threads);
    pthread_mutex_init(&threads->lock, NULL);
    pthread_cond_init(&threads->work, NULL);
    threads->read = read;
    threads->arg = arg;
    threads->wake_fd = wake_fd;
    threads->most = n_threads();
    const int n = leat_reader_fault.refuse_threads ? -1 : threads->most;
    const int rc = n < 0 ? leat_fail(err, LEAT_E_NOMEM, "cannot start a thread")
                         : leat_pool_open_small(&threads->pool, n, "read", work, threads,
                                                LEAT_READER_STACK_BYTES, err);
    if (rc < 0)
        leat_reader_threads_close(out);
    return rc < 0 ? LEAT_E_UNSUPPORTED : LEAT_OK;
}

void leat_reader_threads_close(leat_reader_threads **out)
{
    leat_reader_threads *const threads = *out;
    if (!threads)
        return;
    pthread_mutex_lock(&threads->lock);
    threads->stop = true;
    pthread_cond_broadcast(&threads->work);
    pthread_mutex_unlock(&threads->lock);
    leat_pool_close(&threads->pool);
    pthread_cond_destroy(&threads->work);
    pthread_mutex_destroy(&threads->lock);
    free(threads);
    *out = NULL;
}

void leat_reader_threads_close_forked(leat_reader_threads **out)
{
    if (!*out)
        return;
    leat_pool_close_forked(&(*out)->pool);
    free(*out);
    *out = NULL;
}

int64_t leat_reader_threads_cpu_ns(const leat_reader_threads *threads)
{
    return leat_pool_cpu_ns(threads->pool);
}

/* --- rows ------------------------------------------------------------------------------------- */

void leat_reader_threads_queue(leat_reader_threads *threads, leat_row_read *row)
{
    row->next_done = NULL;
    *(threads->queued ? &threads->queued_last->next_done : &threads->queued) = row;
    threads->queued_last = row;
}

void leat_reader_threads_submit(leat_reader_threads *threads)
{
    int n = 0;
    for (const leat_row_read *row = threads->queued; row; row = row->next_done)
        n++;
    if (!n)
        return;
    pthread_mutex_lock(&threads->lock);
    *(threads->waiting ? &threads->last->next_done : &threads->waiting) = threads->queued;
    threads->last = threads->queued_last;
    int n_wanted = threads->most - threads->n_busy;
    n_wanted = (n + 1) / 2 < n_wanted
                   ? (n + 1) / 2
                   : n_wanted; /* waking one costs as much as reading a cached file */
    pthread_mutex_unlock(&threads->lock);
    threads->queued = NULL;
    while (n_wanted-- > 0)
        pthread_cond_signal(&threads->work);
}

void leat_reader_threads_drop(leat_reader_threads *threads)
{
    atomic_store_explicit(&threads->dropped, true, memory_order_relaxed);
}

bool leat_reader_threads_watch(leat_reader_threads *threads, bool on)
{
    atomic_store(&threads->watched, on);
    return on && !atomic_load(&threads->done);
}

leat_row_read *leat_reader_threads_take(leat_reader_threads *threads)
{
    if (!atomic_load_explicit(&threads->done, memory_order_relaxed))
        return NULL;
    return atomic_exchange_explicit(&threads->done, NULL, memory_order_acquire);
}
