/* SPDX-License-Identifier: MIT
 *
 * test_fork.c: after fork() a loader belongs to the parent and goes on as before. In the child every call
 * on it is an error, closing it does not wait, and the child can open its own loader. */
#include "fixtures/engine_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixtures/compressed.h"
#include "fixtures/own_folder.h"
#include "pipeline/plan/plan_impl.h"
#include "pipeline/source/tfrecord_impl.h"

#if defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#endif
#endif
#ifdef HAS_TSAN
enum { CHILD_THREADS = 0 }; /* it allows no threads in a child of many */
#else
enum { CHILD_THREADS = 2 };
#endif

#define N_RECORDS 2000
#define BATCH     16
#define WATCHDOG  240

static leat_plan *make_plan(const char *engine, int threads, const char *cache)
{
    return plan_format(
        "source: {tfrecord: {files: '%s/data.tfrecord', features: {x: {}, id: {shape: []}}}}\n"
        "engine: {digest: true, threads: %d, %s}\n"
        "pipeline: [{shuffle: {seed: 3}}, %s {batch: %d}, {prefetch: 3}]\n",
        test_folder, threads, engine, cache, BATCH);
}

static int make_data(void **state)
{
    if (make_folder(state))
        return -1;
    const char *const path = in_folder("data.tfrecord");
    write_records(path, 0, N_RECORDS, 700);
    return 0;
}

/* In the child: CMocka's own would jump into the parent's tests. */
#define must(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "child: line %d: %s\n", __LINE__, #condition);                         \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void wait_for(pid_t child)
{
    int status;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        fail_msg("the child ended by signal %d%s", WTERMSIG(status),
                 WTERMSIG(status) == SIGALRM ? ": it hung" : "");
    assert_int_equal(WEXITSTATUS(status), 0);
}

static uint64_t digest_of(const leat_batch *batch)
{
    const leat_view x = leat_batch_tensor(batch, 0);
    return leat_digest_row(x.data, (size_t)leat_shape_bytes(&x.shape), 0);
}

/* Every call answers. */
static void ask_all(leat_loader *loader, leat_batch *held, int64_t taken)
{
    leat_batch *batch = held;
    leat_loader_stats_info stats;
    leat_loader_state at;
    leat_row_error bad;
    leat_decision decision;
    leat_error err = { 0 };
    must(leat_loader_next(loader, &batch, &err) == LEAT_E_FORKED && !batch);
    must(strstr(err.message, "forked") != NULL);
    must(leat_loader_next_within(loader, 1000, &batch, &err) == LEAT_E_FORKED);
    must(leat_loader_trace_write(loader, "/nowhere/at/all", &err) == LEAT_E_FORKED);
    leat_loader_get_state(loader, &at);
    must(at.next_batch == taken);
    leat_loader_stats(loader, &stats);
    must(stats.batches == 0 && stats.n_stages == 0);
    must(leat_loader_errors(loader, &bad, 1) == 0);
    must(leat_loader_decisions(loader, &decision, 1) == 0);
    leat_loader_trace_step(loader, 0, 0, 1);
    must(leat_batch_get_info(held)->number == taken - 1);
    must(leat_batch_wait_on(held, NULL) < 0);
}

/* Asks, and closes in one of the orders that there are. */
static void be_child(leat_loader *loader, leat_batch *held, uint64_t digest, int64_t taken,
                     int order, leat_plan *plan, leat_device *device)
{
    alarm(WATCHDOG);
    ask_all(loader, held, taken);
    if (order & 1)
        leat_loader_close(&loader);
    must(device || digest_of(held) == digest);
    if (order & 2)
        must(leat_batch_release_on(held, NULL) < 0);
    else
        leat_batch_release(held);
    close_loader_and_plan(&loader, &plan);
    leat_device_close(&device);
    _exit(0);
}

/* Forks again and again in the middle of a run; the parent's batches are those of a run without. */
static void fork_meanwhile(const char *engine, int threads, const char *on)
{
    leat_plan *plan = make_plan(engine, threads, "");
    leat_device *device = NULL;
    leat_error err;
    int64_t n_batches, n = 0;
    uint64_t got = 0;
    if (on)
        check(leat_device_open(on, &device, &err), &err);
    const uint64_t want = run_digest(plan, NULL, &n_batches);
    const leat_loader_options options = { .device = device };
    leat_loader *loader = open_loader(plan, &options);
    leat_batch *batch;
    int rc;
    while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK) {
        got = leat_digest_chain(got, leat_batch_get_info(batch)->digest);
        if (++n % 16 == 3) {
            const uint64_t digest = device ? 0 : digest_of(batch);
            const pid_t child = fork();
            if (child == 0)
                be_child(loader, batch, digest, n, (int)(n / 16) % 4, plan, device);
            if (n % 32 == 3) /* at the same time as the child */
                leat_batch_release(batch);
            wait_for(child);
            if (n % 32 == 3)
                continue;
        }
        leat_batch_release(batch);
    }
    assert_int_equal(rc, LEAT_E_END);
    assert_int_equal(n, n_batches);
    assert_true(got == want);
    close_loader_and_plan(&loader, &plan);
    leat_device_close(&device);
}

TEST(a_child_is_told_and_the_parent_goes_on)
{
    static const char *const engines[] = { "reader: auto", "reader: auto, read_bytes: 4 MiB",
                                           "reader: pread", "read_bytes: 64 KiB, run: 2" };
    alarm(WATCHDOG);
    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++)
        for (int threads = 0; threads < 4; threads += 3) {
            fork_meanwhile(engines[e], threads, NULL);
            fork_meanwhile(engines[e], threads, "sim");
        }
    alarm(0);
}

/* From where the parent stood, on the same plan; both take the rest. */
TEST(a_child_opens_a_loader_of_its_own)
{
    leat_plan *plan = make_plan("reader: auto", CHILD_THREADS, "");
    leat_loader *loader = open_loader(plan, NULL);
    leat_batch *batch;
    leat_error err;
    int64_t n_batches;
    uint64_t want = 0;
    int told[2];
    alarm(WATCHDOG);
    assert_int_equal(pipe(told), 0);
    for (int i = 0; i < 5; i++) {
        check(leat_loader_next(loader, &batch, &err), &err);
        leat_batch_release(batch);
    }
    const pid_t child = fork();
    if (child == 0) {
        leat_loader_state at;
        alarm(WATCHDOG);
        leat_loader_get_state(loader, &at);
        leat_loader_close(&loader);
        must(leat_loader_open(plan, &(leat_loader_options){ .state = &at }, &loader, &err) >= 0);
        const uint64_t got = take_digest(loader, &n_batches);
        must(write(told[1], &got, sizeof got) == sizeof got);
        close_loader_and_plan(&loader, &plan);
        _exit(0);
    }
    want = take_digest(loader, &n_batches);
    wait_for(child);
    uint64_t got;
    assert_int_equal(read(told[0], &got, sizeof got), sizeof got);
    assert_true(got == want);
    assert_int_equal(n_batches, N_RECORDS / BATCH - 5);
    close(told[0]);
    close(told[1]);
    close_loader_and_plan(&loader, &plan);
    alarm(0);
}

/* --- a plan whose threads share chunks and files ------------------------------------------------ */

static void write_zipped(void)
{
    size_t n, size;
    const char *const plain = in_folder("large.tfrecord");
    write_records(plain, 0, N_RECORDS, 50000);
    uint8_t *const bytes = read_whole(plain, &n);
    uint8_t *const zipped = compressed(bytes, n, 0, n, &size);
    assert_non_null(zipped);
    put_file("zipped.tfrecord", zipped, size);
    free(zipped);
    free(bytes);
    remove(plain);
}

/* A worker of the parent is decompressing a chunk at the fork, and others wait for it. */
TEST(a_child_reads_compressed_files)
{
    write_zipped();
    for (int i = 0; i < 8; i++) {
        leat_plan *plan = plan_format(
            "source: {tfrecord: {files: '%s/zipped.tfrecord', features: {x: {}}}}\n"
            "engine: {digest: true, threads: 3}\n"
            "pipeline: [{shuffle: {seed: %d}}, {take: 64}, {batch: 4}, {prefetch: 8}]\n",
            test_folder, i);
        int64_t n_batches;
        leat_batch *batch;
        leat_error err;
        alarm(WATCHDOG);
        leat_loader *loader = open_loader(plan, NULL);
        check(leat_loader_next(loader, &batch, &err), &err);
        leat_batch_release(batch);
        const pid_t child = fork();
        if (child == 0) {
            alarm(WATCHDOG);
            leat_loader_close(&loader);
            if (i % 4 != 0 && CHILD_THREADS > 0) { /* else it closes the plan at once */
                must(leat_loader_open(plan, NULL, &loader, &err) >= 0);
                take_digest(loader, &n_batches);
                must(n_batches == 16);
            }
            close_loader_and_plan(&loader, &plan);
            _exit(0);
        }
        take_digest(loader, &n_batches);
        assert_int_equal(n_batches, 15);
        wait_for(child);
        close_loader_and_plan(&loader, &plan);
    }
    alarm(0);
}

typedef struct lock_holder {
    pthread_mutex_t *lock;
    atomic_bool holds, forked;
} lock_holder;

static void *hold_lock(void *arg)
{
    lock_holder *const holder = arg;
    pthread_mutex_lock(holder->lock);
    atomic_store(&holder->holds, true);
    pause_ns(20000000); /* most likely, the fork begins meanwhile */
    pthread_mutex_unlock(holder->lock);
    while (!atomic_load(&holder->forked)) /* a thread that has ended would be a leak of the child */
        pause_ns(1000);
    return NULL;
}

/* A fork waits for a thread that has a lock of the source: in the child nobody would release it. */
TEST(a_child_finds_no_lock_held)
{
    leat_plan *plan = make_plan("reader: auto", 0, "");
    leat_tfrecord_source *const source = (leat_tfrecord_source *)plan->source;
    pthread_mutex_t *const locks[] = { &source->kept->lock, &source->files.lock };
    for (int i = 0; i < 2; i++) {
        lock_holder holder = { .lock = locks[i] };
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, hold_lock, &holder), 0);
        while (!atomic_load(&holder.holds))
            pause_ns(1000);
        const pid_t child = fork();
        if (child == 0) {
            for (int k = 0; k < 2; k++)
                must(pthread_mutex_trylock(locks[k]) == 0);
            _exit(0);
        }
        atomic_store(&holder.forked, true);
        pthread_join(thread, NULL);
        wait_for(child);
        assert_int_equal(pthread_mutex_trylock(locks[i]), 0);
        pthread_mutex_unlock(locks[i]);
    }
    leat_plan_close(&plan);
}

/* Both would write at the same place. */
TEST(a_child_does_not_fill_the_parents_cache)
{
    char cache[400];
    int64_t n_batches;
    leat_loader_stats_info stats;
    alarm(WATCHDOG);
    snprintf(cache, sizeof cache, "{cache: '%s/cache'},", test_folder);
    leat_plan *plan = make_plan("reader: auto", CHILD_THREADS, cache);
    leat_loader *loader = open_loader(plan, NULL);
    const pid_t child = fork();
    if (child == 0) {
        alarm(WATCHDOG);
        leat_loader_close(&loader);
        must(leat_loader_open(plan, NULL, &loader, NULL) >= 0);
        take_digest(loader, &n_batches);
        close_loader_and_plan(&loader, &plan);
        _exit(0);
    }
    const uint64_t want = take_digest(loader, &n_batches);
    wait_for(child);
    leat_loader_close(&loader);
    loader = open_loader(plan, NULL);
    assert_true(take_digest(loader, &n_batches) == want);
    leat_loader_stats(loader, &stats);
    assert_int_equal(stats.cache.damaged, 0);
    assert_int_equal(stats.cache.entries, N_RECORDS);
    assert_int_equal(stats.cache.hits, N_RECORDS);
    close_loader_and_plan(&loader, &plan);
    alarm(0);
}

SUITE_FIXTURE(make_data, remove_folder)
