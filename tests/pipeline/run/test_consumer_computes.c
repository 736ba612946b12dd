/* SPDX-License-Identifier: MIT
 *
 * test_consumer_computes.c: a consumer that takes batch after batch at once computes in place of a worker. Batches are the
 * same as without threads, and when it stops doing so, workers prepare batches ahead again. */
#include "fixtures/engine_fixture.h"

#include "base/clock.h"

enum { N = 512, FLOATS = 4096, TAKES = 300, WAITS = 60000, BATCH = 256 };
#define FOREVER INT64_C(60000000000)

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

/* within_ns 0: without a deadline */
static uint64_t take(leat_loader *loader, int n, int64_t within_ns)
{
    uint64_t digest = 0;
    for (int i = 0; i < n; i++) {
        leat_batch *batch;
        leat_error err;
        check(within_ns ? leat_loader_next_within(loader, within_ns, &batch, &err)
                        : leat_loader_next(loader, &batch, &err),
              &err);
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
    for (int k = 0; k < 12; k++) {
        const int threads = k / 2;
        const int64_t within_ns = k % 2 ? FOREVER : 0;
        leat_plan *plan = plan_of(x, threads);
        leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = -1 });
        for (int round = 0; round < 2; round++) {
            const uint64_t digest = take(loader, TAKES, within_ns);
            want[round] = k ? want[round] : digest;
            assert_int_equal(digest, want[round]);
            if (round ==
                0) { /* longer than a batch takes, so the next one is not asked for at once */
                pause_ns(3000000);
                take(loader, 1, within_ns);
            }
            if (threads && !becomes_ready(loader))
                fail_msg("%d threads, round %d, within %lld ns: no batch is prepared", threads,
                         round, (long long)within_ns);
        }
        close_loader_and_plan(&loader, &plan);
    }
    free(x);
}

/* A row takes so long that a batch is not there within LIMIT. */
#define ROW_NS 70000
#define LIMIT  INT64_C(11000000)

static int nap_apply(const void *o, const leat_draw *p, const leat_view *in, const leat_view *out,
                     leat_scratch *scratch, leat_error *err)
{
    const int64_t end = leat_clock_ns() + ROW_NS;
    memcpy(out->data, in->data, (size_t)leat_shape_bytes(&in->shape));
    while (leat_clock_ns() < end)
        ;
    return LEAT_OK;
}

static const leat_op nap_op = { .name = "nap",
                                .help = "takes its time",
                                .options = no_options,
                                .shape = same_shape,
                                .apply = nap_apply };

/* A consumer that left without a batch computes nothing: the worker that it replaced goes on. */
TEST(a_worker_goes_on_when_the_time_is_over)
{
    static float x[BATCH];
    const leat_rows rows = { "x", leat_shape_make(LEAT_F32, 1, (int64_t[]){ 1 }), x };
    leat_builder *b = leat_builder_open();
    leat_builder_rows(b, BATCH, &rows, 1);
    leat_builder_op(b, &nap_op);
    leat_builder_engine(b, "{threads: 1}");
    leat_builder_stage(b, "map", "[nap]");
    leat_builder_stage(b, "batch", "256");
    leat_builder_stage(b, "prefetch", "2");
    leat_plan *plan = plan_of_builder(b);
    leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = -1 });
    leat_batch *batch;
    leat_error err;
    take(loader, 6, FOREVER);
    int rc;
    for (int i = 0; (rc = leat_loader_next_within(loader, LIMIT, &batch, &err)) == LEAT_OK; i++) {
        assert_true(i < 100); /* it takes 18 ms */
        leat_batch_release(batch);
    }
    assert_int_equal(rc, LEAT_E_AGAIN);
    assert_true(becomes_ready(loader));
    close_loader_and_plan(&loader, &plan);
}
