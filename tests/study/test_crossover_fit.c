/* SPDX-License-Identifier: MIT
 *
 * test_crossover_fit.c: crossovers of planted step times. */
#define leat_crossover double_crossover /* before the headers, so that they declare the double */
#include "fixtures/unit.h"
#include "leat/rng.h"
#include "study/crossover.c"

enum { SIZES = 6, ROUNDS = 6 };
static const int64_t sizes[SIZES] = { 1, 4, 16, 64, 256, 1024 };

/* Step times a + b * batch of two devices, each off by up to `noise`. */
static void conclude_lines(const double line[2][2], double noise, uint64_t seed,
                           leat_crossover_result *out)
{
    double ms[2][SIZES][ROUNDS];
    leat_rng rng = leat_rng_make(seed, 0, 0, 0);
    memset(out, 0, sizeof *out);
    for (int d = 0; d < 2; d++)
        for (size_t i = 0; i < SIZES; i++)
            for (size_t r = 0; r < ROUNDS; r++)
                ms[d][i][r] = (line[d][0] + line[d][1] * (double)sizes[i]) *
                              (1 + noise * (2 * (double)leat_rng_f32(&rng) - 1));
    const struct times times = { sizes, SIZES, ROUNDS, &ms[0][0][0] };
    fit_crossover(&times, out);
}

TEST(the_formula_holds)
{
    static const double cases[][2][2] = {
        { { 0.02, 0.01 }, { 0.5, 0.001 } }, /* 53.3 */
        { { 0.5, 0.001 }, { 0.02, 0.01 } }, /* the other device first */
        { { 0.02, 0.1 }, { 0.12, 0.05 } },  /* 2 */
        { { 1, 0.02 }, { 11, 0.005 } },     /* 667 */
    };
    static const double expected[] = { 480. / 9, 480. / 9, 2, 2000. / 3 };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        leat_crossover_result out;
        conclude_lines(cases[k], 0, 0, &out);
        assert_int_equal(out.crosses, 1);
        assert_true(fabs(out.crossover.value / expected[k] - 1) < 1e-4);
        assert_true(fabs(out.crossover.high - out.crossover.low) < 1e-4 * expected[k]);
        assert_int_equal(out.faster_below, k == 1);
        for (int d = 0; d < 2; d++) {
            assert_true(fabs(out.devices[d].alpha_ms.value / cases[k][d][0] - 1) < 1e-3);
            assert_true(fabs(out.devices[d].beta_ms_per_sample.value / cases[k][d][1] - 1) < 1e-3);
            assert_int_equal(out.devices[d].n_points, SIZES);
            assert_int_equal(out.devices[d].points[3].batch, 64);
        }
    }
}

/* Five percent of noise: the interval has the true place in most draws of the noise. */
TEST(intervals_hold_the_truth)
{
    static const double line[2][2] = { { 0.02, 0.01 }, { 0.5, 0.001 } };
    int inside = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        leat_crossover_result out;
        conclude_lines(line, 0.05, seed, &out);
        assert_int_equal(out.crosses, 1);
        assert_int_equal(out.faster_below, 0);
        assert_true(out.crossover.value > 40 && out.crossover.value < 70);
        assert_true(out.crossover.low <= out.crossover.value &&
                    out.crossover.value <= out.crossover.high);
        inside += out.crossover.low <= 480. / 9 && out.crossover.high >= 480. / 9;
    }
    assert_in_range(inside, 15, 20);
}

/* A step that is flat up to batch 64: the line is that around the crossing. */
TEST(a_bend_does_not_move_the_crossing)
{
    double ms[2][SIZES][ROUNDS];
    leat_crossover_result out = { .crosses = 0 };
    for (size_t i = 0; i < SIZES; i++)
        for (size_t r = 0; r < ROUNDS; r++) {
            ms[0][i][r] = 0.01 + 0.005 * (double)sizes[i];
            ms[1][i][r] = fmax(0.06, 0.0009 * (double)sizes[i]);
        }
    const struct times times = { sizes, SIZES, ROUNDS, &ms[0][0][0] };
    fit_crossover(&times, &out);
    assert_int_equal(out.crosses, 1);
    assert_true(fabs(out.crossover.value - 10) < 1);
}

TEST(one_size_far_off_changes_little)
{
    for (size_t bad = 0; bad < SIZES; bad++) {
        double ms[2][SIZES][ROUNDS];
        leat_crossover_result out = { .crosses = 1 };
        for (size_t i = 0; i < SIZES; i++)
            for (size_t r = 0; r < ROUNDS; r++) {
                ms[0][i][r] = (2 + 0.05 * (double)sizes[i]) * (i == bad ? 3 : 1);
                ms[1][i][r] = 0.1;
            }
        const struct times times = { sizes, SIZES, ROUNDS, &ms[0][0][0] };
        fit_crossover(&times, &out);
        assert_int_equal(out.crosses, 0);
        assert_true(fabs(out.devices[0].alpha_ms.value / 2 - 1) <= 0.15);
        if (bad < SIZES - 1) /* nothing but the last tells the slope so well */
            assert_true(fabs(out.devices[0].beta_ms_per_sample.value / 0.05 - 1) <= 0.1);
    }
}

TEST(one_device_may_always_be_faster)
{
    static const double parallel[2][2] = { { 0.5, 0.01 }, { 1, 0.01 } };
    static const double apart[2][2] = { { 1, 0.1 }, { 0.5, 0.01 } };
    static const double same[2][2] = { { 0.5, 0.01 }, { 0.5, 0.01 } };
    leat_crossover_result out;
    conclude_lines(parallel, 0.02, 1, &out);
    assert_int_equal(out.crosses, 0);
    assert_int_equal(out.faster_below, 0);
    assert_true(isnan(out.crossover.value));
    conclude_lines(apart, 0.02, 2, &out);
    assert_int_equal(out.crosses, 0);
    assert_int_equal(out.faster_below, 1);
    for (uint64_t seed = 0; seed < 6; seed++) { /* noise is no crossing */
        conclude_lines(same, 0.05, seed, &out);
        assert_true(!out.crosses || (out.crossover.high > 2 * out.crossover.low));
    }
    conclude_lines(same, 0, 0, &out);
    assert_int_equal(out.crosses, 0);
    assert_int_equal(out.faster_below, -1);
}

/* The first `n_same` sizes take both devices as long; at the others the second is faster. */
static void say_of_bend(size_t n_same, leat_crossover_result *out)
{
    double ms[2][SIZES][ROUNDS];
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < SIZES; i++)
        for (size_t r = 0; r < ROUNDS; r++) {
            ms[0][i][r] = 0.05 * (i < n_same ? 1 : (double)(i + 2));
            ms[1][i][r] = 0.05;
        }
    strcpy(out->devices[0].name, "a");
    strcpy(out->devices[1].name, "b");
    const struct times times = { sizes, SIZES, ROUNDS, &ms[0][0][0] };
    fit_crossover(&times, out);
    say(out);
}

TEST(a_device_that_is_faster_at_some_sizes_is_not_at_all)
{
    static const char *const says[SIZES + 1] = {
        [0] = "b is the faster device from batch 1 to 1024, all that were measured",
        [1] = "b is faster at batch sizes 4, 16, 64, 256 and 1024; at the others from 1 to 1024 "
              "there is no difference beyond noise",
        [4] = "b is faster at batch sizes 256 and 1024; at the others from 1 to 1024 there is no "
              "difference beyond noise",
        [5] = "b is faster at batch size 1024; at the others from 1 to 1024 there is no difference "
              "beyond noise",
        [6] = "neither device is faster beyond noise from batch 1 to 1024",
    };
    leat_crossover_result out;
    for (size_t n_same = 0; n_same <= SIZES; n_same++) {
        say_of_bend(n_same, &out);
        assert_int_equal(out.crosses, 0);
        assert_int_equal(out.faster_below, n_same == 0 ? 1 : -1);
        for (size_t i = 0; i < SIZES; i++)
            assert_int_equal(out.faster[i], i < n_same ? -1 : 1);
        if (says[n_same])
            assert_string_equal(out.sentence, says[n_same]);
    }
}

TEST(the_sentence_tells_how_many_devices_are_simulated)
{
    static const char *const notes[] = { "", " (simulated in part)", " (simulated)" };
    leat_crossover_result out;
    char end[128];
    for (int n = 0; n <= 2; n++) {
        say_of_bend(SIZES, &out);
        out.devices[0].simulated = n > 1;
        out.devices[1].simulated = n > 0;
        say(&out);
        snprintf(end, sizeof end, "from batch 1 to 1024%s", notes[n]);
        assert_string_equal(strstr(out.sentence, "from"), end);
    }
}

TEST(one_size_makes_no_line)
{
    double ms[] = { 1, 1, 1, 2, 2, 2 };
    const struct times times = { sizes, 1, 3, ms };
    leat_crossover_result out = { .crosses = 1 };
    fit_crossover(&times, &out);
    assert_int_equal(out.crosses, 0);
    assert_int_equal(out.faster_below, 0);
    assert_int_equal(out.devices[1].n_points, 1);
    assert_true(out.devices[1].points[0].step_ms.value == 2);
}

TEST(steps_pay_for_what_was_paid_once)
{
    const double one_time[] = { 100, 1100 }, ms[] = { 5, 1 };
    assert_true(steps_to_pay(one_time, ms, 1) == 250);
    assert_true(steps_to_pay((double[]){ 100, 100 }, ms, 1) == 0);
    assert_true(steps_to_pay((double[]){ 100, 10 }, ms, 1) == 0);
    assert_true(steps_to_pay((double[]){ 0, 9 }, ms, 1) == 3);
    assert_true(isnan(steps_to_pay(one_time, ms, -1)));
    assert_true(isnan(steps_to_pay(one_time, ms, 0))); /* it is not faster */
}
