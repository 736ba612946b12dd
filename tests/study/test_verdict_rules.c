/* SPDX-License-Identifier: MIT
 *
 * test_verdict_rules.c: numbers into verdicts. Each row is a job whose true limit is known. */
#include "leat/doctor.h"
#include "study/facts_fixture.h"

static void assert_verdict(const leat_facts *f, leat_verdict_kind kind, const char *label,
                           leat_severity severity)
{
    char got[LEAT_VERDICT_LABEL];
    leat_verdict_found d;
    leat_verdict_decide(f, &d);
    leat_verdict_label(&d.verdict, got);
    if (d.verdict.kind != kind || strcmp(got, label) != 0 || d.verdict.severity != severity)
        fail_msg("%s (%s) %s, not %s (%s) %s: %s", leat_verdict_about(d.verdict.kind)->name, got,
                 leat_verdict_severity(d.verdict.severity), leat_verdict_about(kind)->name, label,
                 leat_verdict_severity(severity), d.why);
}

/* --- input ------------------------------------------------------------------------------------- */

TEST(the_slowest_stage_names_the_input)
{
    leat_facts f = facts_of(10.1, 10, 2);
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "", LEAT_SEVERITY_HIGH);
    f.loader_cores = 3.9;
    set_stage(&f, 0, "read", 5, 4);
    set_stage(&f, 1, "image: decode_jpeg", 900, 890);
    set_stage(&f, 2, "image: normalize", 100, 95);
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "decode: cpu-saturated", LEAT_SEVERITY_HIGH);
    f.stages[2].wall_ns = 2e6;
    f.stages[2].cpu_ns = 1.9e6;
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "map: cpu-saturated", LEAT_SEVERITY_HIGH);
    strcpy(f.stages[2].name, "image: pad to cast");
    f.stages[2].is_random = true;
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "augment: cpu-saturated", LEAT_SEVERITY_HIGH);
    strcpy(f.stages[2].name, "image: normalize");
    f.stages[2].is_random = false;
    f.threads = 1;
    f.loader_cores = 1;
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "map: serial", LEAT_SEVERITY_HIGH);
}

TEST(waiting_is_not_working)
{
    leat_facts f = facts_of(10.1, 10, 2);
    f.loader_cores = 0.2;
    set_stage(&f, 0, "image: sleep", 1000, 10);
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "map: latency-bound", LEAT_SEVERITY_HIGH);
    assert_true(leat_verdict_waits(&f));
    f.taken = 3.8; /* whatever others do, a computing stage gets more than that */
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "map: latency-bound", LEAT_SEVERITY_HIGH);
    f.taken = 0;
    set_stage(&f, 0, "image: sleep", 1000, 25);
    f.loader_cores = 1; /* neighbours leave a tenth of a core, but decoding got more */
    f.taken = 3.9;
    set_stage(&f, 1, "image: decode_jpeg", 200, 60);
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "map: latency-bound", LEAT_SEVERITY_HIGH);
    f.n_stages = 1;
    f.taken = 0;
    f.loader_cores = 3.8; /* the stage waited for a core, which others had */
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "map: cpu-saturated", LEAT_SEVERITY_HIGH);
    assert_false(leat_verdict_waits(&f));
    f.loader_cores = 0.2;
    set_stage(&f, 0, "read", 1000, 10);
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "storage", LEAT_SEVERITY_HIGH);
}

/* Where the workers' time is known in parts, nothing is guessed from cores and neighbours. */
TEST(what_workers_wait_for_is_the_cause)
{
    static const struct {
        double work[LEAT_N_WORKS]; /* compute, core, storage, stage, order, hand-over */
        const char *stage, *label;
    } rows[] = {
        { { 0.38, 0.02, 0.60 }, "image: decode_jpeg", "storage" },
        { { 0.20, 0.50, 0.30 }, "image: decode_jpeg", "storage" },
        { { 0.25, 0.70, 0.05 }, "image: decode_jpeg", "decode: cpu-saturated" },
        { { 0.90, 0, 0, 0, 0.1 }, "image: decode_jpeg", "decode: cpu-saturated" },
        { { 0.06, 0, 0.94 }, "read", "storage" },
        { { 0.80, 0.10, 0.10 }, "read", "read: cpu-saturated" },
        { { 0.05, 0, 0, 0.95 }, "image: sleep", "map: latency-bound" },
        { { 0.20, 0, 0, 0, 0.80 }, "image: decode_jpeg", "ordering" },
        { { 0.20, 0, 0, 0, 0, 0.80 }, "image: decode_jpeg", "decode" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int busy = 0; busy < 2; busy++) {
            leat_facts f = facts_of(10.1, 10, 2);
            memcpy(f.work, rows[i].work, sizeof f.work);
            set_stage(&f, 0, rows[i].stage, 1000, 900);
            f.loader_cores = 4 * f.work[LEAT_WORK_COMPUTE];
            f.taken = busy ? 0.7 * (4 - f.loader_cores) : 0;
            assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, rows[i].label, LEAT_SEVERITY_HIGH);
        }
}

TEST(severity_is_what_could_be_saved)
{
    const struct {
        double run, loader, step;
        leat_severity severity;
    } rows[] = { { 10, 10, 9.3, LEAT_SEVERITY_MODERATE },
                 { 10, 10, 8.1, LEAT_SEVERITY_MODERATE },
                 { 10, 10, 7.9, LEAT_SEVERITY_HIGH } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        leat_facts f = facts_of(rows[i].run, rows[i].loader, rows[i].step);
        assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "", rows[i].severity);
    }
}

TEST(uneven_batches_are_input)
{
    leat_facts f = facts_of(10, 5, 8);
    f.meter.input_wait = 0.2;
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "ordering", LEAT_SEVERITY_HIGH);
    leat_verdict_found d;
    leat_verdict_decide(&f, &d);
    assert_int_equal(d.verdict.also,
                     LEAT_VERDICT_NONE); /* the step is far slower than the loader */
    f.meter.input_wait = 0.02;
    assert_verdict(&f, LEAT_VERDICT_INCONCLUSIVE, "", LEAT_SEVERITY_NONE);
}

/* Batches that come in the same gaps, while the workers wait for slower rows, or for something that stalls. */
static void expect_causes_of_gaps(leat_facts f)
{
    static const struct {
        double work[LEAT_N_WORKS]; /* compute, core, storage, stage, order, hand-over */
        const char *stage, *label;
    } rows[] = {
        { { 0.20, 0, 0.10, 0.20, 0.50 }, "image: decode_jpeg", "ordering" },
        { { 0.20, 0, 0.60, 0, 0.20 }, "image: decode_jpeg", "storage" },
        { { 0.20, 0, 0.05, 0.60, 0.15 }, "image: sleep", "map: latency-bound" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memcpy(f.work, rows[i].work, sizeof f.work);
        set_stage(&f, 0, rows[i].stage, 1000, 300);
        assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, rows[i].label, LEAT_SEVERITY_HIGH);
    }
}

/* Slower than each part, whichever of them is slower: one batch of 25 takes 25 ms, and two are made in advance. */
TEST(slow_samples_are_input)
{
    int64_t gaps[100];
    for (int i = 0; i < 100; i++)
        gaps[i] = i % 25 == 12 ? 25000000 : 200000;
    static const double steps[] = { 1, 1.3, 1.2 }; /* the last: as slow as the loader */
    for (int slower = 0; slower < 3; slower++) {
        char sentence[256];
        leat_verdict_found d;
        leat_facts f = facts_of(2, 1.192, steps[slower]);
        f.gap_ns = gaps;
        f.n_gaps = 100;
        f.window = 2;
        f.run = within(rate_of(leat_forecast_of(&f).uneven * 1e-6), 0.01);
        f.of_loader = within(f.run.value / f.loader.value, 0.01);
        f.of_step = within(f.run.value / f.step.value, 0.01);
        f.loader_of_step =
            within(f.loader.value / f.step.value, 0.3); /* which is slower is not sure */
        f.meter.input_wait = 1 - f.of_step.value;
        assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "ordering", LEAT_SEVERITY_HIGH);
        leat_verdict_decide(&f, &d);
        assert_int_equal(d.verdict.also, LEAT_VERDICT_NONE);
        assert_string_equal(leat_verdict_sentence(&d.verdict, sentence, sizeof sentence),
                            "Slow samples hold up the batches behind them; without such samples "
                            "batches would come faster.");
        expect_causes_of_gaps(f);
        f.n_gaps = 0; /* nothing explains it */
        assert_verdict(&f, LEAT_VERDICT_INCONCLUSIVE, "", LEAT_SEVERITY_NONE);
    }
}

TEST(without_prefetch_times_add_up)
{
    leat_facts f = facts_of(10, 5, 5);
    f.overlaps = false;
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "not-overlapped", LEAT_SEVERITY_HIGH);
    assert_true(fabs(leat_forecast_of(&f).predicted - 10e6) < 1);
    f.copying = 0.6;
    assert_verdict(&f, LEAT_VERDICT_TRANSFER_BOUND, "not-overlapped", LEAT_SEVERITY_HIGH);
    f = facts_of(10, 0.1, 9.9);
    f.overlaps = false;
    assert_verdict(&f, LEAT_VERDICT_COMPUTE_BOUND, "", LEAT_SEVERITY_NONE);
}

/* The step takes longer in the loop than alone: what the input takes is what its batches do, and no more than the wait. */
TEST(without_prefetch_not_all_beyond_the_step_is_input)
{
    leat_facts f = facts_of(10, 0.1, 6);
    f.on_host = true;
    f.overlaps = false;
    assert_verdict(&f, LEAT_VERDICT_COMPUTE_BOUND, "", LEAT_SEVERITY_NONE);
    f = facts_of(10, 4, 6); /* a run of the loader that something disturbed */
    f.on_host = true;
    f.overlaps = false;
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "not-overlapped", LEAT_SEVERITY_HIGH);
    f.meter.busy = 0.9;
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "not-overlapped", LEAT_SEVERITY_MODERATE);
    f.meter.busy = 0.97;
    assert_verdict(&f, LEAT_VERDICT_COMPUTE_BOUND, "", LEAT_SEVERITY_NONE);
    f.taken = 0.5 * f.cores; /* whoever slows the step */
    assert_verdict(&f, LEAT_VERDICT_COMPUTE_BOUND, "", LEAT_SEVERITY_NONE);
}

TEST(a_few_steps_prove_nothing)
{
    leat_facts f = facts_of(10.1, 10, 2);
    f.one_time_ns = 1e12; /* nor that the job is too short */
    f.steps_of_job = 10;
    f.meter.n_steps = 4;
    assert_verdict(&f, LEAT_VERDICT_INCONCLUSIVE, "too-few-steps", LEAT_SEVERITY_NONE);
    f.overlaps = false;
    assert_verdict(&f, LEAT_VERDICT_INCONCLUSIVE, "too-few-steps", LEAT_SEVERITY_NONE);
    f.one_time_ns = 0;
    f.overlaps = true;
    f.meter.n_steps = 5;
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "", LEAT_SEVERITY_HIGH);
}

/* --- placement --------------------------------------------------------------------------------- */

TEST(layers_elsewhere_have_a_name_of_their_own)
{
    leat_facts f = facts_of(10, 2, 9.9); /* of 9.9 ms: 7 elsewhere, 2 work, 0.9 launches */
    f.placement_ns = 7e6;
    f.step_busy = 0.2;
    strcpy(f.placed, "2.dense on cpu");
    f.meter = (leat_meter){ .busy = 0.2,
                            .launch_p50_ns = 500000,
                            .other_inside = 0.8,
                            .elsewhere_ns = 6e6,
                            .crossing_ns = 1e6,
                            .crossings = 4 };
    assert_verdict(&f, LEAT_VERDICT_PLACEMENT, "2.dense on cpu", LEAT_SEVERITY_HIGH);
    f.of_step = within(0.8, 0.01); /* slower beside the workers, which are not the reason */
    f.run_cores = 3.9;
    assert_verdict(&f, LEAT_VERDICT_PLACEMENT, "2.dense on cpu", LEAT_SEVERITY_HIGH);
    f.placement_ns = 1e6; /* launching takes longer */
    f.meter.elsewhere_ns = 0;
    f.meter.launch_p50_ns = 6000000;
    f.of_step = within(0.99, 0.01);
    assert_verdict(&f, LEAT_VERDICT_LAUNCH_BOUND, "", LEAT_SEVERITY_HIGH);
    f.placement_ns = 0.5e6; /* little */
    f.step_busy = 0.95;
    assert_verdict(&f, LEAT_VERDICT_COMPUTE_BOUND, "", LEAT_SEVERITY_NONE);
    f.on_host = true; /* a run on the CPU waits for other devices, too */
    f.step_busy = 0.2;
    f.placement_ns = 7e6;
    assert_verdict(&f, LEAT_VERDICT_PLACEMENT, "2.dense on cpu", LEAT_SEVERITY_HIGH);
    f.of_step = within(0.8, 0.01);
    f.meter.launch_p50_ns = 0;
    assert_verdict(&f, LEAT_VERDICT_PLACEMENT, "2.dense on cpu", LEAT_SEVERITY_HIGH);
}

/* --- copies ------------------------------------------------------------------------------------ */

TEST(copies_bind_in_several_ways)
{
    leat_facts f = facts_of(10.1, 10, 2);
    f.copying = 0.95;
    f.copy_bytes = 1e7;
    assert_verdict(&f, LEAT_VERDICT_TRANSFER_BOUND, "bus-saturated", LEAT_SEVERITY_HIGH);
    f.copy_bytes = 1e4;
    assert_verdict(&f, LEAT_VERDICT_TRANSFER_BOUND, "small-copies", LEAT_SEVERITY_HIGH);
    f.pageable = true;
    assert_verdict(&f, LEAT_VERDICT_TRANSFER_BOUND, "pageable", LEAT_SEVERITY_HIGH);
    f.copying = 0.5; /* such copies take a worker's time, too */
    assert_verdict(&f, LEAT_VERDICT_TRANSFER_BOUND, "pageable", LEAT_SEVERITY_HIGH);
    f.pageable = false;
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "", LEAT_SEVERITY_HIGH);
    f.work[LEAT_WORK_COMPUTE] = f.work[LEAT_WORK_HAND_OVER] =
        0.5; /* until their memory is copied */
    assert_verdict(&f, LEAT_VERDICT_TRANSFER_BOUND, "not-overlapped", LEAT_SEVERITY_HIGH);
    f = facts_of(10, 5, 8);
    f.copying = 0.4;
    f.meter.exposed_copy = 0.2;
    f.meter.input_wait = 0;
    assert_verdict(&f, LEAT_VERDICT_TRANSFER_BOUND, "not-overlapped", LEAT_SEVERITY_HIGH);
    f.copying = 0.01; /* the host was late, the copies are short */
    assert_verdict(&f, LEAT_VERDICT_INCONCLUSIVE, "", LEAT_SEVERITY_NONE);
}

/* --- the step ---------------------------------------------------------------------------------- */

TEST(the_step_is_divided)
{
    leat_facts f = facts_of(10, 2, 10);
    assert_verdict(&f, LEAT_VERDICT_COMPUTE_BOUND, "", LEAT_SEVERITY_NONE);
    f.step_busy = 0.91;
    assert_verdict(&f, LEAT_VERDICT_COMPUTE_BOUND, "", LEAT_SEVERITY_NONE);
    f.step_busy = 0.88;
    assert_verdict(&f, LEAT_VERDICT_LAUNCH_BOUND, "", LEAT_SEVERITY_MODERATE);
    f.step_busy = 0.3;
    assert_verdict(&f, LEAT_VERDICT_LAUNCH_BOUND, "", LEAT_SEVERITY_HIGH);
    f.sync_every = 1;
    f.step_free = rate_of(4); /* waits take 6 of 10 ms, launches 1 of the other 4 */
    f.step_busy = 0.75;
    assert_verdict(&f, LEAT_VERDICT_SYNC_BOUND, "", LEAT_SEVERITY_HIGH);
    const leat_forecast m = leat_forecast_of(&f);
    assert_true(fabs(m.sync - 6e6) < 1 && fabs(m.queued - 3e6) < 1);
    f.step_free = rate_of(9);
    f.step_busy = 0.5;
    assert_verdict(&f, LEAT_VERDICT_LAUNCH_BOUND, "", LEAT_SEVERITY_HIGH);
    f.on_host = true; /* nothing is launched there */
    assert_verdict(&f, LEAT_VERDICT_COMPUTE_BOUND, "", LEAT_SEVERITY_NONE);
}

/* us per batch of an MLP with batch 10 on an H200 with 16 cores, CUDA 13.0, driver 580. */
TEST(calls_of_the_host_take_turns)
{
    static const struct {
        double run, loader, step, step_busy, busy, wait, step_free;
        int32_t sync_every;
        leat_verdict_kind kind;
    } rows[] = {
        { 130.4, 91.8, 49.1, 0.96, 0.43, 0.013, 0, 0, LEAT_VERDICT_LAUNCH_BOUND },
        { 107.4, 80.5, 49.8, 0.96, 0.52, 0.002, 0, 0, LEAT_VERDICT_LAUNCH_BOUND },
        { 215.0, 74.7, 131.1, 0.98, 0.83, 0.000, 0, 0, LEAT_VERDICT_LAUNCH_BOUND },
        { 158.7, 110.8, 111.8, 0.51, 0.34, 0.003, 0, 1, LEAT_VERDICT_SYNC_BOUND },
        { 158.7, 110.8, 111.8, 0.51, 0.34, 0.003, 49, 1, LEAT_VERDICT_SYNC_BOUND },
        { 226.7, 87.1, 167.2, 0.77, 0.71, 0.001, 131, 1, LEAT_VERDICT_LAUNCH_BOUND },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        leat_facts f = facts_of(rows[i].run / 1e3, rows[i].loader / 1e3, rows[i].step / 1e3);
        f.cores = 16;
        f.run_cores = 4;
        f.copy_bytes = 4080;
        f.step_busy = rows[i].step_busy;
        f.step_free = rows[i].step_free > 0 ? rate_of(rows[i].step_free / 1e3) : 0;
        f.sync_every = rows[i].sync_every;
        f.meter.busy = rows[i].busy;
        f.meter.input_wait = rows[i].wait;
        assert_verdict(&f, rows[i].kind, "", LEAT_SEVERITY_HIGH);
        f.copy_bytes = 4e7; /* large copies take time of their own */
        leat_verdict_found d;
        leat_verdict_decide(&f, &d);
        assert_true(d.verdict.kind != LEAT_VERDICT_LAUNCH_BOUND || rows[i].step_busy < 0.9);
    }
    leat_facts f = facts_of(10, 4, 3); /* both together are faster than this: something else */
    f.copy_bytes = 4080;
    f.meter.busy = 0.4;
    f.meter.input_wait = 0.01;
    f.run_cores = 1;
    assert_verdict(&f, LEAT_VERDICT_INCONCLUSIVE, "", LEAT_SEVERITY_NONE);
}

/* --- shared cores ------------------------------------------------------------------------------ */

TEST(cores_are_a_part_like_others)
{
    leat_facts f = facts_of(10, 5, 7);
    f.on_host = true;
    f.loader_cpu_ns = 20e6 / ROWS; /* 20 ms of loader and 19 ms of step on 4 cores */
    f.step_cpu_ns = 19e6 / ROWS;
    assert_verdict(&f, LEAT_VERDICT_SHARED_CORES, "cores-full", LEAT_SEVERITY_HIGH);
    f.step_cpu_ns = 5e6 / ROWS; /* the cores would have time enough */
    assert_verdict(&f, LEAT_VERDICT_SHARED_CORES, "trainer-starved", LEAT_SEVERITY_HIGH);
    f.taken = 1.5;
    f.cores = 4;
    assert_verdict(&f, LEAT_VERDICT_ENVIRONMENT, "busy-neighbour", LEAT_SEVERITY_MODERATE);
    /* The loader sleeps; cores are not the reason. */
    f = facts_of(10, 8.5, 2);
    f.on_host = true;
    f.loader_cpu_ns = f.step_cpu_ns = 1e6 / ROWS;
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "", LEAT_SEVERITY_HIGH);
    /* The loader computes, the step hardly does. */
    f = facts_of(10, 8.5, 2);
    f.on_host = true;
    f.loader_cpu_ns = 34e6 / ROWS;
    f.step_cpu_ns = 1e6 / ROWS;
    f.taken = 1;
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "", LEAT_SEVERITY_HIGH);
    f.step_cpu_ns = 5e6 / ROWS;
    assert_verdict(&f, LEAT_VERDICT_SHARED_CORES, "cores-full", LEAT_SEVERITY_HIGH);
    /* The workers hardly compute: they cannot have taken the trainer's core. */
    f = facts_of(10, 1, 9.2);
    f.on_host = true;
    f.loader_cpu_ns = 0.3e6 / ROWS;
    f.step_cpu_ns = 18e6 / ROWS;
    assert_verdict(&f, LEAT_VERDICT_COMPUTE_BOUND, "", LEAT_SEVERITY_NONE);
    f = facts_of(10, 1, 7);
    f.on_host = true;
    f.loader_cpu_ns = 0.3e6 / ROWS;
    assert_verdict(&f, LEAT_VERDICT_INCONCLUSIVE, "", LEAT_SEVERITY_NONE);
    f.loader_cpu_ns = 1.6e6 / ROWS;
    assert_verdict(&f, LEAT_VERDICT_SHARED_CORES, "trainer-starved", LEAT_SEVERITY_HIGH);
    /* A device whose driver thread gets no core. */
    f = facts_of(10, 5, 7.9);
    f.run_cores = 3.9;
    assert_verdict(&f, LEAT_VERDICT_SHARED_CORES, "driver-starved", LEAT_SEVERITY_HIGH);
    f.taken = 1;
    assert_verdict(&f, LEAT_VERDICT_ENVIRONMENT, "busy-neighbour", LEAT_SEVERITY_MODERATE);
    /* The loader is a little slower than the step, but hardly ever waited for: the host is late. */
    f = facts_of(5.5, 4.4, 4);
    f.run_cores = 3.9;
    f.meter = (leat_meter){ .busy = 0.7, .input_wait = 0.02, .other_start = 0.28 };
    assert_verdict(&f, LEAT_VERDICT_SHARED_CORES, "driver-starved", LEAT_SEVERITY_HIGH);
    f.meter = (leat_meter){ .busy = 0.7, .input_wait = 0.2, .other_start = 0.1 };
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "", LEAT_SEVERITY_HIGH);
}

/* A stage without ops has a name of its own. */
TEST(reading_is_no_augmenting)
{
    leat_facts f = facts_of(10.1, 10, 2);
    f.loader_cores = 3.9;
    set_stage(&f, 0, "read", 900, 890);
    set_stage(&f, 1, "x: normalize", 100, 95);
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "read: cpu-saturated", LEAT_SEVERITY_HIGH);
    f.stages[0].does = LEAT_DOES_PARSE;
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "parse: cpu-saturated", LEAT_SEVERITY_HIGH);
    f.stages[0].does = LEAT_DOES_CACHE;
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "cache: cpu-saturated", LEAT_SEVERITY_HIGH);
}

/* --- the host ---------------------------------------------------------------------------------- */

TEST(what_is_not_certain_is_not_claimed)
{
    leat_facts f = facts_of(10, 8, 9);
    f.loader_of_step = within(9. / 8, 0.4);
    assert_verdict(&f, LEAT_VERDICT_INCONCLUSIVE, "", LEAT_SEVERITY_NONE);
    f.taken = 0.39;
    assert_verdict(&f, LEAT_VERDICT_INCONCLUSIVE, "", LEAT_SEVERITY_NONE);
    f.taken = 0.41;
    assert_verdict(&f, LEAT_VERDICT_ENVIRONMENT, "busy-neighbour", LEAT_SEVERITY_MODERATE);
    f.taken = 0;
    f.throttled = 0.06;
    assert_verdict(&f, LEAT_VERDICT_ENVIRONMENT, "cpu-limit", LEAT_SEVERITY_MODERATE);
    f = facts_of(10, 2, 10); /* certain, whatever the neighbours do */
    f.taken = 2;
    assert_verdict(&f, LEAT_VERDICT_COMPUTE_BOUND, "", LEAT_SEVERITY_NONE);
}

/* Workers that compute are slow because others have their cores; with all cores the loader would keep up. */
TEST(neighbours_are_not_the_input)
{
    leat_facts f = facts_of(20, 20, 10);
    set_stage(&f, 0, "image: decode_jpeg", 2000, 1200);
    f.loader_cores = 2;
    f.taken = 2;
    f.loader_cpu_ns = 35e6 / ROWS; /* 8.75 ms on 4 cores */
    assert_verdict(&f, LEAT_VERDICT_ENVIRONMENT, "busy-neighbour", LEAT_SEVERITY_MODERATE);
    f.loader_cpu_ns = 39e6 / ROWS; /* not certain */
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "decode: cpu-saturated", LEAT_SEVERITY_HIGH);
    f.loader_cpu_ns = 35e6 / ROWS;
    f.taken = 0.1; /* nobody took them: something else */
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "decode", LEAT_SEVERITY_HIGH);
    f.taken = 2;
    f.threads = 1; /* no core was missing */
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "decode: serial", LEAT_SEVERITY_HIGH);
    f.threads = 4;
    f.loader_cores = 0.2; /* it sleeps, whatever the others do */
    set_stage(&f, 0, "image: sleep", 2000, 10);
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "map: latency-bound", LEAT_SEVERITY_HIGH);
}

/* A neighbour is no verdict where the answer is plain without it. */
TEST(a_plain_answer_holds_beside_neighbours)
{
    /* Slow storage: rounds differ, but the waits alone are longer than the step. */
    leat_facts f = facts_of(20, 19, 10);
    set_stage(&f, 0, "read", 2000, 20);
    f.loader_of_step = within(10. / 19, 0.95);
    f.work[LEAT_WORK_STORAGE] = 0.8;
    f.work[LEAT_WORK_COMPUTE] = 0.1;
    f.work[LEAT_WORK_CORE] = 0.1;
    assert_verdict(&f, LEAT_VERDICT_INCONCLUSIVE, "", LEAT_SEVERITY_NONE); /* a quiet machine */
    f.taken = 3.6;
    assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "storage", LEAT_SEVERITY_HIGH);
    f.work[LEAT_WORK_STORAGE] = 0.5; /* 9.5 ms of them: not plain */
    f.work[LEAT_WORK_CORE] = 0.4;
    assert_verdict(&f, LEAT_VERDICT_ENVIRONMENT, "busy-neighbour", LEAT_SEVERITY_MODERATE);
    /* The loader is faster than the step, though it got few cores. */
    f = facts_of(10.2, 6, 10);
    f.loader_of_step = within(10. / 6, 0.6);
    f.taken = 3;
    assert_verdict(&f, LEAT_VERDICT_COMPUTE_BOUND, "", LEAT_SEVERITY_NONE);
    f.on_host = true; /* the step may be slow for the same reason */
    assert_verdict(&f, LEAT_VERDICT_ENVIRONMENT, "busy-neighbour", LEAT_SEVERITY_MODERATE);
    /* 44 ms of CPU work on four cores are more than a step of 8 ms, and than 24 ms of loader on four workers. */
    f = facts_of(25, 20, 8);
    f.on_host = true;
    f.loader_cpu_ns = 24e6 / ROWS;
    f.step_cpu_ns = 20e6 / ROWS;
    f.run_cores = 1.8;
    f.taken = 2.1;
    assert_verdict(&f, LEAT_VERDICT_SHARED_CORES, "cores-full", LEAT_SEVERITY_HIGH);
    f.step_cpu_ns = 8e6 / ROWS; /* 8 ms in all: on a quiet machine the step would be the limit */
    assert_verdict(&f, LEAT_VERDICT_ENVIRONMENT, "busy-neighbour", LEAT_SEVERITY_MODERATE);
}

/* Events around a step see no gaps inside: what the parts say holds, and launching counts as computing. */
TEST(without_records_of_kernels_verdicts_are_coarse)
{
    for (int coarse = 0; coarse < 2; coarse++) {
        leat_facts f = facts_of(10, 2, 10);
        f.step_busy = coarse ? 1 : 0.3;
        assert_verdict(&f, coarse ? LEAT_VERDICT_COMPUTE_BOUND : LEAT_VERDICT_LAUNCH_BOUND, "",
                       coarse ? LEAT_SEVERITY_NONE : LEAT_SEVERITY_HIGH);
        f = facts_of(10, 10, 5);
        f.step_busy = coarse ? 1 : 0.3;
        assert_verdict(&f, LEAT_VERDICT_INPUT_BOUND, "", LEAT_SEVERITY_HIGH);
        f.copying = 0.95;
        assert_verdict(&f, LEAT_VERDICT_TRANSFER_BOUND, "bus-saturated", LEAT_SEVERITY_HIGH);
        f = facts_of(10, 2, 10);
        f.sync_every = 1;
        f.step_free = rate_of(4);
        f.step_busy = coarse ? 1 : 0.9;
        assert_verdict(&f, LEAT_VERDICT_SYNC_BOUND, "", LEAT_SEVERITY_HIGH);
    }
}

TEST(short_jobs_are_mostly_one_time_cost)
{
    leat_facts f = facts_of(10, 2, 10);
    f.one_time_ns = 0.99e9;
    f.steps_of_job = 100; /* one second */
    assert_verdict(&f, LEAT_VERDICT_COMPUTE_BOUND, "", LEAT_SEVERITY_NONE);
    f.one_time_ns = 1.01e9;
    assert_verdict(&f, LEAT_VERDICT_WARM_UP, "", LEAT_SEVERITY_MODERATE);
    leat_verdict_found d;
    leat_verdict_decide(&f, &d);
    assert_int_equal(d.verdict.also, LEAT_VERDICT_COMPUTE_BOUND);
}

TEST(two_parts_as_slow_are_both_named)
{
    const struct {
        double run, loader, step;
        leat_verdict_kind kind, also;
    } rows[] = {
        { 10, 9.8, 10, LEAT_VERDICT_COMPUTE_BOUND, LEAT_VERDICT_INPUT_BOUND },
        { 10, 9.3, 10, LEAT_VERDICT_COMPUTE_BOUND, LEAT_VERDICT_NONE },
        { 10.8, 10.4, 10, LEAT_VERDICT_INPUT_BOUND, LEAT_VERDICT_COMPUTE_BOUND },
        { 11.1, 11, 10, LEAT_VERDICT_INPUT_BOUND, LEAT_VERDICT_NONE },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        leat_facts f = facts_of(rows[i].run, rows[i].loader, rows[i].step);
        leat_verdict_found d;
        leat_verdict_decide(&f, &d);
        assert_int_equal(d.verdict.kind, rows[i].kind);
        assert_int_equal(d.verdict.also, rows[i].also);
    }
}

/* --- several processes ------------------------------------------------------------------------- */

static void assert_ranks(const double (*shares)[4], int32_t n, leat_verdict_kind kind,
                         const char *label, const char *words)
{
    leat_ranks_time times[4] = { 0 };
    char got[LEAT_VERDICT_LABEL], text[300];
    leat_verdict verdict;
    for (int32_t r = 0; r < n; r++) {
        times[r] = (leat_ranks_time){ .input = shares[r][0],
                                      .others = shares[r][1],
                                      .exchange = shares[r][2],
                                      .late = shares[r][3] };
        snprintf(times[r].name, sizeof times[r].name, "rank %d of %d", r, n);
    }
    leat_doctor_ranks(times, n, &verdict, text, sizeof text);
    leat_verdict_label(&verdict, got);
    if (verdict.kind != kind || strcmp(got, label) != 0 || !strstr(text, words))
        fail_msg("%s (%s): %s", leat_verdict_about(verdict.kind)->name, got, text);
}

/* Rows: shares of input, waiting for other ranks, communication; late. */
TEST(a_late_rank_is_told_from_communication)
{
    assert_ranks((const double[][4]){ { 0, .05, .02, .05 }, { 0, .05, .02, .04 } }, 2,
                 LEAT_VERDICT_NONE, "", "waited 2 % of the time for sums");
    assert_ranks((const double[][4]){ { 0, .4, .02, .03 }, { .5, .03, .02, .4 } }, 2,
                 LEAT_VERDICT_STRAGGLER, "rank 1",
                 "the others waited 40 % of the time for rank 1 of 2, which waited for its input");
    assert_ranks((const double[][4]){ { 0, 0, .02, .3 }, { .1, .3, .02, 0 }, { .1, .3, .02, 0 } },
                 3, LEAT_VERDICT_STRAGGLER, "rank 0", "rank 0 of 3, which is slower itself");
    assert_ranks((const double[][4]){ { 0, .05, .3, .04 }, { 0, .04, .3, .05 } }, 2,
                 LEAT_VERDICT_COMMUNICATION_BOUND, "", "waited 30 % of the time for sums");
    /* All wait for their input as long. */
    assert_ranks((const double[][4]){ { .3, .3, .02, 0 }, { .3, 0, .02, .3 } }, 2,
                 LEAT_VERDICT_STRAGGLER, "rank 1", "rank 1 of 2, which is slower itself");
    /* Two of four are slow. */
    assert_ranks(
        (const double[][4]){
            { 0, .2, 0, .25 }, { 0, .2, 0, .25 }, { 0, .5, 0, 0 }, { 0, .5, 0, 0 } },
        4, LEAT_VERDICT_STRAGGLER, "rank 0", "25 % of the time for rank 0");
    /* Each of two is late, in turn. */
    assert_ranks((const double[][4]){ { 0, .2, .02, .2 }, { 0, .2, .02, .2 } }, 2,
                 LEAT_VERDICT_NONE, "", "20 % for each other");
    /* Both: the larger one. */
    assert_ranks((const double[][4]){ { 0, .15, .3, 0 }, { 0, 0, .3, .15 } }, 2,
                 LEAT_VERDICT_COMMUNICATION_BOUND, "", "");
    assert_ranks((const double[][4]){ { 0, .35, .3, 0 }, { 0, 0, .3, .35 } }, 2,
                 LEAT_VERDICT_STRAGGLER, "rank 1", "");
    assert_ranks((const double[][4]){ { 0, 0, .5, 0 } }, 1, LEAT_VERDICT_NONE, "", "");
}
