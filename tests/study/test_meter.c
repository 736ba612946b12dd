/* SPDX-License-Identifier: MIT
 *
 * test_meter.c: where the time of steps went. */
#include <math.h>

#include "fixtures/unit.h"
#include "leat/meter.h"
#include "leat/rng.h"

#define N_OF(array) (sizeof(array) / sizeof *(array))

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-9))
        fail_msg("%.12g is not %.12g", value, expected);
}

static leat_meter account(const leat_step_times *steps, size_t first, size_t n)
{
    leat_meter meter;
    assert_int_equal(leat_meter_account(steps, first, n, &meter), LEAT_OK);
    assert_near(meter.busy + meter.input_wait + meter.exposed_copy + meter.other, 1);
    assert_true(meter.busy >= 0 && meter.input_wait >= 0 && meter.exposed_copy >= 0 &&
                meter.other >= -1e-12);
    return meter;
}

/* --- constructed cases ----------------------------------------------------------------------- */

TEST(input_bound)
{
    /* 100 ns per step, of which 30 compute; the batch is ready just when the step begins. */
    leat_step_times steps[11];
    for (int i = 0; i < 11; i++)
        steps[i] = (leat_step_times){ .asked_ns = 100 * i + 31, /* of the step after */
                                      .ready_ns = 100 * i + 100,
                                      .compute_start_ns = 100 * i + 100,
                                      .compute_end_ns = 100 * i + 130,
                                      .busy_ns = 30,
                                      .rows = 4 };
    const leat_meter meter = account(steps, 1, 11);
    assert_int_equal(meter.n_steps, 10);
    assert_int_equal(meter.wall_ns, 1000);
    assert_near(meter.busy, 0.30);
    assert_near(meter.input_wait, 0.69); /* 1 ns passed before the host asked */
    assert_near(meter.exposed_copy, 0);
    assert_near(meter.other, 0.01);
    assert_near(meter.samples_per_s, 40 / 1000e-9);
    assert_int_equal(meter.step_p50_ns, 100);
    assert_int_equal(meter.step_p95_ns, 100);
}

TEST(each_part_of_a_gap_has_its_name)
{
    /* The gap 100 … 200: asked at 110, ready at 140, copy 150 … 170, launched at 200; of the 50 ns
     * after that 35 are busy. */
    leat_step_times steps[2] = {
        { .compute_end_ns = 100 },
        { .asked_ns = 110,
          .ready_ns = 140,
          .copy_start_ns = 150,
          .copy_end_ns = 170,
          .compute_start_ns = 200,
          .compute_end_ns = 250,
          .busy_ns = 35,
          .rows = 1 },
    };
    leat_meter meter = account(steps, 1, 2);
    assert_near(meter.input_wait, 30. / 150);
    assert_near(meter.exposed_copy, 20. / 150);
    assert_near(meter.busy, 35. / 150);
    assert_near(meter.other, (10 + 10 + 30 + 15) / 150.);
    /* The host ran ahead: it asked during the step before. */
    steps[1].asked_ns = 20;
    meter = account(steps, 1, 2);
    assert_near(meter.input_wait, 40. / 150);
    /* Batch and copy were there before the step before ended: nothing but launch. */
    steps[1].ready_ns = 50;
    steps[1].copy_start_ns = 60;
    steps[1].copy_end_ns = 90;
    meter = account(steps, 1, 2);
    assert_near(meter.input_wait, 0);
    assert_near(meter.exposed_copy, 0);
    assert_near(meter.other, 115. / 150);
    /* The copy reaches into the gap. */
    steps[1].copy_end_ns = 104;
    meter = account(steps, 1, 2);
    assert_near(meter.exposed_copy, 4. / 150);
    /* The host asks late, for a batch that has been there for long: not the input's fault. */
    steps[1].asked_ns = 195;
    meter = account(steps, 1, 2);
    assert_near(meter.exposed_copy, 0);
    assert_near(meter.other, 115. / 150);
}

TEST(overlapping_steps_are_counted_once)
{
    const leat_step_times steps[] = {
        { .compute_start_ns = 0, .compute_end_ns = 100, .busy_ns = 100 },
        { .compute_start_ns = 60, .compute_end_ns = 160, .busy_ns = 100 },
        { .compute_start_ns = 70, .compute_end_ns = 150, .busy_ns = 80 }, /* ends before */
        { .compute_start_ns = 160, .compute_end_ns = 200, .busy_ns = 999 },
    };
    const leat_meter meter = account(steps, 1, 4);
    assert_int_equal(meter.wall_ns, 100);
    assert_near(meter.busy, 1);
}

TEST(bad_windows_are_refused)
{
    leat_step_times steps[3] = { { 0 }, { 0 }, { 0 } };
    leat_meter meter;
    assert_int_equal(leat_meter_account(NULL, 1, 3, &meter), LEAT_E_ARGUMENT);
    assert_int_equal(leat_meter_account(steps, 1, 3, NULL), LEAT_E_ARGUMENT);
    assert_int_equal(leat_meter_account(steps, 0, 3, &meter), LEAT_E_ARGUMENT);
    assert_int_equal(leat_meter_account(steps, 1, 1, &meter), LEAT_E_ARGUMENT);
    assert_int_equal(leat_meter_account(steps, 2, 1, &meter), LEAT_E_ARGUMENT);
    assert_int_equal(leat_meter_account(steps, 1, 3, &meter), LEAT_E_ARGUMENT); /* no time */
    steps[2].compute_end_ns = 1;
    assert_int_equal(leat_meter_account(steps, 1, 3, &meter), LEAT_OK);
}

TEST(percentiles_are_of_steps_as_they_are)
{
    leat_step_times steps[101] = { { 0 } };
    int64_t end_ns = 0;
    for (int i = 1; i <= 100; i++) {
        end_ns += i * 37 % 101; /* 1 … 100 in some order */
        steps[i] = (leat_step_times){ .compute_start_ns = end_ns, .compute_end_ns = end_ns };
    }
    const leat_meter meter = account(steps, 1, 101);
    assert_int_equal(meter.step_p50_ns, 50);
    assert_int_equal(meter.step_p95_ns, 95);
}

/* --- against a timeline drawn ns by ns -------------------------------------------------------- */

static leat_step_times random_step(leat_rng *rng, int64_t around)
{
    const int64_t start = around + leat_rng_below(rng, 40) - 8;
    const int64_t length = leat_rng_below(rng, 30);
    leat_step_times step = {
        .asked_ns = around + leat_rng_below(rng, 60) - 40,
        .ready_ns = around + leat_rng_below(rng, 60) - 40,
        .compute_start_ns = start,
        .compute_end_ns = start + length,
        .busy_ns = leat_rng_below(rng, (uint32_t)length + 1),
        .rows = leat_rng_below(rng, 5),
    };
    if (leat_rng_below(rng, 2)) {
        step.copy_start_ns = step.ready_ns + leat_rng_below(rng, 10);
        step.copy_end_ns = step.copy_start_ns + leat_rng_below(rng, 20);
    }
    return step;
}

enum { N_STEPS = 12 };

/* What one ns counts as: the step it belongs to is the first that ends after it. */
static void draw(const leat_step_times *steps, size_t first, double *share)
{
    int64_t from = steps[first - 1].compute_end_ns, to = from, covered[N_STEPS] = { 0 };
    for (size_t k = first; k < N_STEPS; k++)
        to = steps[k].compute_end_ns > to ? steps[k].compute_end_ns : to;
    for (int64_t t = from; t < to; t++) {
        size_t k = first;
        while (steps[k].compute_end_ns <= t)
            k++;
        const leat_step_times *s = &steps[k];
        if (t >= s->compute_start_ns)
            share[covered[k]++ < s->busy_ns ? 0 : 3]++;
        else if (t >= s->asked_ns && t < s->ready_ns)
            share[1]++;
        else if (t >= s->asked_ns && t >= s->copy_start_ns && t < s->copy_end_ns)
            share[2]++;
        else
            share[3]++;
    }
    for (int i = 0; i < 4; i++)
        share[i] /= (double)(to - from);
}

TEST(random_steps_agree_with_a_timeline)
{
    leat_rng rng = leat_rng_make(5, 0, 0, 0);
    for (int round = 0; round < 3000; round++) {
        leat_step_times steps[N_STEPS];
        double share[4] = { 0, 0, 0, 0 };
        const size_t first = 1 + leat_rng_below(&rng, N_STEPS - 1);
        int64_t end_ns = 1000;
        for (int i = 0; i < N_STEPS; i++) {
            steps[i] = random_step(&rng, end_ns);
            end_ns = steps[i].compute_end_ns > end_ns ? steps[i].compute_end_ns : end_ns;
        }
        steps[first - 1].compute_end_ns = steps[first - 1].compute_start_ns; /* any will do */
        steps[N_STEPS - 1].compute_end_ns = end_ns + 1;
        draw(steps, first, share);
        const leat_meter meter = account(steps, first, N_STEPS);
        assert_near(meter.busy, share[0]);
        assert_near(meter.input_wait, share[1]);
        assert_near(meter.exposed_copy, share[2]);
        assert_near(meter.other, share[3]);
    }
}

/* --- warm-up ---------------------------------------------------------------------------------- */

static void steps_of(leat_step_times *steps, size_t n, int64_t (*time)(size_t))
{
    int64_t at_ns = 0;
    for (size_t i = 0; i < n; i++) {
        at_ns += time(i);
        steps[i] = (leat_step_times){ .compute_end_ns = at_ns };
    }
}

static int64_t always_100(size_t i)
{
    return 100;
}
static int64_t slow_first_40(size_t i)
{
    return i < 40 ? 200 : 100;
}
static int64_t one_outlier_in_8(size_t i)
{
    return i % 8 == 3 ? 1000 : 100 + (int64_t)(i % 5);
}
static int64_t slower_and_slower(size_t i)
{
    return 100 + 10 * (int64_t)i;
}

TEST(warm_up_ends_when_step_times_stay)
{
    leat_step_times steps[200];
    steps_of(steps, 200, always_100);
    assert_int_equal(leat_meter_warm(steps, 200), 10);
    assert_int_equal(leat_meter_warm(steps, 11), 10);
    assert_int_equal(leat_meter_warm(steps, 10), 10);
    assert_int_equal(leat_meter_warm(steps, 0), 0);
    assert_int_equal(leat_meter_warm(NULL, 5), 5);
    steps_of(steps, 200, one_outlier_in_8);
    assert_int_equal(leat_meter_warm(steps, 200), 10);
    steps_of(steps, 200, slow_first_40);
    /* At step 45 six of ten times are short. */
    assert_int_equal(leat_meter_warm(steps, 200), 45);
    assert_int_equal(leat_meter_warm(steps, 60), 45);
    steps_of(steps, 200, slower_and_slower);
    assert_int_equal(leat_meter_warm(steps, 200), 200);
}

/* The step before the window counts for nothing; launches are a mean, their time a median. */
TEST(launches_and_copies_are_counted)
{
    leat_step_times steps[5];
    for (int i = 0; i < 5; i++)
        steps[i] = (leat_step_times){ .compute_end_ns = 100 * i,
                                      .copied_bytes = i ? 50 : 9999,
                                      .launches = i == 4 ? 5 : 1,
                                      .kernels = 10,
                                      .launch_ns = i == 2 ? 900 : i };
    const leat_meter meter = account(steps, 1, 5);
    assert_near(meter.launches, 2);
    assert_near(meter.kernels, 10);
    assert_int_equal(meter.launch_p50_ns, 3);
    assert_near(meter.copied_bytes_per_s, 200 / 400e-9);
}
