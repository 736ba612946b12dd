/* SPDX-License-Identifier: MIT
 *
 * test_consumer_computes.c: a consumer that takes batch after batch at once computes in place of a worker. Batches are the
 * same as without threads, and when it stops doing so, workers prepare batches ahead again. */
#include "fixtures/engine_fixture.h"

enum { N = 512, FLOATS = 4096, TAKES = 300, WAITS = 60000 };

static leat_plan *plan_of(const float *x, int threads)
{
    const int64_t dims[] = { FLOATS };
    const leat_rows rows = { "x", leat_shape_make(LEAT_F32, 1, dims), x };
    char engine[64];
    leat_builder *b = leat_builder_open();
    snprintf(engine, sizeof engine, "{threads: %d, digest: true}", threads);
    leat_builder_rows(b, N, &rows, 1);
    leat_builder_engine(b, engine);
    leat_builder_stage(b, "shuffle", NULL);
    leat_builder_stage(b, "batch", "64"); /* a window is worth a wake-up */
    leat_builder_stage(b, "prefetch", "2");
    return plan_of_builder(b);
}

static uint64_t take(leat_loader *loader, int n)
{
    uint64_t digest = 0;
    for (int i = 0; i < n; i++) {
        leat_batch *batch;
        leat_error err;
        check(leat_loader_next(loader, &batch, &err), &err);
        digest = leat_digest_chain(digest, leat_batch_get_info(batch)->digest);
        leat_batch_release(batch);
    }
    return digest;
}

/* Waits until both batches of the window are ready, which only workers can have made. */
static bool becomes_ready(leat_loader *loader)
{
    leat_loader_stats_info stats;
    for (int i = 0; i < WAITS; i++) {
        leat_loader_stats(loader, &stats);
        if (stats.batches_ready == 2)
            return true;
        pause_ns(1000000);
    }
    return false;
}

TEST(workers_go_on_when_the_consumer_pauses)
{
    float *const x = malloc(sizeof *x * N * FLOATS);
    uint64_t want[2] = { 0 };
    assert_non_null(x);
    for (int i = 0; i < N * FLOATS; i++)
        x[i] = (float)i;
    for (int threads = 0; threads <= 5; threads++) {
        leat_plan *plan = plan_of(x, threads);
        leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = -1 });
        for (int round = 0; round < 2; round++) {
            const uint64_t digest = take(loader, TAKES);
            want[round] = threads ? want[round] : digest;
            assert_int_equal(digest, want[round]);
            pause_ns(
                3000000); /* longer than a batch takes, so the next one is not asked for at once */
            take(loader, 1);
            if (threads && !becomes_ready(loader))
                fail_msg("%d threads, round %d: no batch is prepared", threads, round);
        }
        close_loader_and_plan(&loader, &plan);
    }
    free(x);
}
