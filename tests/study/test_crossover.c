/* SPDX-License-Identifier: MIT
 *
 * test_crossover.c: crossovers of simulated devices whose step times are arithmetic, over real files. */
#include <math.h>
#include <unistd.h>

#include "fixtures/engine_fixture.h"
#include "fixtures/record_file.h"
#include "leat/crossover.h"

enum { N_RECORDS = 256 };

static leat_config *make_config(const char *pipeline)
{
    return record_file_config("engine: {threads: 1}\npipeline: [%s]\n"
                              "train:\n  model: [{dense: 32}, relu, {dense: %d}]\n",
                              pipeline, N_RECORDS);
}

static leat_crossover_result result;

/* Steps of milliseconds: the one has kernels of at least 0.3 ms, the other works off 1e9 flops per second. */
#define FEW  "sim:{kernel_min_ns: 300000, launch_ns: 0}"
#define SLOW "sim:{peak_flops: 1e9, memory_bytes_per_s: 1e18, launch_ns: 0, kernel_min_ns: 0}"

TEST(a_planted_crossing_is_found)
{
    leat_config *config =
        make_config("shuffle, {batch: {size: 16, drop_remainder: true}}, prefetch");
    const char *const devices[2] = { SLOW, FEW };
    const leat_crossover_options options = { .rounds = 3, .steps = 8 };
    leat_error err;
    check(leat_crossover(config, devices, &options, &result, &err), &err);
    assert_int_equal(result.batch, 16);
    assert_int_equal(result.crosses, 1);
    assert_int_equal(result.faster_below, 0);
    assert_string_equal(result.devices[0].name,
                        "sim:{peak_flops: 1e9, memory_bytes_per_s: 1e18, launch_ns: 0, k");
    assert_int_equal(result.devices[0].simulated, 1);
    assert_true(result.devices[0].launches == result.devices[1].launches &&
                result.devices[0].launches >= 5);
    assert_int_equal(result.devices[0].n_points, 5); /* 1, 4, 16, 64, 256: no more records */
    assert_true(result.devices[0].one_time_ms >= 0 && result.steps_to_pay >= 0);
    assert_non_null(strstr(result.sentence, "is faster below a batch of"));
    assert_true(result.crossover.low <= result.crossover.value);
    leat_config_close(&config);
}

TEST(a_device_may_be_faster_everywhere)
{
    leat_config *config = make_config("{batch: 4}");
    const char *const devices[2] = { FEW, "sim:{kernel_min_ns: 900000, launch_ns: 0}" };
    const leat_crossover_options options = { .rounds = 3, .steps = 8, .largest_batch = 16 };
    leat_error err;
    check(leat_crossover(config, devices, &options, &result, &err), &err);
    assert_int_equal(result.crosses, 0);
    assert_int_equal(result.faster_below, 0);
    assert_int_equal(result.faster_now, 0);
    assert_int_equal(result.devices[0].n_points, 3);
    assert_int_equal(result.n_checks, 0);
    assert_true(isnan(result.crossover.value));
    assert_non_null(strstr(result.sentence, "from batch 1 to 16"));
    leat_config_close(&config);
}

TEST(the_cpu_counts_no_launches)
{
    leat_config *config = make_config("{batch: 2}");
    const char *const devices[2] = { "cpu", "sim" };
    const leat_crossover_options options = { .rounds = 3, .steps = 8, .largest_batch = 2 };
    leat_error err;
    check(leat_crossover(config, devices, &options, &result, &err), &err);
    assert_true(result.devices[0].launches == -1 && result.devices[0].simulated == 0);
    assert_true(result.devices[1].launches >= 5);
    assert_true(fabs(result.devices[1].launch_ms - result.devices[1].launches * 0.01) < 1e-9);
    assert_int_equal(result.devices[0].n_points, 1);
    leat_config_close(&config);
}

TEST(what_cannot_be_is_refused)
{
    static const struct {
        const char *devices[2];
        leat_crossover_options options;
        int code;
        const char *says;
    } cases[] = {
        { { "cpu", "cpu" }, { 0 }, LEAT_E_ARGUMENT, "two different" },
        { { "cpu", NULL }, { 0 }, LEAT_E_ARGUMENT, "two devices" },
        { { "cpu", "sim" }, { .rounds = 2 }, LEAT_E_ARGUMENT, "rounds" },
        { { "cpu", "sim" }, { .rounds = -1 }, LEAT_E_ARGUMENT, "rounds" },
        { { "cpu", "sim" }, { .steps = -1 }, LEAT_E_ARGUMENT, "steps" },
        { { "cpu", "sim" }, { .largest_batch = -1 }, LEAT_E_ARGUMENT, "batch" },
        { { "cpu", "simm" }, { 0 }, LEAT_E_CONFIG, "simm: " },
    };
    leat_config *config = make_config("{batch: 2}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_error err = { 0 };
        assert_int_equal(leat_crossover(config, cases[i].devices, &cases[i].options, &result, &err),
                         cases[i].code);
        if (!strstr(err.message, cases[i].says))
            fail_msg("'%s' lacks '%s'", err.message, cases[i].says);
    }
    leat_config_close(&config);
    config = make_config("shuffle");
    const char *const devices[2] = { "cpu", "sim" };
    assert_true(leat_crossover(config, devices, NULL, &result, NULL) < 0);
    assert_int_equal(leat_crossover(NULL, devices, NULL, &result, NULL), LEAT_E_ARGUMENT);
    leat_config_close(&config);
}

SUITE_RECORD_FILE(N_RECORDS, 0)
