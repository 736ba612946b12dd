/* SPDX-License-Identifier: MIT
 *
 * Every schedule against its closed formula at every update of a run, and what cannot be known is said. */
#include "fixtures/train_fixture.h"

#include <math.h>

#include "train/schedule.h"

static const double pi = 3.14159265358979323846;

static leat_schedule *open_text(const char *text, const leat_run_length *run, leat_config **config,
                                leat_error *err)
{
    leat_schedule *schedule;
    assert_int_equal(leat_config_parse(text, "test.yaml", config, err), LEAT_OK);
    const leat_node *root = leat_config_root(*config);
    const int rc = leat_schedule_open(leat_node_find(root, "schedule"), root, run, &schedule, err);
    assert_true((rc == LEAT_OK) == (schedule != NULL));
    return schedule;
}

/* 10 epochs of 20 batches, two of which make an update: 100 updates. */
static const leat_run_length hundred = { 10, 20, 2 };

static double formula_constant(int t)
{
    return 1;
}

static double formula_warm(int t)
{
    return t < 20 ? (t + 1) / 20.0 : 1;
}

static double formula_step(int t)
{
    return t < 30 ? 1 : t < 65 ? 0.5 : 0.25;
}

static double formula_early_step(int t)
{
    return t < 4 ? 1 : 0.5;
}

static double formula_warm_step(int t)
{
    return t < 10 ? (t + 1) / 10.0 : t < 30 ? 1 : 0.1;
}

static double formula_linear(int t)
{
    return t >= 100 ? 0.25 : 1 - 0.75 * t / 100;
}

static double formula_warm_linear(int t)
{
    return t < 10 ? (t + 1) / 10.0 : t < 50 ? 1 - (t - 10) / 40.0 : 0;
}

static double formula_cosine(int t)
{
    return t >= 100 ? 0.1 : 0.1 + 0.9 * (1 + cos(pi * t / 100)) / 2;
}

static double formula_warm_cosine(int t)
{
    return t < 5 ? (t + 1) / 5.0 : t >= 100 ? 0 : (1 + cos(pi * (t - 5) / 95)) / 2;
}

/* PyTorch's OneCycleLR with pct_start 0.3, div_factor 25, final_div_factor 1e4. */
static double formula_one_cycle(int t)
{
    const double up = 29, down = 99;
    if (t > 99)
        return 4e-6;
    if (t <= up)
        return 1 + (0.04 - 1) / 2 * (1 + cos(pi * t / up));
    return 4e-6 + (1 - 4e-6) / 2 * (1 + cos(pi * (t - up) / (down - up)));
}

static double formula_triangular(int t)
{
    return t >= 100 ? 0.07 : t < 23 ? 0.2 + 0.8 * t / 23 : 1 - 0.93 * (t - 23) / 77;
}

static const struct {
    const char *text;
    double (*formula)(int t);
} cases[] = {
    { "other: 1", formula_constant },
    { "schedule: constant", formula_constant },
    { "schedule: {constant: {warmup: 2}}", formula_warm },
    { "schedule: {constant: {warmup: 20, unit: steps}}", formula_warm },
    { "schedule: {step: {milestones: [3, 6.5], factor: 0.5}}", formula_step },
    { "schedule: {step: {milestones: [30, 65], factor: 0.5, unit: steps}}", formula_step },
    /* 3.5 updates, but less as a 32-bit float */
    { "schedule: {step: {milestones: 0.35, factor: 0.5}}", formula_early_step },
    { "schedule: {step: {milestones: [3], warmup: 1}}", formula_warm_step },
    { "schedule: {linear: 0.25}", formula_linear },
    { "schedule: {linear: {warmup: 1, length: 5}}", formula_warm_linear },
    { "schedule: {linear: {warmup: 10, length: 50, unit: steps}}", formula_warm_linear },
    { "schedule: {cosine: {end: 0.1}}", formula_cosine },
    { "schedule: {cosine: {warmup: 0.5}}", formula_warm_cosine },
    { "schedule: one_cycle", formula_one_cycle },
    { "schedule: triangular", formula_triangular },
    { "schedule: {plateau: {warmup: 2}}", formula_warm },
};
enum { N_CASES = sizeof cases / sizeof *cases };

TEST(equal_the_formulas)
{
    for (size_t i = 0; i < N_CASES; i++) {
        leat_config *config;
        leat_error err;
        leat_schedule *schedule = open_text(cases[i].text, &hundred, &config, &err);
        if (!schedule)
            fail_msg("%s", err.message);
        for (int t = 0; t < 150; t++) {
            const double is = leat_schedule_factor(schedule, t), wanted = cases[i].formula(t);
            if (!(fabs(is - wanted) <= 1e-7))
                fail_msg("%s, update %d: %.12g, not %.12g", cases[i].text, t, is, wanted);
        }
        leat_schedule_close(&schedule);
        leat_config_close(&config);
    }
}

/* Losses of evaluations, and the factor after each: patience 2, so the second in a row that is no lower lowers it. */
TEST(a_plateau_lowers_it)
{
    static const struct {
        double loss, factor;
    } after[] = { { 1, 1 },      { 0.5, 1 },   { 0.45, 1 },  { NAN, 0.5 },
                  { 0.5, 0.5 },  { 0.3, 0.5 }, { 0.3, 0.5 }, { 0.3, 0.25 },
                  { 0.3, 0.25 }, { 0.3, 0.2 }, { 0.3, 0.2 }, { 0.3, 0.2 } };
    leat_config *config;
    leat_error err;
    leat_schedule *schedule = open_text("schedule: {plateau: {patience: 2, factor: 0.5, min: 0.2, "
                                        "min_delta: 0.1, warmup: 10, unit: steps}}",
                                        &hundred, &config, &err);
    assert_non_null(schedule);
    leat_patience *const patience = leat_schedule_patience(schedule);
    assert_non_null(patience);
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        leat_patience_take(patience, &(leat_metrics){ .loss = after[i].loss }, (int64_t)i);
        if (leat_patience_is_over(patience))
            leat_patience_again(patience);
        for (int t = 0; t < 20; t++) { /* the warm-up does not change */
            const double is = leat_schedule_factor(schedule, t);
            const double wanted = t < 10 ? (t + 1) / 10.0 : after[i].factor;
            if (!(fabs(is - wanted) <= 1e-12))
                fail_msg("evaluation %zu, update %d: %.12g, not %.12g", i, t, is, wanted);
        }
    }
    leat_schedule_close(&schedule);
    leat_config_close(&config);
}

TEST(every_schedule_has_a_case)
{
    for (size_t k = 0; leat_schedule_kind(k); k++) {
        bool seen = false;
        for (size_t i = 0; i < N_CASES; i++)
            seen = seen || strstr(cases[i].text, leat_schedule_kind(k)->name);
        if (!seen)
            fail_msg("schedule '%s' is not tested", leat_schedule_kind(k)->name);
    }
}

/* Extreme lengths give finite factors. */
TEST(short_runs)
{
    static const char *const texts[] = { "schedule: one_cycle",
                                         "schedule: triangular",
                                         "schedule: {one_cycle: {peak: 0}}",
                                         "schedule: {one_cycle: {peak: 1}}",
                                         "schedule: {triangular: {peak: 0}}",
                                         "schedule: {triangular: {peak: 1}}",
                                         "schedule: cosine",
                                         "schedule: linear" };
    for (int64_t n = 1; n < 6; n++)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            const leat_run_length run = { 1, n, 1 };
            leat_config *config;
            leat_error err;
            leat_schedule *schedule = open_text(texts[i], &run, &config, &err);
            assert_non_null(schedule);
            for (int t = 0; t < 10; t++) {
                const double factor = leat_schedule_factor(schedule, t);
                assert_true(factor >= 0 && factor <= 1);
            }
            leat_schedule_close(&schedule);
            leat_config_close(&config);
        }
}

TEST(errors_say_what_to_do)
{
    static const struct {
        const char *text, *message;
        int64_t batches;
    } bad[] = {
        { "schedule: cosin", "did you mean 'cosine'", 20 },
        { "schedule: {step: {factor: 0.1}}", "needs the option 'milestones'", 20 },
        { "schedule: cosine", "length: 10000, unit: steps", -1 },
        { "schedule: {cosine: {length: 5}}", "unit: steps", -1 },
        { "schedule: {constant: {warmup: 5}}", "unit: steps", -1 },
        { "schedule: {step: {milestones: [5]}}", "unit: steps", -1 },
        { "schedule: {linear: {warmup: 10}}", "leaves nothing", 20 },
        { "schedule: {linear: {warmup: 7, length: 6}}", "leaves nothing", 20 },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const leat_run_length run = { 10, bad[i].batches, 1 };
        leat_config *config;
        leat_error err;
        leat_schedule *schedule = open_text(bad[i].text, &run, &config, &err);
        assert_null(schedule);
        if (!strstr(err.message, bad[i].message) || !strstr(err.message, "test.yaml:1:"))
            fail_msg("%s: %s", bad[i].text, err.message);
        leat_config_close(&config);
    }
}

TEST(an_endless_run_with_a_length)
{
    const leat_run_length run = { 1, -1, 1 };
    leat_config *config;
    leat_error err;
    leat_schedule *schedule =
        open_text("schedule: {linear: {length: 100, end: 0.25, unit: steps}}", &run, &config, &err);
    assert_non_null(schedule);
    for (int t = 0; t < 150; t++)
        assert_true(fabs(leat_schedule_factor(schedule, t) - formula_linear(t)) < 1e-12);
    leat_schedule_close(&schedule);
    leat_config_close(&config);
}

/* The trainer: one weight, gradient known, so the change of the weight is the rate. first: update of the schedule that
 * the run begins with. */
static void check_run(int first)
{
    leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 1 }, 2);
    fixture f;
    float x[2] = { 1, 1 };
    int64_t y[2] = { 1, 1 };
    float before = 0, bias = 0;
    feed.batches = 10;
    fixture_must_open(&f,
                      "train: {model: [dense: 1], loss: binary_cross_entropy, epochs: 2, "
                      "accumulate: 2, schedule: linear, optimizer: {sgd: {learning_rate: 2}}}",
                      &feed);
    assert_int_equal(leat_trainer_start_at(f.trainer, 2 * first + 1, &f.err), LEAT_OK);
    for (int t = first; t < 10; t++) {
        float *w = read_param(f.trainer, 0, 0), *b = read_param(f.trainer, 0, 1);
        before = *w;
        bias = *b;
        free(w);
        free(b);
        fixture_step(&f, &feed, x, y, 2, true);
        fixture_step(&f, &feed, x, y, 2, true);
        w = read_param(f.trainer, 0, 0);
        const double slope = 1 / (1 + exp(-(double)(before + bias))) - 1;
        const double wanted = (double)before - 2 * (1 - t / 10.0) * slope;
        if (!(fabs((double)*w - wanted) < 1e-6))
            fail_msg("update %d: %.9g, not %.9g", t, (double)*w, wanted);
        free(w);
    }
    assert_int_equal(leat_trainer_start_at(f.trainer, 0, &f.err), LEAT_E_ARGUMENT);
    fixture_close(&f);
}

TEST(the_trainer_follows_it)
{
    check_run(0);
    check_run(7);
}
