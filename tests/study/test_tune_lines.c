/* SPDX-License-Identifier: MIT
 *
 * test_tune_lines.c: which lines a winner keeps, with runs whose rates a test sets. */
/* Before the headers, so that they declare the doubles. */
#define leat_arm_total_open double_arm_total_open
#define leat_arm_fill       double_arm_fill
#define leat_arm_run        double_arm_run
#define leat_tune           double_tune
#include "fixtures/unit.h"
#include "study/tune_search.c"

static bool reads_matter; /* the reader makes a difference */
static int n_runs;

static bool has(const leat_arm *arm, const char *path, const char *value)
{
    char text[32] = "";
    leat_config_get(arm->config, path, text, sizeof text, NULL);
    return !strcmp(text, value);
}

int double_arm_total_open(leat_arm_total *total, leat_arm *arm, leat_error *err)
{
    snprintf(arm->out->device, sizeof arm->out->device, "sim");
    arm->out->simulated = true;
    return LEAT_OK;
}

int double_arm_fill(leat_arm *arm, int64_t most_ns, leat_error *err)
{
    return LEAT_OK;
}

/* Four batches of prefetch help until the reader is faster, which is tried later. */
int double_arm_run(leat_arm *arm, int32_t round, leat_error *err)
{
    n_runs++;
    const bool pread = reads_matter && has(arm, "engine.reader", "pread");
    const bool ahead = has(arm, "pipeline.prefetch.batches", "4");
    arm->runs[round] = (leat_meter){ .samples_per_s = pread   ? 1500
                                                      : ahead ? 1200
                                                              : 1000,
                                     .step_p50_ns = 1000 };
    return LEAT_OK;
}

static void tune_it(leat_tune_result *result)
{
    static const char text[] = "pipeline: [{prefetch: {batches: 2}}]\nengine: {threads: 2}\n";
    leat_config *config;
    leat_error err = { 0 };
    n_runs = 0;
    if (leat_config_parse(text, "test", &config, &err) < 0 ||
        double_tune(config, NULL, result, &err) < 0)
        fail_msg("%s", err.message);
    leat_config_close(&config);
    assert_true(n_runs > 0 && result->complete);
}

TEST(a_line_that_another_made_idle_is_dropped)
{
    static leat_tune_result result;
    reads_matter = true;
    tune_it(&result);
    assert_int_equal(result.n_set, 1);
    assert_string_equal(result.set[0], "engine.reader=pread");
    assert_true(result.speedup.value == 1.5);
}

TEST(a_line_that_gains_stays)
{
    static leat_tune_result result;
    reads_matter = false;
    tune_it(&result);
    assert_int_equal(result.n_set, 1);
    assert_string_equal(result.set[0], "pipeline.prefetch.batches=4");
    assert_true(result.speedup.value == 1.2);
}

/* Direct reads need io_uring; a reader that uses the page cache is another job. */
TEST(direct_reads_keep_their_reader)
{
    const size_t reader = LEAT_TUNE_OPTIONS - 1;
    const leat_tune_settings none = { 0 };
    char values[LEAT_TUNE_VALUES][32];
    leat_config *config;
    assert_string_equal(leat_tune_rows[reader].path, "engine.reader");
    assert_int_equal(leat_config_parse("engine: {io: buffered}", "x", &config, NULL), LEAT_OK);
    assert_int_equal(leat_tune_settings_others(&none, config, reader, 2, values), 1);
    assert_int_equal(leat_config_set(config, "engine.io=direct", NULL), LEAT_OK);
    assert_int_equal(leat_tune_settings_others(&none, config, reader, 2, values), 0);
    leat_config_close(&config);
}
