/* SPDX-License-Identifier: MIT
 *
 * test_study.c: a whole comparison over files, loader and trainer: a pipeline that sleeps feeds a
 * simulated device, without prefetch and with it. */
#include <unistd.h>

#include "fixtures/engine_fixture.h"
#include "fixtures/record_file.h"

#include <math.h>

enum { N_RECORDS = 64, BATCH = 8 };

/* Two dense layers are some kernels of 0.5 ms each. */
static leat_config *make_config(const char *device)
{
    return record_file_config(
        "engine: {threads: 2}\n"
        "pipeline: [shuffle, {map: {tensor: x, ops: [{sleep: 1}]}}, {batch: %d}, prefetch]\n"
        "train:\n  device: '%s'\n  model: [{dense: 32}, relu, {dense: %d}]\n",
        BATCH, device, N_RECORDS);
}

static leat_compare_result result;

static void compare(const char *device, const char *vary, const leat_compare_options *options)
{
    leat_config *config = make_config(device);
    leat_error err;
    check(leat_compare(config, &vary, 1, options, &result, &err), &err);
    leat_config_close(&config);
    for (int32_t i = 0; i < result.n_arms; i++) {
        const leat_meter *m = &result.arms[i].meter;
        assert_true(fabs(m->busy + m->input_wait + m->exposed_copy + m->other - 1) < 1e-9);
        assert_true(m->busy > 0 && m->busy <= 1 && m->input_wait >= 0 && m->exposed_copy >= 0 &&
                    m->other > -1e-9);
        assert_true(result.arms[i].warmup_steps >= 10);
    }
}

/* test_compare.c has the figures of both arms from planted times. */
TEST(prefetch_takes_the_wait_for_input_away)
{
    const leat_compare_options options = { .rounds = 5, .steps = 20 };
    const leat_compare_arm *without = &result.arms[0], *with = &result.arms[1];
    compare("sim:{kernel_min_ns: 500000, launch_ns: 1000}", "pipeline.prefetch.batches=0,2",
            &options);
    assert_int_equal(result.n_arms, 2);
    /* Without prefetch a step waits for the sleeps of all its rows, 4 ms of two threads. */
    assert_true(without->meter.input_wait * (double)without->meter.wall_ns >=
                (double)without->meter.n_steps * BATCH / 2 * 1e6);
    assert_true(!unit_judges_times() || (with->idle.value < without->idle.value &&
                                         with->meter.input_wait < without->meter.input_wait));
    assert_non_null(strstr(without->sentence, "simulated"));
    assert_non_null(strstr(result.summary, "(simulated)"));
    if (without->verdict.kind == LEAT_VERDICT_INPUT_BOUND &&
        with->verdict.kind == LEAT_VERDICT_COMPUTE_BOUND) {
        assert_non_null(strstr(result.summary, "pipeline.prefetch.batches=2 makes training"));
        assert_non_null(strstr(result.summary, "device idle falls from"));
    }
}

/* Input that sleeps 4 ms per batch and more, however fast the machine is, and steps of some
 * microseconds: a busy machine can blur that, but not turn it into something else. */
TEST(slow_input_is_never_called_something_else)
{
    const leat_compare_options options = { .rounds = 2, .steps = 20 };
    compare("sim:h200", "engine.threads=1,2", &options);
    for (int i = 0; i < 2; i++) {
        const leat_compare_arm *arm = &result.arms[i];
        assert_true(arm->loader.value <= 1000. * (i + 1) + 1000); /* one sleep of 1 ms per row */
        if (arm->verdict.kind != LEAT_VERDICT_INPUT_BOUND &&
            arm->verdict.kind != LEAT_VERDICT_ENVIRONMENT &&
            arm->verdict.kind != LEAT_VERDICT_INCONCLUSIVE)
            fail_msg("%s", arm->sentence);
    }
}

TEST(the_cpu_can_be_compared_with_a_simulation)
{
    const leat_compare_options options = { .rounds = 2, .steps = 10 };
    compare("cpu", "train.device=cpu,sim:h200", &options);
    assert_int_equal(result.n_arms, 2);
    assert_int_equal(result.arms[0].simulated, 0);
    assert_int_equal(result.arms[1].simulated, 1);
    assert_string_equal(result.arms[1].device, "sim:h200");
    assert_true(result.arms[0].meter.exposed_copy == 0); /* nothing is copied */
    assert_int_equal(result.arms[0].on_host, 1);
    assert_int_equal(result.arms[1].on_host, 0);
    assert_true(result.arms[0].copying == 0 && result.arms[1].copying > 0);
    assert_null(strstr(result.arms[0].sentence, "launch"));
    assert_non_null(strstr(result.summary, "(arms in part simulated)"));
}

TEST(errors_name_arm_and_place)
{
    leat_config *config = make_config("cpu");
    const char *const vary[] = { "pipeline.batch.size=8,0" };
    leat_error err = { 0 };
    assert_int_equal(leat_compare(config, vary, 1, NULL, &result, &err), LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "arm 'pipeline.batch.size=0': "));
    leat_config_close(&config);
}

SUITE_RECORD_FILE(N_RECORDS, 0)
