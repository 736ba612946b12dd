/* SPDX-License-Identifier: MIT
 *
 * test_batch_copy.c: a loader with beyond_hold copies the batches that are held beyond `hold`. Whatever is kept, the
 * batches are those of a run that keeps none; any number of threads may take; nothing is ever busy. */
#include "fixtures/failing_malloc.h"
#include "fixtures/rows_fixture.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static leat_plan *make_plan(int threads, const char *prefetch, const char *on_error)
{
    leat_builder *b = build_on_threads(threads);
    if (on_error) {
        leat_builder_op(b, &fail_op);
        leat_builder_stage(b, "map", "[{fail_at: 41}]");
        leat_builder_stage(b, "on_error", on_error);
    }
    return plan_of_batches(b, prefetch);
}

/* --- one thread ---------------------------------------------------------------------------------- */

static void keep_all(leat_device *device, int threads, const char *prefetch, int32_t hold)
{
    const leat_loader_options options = { .device = device, .hold = hold, .beyond_hold = 1 };
    static leat_loader_stats_info stats;
    leat_plan *plan = make_plan(threads, prefetch, NULL);
    leat_loader *loader = open_loader(plan, &options);
    leat_batch *kept[N_BATCHES], *batch;
    leat_error err;
    for (int64_t n = 0; n < N_BATCHES; n++) {
        check(leat_loader_next(loader, &kept[n], &err), &err);
        assert_int_equal(leat_batch_get_info(kept[n])->is_copy, n >= (hold ? hold : 1));
        assert_int_equal((uintptr_t)leat_batch_tensor(kept[n], 0).data % 64, 0);
    }
    assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_END);
    leat_loader_stats(loader, &stats);
    assert_int_equal(stats.batches, N_BATCHES);
    assert_int_equal(stats.n_copied, N_BATCHES - (hold ? hold : 1));
    for (int64_t n = 0; n < N_BATCHES; n++)
        assert_true(is_batch(kept[n], n));
    for (int64_t n = 0; n < N_BATCHES; n += 3)
        leat_batch_release(kept[n]);
    close_loader_and_plan(&loader, &plan);
    leat_device_close(&device);
    for (int64_t n = 0; n < N_BATCHES; n++)
        if (n % 3) {
            assert_true(is_batch(kept[n], n));
            leat_batch_release(kept[n]);
        }
}

TEST(all_batches_can_be_kept)
{
    static const char *const prefetches[] = { "0", "2", "auto" };
    for (int on_sim = 0; on_sim < 2; on_sim++)
        for (int threads = 0; threads < 3; threads++)
            for (int p = 0; p < 3; p++)
                for (int32_t hold = 0; hold < 4; hold++) {
                    leat_device *sim = NULL;
                    leat_error err;
                    alarm(60);
                    if (on_sim)
                        check(leat_device_open("sim", &sim, &err), &err);
                    keep_all(sim, threads, prefetches[p], hold);
                }
    alarm(0);
}

TEST(without_need_nothing_is_copied)
{
    static leat_loader_stats_info stats;
    leat_plan *plan = make_plan(2, "2", NULL);
    leat_loader *loader =
        open_loader(plan, &(leat_loader_options){ .hold = 2, .beyond_hold = 1, .epochs = 3 });
    leat_batch *last = NULL, *batch;
    leat_error err;
    int rc;
    for (int64_t n = 0; (rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK; n++) {
        assert_true(is_batch(batch, n));
        leat_batch_release(last);
        last = batch;
    }
    assert_int_equal(rc, LEAT_E_END);
    leat_batch_release(last);
    leat_loader_stats(loader, &stats);
    assert_int_equal(stats.n_copied, 0);
    close_loader_and_plan(&loader, &plan);
}

/* What a batch says of its bad rows goes with the copy. */
TEST(a_copy_knows_its_bad_rows)
{
    leat_plan *plan = make_plan(2, "2", "mask");
    leat_loader *loader = open_loader(plan, &(leat_loader_options){ .beyond_hold = 1 });
    leat_batch *kept[N_BATCHES];
    leat_error err;
    for (int64_t n = 0; n < N_BATCHES; n++)
        check(leat_loader_next(loader, &kept[n], &err), &err);
    close_loader_and_plan(&loader, &plan);
    for (int64_t n = 0; n < N_BATCHES; n++) {
        const uint8_t *const valid = leat_batch_valid(kept[n]);
        const leat_row_error *const bad = leat_batch_error(kept[n], 0);
        assert_int_equal(leat_batch_get_info(kept[n])->n_masked, n == 41 / BATCH);
        assert_int_equal(bad != NULL, n == 41 / BATCH);
        assert_int_equal(valid != NULL, n == 41 / BATCH);
        if (bad) {
            assert_int_equal(bad->record, 41);
            assert_memory_equal(valid, "\1\0\1\1", BATCH);
        }
        leat_batch_release(kept[n]);
    }
}

/* Without memory for a copy, the batch is not lost: the next call returns it. */
TEST(no_memory_loses_no_batch)
{
    leat_plan *plan = make_plan(0, "2", "mask");
    leat_loader *loader = open_loader(plan, &(leat_loader_options){ .beyond_hold = 1 });
    leat_batch *first, *batch;
    leat_error err;
    int64_t n = 1;
    long at = 0;
    int rc;
    check(leat_loader_next(loader, &first, &err), &err);
    for (; failing_malloc_at(at), rc = leat_loader_next(loader, &batch, &err), failing_malloc_hit();
         at++) {
        assert_int_equal(rc, LEAT_E_NOMEM);
        assert_null(batch);
    }
    assert_in_range(at, 3, 10);
    check(rc, &err);
    assert_true(is_batch(batch, n));
    leat_batch_release(batch);
    leat_batch_release(first);
    close_loader_and_plan(&loader, &plan);
}

/* A batch that stays for the next call has no more bad records than before. */
TEST(no_memory_counts_no_bad_record_twice)
{
    leat_plan *plan = make_plan(0, "2", "{policy: mask, max_errors: 1}");
    leat_loader *loader = open_loader(plan, &(leat_loader_options){ .beyond_hold = 1 });
    leat_batch *first, *batch;
    leat_error err;
    check(leat_loader_next(loader, &first, &err), &err);
    for (int64_t n = 1; n < N_BATCHES; n++) {
        failing_malloc_at(0);
        const int rc = leat_loader_next(loader, &batch, &err);
        assert_true(failing_malloc_hit());
        assert_int_equal(rc, LEAT_E_NOMEM);
        check(leat_loader_next(loader, &batch, &err), &err);
        assert_int_equal(leat_batch_get_info(batch)->n_masked, n == 41 / BATCH);
        leat_batch_release(batch);
    }
    leat_batch_release(first);
    close_loader_and_plan(&loader, &plan);
}

TEST(a_child_has_its_own_copies)
{
    leat_plan *plan = make_plan(2, "2", NULL);
    leat_loader *loader = open_loader(plan, &(leat_loader_options){ .beyond_hold = 1 });
    leat_batch *kept[5];
    leat_error err;
    int status = -1;
    for (int64_t n = 0; n < 5; n++)
        check(leat_loader_next(loader, &kept[n], &err), &err);
    const pid_t child = fork();
    if (child == 0) {
        bool good = true;
        leat_loader_close(&loader);
        for (int64_t n = 0; n < 5; n++) {
            good = good && is_batch(kept[n], n);
            leat_batch_release(kept[n]);
        }
        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (int64_t n = 0; n < 5; n++) {
        assert_true(is_batch(kept[n], n));
        leat_batch_release(kept[n]);
    }
    close_loader_and_plan(&loader, &plan);
}

/* --- threads ------------------------------------------------------------------------------------- */

#define N_THREADS 4

typedef struct taker {
    leat_loader *loader;
    int code;
    int keep; /* batches that it keeps before it releases the oldest */
    _Atomic int *seen;
} taker;

static void *take(void *arg)
{
    taker *const t = arg;
    leat_batch *kept[8] = { NULL }, *batch;
    for (int n = 0; (t->code = leat_loader_next(t->loader, &batch, NULL)) == LEAT_OK; n++) {
        const int64_t number = leat_batch_get_info(batch)->number;
        t->seen[number] += is_batch(batch, number) ? 1 : 100;
        leat_batch_release(kept[n % t->keep]);
        kept[n % t->keep] = batch;
    }
    for (int i = 0; i < t->keep; i++)
        leat_batch_release(kept[i]);
    return NULL;
}

static void run_threads(leat_device *device, int threads, int keep)
{
    static _Atomic int seen[3 * N_BATCHES];
    const leat_loader_options options = {
        .device = device, .hold = 2, .beyond_hold = 1, .epochs = 3
    };
    leat_plan *plan = make_plan(threads, "2", NULL);
    leat_loader *loader = open_loader(plan, &options);
    pthread_t thread[N_THREADS];
    taker takers[N_THREADS];
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < N_THREADS; i++) {
        takers[i] = (taker){ .loader = loader, .keep = keep, .seen = seen };
        assert_int_equal(pthread_create(&thread[i], NULL, take, &takers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(takers[i].code, LEAT_E_END);
    }
    for (int64_t n = 0; n < 3 * N_BATCHES; n++)
        assert_int_equal(seen[n], 1);
    close_loader_and_plan(&loader, &plan);
}

/* A copy made by the caller after LEAT_E_BUSY came too late when several threads took batches. */
TEST(four_threads_share_a_loader)
{
    leat_device *sim;
    leat_error err;
    check(leat_device_open("sim", &sim, &err), &err);
    alarm(60);
    for (int threads = 0; threads < 3; threads++)
        for (int keep = 1; keep < 8; keep += 3) {
            run_threads(NULL, threads, keep);
            run_threads(sim, threads, keep);
        }
    alarm(0);
    leat_device_close(&sim);
}

TEST(other_values_are_refused)
{
    leat_plan *plan = make_plan(0, "0", NULL);
    leat_loader *loader;
    leat_error err;
    assert_int_equal(
        leat_loader_open(plan, &(leat_loader_options){ .beyond_hold = 2 }, &loader, &err),
        LEAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "beyond_hold is 0 or 1; got 2"));
    leat_plan_close(&plan);
}

SUITE_FIXTURE(make_data, free_data)
