/* SPDX-License-Identifier: MIT
 *
 * test_next_within.c: leat_loader_next_within: a consumer that waits for a limited time still gets every
 * batch, and two consumers at the same time are an error. */
#include "fixtures/gate.h"

#include <pthread.h>
#include <unistd.h>

#include "fixtures/record_file.h"

#define N_RECORDS 64

static leat_plan *make_plan(const char *engine, const char *prefetch)
{
    char source[300];
    leat_builder *b = leat_builder_open();
    snprintf(source, sizeof source, "{files: '%s', features: {x: {}, id: {shape: []}}}", path);
    leat_builder_source(b, "tfrecord", source);
    leat_builder_op(b, &gate_op);
    leat_builder_engine(b, engine);
    leat_builder_stage(b, "map", "[gate]");
    leat_builder_stage(b, "batch", "8");
    leat_builder_stage(b, "prefetch", prefetch);
    return plan_of_builder(b);
}

static void look(leat_batch *batch, int64_t n)
{
    while (leat_batch_get_info(batch)->sent_ns && !leat_batch_get_info(batch)->copy_end_ns)
        pause_ns(20000);
    const int64_t *const id = leat_batch_tensor(batch, 1).data;
    for (int64_t j = 0; j < 8; j++)
        assert_int_equal(id[j], n * 8 + j);
}

/* Waits `ns` at a time; returns how often that was not enough. */
static int64_t take_all(leat_loader *loader, int64_t ns)
{
    int64_t n_again = 0;
    for (int64_t n = 0; n < N_RECORDS / 8; n++) {
        leat_batch *batch;
        leat_error err;
        int rc;
        while ((rc = leat_loader_next_within(loader, ns, &batch, &err)) == LEAT_E_AGAIN) {
            assert_null(batch);
            n_again++;
        }
        check(rc, &err);
        look(batch, n);
        leat_batch_release(batch);
    }
    return n_again;
}

TEST(it_says_again_until_it_is_there)
{
    static const char *const engines[] = { "{threads: 2, reader: pread}", "{threads: 2}",
                                           "{threads: 1}" };
    static const char *const prefetches[] = { "0", "2" };
    for (int on_sim = 0; on_sim < 2; on_sim++)
        for (size_t e = 0; e < 3; e++)
            for (size_t p = 0; p < 2; p++) {
                leat_loader_options options = { .epochs = 1 };
                leat_loader_stats_info stats;
                leat_batch *batch;
                leat_error err;
                if (on_sim)
                    check(leat_device_open("sim", &options.device, &err), &err);
                alarm(60);
                gate_set(true); /* a plan that opens tries a few records */
                leat_plan *plan = make_plan(engines[e], prefetches[p]);
                gate_set(false);
                leat_loader *loader = open_loader(plan, &options);
                for (int64_t ns = 0; ns < 5000000; ns = 2 * ns + 100000)
                    assert_int_equal(leat_loader_next_within(loader, ns, &batch, &err),
                                     LEAT_E_AGAIN);
                assert_int_equal(err.code, LEAT_E_AGAIN);
                leat_loader_stats(loader, &stats);
                assert_true(stats.wait_ns > 0);
                gate_set(true);
                take_all(loader, 1000000);
                assert_int_equal(leat_loader_next_within(loader, 0, &batch, &err), LEAT_E_END);
                close_loader_and_plan(&loader, &plan);
                leat_device_close(&options.device);
            }
    alarm(0);
}

/* Without workers the consumer does it all, a little at each call; with them, they are called also for the
 * few cheap rows that it would do itself if it had the time. */
TEST(without_any_time_it_comes_to_the_end)
{
    static const char *const engines[] = { "{threads: 0, reader: pread, run: 2}",
                                           "{threads: 0, run: 2}",
                                           "{threads: 2, reader: pread, run: 2}",
                                           "{threads: 2, run: 2}" };
    static const char *const prefetches[] = { "0", "2" };
    gate_set(true);
    for (int on_sim = 0; on_sim < 2; on_sim++)
        for (size_t e = 0; e < 4; e++)
            for (size_t p = 0; p < 2; p++) {
                leat_loader_options options = { .epochs = 1 };
                leat_error err;
                if (on_sim)
                    check(leat_device_open("sim", &options.device, &err), &err);
                leat_plan *plan = make_plan(engines[e], prefetches[p]);
                leat_loader *loader = open_loader(plan, &options);
                alarm(60);
                const int64_t n_again = take_all(loader, 0);
                assert_true(n_again > 0 || e >= 2); /* a call does two rows, a batch has eight */
                close_loader_and_plan(&loader, &plan);
                leat_device_close(&options.device);
            }
    alarm(0);
}

TEST(a_time_that_cannot_be_is_refused)
{
    leat_batch *batch;
    leat_error err;
    gate_set(true);
    leat_plan *plan = make_plan("{threads: 1}", "2");
    leat_loader *loader = open_loader(plan, NULL);
    assert_int_equal(leat_loader_next_within(loader, -1, &batch, &err), LEAT_E_ARGUMENT);
    check(leat_loader_next_within(loader, INT64_MAX, &batch, &err), &err);
    look(batch, 0);
    leat_batch_release(batch);
    close_loader_and_plan(&loader, &plan);
}

static void *take_first(void *arg)
{
    leat_batch *batch;
    leat_error err;
    check(leat_loader_next(arg, &batch, &err), &err);
    look(batch, 0);
    leat_batch_release(batch);
    return NULL;
}

TEST(a_second_consumer_is_told)
{
    static const char *const engines[] = { "{threads: 0}", "{threads: 2}" };
    for (int e = 0; e < 2; e++) {
        gate_set(true);
        leat_plan *plan = make_plan(engines[e], "0"); /* nothing runs but for who asks */
        leat_loader *loader = open_loader(plan, NULL);
        pthread_t first;
        leat_batch *batch;
        leat_error err;
        alarm(60);
        gate_set(false);
        assert_int_equal(pthread_create(&first, NULL, take_first, loader), 0);
        gate_wait();
        assert_int_equal(leat_loader_next(loader, &batch, &err), LEAT_E_BUSY);
        assert_null(batch);
        assert_non_null(strstr(err.message, "thread"));
        assert_int_equal(leat_loader_next_within(loader, 0, &batch, &err), LEAT_E_BUSY);
        gate_set(true);
        pthread_join(first, NULL);
        check(leat_loader_next(loader, &batch, &err), &err);
        look(batch, 1);
        leat_batch_release(batch);
        close_loader_and_plan(&loader, &plan);
    }
    alarm(0);
}

SUITE_RECORD_FILE(N_RECORDS, 300)
