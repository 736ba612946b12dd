/* SPDX-License-Identifier: MIT
 *
 * test_tune_lines.c: which lines a winner keeps, with runs whose rates a test sets. */
/* Before the headers, so that they declare the doubles. */
#define leat_arm_total_open double_arm_total_open
#define leat_arm_fill       double_arm_fill
#define leat_arm_run        double_arm_run
#define leat_tune           double_tune
#include "fixtures/unit.h"
#include "leat/rng.h"
#include "study/tune.c"

static double (*rate_of)(const leat_arm *arm); /* samples/s of a run */
static int n_runs;
static uint64_t noise_seed;

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

int double_arm_run(leat_arm *arm, int32_t round, leat_error *err)
{
    n_runs++;
    arm->runs[round] = (leat_meter){ .samples_per_s = rate_of(arm), .step_p50_ns = 1000 };
    return LEAT_OK;
}

static double four_ahead(const leat_arm *arm)
{
    return has(arm, "pipeline.prefetch.batches", "4") ? 1200 : 1000;
}

/* Four batches of prefetch help until the reader is faster, which is tried later. */
static double reads_matter(const leat_arm *arm)
{
    return has(arm, "engine.reader", "pread") ? 1500 : four_ahead(arm);
}

/* Workers that sleep. */
static double each_thread(const leat_arm *arm)
{
    char text[32] = "";
    leat_config_get(arm->config, "engine.threads", text, sizeof text, NULL);
    return 100 * atof(text);
}

/* Within a tenth. */
static double noise(const leat_arm *arm)
{
    leat_rng rng = leat_rng_make(noise_seed, (uint64_t)n_runs, 0, 0);
    return 1000 * (0.9 + 0.2 * (double)leat_rng_f32(&rng));
}

static void tune_stages(const char *stages, leat_tune_result *result)
{
    char text[128];
    leat_config *config;
    leat_error err = { 0 };
    n_runs = 0;
    snprintf(text, sizeof text, "pipeline: [%s]\nengine: {threads: 2}\n", stages);
    if (leat_config_parse(text, "test", &config, &err) < 0 ||
        double_tune(config, NULL, result, &err) < 0)
        fail_msg("%s", err.message);
    leat_config_close(&config);
    assert_true(n_runs > 0 && result->complete);
}

static void tune_it(leat_tune_result *result)
{
    tune_stages("{prefetch: {batches: 2}}", result);
}

/* Where the stage is missing, it is added; 0 is what the config has. */
TEST(a_missing_stage_is_tried)
{
    static leat_tune_result result;
    const struct settings none = { 0 };
    char text[32] = "", values[MOST_VALUES][32];
    leat_config *config;
    rate_of = four_ahead;
    tune_stages("shuffle", &result);
    assert_int_equal(result.n_set, 1);
    assert_string_equal(result.set[0], "pipeline+={prefetch: {batches: 4}}");
    assert_int_equal(leat_config_parse("pipeline: [shuffle]", "x", &config, NULL), LEAT_OK);
    assert_int_equal(other_values(&none, config, 2, 2, values), 4);
    assert_string_equal(values[0], "1");
    assert_int_equal(leat_tune_apply(&result, config, NULL), LEAT_OK);
    assert_int_equal(leat_config_get(config, "pipeline.prefetch.batches", text, 32, NULL), LEAT_OK);
    assert_string_equal(text, "4");
    leat_config_close(&config);
    tune_stages("prefetch", &result); /* without options */
    assert_string_equal(result.set[0], "pipeline.prefetch.batches=4");
}

TEST(a_line_that_another_made_idle_is_dropped)
{
    static leat_tune_result result;
    rate_of = reads_matter;
    tune_it(&result);
    assert_int_equal(result.n_set, 1);
    assert_string_equal(result.set[0], "engine.reader=pread");
    assert_true(result.speedup.value == 1.5);
}

TEST(a_line_that_gains_stays)
{
    static leat_tune_result result;
    rate_of = four_ahead;
    tune_it(&result);
    assert_int_equal(result.n_set, 1);
    assert_string_equal(result.set[0], "pipeline.prefetch.batches=4");
    assert_true(result.speedup.value == 1.2);
}

TEST(as_many_threads_as_gain)
{
    static leat_tune_result result;
    int threads = 0;
    rate_of = each_thread;
    tune_it(&result);
    assert_int_equal(result.n_set, 1);
    assert_int_equal(sscanf(result.set[0], "engine.threads=%d", &threads), 1);
    assert_true(threads > 2 && result.speedup.low == threads / 2.);
    for (int32_t i = 0; i < result.n_tried; i++)
        assert_true(result.tried[i].samples_per_s.value <= result.samples_per_s.value);
    assert_non_null(strstr(result.sentence, "times as fast as the config"));
}

/* Of many jobs that nothing makes faster, a few have a gain by chance. */
TEST(noise_is_no_gain)
{
    static leat_tune_result result;
    int n_gains = 0;
    rate_of = noise;
    for (noise_seed = 0; noise_seed < 20; noise_seed++) {
        tune_it(&result);
        n_gains += result.n_set > 0;
        assert_true(result.n_set ? result.speedup.low < 1.1 : result.speedup.value == 1);
        assert_true(result.n_set || strstr(result.sentence, "leave it as it is"));
    }
    assert_in_range(n_gains, 0, 2);
}

/* Direct reads need io_uring; a reader that uses the page cache is another job. */
TEST(direct_reads_keep_their_reader)
{
    const size_t reader = N_OPTIONS - 1;
    const struct settings none = { 0 };
    char values[MOST_VALUES][32];
    leat_config *config;
    assert_string_equal(rows[reader].path, "engine.reader");
    assert_int_equal(leat_config_parse("engine: {io: buffered}", "x", &config, NULL), LEAT_OK);
    assert_int_equal(other_values(&none, config, reader, 2, values), 1);
    assert_int_equal(leat_config_set(config, "engine.io=direct", NULL), LEAT_OK);
    assert_int_equal(other_values(&none, config, reader, 2, values), 0);
    leat_config_close(&config);
}
