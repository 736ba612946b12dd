/* SPDX-License-Identifier: MIT
 *
 * test_scratch_quota.c: scratch for large samples is shared and not multiplied by threads: what is claimed stays
 * within the quota, nobody waits for ever, a plan with a few large pictures opens and keeps to its budget, and
 * one that is too large is named. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"
#include "fixtures/sanitized.h"

#include "base/scratch.h"
#include "bench/jpeg_reference.h"

#define N_THREADS 8
#define N_ROUNDS  400
#define WATCHDOG  400 /* seconds */

#define N_SMALL 100
#ifdef SANITIZED
#define LARGE_PX 1000 /* they are slow */
#else
#define LARGE_PX 1600
#endif
#define BOMB_PX    6000
#define BOMB_BYTES ((int64_t)BOMB_PX * BOMB_PX * 3)

/* --- the count alone -------------------------------------------------------------------------------- */

static leat_scratch_quota *quota;
static _Atomic size_t in_use, most_in_use;

/* Samples that grow once or twice, now and then beyond all of the quota. */
static void *claims(void *arg)
{
    unsigned state = (unsigned)(uintptr_t)arg;
    for (int i = 0; i < N_ROUNDS; i++) {
        size_t claim = 0;
        for (int step = 0; step < 3; step++) {
            const size_t before = claim;
            state = state * 1664525u + 1013904223u;
            leat_scratch_quota_take(quota, &claim, 1 + (state >> 8) % (i % 50 ? 300 : 3000));
            const size_t now = atomic_fetch_add(&in_use, claim - before) + claim - before;
            size_t most = atomic_load(&most_in_use);
            while (now > most && !atomic_compare_exchange_weak(&most_in_use, &most, now)) {
            }
        }
        atomic_fetch_sub(&in_use, claim);
        leat_scratch_quota_give(quota, &claim);
    }
    return NULL;
}

TEST(nobody_waits_for_ever_and_one_at_most_goes_beyond)
{
    static const size_t sizes[] = { 0, 1, 500, 2000, 1 << 20 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t first = 0; first <= 600; first += 300) {
            pthread_t threads[N_THREADS];
            atomic_store(&most_in_use, 0);
            assert_int_equal(leat_scratch_quota_open(&quota, sizes[s], first, NULL), LEAT_OK);
            for (uintptr_t t = 0; t < N_THREADS; t++)
                assert_int_equal(pthread_create(&threads[t], NULL, claims, (void *)(t + 1)), 0);
            for (int t = 0; t < N_THREADS; t++)
                pthread_join(threads[t], NULL);
            assert_int_equal(atomic_load(&in_use), 0);
            assert_true(atomic_load(&most_in_use) <= sizes[s] + 3 * 3000);
            assert_true(leat_scratch_quota_most(quota) >= atomic_load(&most_in_use));
            leat_scratch_quota_close(&quota);
            assert_null(quota);
        }
}

/* What lies within a scratch's own bytes is not claimed; what is beyond is, until it is given back. */
TEST(a_scratch_claims_what_is_beyond_its_own)
{
    leat_scratch *scratch;
    assert_int_equal(leat_scratch_quota_open(&quota, 1 << 20, 0, NULL), LEAT_OK);
    assert_int_equal(leat_scratch_open(&scratch, 1 << 20, NULL), LEAT_OK);
    leat_scratch_share(scratch, 8192, quota);
    assert_non_null(leat_scratch_take(scratch, 4096));
    assert_int_equal(leat_scratch_quota_most(quota), 0);
    assert_non_null(leat_scratch_take(scratch, 65536));
    const size_t most = leat_scratch_quota_most(quota);
    assert_in_range(most, 65536 - 4096, 65536);
    for (int i = 0; i < 20; i++) { /* it is given back each time */
        leat_scratch_reset(scratch);
        leat_scratch_trim(scratch, 8192);
        assert_non_null(leat_scratch_take(scratch, 65536));
    }
    assert_true(leat_scratch_quota_most(quota) <= most + 4096);
    assert_null(leat_scratch_take(scratch, 1 << 20));
    assert_true(leat_scratch_asked(scratch) > 1 << 20); /* though it was not there */
    leat_scratch_close(&scratch);
    leat_scratch_quota_close(&quota);
}

/* --- plans ------------------------------------------------------------------------------------------ */

static void put_picture(record_writer *to, int width, int height, bool progressive, int64_t id)
{
    const reference_picture p = { REFERENCE_OF(width, height, 3, 2, 2, 30),
                                  .is_progressive = progressive };
    leat_format_error err;
    uint8_t *bytes;
    const size_t size = reference_encode(&p, (unsigned)id * 4, &bytes);
    assert_int_equal(leat_example_add_bytes(to->builder, "image", bytes, size, &err), 0);
    assert_int_equal(leat_example_add_int64s(to->builder, "label", &id, 1, &err), 0);
    put_record(to);
    free(bytes);
}

/* Small pictures, and large ones at the places that are asked for. */
static void write_set(const char *name, int n_large, int large, bool progressive)
{
    record_writer to = open_records(in_folder(name));
    for (int i = 0; i < N_SMALL; i++) {
        const bool is_large = n_large && i % (N_SMALL / n_large) == N_SMALL / n_large - 1;
        const int px = is_large ? large : 32 + i % 17;
        put_picture(&to, px, px, is_large && progressive, i);
    }
    close_records(&to);
}

static int make_sets(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    write_set("one.tfrecord", 1, LARGE_PX, true);
    write_set("few.tfrecord", 5, LARGE_PX, true);
    write_set("bomb.tfrecord", 1, BOMB_PX, false);
    alarm(WATCHDOG);
    return 0;
}

static int open_set(const char *name, const char *engine, const char *decode, const char *stages,
                    leat_plan **plan, leat_error *err)
{
    char text[1000];
    snprintf(text, sizeof text,
             "source: {tfrecord: '%s/%s.tfrecord'}\nengine: {digest: true, %s}\n"
             "pipeline:\n  - shuffle: {seed: 1}\n%s"
             "  - map: {tensor: image, ops: [decode_jpeg: {%s}, resize: {size: [16, 16]}]}\n"
             "  - batch: 4\n  - prefetch: {batches: 2}\n",
             test_folder, name, engine, stages, decode);
    return open_text(text, plan, err);
}

static uint64_t digest_of(const char *name, const char *engine, leat_loader_stats_info *stats)
{
    const leat_loader_options options = { .epochs = 2 };
    leat_plan *plan;
    leat_error err;
    int64_t n;
    check(open_set(name, engine, "", "", &plan, &err), &err);
    leat_loader *loader = open_loader(plan, &options);
    const uint64_t digest = take_digest(loader, &n);
    leat_loader_stats(loader, stats);
    close_loader_and_plan(&loader, &plan);
    return digest;
}

/* Trying records when a plan is opened takes no more than the budget. */
TEST(trying_records_keeps_to_the_budget)
{
    struct rusage usage;
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        leat_plan *plan;
        leat_error err;
        getrusage(RUSAGE_SELF, &usage);
        const long before = usage.ru_maxrss;
        if (open_set("bomb", "threads: 2, memory: 32 MiB", "", "", &plan, &err) < 0)
            _exit(1);
        getrusage(RUSAGE_SELF, &usage);
        _exit(usage.ru_maxrss - before > BOMB_BYTES / 1024 / 2 ? 2 : 0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* The least that works does not grow by a large sample per thread; batches are the same and the budget is
 * kept, however many threads meet large samples at once. */
TEST(a_few_large_pictures_share_their_scratch)
{
    static const char *const sets[] = { "one", "few" };
    static const int threads[] = { 0, 1, 4, 16 };
    for (size_t s = 0; s < 2; s++) {
        leat_loader_stats_info stats;
        const uint64_t want = digest_of(sets[s], "threads: 0, memory: 4 GiB", &stats);
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            char engine[100];
            leat_plan *plan;
            leat_budget budget;
            leat_error err;
            snprintf(engine, sizeof engine, "threads: %d, memory: 4 GiB", threads[t]);
            check(open_set(sets[s], engine, "", "", &plan, &err), &err);
            check(leat_plan_budget(plan, NULL, &budget, &err), &err);
            leat_plan_close(&plan);
            const int64_t large = (int64_t)LARGE_PX * LARGE_PX * 6; /* pixels and coefficients */
            if (s == 0 && budget.least_bytes > 2 * large + threads[t] * ((int64_t)2 << 20))
                fail_msg("%s: at least %lld bytes", engine, (long long)budget.least_bytes);
            snprintf(engine, sizeof engine, "threads: %d, memory: %lld", threads[t],
                     (long long)budget.least_bytes);
            assert_true(digest_of(sets[s], engine, &stats) == want);
            if (stats.memory_peak > budget.least_bytes)
                fail_msg("%s: %lld bytes were in use", engine, (long long)stats.memory_peak);
        }
    }
}

/* A picture that the budget cannot hold is named, with what may be done about it; one that may be masked is. */
TEST(a_picture_too_large_for_the_budget_is_named)
{
    leat_plan *plan;
    leat_loader *loader;
    leat_error err;
    int64_t n;
    check(open_set("bomb", "threads: 2, memory: 32 MiB", "", "", &plan, &err), &err);
    assert_int_equal(leat_loader_open(plan, NULL, &loader, &err), LEAT_E_CONFIG);
    leat_plan_close(&plan);
    if (!strstr(err.message, "bomb.tfrecord, record 99 ") || !strstr(err.message, "max_pixels") ||
        !strstr(err.message, "decode_jpeg") || !strstr(err.message, "engine.memory"))
        fail_msg("%s", err.message);
    check(open_set("bomb", "threads: 2, memory: 32 MiB", "max_pixels: 1000000",
                   "  - on_error: mask\n", &plan, &err),
          &err);
    digest_and_close(plan, 0, &n);
    assert_int_equal(n, N_SMALL / 4);
}

SUITE_FIXTURE(make_sets, remove_folder)
