/* SPDX-License-Identifier: MIT
 *
 * test_bootstrap.c: intervals of figures over rounds. */
#include <math.h>

#include "fixtures/unit.h"
#include "leat/rng.h"
#include "study/median_bootstrap.h"

static double mean(const void *arg, const size_t *rounds, size_t n)
{
    const double *values = arg;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[rounds[i]];
    return sum / (double)n;
}

TEST(equal_rounds_leave_no_doubt)
{
    const double values[] = { 3, 3, 3, 3, 3, 3 };
    for (size_t n = 1; n <= 6; n++) {
        const leat_estimate interval = leat_bootstrap_estimate(mean, values, n);
        assert_true(interval.low == 3 && interval.high == 3);
    }
}

TEST(every_call_gives_the_same)
{
    const double values[] = { 1, 2, 3, 4, 5, 6 };
    const leat_estimate a = leat_bootstrap_estimate(mean, values, 6);
    const leat_estimate b = leat_bootstrap_estimate(mean, values, 6);
    assert_true(a.low == b.low && a.high == b.high);
    assert_true(a.low > 1 && a.low < 3.5 && a.high > 3.5 && a.high < 6);
}

TEST(an_estimate_is_of_all_rounds)
{
    const double values[] = { 6, 1, 4, 2 };
    const leat_estimate all = leat_bootstrap_estimate(mean, values, 4);
    const leat_estimate interval = leat_bootstrap_estimate(mean, values, 4);
    assert_true(all.value == 3.25 && all.low == interval.low && all.high == interval.high);
    const leat_estimate median = leat_bootstrap_median(values, 4);
    assert_true(median.value == 3 && median.low >= 1 && median.low < 3 && median.high <= 6 &&
                median.high > 3);
    assert_true(leat_bootstrap_estimate(mean, values, 0).high == 0);
}

/* For the mean of many normal values the interval is known: ± 1.96 sd / sqrt(n). */
TEST(many_rounds_give_the_normal_interval)
{
    enum { N = LEAT_BOOTSTRAP_MAX };
    static double values[N];
    double sum = 0, squares = 0;
    leat_rng rng = leat_rng_make(3, 0, 0, 0);
    for (size_t i = 0; i < N; i++) {
        values[i] = leat_rng_normal(&rng);
        sum += values[i];
        squares += values[i] * values[i];
    }
    const double sd = sqrt(squares / N - sum / N * sum / N), half = 1.96 * sd / sqrt(N);
    const leat_estimate interval = leat_bootstrap_estimate(mean, values, N);
    assert_true(fabs(interval.low - (sum / N - half)) < 0.1 * half);
    assert_true(fabs(interval.high - (sum / N + half)) < 0.1 * half);
}

/* Of experiments with 6 rounds each, most intervals hold the true value (a percentile bootstrap of
 * so few comes to about 87 %). */
TEST(most_intervals_hold_the_truth)
{
    int n_held = 0;
    leat_rng rng = leat_rng_make(4, 0, 0, 0);
    for (int i = 0; i < 400; i++) {
        double values[6];
        for (int j = 0; j < 6; j++)
            values[j] = 10 + leat_rng_normal(&rng);
        const leat_estimate interval = leat_bootstrap_estimate(mean, values, 6);
        n_held += interval.low <= 10 && interval.high >= 10;
    }
    assert_in_range(n_held, 400 * 80 / 100, 400 * 94 / 100);
}

/* Medians of odd, even and empty sets, in any order, and of values near the ends of int64_t. */

TEST(medians)
{
    static const struct {
        size_t n;
        int64_t values[5];
        double median;
    } cases[] = {
        { 0, { 0 }, 0 },
        { 1, { 7 }, 7 },
        { 2, { 4, 1 }, 2.5 },
        { 3, { 9, -1, 3 }, 3 },
        { 4, { 8, 2, 6, 4 }, 5 },
        { 5, { 5, 5, 1, 5, 1 }, 5 },
        { 1, { INT64_MAX }, (double)INT64_MAX },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t values[5];
        double reals[5];
        for (size_t k = 0; k < 5; k++)
            reals[k] = (double)(values[k] = cases[i].values[k]);
        assert_true(leat_median_of(values, cases[i].n) == cases[i].median);
        assert_true(leat_median_of_real(reals, cases[i].n) == cases[i].median);
        for (size_t k = 1; k < cases[i].n; k++)
            assert_true(values[k - 1] <= values[k] && reals[k - 1] <= reals[k]);
    }
}

/* Differences of such values do not fit in an int64_t. */
TEST(far_values_are_ordered)
{
    int64_t values[] = { INT64_MAX, 0, INT64_MIN };
    leat_median_sort(values, 3);
    assert_true(values[0] == INT64_MIN && values[1] == 0 && values[2] == INT64_MAX);
}
