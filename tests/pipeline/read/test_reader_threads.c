/* SPDX-License-Identifier: MIT
 *
 * test_reader_threads.c: rows that threads read come out once each, also with too few file descriptors. */
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/eventfd.h"
#include "fixtures/engine_fixture.h"
#include "pipeline/read/reader.h"

enum { ROWS = 128, TIMES = 100 };

/* A kernel with so many descriptors. */
typedef struct shop {
    _Atomic int n_open, most_open;
    int limit;
    bool holds; /* reads wait for `go` */
    sem_t begun, go;
} shop;

/* Every second row needs a second call, and has its descriptor until then. */
static int read_in_shop(void *arg, leat_row_read *row)
{
    shop *const s = arg;
    if (row->waited) {
        atomic_fetch_sub(&s->n_open, 1);
        return 0;
    }
    const int n = atomic_fetch_add(&s->n_open, 1) + 1;
    int error = 0, most = atomic_load(&s->most_open);
    if (n > s->limit)
        error = EMFILE;
    else if (s->holds) {
        sem_post(&s->begun);
        while (sem_wait(&s->go) < 0) {
        }
    }
    while (!error && n > most && !atomic_compare_exchange_weak(&s->most_open, &most, n)) {
    }
    row->waited = !error && row->sample % 2;
    if (row->waited)
        return EINPROGRESS;
    atomic_fetch_sub(&s->n_open, 1);
    return error;
}

static void open_shop(shop *s, int limit, bool holds, int *wake_fd, leat_reader_threads **out)
{
    leat_error err;
    atomic_init(&s->n_open, 0);
    atomic_init(&s->most_open, 0);
    s->limit = limit;
    s->holds = holds;
    sem_init(&s->begun, 0, 0);
    sem_init(&s->go, 0, 0);
    *wake_fd = eventfd(0, EFD_CLOEXEC);
    check(leat_reader_threads_open(out, read_in_shop, s, *wake_fd, &err), &err);
}

static void submit(leat_reader_threads *threads, leat_row_read *rows, int from, int to)
{
    for (int i = from; i < to; i++) {
        rows[i] = (leat_row_read){ .error = 99, .sample = (uint64_t)i };
        leat_reader_threads_queue(threads, &rows[i]);
    }
    leat_reader_threads_submit(threads);
}

/* Takes n rows, sleeping on wake_fd for each. Adds to seen[] of each row. */
static void take(leat_reader_threads *threads, int wake_fd, const leat_row_read *rows, int n,
                 int *seen)
{
    while (n > 0) {
        if (leat_reader_threads_watch(threads, true))
            leat_eventfd_wait(wake_fd);
        leat_reader_threads_watch(threads, false);
        for (leat_row_read *row = leat_reader_threads_take(threads); row; row = row->next_done) {
            seen[row - rows]++;
            n--;
        }
    }
    assert_int_equal(n, 0);
    assert_null(leat_reader_threads_take(threads));
}

TEST(every_row_comes_out_once)
{
    static const int limits[] = { 1000, 20, 2, 1, 0 };
    leat_row_read rows[ROWS];
    for (size_t l = 0; l < sizeof limits / sizeof *limits; l++) {
        leat_reader_threads *threads;
        int wake_fd;
        shop s;
        open_shop(&s, limits[l], false, &wake_fd, &threads);
        for (int k = 0; k < TIMES; k++) {
            int seen[ROWS] = { 0 };
            const int half = 1 + k % (ROWS - 1); /* two groups of any sizes */
            submit(threads, rows, 0, half);
            submit(threads, rows, half, ROWS);
            take(threads, wake_fd, rows, ROWS, seen);
            for (int i = 0; i < ROWS; i++) {
                assert_int_equal(seen[i], 1);
                assert_int_equal(rows[i].error, limits[l] ? 0 : EMFILE);
            }
        }
        assert_true(atomic_load(&s.most_open) <= limits[l]);
        leat_reader_threads_close(&threads);
        assert_null(threads);
        close(wake_fd);
    }
}

/* Groups that threads have at once: they may open an eighth of the files that the process may have. */
static int n_groups(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    const int n = limit.rlim_cur / 8 < ROWS ? (int)(limit.rlim_cur / 8) : ROWS;
    return (n + LEAT_READER_GROUP - 1) / LEAT_READER_GROUP;
}

TEST(rows_not_begun_can_be_dropped)
{
    const int n = n_groups();
    leat_row_read rows[ROWS];
    leat_reader_threads *threads;
    int wake_fd, seen[ROWS] = { 0 }, n_read = 0;
    shop s;
    open_shop(&s, 1000, true, &wake_fd, &threads);
    submit(threads, rows, 0, ROWS);
    for (int i = 0; i < n; i++) /* a thread is at the first row of each group */
        sem_wait(&s.begun);
    leat_reader_threads_drop(threads);
    for (int i = 0; i < n; i++)
        sem_post(&s.go);
    take(threads, wake_fd, rows, ROWS, seen);
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(seen[i], 1);
        assert_true(rows[i].error == 0 || rows[i].error == ECANCELED);
        n_read += rows[i].error == 0;
    }
    assert_int_equal(n_read, n);
    leat_reader_threads_close(&threads);
    close(wake_fd);
}
