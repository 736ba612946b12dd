/* SPDX-License-Identifier: MIT
 *
 * test_sweep.c: sweeps in random order, and where curves cross. */
#include <math.h>

#include "fixtures/unit.h"
#include "leat/experiment.h"
#include "leat/rng.h"

/* --- sweeps --------------------------------------------------------------------------------------- */

enum { N_SERIES = 3, N_POINTS = 5, REPEATS = 20 };

struct planted {
    int32_t order[REPEATS * N_SERIES * N_POINTS]; /* cells as they were measured */
    int32_t n, seen[N_SERIES][N_POINTS];
    int32_t fail_at; /* this measurement fails; -1: none */
    int64_t last_done, total;
};

static double truth(int32_t series, int32_t point)
{
    return 100.0 * (series + 1) + point;
}

/* The true value, with noise of 1 % and one measurement of ten that is far off. */
static int measure(void *user, int32_t series, int32_t point, double *y, leat_error *err)
{
    struct planted *p = user;
    leat_rng rng = leat_rng_make(3, (uint64_t)p->n, 0, 0);
    if (p->n == p->fail_at)
        return leat_fail(err, LEAT_E_DEVICE, "planted");
    p->order[p->n++] = series * N_POINTS + point;
    const int32_t time = p->seen[series][point]++;
    *y = time % 10 == 9 ? 1e6 : truth(series, point) * (1 + leat_rng_range(&rng, -0.01f, 0.01f));
    return LEAT_OK;
}

static void progress(void *user, int64_t done, int64_t total)
{
    struct planted *p = user;
    assert_int_equal(done, p->last_done + 1);
    p->last_done = done;
    p->total = total;
}

static void make_series(leat_series series[N_SERIES])
{
    memset(series, 0, N_SERIES * sizeof *series);
    for (int32_t s = 0; s < N_SERIES; s++) {
        series[s].n_points = N_POINTS;
        for (int32_t p = 0; p < N_POINTS; p++)
            series[s].points[p].x = p + 1;
    }
}

TEST(medians_are_found_in_any_order)
{
    leat_series series[N_SERIES];
    static struct planted p;
    p = (struct planted){ .fail_at = -1 };
    leat_error err;
    make_series(series);
    const leat_sweep_options how = {
        .repeats = REPEATS, .seed = 1, .progress = progress, .progress_user = &p
    };
    assert_int_equal(leat_sweep(series, N_SERIES, &how, measure, &p, &err), LEAT_OK);
    assert_int_equal(p.n, REPEATS * N_SERIES * N_POINTS);
    assert_int_equal(p.last_done, p.total);
    for (int32_t s = 0; s < N_SERIES; s++)
        for (int32_t i = 0; i < N_POINTS; i++) {
            const leat_point *point = &series[s].points[i];
            assert_true(fabs(point->y / truth(s, i) - 1) < 0.01);
            assert_true(point->low <= point->y && point->y <= point->high);
            assert_true(point->low > 0.98 * truth(s, i) && point->high < 1.02 * truth(s, i));
        }
}

/* Each repeat measures every point once, and no two of them in the same order. */
TEST(every_repeat_has_an_order_of_its_own)
{
    enum { CELLS = N_SERIES * N_POINTS };
    leat_series series[N_SERIES];
    static struct planted p;
    p = (struct planted){ .fail_at = -1 };
    make_series(series);
    const leat_sweep_options how = { .repeats = REPEATS };
    assert_int_equal(leat_sweep(series, N_SERIES, &how, measure, &p, NULL), LEAT_OK);
    for (int32_t r = 0; r < REPEATS; r++) {
        int32_t seen[CELLS] = { 0 };
        for (int32_t i = 0; i < CELLS; i++)
            assert_int_equal(seen[p.order[r * CELLS + i]]++, 0);
        for (int32_t q = 0; q < r; q++)
            assert_memory_not_equal(p.order + r * CELLS, p.order + q * CELLS,
                                    CELLS * sizeof *p.order);
    }
}

TEST(an_error_ends_the_sweep)
{
    leat_series series[N_SERIES];
    static struct planted p;
    leat_error err;
    make_series(series);
    p = (struct planted){ .fail_at = 7 };
    assert_int_equal(leat_sweep(series, N_SERIES, NULL, measure, &p, &err), LEAT_E_DEVICE);
    assert_string_equal(err.message, "planted");
    assert_int_equal(p.n, 7);
}

TEST(wrong_arguments_are_refused)
{
    leat_series series[N_SERIES];
    struct planted p = { .fail_at = 0 };
    make_series(series);
    const leat_sweep_options few = { .repeats = -1 }, many = { .repeats = 1001 };
    assert_int_equal(leat_sweep(NULL, 1, NULL, measure, &p, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_sweep(series, 0, NULL, measure, &p, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_sweep(series, 1, NULL, NULL, &p, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_sweep(series, 1, &few, measure, &p, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_sweep(series, 1, &many, measure, &p, NULL), LEAT_E_ARGUMENT);
    series[1].n_points = LEAT_SERIES_MAX_POINTS + 1;
    assert_int_equal(leat_sweep(series, 2, NULL, measure, &p, NULL), LEAT_E_ARGUMENT);
}

/* --- crossings --------------------------------------------------------------------------------------- */

/* y = factor · x^power at 1, 10, … 10^6, with intervals of ± share. */
static leat_series power_law(double factor, double power, double share)
{
    leat_series series = { .n_points = 7 };
    double x = 1;
    for (int32_t i = 0; i < series.n_points; i++, x *= 10) {
        const double y = factor * pow(x, power);
        series.points[i] = (leat_point){ x, y, y * (1 - share), y * (1 + share) };
    }
    return series;
}

static leat_crossing cross(const leat_series *a, const leat_series *b)
{
    leat_crossing out;
    leat_error err;
    assert_int_equal(leat_crossing_find(a, b, &out, &err), LEAT_OK);
    return out;
}

TEST(power_laws_cross_where_they_do)
{
    for (double x = 2; x < 9e5; x *= 1.7) { /* a fixed cost against a cost per element */
        const leat_series device = power_law(x, 0, 0.1), cpu = power_law(1, 1, 0.1);
        const leat_crossing at = cross(&device, &cpu), back = cross(&cpu, &device);
        assert_int_equal(at.found, 1);
        assert_true(fabs(at.x / x - 1) < 1e-9);
        assert_true(fabs(at.low / (x * 0.9 / 1.1) - 1) < 1e-9 || at.low == 0);
        assert_true(fabs(at.high / (x * 1.1 / 0.9) - 1) < 1e-9 || isinf(at.high));
        assert_int_equal(at.above, -1);
        assert_int_equal(back.above, 1);
        assert_true(fabs(back.x / at.x - 1) < 1e-9);
    }
}

TEST(curves_that_never_cross_say_which_is_below)
{
    const leat_series low = power_law(1, 1, 0.1), high = power_law(3, 1, 0.1);
    const leat_crossing at = cross(&low, &high);
    assert_int_equal(at.found, 0);
    assert_int_equal(at.above, -1);
    assert_int_equal(cross(&high, &low).above, 1);
    const leat_crossing same = cross(&low, &low);
    assert_int_equal(same.found, 0);
    assert_int_equal(same.above, 0);
}

/* The medians cross, but the intervals overlap up to the end: the crossing may lie beyond it. */
TEST(noise_leaves_the_end_open)
{
    const leat_series device = power_law(9e5, 0, 0.3), cpu = power_law(1, 1, 0.3);
    const leat_crossing at = cross(&device, &cpu);
    assert_int_equal(at.found, 1);
    assert_true(isinf(at.high));
    assert_true(at.low > 0 && at.low < at.x);
}

TEST(only_common_points_count)
{
    leat_series device = power_law(50, 0, 0), cpu = power_law(1, 1, 0);
    memmove(&device.points[0], &device.points[1], 6 * sizeof *device.points);
    device.n_points = 6; /* without x = 1 */
    assert_true(fabs(cross(&device, &cpu).x / 50 - 1) < 1e-9);
    device.n_points = 0;
    assert_int_equal(cross(&device, &cpu).found, 0);
    assert_int_equal(cross(&device, &cpu).above, 0);
    cpu.points[0].y = 0;
    device.n_points = 1;
    assert_int_equal(leat_crossing_find(&device, &cpu, &(leat_crossing){ 0 }, NULL),
                     LEAT_E_ARGUMENT);
    assert_int_equal(leat_crossing_find(NULL, &cpu, &(leat_crossing){ 0 }, NULL), LEAT_E_ARGUMENT);
    static const int32_t wrong[] = { -1, INT32_MIN, LEAT_SERIES_MAX_POINTS + 1, INT32_MAX };
    leat_series bad = power_law(1, 1, 0);
    cpu = bad;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        leat_crossing at;
        leat_error err;
        bad.n_points = wrong[i];
        assert_int_equal(leat_crossing_find(&bad, &cpu, &at, &err), LEAT_E_ARGUMENT);
        assert_int_equal(leat_crossing_find(&cpu, &bad, &at, &err), LEAT_E_ARGUMENT);
        assert_int_equal(leat_crossing_find(&bad, &bad, &at, &err), LEAT_E_ARGUMENT);
        assert_non_null(strstr(err.message, "at most 32 points per series"));
    }
}
