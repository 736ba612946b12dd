/* SPDX-License-Identifier: MIT
 *
 * test_timing.c: the CPU time of stages: how it is scaled from the samples that were measured, and that
 * sleeping is told apart from computing. */
#include "fixtures/engine_fixture.h"

#include "base/clock.h"
#include "base/trace.h"

#define N 400

TEST(shares_of_all_threads_are_joined)
{
    static leat_trace traces[2];
    leat_stage_stats out[3];
    memset(out, 0, sizeof out);
    /* Stage 0: 30 samples, 10 of them timed with 1000 ns; of other 5 the CPU's time. */
    leat_trace_count(&traces[0].stages[0], 20, 0);
    leat_trace_count(&traces[1].stages[0], 10, 0);
    leat_trace_time(&traces[0].stages[0], 10, 1000);
    leat_trace_time(&traces[1].stages[0], 1, 400);
    leat_trace_cpu(&traces[0].stages[0], 1, 20, 1000);
    leat_trace_cpu(&traces[1].stages[0], 4, 80, 90);
    /* Stage 1: never by the CPU's time; stage 2: the clocks disagree a little. */
    leat_trace_count(&traces[0].stages[1], 5, 0);
    leat_trace_time(&traces[0].stages[1], 5, 50);
    leat_trace_count(&traces[1].stages[2], 4, 7);
    leat_trace_time(&traces[1].stages[2], 2, 100);
    leat_trace_cpu(&traces[1].stages[2], 1, 120, 45);
    leat_trace_sum(traces, sizeof *traces, 2, 3, out);
    assert_int_equal(out[0].samples, 30);
    assert_int_equal(out[0].busy_ns, 2000 + 4000);
    assert_int_equal(out[0].cpu_ns, 30 * 100 / 5);
    assert_int_equal(out[1].busy_ns, 50);
    assert_int_equal(out[1].cpu_ns, -1);
    assert_int_equal(out[2].bytes_out, 7);
    assert_int_equal(out[2].busy_ns, 200);
    assert_int_equal(out[2].cpu_ns, 4 * 45);
}

/* On a busy machine most samples go through at once, and some wait for a core for very long: the few whose
 * CPU time is taken tell how much that is, but not how many others wait. */
TEST(waiting_for_a_core_is_no_work)
{
    static leat_trace trace;
    leat_stage_stats out[2];
    memset(out, 0, sizeof out);
    leat_trace_count(&trace.stages[0], 1000, 0);
    for (int i = 0; i < 90; i++)
        leat_trace_time(&trace.stages[0], 1, i % 10 ? 50 : 8000);
    for (int i = 0; i < 10; i++)
        leat_trace_cpu(&trace.stages[0], 1, 50, 52);
    leat_trace_sum(&trace, sizeof trace, 1, 2, out);
    assert_int_equal(out[0].busy_ns, (81 * 50 + 9 * 8000) * 1000 / 90);
    assert_int_equal(out[0].cpu_ns, 1000 * 50);
    /* Estimates from few samples may cross: never more than all of the time. */
    leat_trace_count(&trace.stages[1], 100, 0);
    leat_trace_time(&trace.stages[1], 10, 500);
    leat_trace_cpu(&trace.stages[1], 1, 90, 95);
    memset(out, 0, sizeof out);
    leat_trace_sum(&trace, sizeof trace, 1, 2, out);
    assert_int_equal(out[1].cpu_ns, 5000);
}

/* --- in a run -------------------------------------------------------------------------------------- */

static int nap_apply(const void *o, const leat_draw *p, const leat_view *in, const leat_view *out,
                     leat_scratch *scratch, leat_error *err)
{
    pause_ns(400000);
    copy_sample(in, out);
    return LEAT_OK;
}

static int work_apply(const void *o, const leat_draw *p, const leat_view *in, const leat_view *out,
                      leat_scratch *scratch, leat_error *err)
{
    const int64_t until = leat_clock_cpu_ns() + 200000;
    while (leat_clock_cpu_ns() < until)
        ;
    copy_sample(in, out);
    return LEAT_OK;
}

static const leat_op nap_op = { .name = "nap",
                                .help = "sleeps",
                                .options = no_options,
                                .flags = LEAT_OP_IN_PLACE,
                                .shape = same_shape,
                                .apply = nap_apply };
static const leat_op work_op = { .name = "work",
                                 .help = "computes",
                                 .options = no_options,
                                 .flags = LEAT_OP_IN_PLACE,
                                 .shape = same_shape,
                                 .apply = work_apply };

static leat_stage_stats stage_of(const leat_loader_stats_info *stats, const char *name)
{
    for (int32_t i = 0; i < stats->n_stages; i++)
        if (strstr(stats->stages[i].name, name))
            return stats->stages[i];
    fail_msg("no stage %s", name);
    return stats->stages[0];
}

/* Runs all samples with these options of the engine. */
static leat_loader_stats_info run(const char *engine)
{
    float *const data = make_rows(N);
    leat_builder *b = build_rows(N, data);
    leat_loader_stats_info stats;
    leat_batch *batch;
    leat_error err;
    leat_builder_op(b, &nap_op);
    leat_builder_op(b, &work_op);
    leat_builder_engine(b, engine);
    leat_builder_stage(b, "map", "[nap, work]");
    leat_builder_stage(b, "batch", "20");
    leat_plan *plan = plan_of_builder(b);
    leat_loader *loader = open_loader(plan, NULL);
    while (leat_loader_next(loader, &batch, &err) == LEAT_OK)
        leat_batch_release(batch);
    leat_loader_stats(loader, &stats);
    close_loader_and_plan(&loader, &plan);
    free(data);
    return stats;
}

TEST(who_sleeps_is_told_from_who_works)
{
    const leat_loader_stats_info stats = run("{threads: 1}");
    const leat_stage_stats nap = stage_of(&stats, "nap"), work = stage_of(&stats, "work");
    assert_int_equal(nap.samples, N);
    assert_true(nap.cpu_ns >= 0 && nap.cpu_ns < nap.busy_ns / 2);
    assert_true(work.cpu_ns > 0 && work.cpu_ns <= work.busy_ns);
}

TEST(nothing_is_claimed_without_timing)
{
    const leat_loader_stats_info stats = run("{threads: 0, timing: false}");
    const leat_stage_stats nap = stage_of(&stats, "nap");
    assert_int_equal(nap.samples, N);
    assert_int_equal(nap.busy_ns, 0);
    assert_int_equal(nap.cpu_ns, -1);
}
