/* SPDX-License-Identifier: MIT
 *
 * reader_threads.c: implements reader_threads.h.
 *
 * DESIGN. Rows wait in one list, first in, first out, under one lock. A thread takes a group of them, asks the disk
 * for all, and then waits for each: most are there when it gets to them, so it sleeps about once per group. Where
 * opening a file takes long, groups are small, and more threads open files. A finished row goes to a stack that needs
 * no lock, so that it can be emptied by a thread that holds another one. */
#include "reader_threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/eventfd.h"
#include "base/pool.h"
#include "reader.h"

/* The threads may open 1 / FILES_SHARE of the files that the process may have. */
#define FILES_SHARE 8
/* Time to ask for the rows of a group: a thread that needs more leaves the rest to others. */
#define BEGIN_NS 500000

struct leat_reader_threads {
    leat_read_row *read; /* [const after open] */
    void *arg;           /* [const after open] */
    int wake_fd;         /* [const after open] */
    leat_pool *pool;     /* [const after open] */

    leat_row_read *queued, *queued_last; /* not yet submitted; by `next_done` [who queues] */

    pthread_mutex_t lock;
    pthread_cond_t work;           /* the threads sleep here */
    leat_row_read *waiting, *last; /* by `next_done` [lock] */
    int n_busy, most;              /* rows that threads have; how many they may have [lock] */
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
    if (atomic_load(&threads->watched) && atomic_exchange(&threads->watched, false))
        leat_eventfd_signal(threads->wake_fd);
}

/* Takes the rows of the next group. Returns how many. */
static int take_group_locked(leat_reader_threads *threads, leat_row_read **rows)
{
    int n = 0;
    for (; n < LEAT_READER_GROUP && threads->waiting && threads->n_busy < threads->most; n++) {
        rows[n] = threads->waiting;
        threads->waiting = rows[n]->next_done;
        threads->n_busy++;
    }
    return n;
}

/* Puts rows back in front. full: from now on threads have no more rows than they have now (at least one). */
static void put_back_locked(leat_reader_threads *threads, leat_row_read **rows, int n, bool full)
{
    threads->n_busy -= n;
    if (full)
        threads->most = threads->n_busy ? threads->n_busy : 1;
    while (n-- > 0) {
        rows[n]->next_done = threads->waiting;
        if (!threads->waiting)
            threads->last = rows[n];
        threads->waiting = rows[n];
    }
}

/* Asks the disk for rows, and finishes those that need not wait for it: their pointers become NULL. Returns for how
 * many there was time. *full: there are too few file descriptors for the next one. */
static int begin(leat_reader_threads *threads, leat_row_read **rows, int n, bool alone, bool *full)
{
    const int64_t until_ns = leat_clock_ns() + BEGIN_NS;
    int error, i = 0;
    do {
        error = atomic_load_explicit(&threads->dropped, memory_order_relaxed)
                    ? ECANCELED
                    : threads->read(threads->arg, rows[i]);
        *full = error == EMFILE && !alone;
        if (*full)
            return i;
        if (error != EINPROGRESS) {
            finish(threads, rows[i], error);
            rows[i] = NULL;
        }
    } while (++i < n && leat_clock_ns() < until_ns);
    return i;
}

/* Reads a group of rows. Releases the lock meanwhile. */
static void read_group_locked(leat_reader_threads *threads)
{
    leat_row_read *rows[LEAT_READER_GROUP];
    const bool alone = threads->most == 1;
    const int n = take_group_locked(threads, rows);
    bool full;
    pthread_mutex_unlock(&threads->lock);
    const int n_begun = begin(threads, rows, n, alone, &full);
    if (n_begun < n) {
        pthread_mutex_lock(&threads->lock);
        put_back_locked(threads, &rows[n_begun], n - n_begun, full);
        pthread_mutex_unlock(&threads->lock);
        pthread_cond_signal(&threads->work);
    }
    for (int i = 0; i < n_begun; i++)
        if (rows[i])
            finish(threads, rows[i], threads->read(threads->arg, rows[i]));
    pthread_mutex_lock(&threads->lock);
    threads->n_busy -= n_begun;
}

static void work(void *arg, int i)
{
    leat_reader_threads *const threads = arg;
    (void)i;
    pthread_mutex_lock(&threads->lock);
    while (!threads->stop) {
        if (threads->waiting && threads->n_busy < threads->most)
            read_group_locked(threads);
        else
            pthread_cond_wait(&threads->work, &threads->lock);
    }
    pthread_mutex_unlock(&threads->lock);
}

/* --- open and close --------------------------------------------------------------------------- */

static int n_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / FILES_SHARE >= LEAT_READER_ROWS)
        return LEAT_READER_ROWS;
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
    threads->most = n_files();
    const int n = threads->most < LEAT_READER_THREADS ? threads->most : LEAT_READER_THREADS;
    const int rc = leat_reader_fault.refuse_threads
                       ? leat_fail(err, LEAT_E_NOMEM, "cannot start a thread")
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
    threads->queued = NULL;
    pthread_mutex_unlock(&threads->lock);
    for (int i = 0; i < n; i += LEAT_READER_GROUP)
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
