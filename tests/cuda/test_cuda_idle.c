/* SPDX-License-Identifier: MIT
 *
 * test_cuda_idle.c: idle time by the device's records beside that by events, over the stand-ins for CUDA and CUPTI:
 * of steps whose records a test plants, and of a comparison. test_cuda_command.c has what the commands print. */
#include <math.h>

#include "fixtures/cuda_fixture.h"
#include "fixtures/record_file.h"

enum { RECORDS = 256, SIZE = 8, SETTLE = 4, STEPS = 8 };

static const cuda_fake_table *fake;
static const cupti_fake_table *cupti;

static leat_config *make_config(void)
{
    return record_file_config("engine: {threads: 1}\n"
                              "pipeline: [{batch: %d}, {prefetch: {batches: 2}}]\n"
                              "train:\n  device: cuda:0\n  model: [{dense: %d}]\n",
                              SIZE, RECORDS);
}

typedef struct run {
    leat_config *config;
    leat_plan *plan;
    leat_device *device;
    leat_trainer *trainer;
    leat_loader *loader;
} run;

static run open_run(void)
{
    run r = { .config = make_config() };
    leat_error err;
    fake->reset(1);
    cupti->reset();
    check(leat_plan_open(r.config, NULL, &r.plan, &err), &err);
    check(leat_trainer_open_device(r.config, &r.device, &err), &err);
    check(leat_trainer_open(r.config, r.plan, r.device, &r.trainer, &err), &err);
    const leat_loader_options how = { .device = r.device, .epochs = -1 };
    check(leat_loader_open(r.plan, &how, &r.loader, &err), &err);
    return r;
}

static void close_run(run *r)
{
    leat_loader_close(&r->loader);
    leat_trainer_close(&r->trainer);
    leat_device_close(&r->device);
    leat_plan_close(&r->plan);
    leat_config_close(&r->config);
    check_fake(fake);
    check_fake_cupti(cupti);
}

static void step(run *r, int n)
{
    for (int i = 0; i < n; i++) {
        leat_batch *batch;
        leat_error err;
        check(leat_loader_next(r->loader, &batch, &err), &err);
        check(leat_trainer_step(r->trainer, batch, &err), &err);
    }
}

static void assert_close(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-9))
        fail_msg("%.12g is not %.12g", value, expected);
}

/* Comes first, because the library is opened once and for all. */
TEST(switched_off)
{
    run r = open_run();
    leat_error err;
    setenv("LEAT_CUPTI", "off", 1);
    assert_int_equal(leat_trainer_record(r.trainer, &err), LEAT_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "LEAT_CUPTI is off"));
    setenv("LEAT_CUPTI", FAKE_CUPTI, 1);
    close_run(&r);
}

/* The records say that the device ran in the first half of each step, and that it set memory in a quarter of what
 * followed; times of events say that it ran in the whole step. */
TEST(records_see_gaps_inside_a_step)
{
    run r = open_run();
    leat_step_times times[SETTLE + STEPS];
    leat_recorded recorded;
    leat_meter meter;
    leat_error err;
    step(&r, 3);
    assert_int_equal(leat_trainer_times(r.trainer, times, SETTLE + STEPS), 3);
    check(leat_trainer_record(r.trainer, &err), &err);
    assert_int_equal(leat_trainer_record(r.trainer, &err), LEAT_E_BUSY);
    step(&r, SETTLE + STEPS);
    assert_int_equal(leat_trainer_times(r.trainer, times, SETTLE + STEPS), SETTLE + STEPS);
    int64_t busy = 0, between = 0;
    for (uint32_t i = 0; i < SETTLE + STEPS; i++) {
        const uint64_t start = (uint64_t)times[i].compute_start_ns,
                       half = (uint64_t)(times[i].compute_end_ns - times[i].compute_start_ns) / 2;
        cupti->work(CUPTI_FAKE_LAUNCH, start - 50, start - 40, i + 1);
        cupti->work(CUPTI_FAKE_KERNEL, start, start + half, i + 1);
        cupti->work(CUPTI_FAKE_LAUNCH, start + half, start + half, i + 1000);
        cupti->work(CUPTI_FAKE_SET, start + half + half / 4, start + half + half / 2, i + 1000);
        busy += i >= SETTLE ? (int64_t)(half + half / 2 - half / 4) : 0;
        between += i >= SETTLE ? (int64_t)(half / 4) : 0;
    }
    cupti->drop(2);
    leat_trainer_recorded(r.trainer, SETTLE, &recorded);
    assert_int_equal(leat_meter_account(times, SETTLE, SETTLE + STEPS, &meter), LEAT_OK);
    assert_string_equal(recorded.why, "");
    assert_int_equal(recorded.n_steps, STEPS);
    assert_int_equal(recorded.dropped, 2);
    assert_int_equal(recorded.step_p50_ns, meter.step_p50_ns);
    assert_close(recorded.idle, 1 - (double)busy / (double)meter.wall_ns);
    assert_close(recorded.idle_by_events, 1 - meter.busy);
    assert_true(recorded.launch >= (double)between / (double)meter.wall_ns);
    assert_close(recorded.copying + recorded.host + recorded.launch + recorded.unknown,
                 recorded.idle);
    leat_trainer_recorded(r.trainer, SETTLE, &recorded);
    assert_int_equal(recorded.n_steps, 0);
    assert_string_equal(recorded.why, "no recording is under way");
    close_run(&r);
}

TEST(what_fails_says_why)
{
    run r = open_run();
    leat_recorded recorded;
    leat_error err;
    cupti->fail_next(999);
    assert_int_equal(leat_trainer_record(r.trainer, &err), LEAT_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "planted failure"));
    check(leat_trainer_record(r.trainer, &err), &err);
    step(&r, SETTLE);
    leat_trainer_recorded(r.trainer, SETTLE, &recorded);
    assert_int_equal(recorded.n_steps, 0);
    assert_string_equal(recorded.why, "too few steps were recorded");
    check(leat_trainer_record(r.trainer, &err), &err);
    step(&r, SETTLE + STEPS);
    cupti->fail_next(999);
    leat_trainer_recorded(r.trainer, SETTLE, &recorded);
    assert_int_equal(recorded.n_steps, 0);
    assert_non_null(strstr(recorded.why, "planted failure"));
    check(leat_trainer_record(r.trainer, &err), &err);
    step(&r, SETTLE + STEPS);
    leat_trainer_recorded(r.trainer, SETTLE, &recorded);
    assert_int_equal(recorded.n_steps, 0);
    assert_string_equal(recorded.why, "the records have no kernel of these steps");
    check(leat_trainer_record(r.trainer, &err), &err);
    close_run(&r); /* ends the recording */
}

static void expect_recorded(const leat_recorded *r, int64_t steps)
{
    assert_string_equal(r->why, "");
    assert_int_equal(r->n_steps, steps);
    assert_true(r->idle_by_events > -1e-9 && r->idle_by_events < r->idle && r->idle < 1);
    assert_close(r->copying + r->host + r->launch + r->unknown, r->idle);
}

/* With what the fake GPU really did as records, from here on. */
TEST(a_comparison_records_each_arm)
{
    static leat_compare_result result;
    static const char *const vary[] = { "train.precision=fp32,bf16" };
    const leat_compare_options how = { .rounds = 1, .steps = 20, .warmup_ms = 20 };
    leat_config *config = make_config();
    leat_error err;
    fake->reset(1);
    cupti->reset();
    setenv("CUPTI_FAKE_LIVE", "1", 1);
    check(leat_compare(config, vary, 1, &how, &result, &err), &err);
    for (int i = 0; i < 2; i++) {
        expect_recorded(&result.arms[i].recorded, 20);
        assert_int_equal(result.arms[i].ceiling.precision,
                         i ? LEAT_PRECISION_BF16 : LEAT_PRECISION_FP32);
        assert_true(result.arms[i].ceiling.flops_per_s > 0);
        assert_true(result.arms[i].ceiling.copied_bytes_per_s > 0);
        assert_string_equal(result.arms[i].ceiling.why, "");
    }
    leat_config_close(&config);
    check_fake(fake);
    check_fake_cupti(cupti);
}

SUITE_RECORD_FILE(RECORDS, 0)

int main(void)
{
    fake = open_fake();
    cupti = open_fake_cupti();
    return unit_run();
}
