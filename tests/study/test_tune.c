/* SPDX-License-Identifier: MIT
 *
 * test_tune.c: tuning tries what was planted, and with LEAT_TEST_TIMES finds it: samples that sleep, on a simulated device.
 * test_tune_lines.c has what it finds of planted times. */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fixtures/engine_fixture.h"
#include "fixtures/record_file.h"
#include "leat/tune.h"

enum { N_RECORDS = 64, BATCH = 8 };

static leat_config *make_config(const char *sleep_ms, const char *threads, const char *prefetch)
{
    return record_file_config(
        "engine: {threads: %s}\n"
        "pipeline: [shuffle, {map: {tensor: x, ops: [{sleep: %s}]}}, {batch: %d}%s]\n"
        "train:\n  device: 'sim:{kernel_min_ns: 300000, launch_ns: 0}'\n  model: [{dense: %d}]\n",
        threads, sleep_ms, BATCH, prefetch, N_RECORDS);
}

static leat_tune_result result;

static void tune(const leat_config *config, double seconds)
{
    const leat_tune_options options = { .seconds = seconds };
    leat_error err;
    check(leat_tune(config, &options, &result, &err), &err);
    assert_int_equal(result.simulated, 1);
    if (getenv("LEAT_TEST_SAY"))
        for (int32_t i = 0; i < result.n_tried; i++)
            print_message("%.0f %.2f (%.2f-%.2f) %d %s\n", result.tried[i].samples_per_s.value,
                          result.tried[i].speedup.value, result.tried[i].speedup.low,
                          result.tried[i].speedup.high, result.tried[i].rounds,
                          result.tried[i].set);
    assert_true(result.n_tried > 1 && result.seconds > 0 && result.baseline.value > 0);
    for (int32_t i = 0; i < result.n_tried; i++) {
        const leat_tune_try *try = &result.tried[i];
        assert_true(try->rounds > 0 && try->samples_per_s.low <= try->samples_per_s.high);
    }
}

static bool has(const char *line)
{
    for (int32_t i = 0; i < result.n_set; i++)
        if (!strncmp(result.set[i], line, strlen(line)))
            return true;
    return false;
}

static bool has_tried(const char *part)
{
    for (int32_t i = 0; i < result.n_tried; i++)
        if (strstr(result.tried[i].set, part))
            return true;
    return false;
}

/* Threads that sleep as the op `sleep` does. */
static _Atomic int n_asleep, most_asleep;

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                    struct timespec *remain)
{
    const int n = ++n_asleep;
    int most = most_asleep;
    while (n > most && !atomic_compare_exchange_weak(&most_asleep, &most, n))
        ;
    const long rc = syscall(SYS_clock_nanosleep, clock, flags, time, remain);
    const int code = errno;
    n_asleep--;
    return rc == 0 ? 0 : code;
}

/* One worker sleeps 8 ms per batch; many of them sleep at the same time. */
TEST(sleeping_samples_get_more_threads)
{
    leat_config *config = make_config("1", "1", ", {prefetch: 2}");
    leat_error err;
    char text[32];
    most_asleep = 0;
    tune(config, 20);
    assert_true(has_tried("engine.threads=") && most_asleep > 1);
    assert_non_null(strstr(result.sentence, "simulated"));
    assert_true(result.n_set ? result.speedup.low > 1 : result.speedup.value == 1);
    if (!unit_judges_times()) {
        leat_config_close(&config);
        return;
    }
    assert_true(result.n_set >= 1);
    assert_true(has("engine.threads="));
    assert_true(result.speedup.low > 1.5);
    assert_non_null(strstr(result.sentence, "times as fast"));
    check(leat_tune_apply(&result, config, &err), &err);
    check(leat_config_get(config, "engine.threads", text, sizeof text, &err), &err);
    assert_true(atoi(text) > 1);
    leat_config_close(&config);
}

/* Without prefetch, the input of 4 ms and the step of a millisecond come one after the other. */
TEST(prefetch_is_found)
{
    leat_config *config = make_config("0.5", "1", ", {prefetch: 0}");
    tune(config, 20);
    assert_true(has_tried("engine.threads="));
    assert_true(!unit_judges_times() ||
                ((has("pipeline.prefetch.batches=") || has("engine.threads=")) &&
                 result.speedup.low > 1.1));
    leat_config_close(&config);
}

/* Nothing makes a step of some kernels of 2 ms shorter when the input takes nothing. */
TEST(noise_is_no_gain)
{
    leat_config *config = make_config("0", "2", ", {prefetch: 2}");
    check(leat_config_set(config, "train.device=sim:{kernel_min_ns: 2000000, launch_ns: 0}", NULL),
          &(leat_error){ 0 });
    tune(config, 10);
    /* Noise of half a second of other programs may be a gain of a few percent, which test_tune_lines.c has. */
    assert_true(result.n_set == 0 ? result.speedup.value == 1 : result.speedup.low > 1);
    assert_true(!unit_judges_times() || result.speedup.low < 1.3);
    if (!result.n_set)
        assert_non_null(strstr(result.sentence, "leave it as it is"));
    leat_config_close(&config);
}

/* The slow op runs once per sample and arm, and not in the steps that are measured. */
TEST(a_cache_is_filled_before_a_race)
{
    leat_config *config = record_file_config(
        "engine: {threads: 1}\n"
        "pipeline: [{map: {tensor: x, ops: [{sleep: 5}]}}, cache, {batch: %d}, {prefetch: 2}]\n"
        "train:\n  device: 'sim:{kernel_min_ns: 300000, launch_ns: 0}'\n  model: [{dense: %d}]\n",
        BATCH, N_RECORDS);
    tune(config, 8); /* seconds; filling the cache takes one, and a sanitizer more */
    assert_true(result.uncached == 0);
    assert_true(result.baseline.value > 1000 / 5.); /* samples/s of a worker that sleeps */
    leat_config_close(&config);
}

/* What is set in a file must be a map. */
TEST(a_bare_prefetch_gets_its_name)
{
    static const struct {
        const char *stage, *now;
    } cases[] = { { ", {prefetch: 2}", "2" },
                  { ", prefetch", NULL },
                  { ", {prefetch: {batches: 3}}", "3" },
                  { ", {prefetch: auto}", "auto" } };
    leat_tune_result won = { .n_set = 2,
                             .set = { "pipeline.prefetch.pinned=false", "engine.threads=3" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_config *config = make_config("1", "1", cases[i].stage);
        char text[32];
        size_t length;
        leat_error err;
        check(leat_tune_apply(&won, config, &err), &err);
        if (cases[i].now) {
            check(leat_config_get(config, "pipeline.prefetch.batches", text, sizeof text, &err),
                  &err);
            assert_string_equal(text, cases[i].now);
        }
        check(leat_config_get(config, "pipeline.prefetch.pinned", text, sizeof text, &err), &err);
        assert_string_equal(text, "false");
        check(leat_config_text(config, NULL, 0, &length, &err), &err);
        leat_config_close(&config);
    }
}

TEST(what_cannot_be_is_refused)
{
    leat_config *config = make_config("1", "1", "");
    leat_error err = { 0 };
    const double bad[] = { -1, 1e9, NAN };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(
            leat_tune(config, &(leat_tune_options){ .seconds = bad[i] }, &result, &err),
            LEAT_E_ARGUMENT);
    assert_int_equal(leat_tune(NULL, NULL, &result, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_tune(config, NULL, NULL, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_tune(config, &(leat_tune_options){ .device = "sim:no" }, &result, &err),
                     LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "sim"));
    assert_int_equal(leat_tune_apply(NULL, config, NULL), LEAT_E_ARGUMENT);
    leat_tune_result odd = { .n_set = 1, .set = { "engine.threads" } };
    assert_int_equal(leat_tune_apply(&odd, config, NULL), LEAT_E_ARGUMENT);
    leat_config_close(&config);
}

/* Nothing is said of what was not tried. */
TEST(without_time_nothing_is_tried)
{
    leat_config *config = make_config("0", "1", ", {prefetch: 2}");
    const leat_tune_options options = { .seconds = 1e-6 };
    leat_error err;
    check(leat_tune(config, &options, &result, &err), &err);
    assert_true(!result.complete && result.n_set == 0 && result.n_tried == 0);
    assert_string_equal(result.sentence, "no settings were tried (simulated); the time was over "
                                         "before all options were tried");
    leat_config_close(&config);
}

SUITE_RECORD_FILE(N_RECORDS, 0)
