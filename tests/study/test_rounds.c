/* SPDX-License-Identifier: MIT
 *
 * test_rounds.c: the order in which cells run, when rounds end, and the figures of an arm from those of its rounds. */
#include <math.h>

#include "fixtures/unit.h"
#include "leat/rng.h"
#include "study/rounds.h"

enum { N = 7 };

static leat_meter round_of(int64_t wall_ns, double busy, double input_wait, double samples_per_s)
{
    return (leat_meter){ .n_steps = 10,
                         .wall_ns = wall_ns,
                         .busy = busy,
                         .input_wait = input_wait,
                         .exposed_copy = 0.01,
                         .other = 1 - busy - input_wait - 0.01,
                         .samples_per_s = samples_per_s,
                         .step_p50_ns = wall_ns / 10,
                         .step_p95_ns = wall_ns / 5 };
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-9 * (1 + fabs(expected))))
        fail_msg("%.12g is not %.12g", value, expected);
}

TEST(shares_are_of_the_sum_of_times)
{
    const leat_meter rounds[] = { round_of(1000, 0.9, 0.05, 100), round_of(3000, 0.5, 0.45, 60),
                                  round_of(2000, 0.6, 0.35, 70) };
    leat_compare_arm arm = { .simulated = 0 };
    leat_rounds_conclude(&(leat_rounds){ rounds, rounds, rounds }, rounds, 3, &arm);
    assert_int_equal(arm.meter.wall_ns, 6000);
    assert_int_equal(arm.meter.n_steps, 30);
    assert_near(arm.meter.busy, (900 + 1500 + 1200) / 6000.);
    assert_near(arm.meter.input_wait, (50 + 1350 + 700) / 6000.);
    assert_near(arm.meter.busy + arm.meter.input_wait + arm.meter.exposed_copy + arm.meter.other,
                1);
    assert_near(arm.meter.samples_per_s, (100 * 1000 + 60 * 3000 + 70 * 2000) / 6000.);
    assert_int_equal(arm.meter.step_p50_ns, 200); /* the middle one of 100, 200, 300 */
    assert_int_equal(arm.meter.step_p95_ns, 400);
    assert_near(arm.idle.value, 1 - arm.meter.busy);
    assert_near(arm.idle.low, 0.1); /* all draws the first round, all the second */
    assert_near(arm.idle.high, 0.5);
    assert_near(arm.samples_per_s.low, 60);
    assert_near(arm.samples_per_s.high, 100);
    /* Against itself nothing is ever faster or slower. */
    assert_near(arm.speedup.value, 1);
    assert_near(arm.speedup.low, 1);
    assert_near(arm.speedup.high, 1);
}

/* Where nothing is left, rounding makes no share negative: charts leave such arms out. */
TEST(no_share_is_below_zero)
{
    leat_rng rng = leat_rng_make(4, 0, 0, 0);
    for (int i = 0; i < 200; i++) {
        leat_meter rounds[N];
        leat_compare_arm arm = { .simulated = 0 };
        for (int j = 0; j < N; j++)
            rounds[j] = (leat_meter){ .n_steps = 10,
                                      .wall_ns = 1000 + (int64_t)(leat_rng_u32(&rng) % 9000),
                                      .busy = 1,
                                      .samples_per_s = 100 };
        leat_rounds_conclude(&(leat_rounds){ rounds, rounds, rounds }, rounds, N, &arm);
        assert_true(arm.meter.other >= 0 && arm.meter.other < 1e-9);
    }
}

/* The machine gets slower and slower, but one arm is always 5 % ahead: pairing by round sees it
 * where the arms' own intervals overlap by far. */
TEST(pairs_see_through_drift)
{
    leat_meter slow[N], fast[N];
    leat_compare_arm arm = { .simulated = 0 }, base = { .simulated = 0 };
    for (int i = 0; i < N; i++) {
        slow[i] = round_of(1000 + 200 * i, 0.8, 0.1, 1000. / (1 + 0.2 * i));
        fast[i] = round_of(1000 + 200 * i, 0.8, 0.1, 1050. / (1 + 0.2 * i));
    }
    leat_rounds_conclude(&(leat_rounds){ slow, slow, slow }, slow, N, &base);
    leat_rounds_conclude(&(leat_rounds){ fast, slow, fast }, slow, N, &arm);
    assert_true(arm.samples_per_s.low < base.samples_per_s.high);
    assert_near(arm.speedup.value, 1.05);
    assert_near(arm.speedup.low, 1.05);
    assert_near(arm.speedup.high, 1.05);
}

/* Two arms that are the same: "faster" or "slower" is claimed rarely. */
TEST(noise_is_rarely_a_difference)
{
    int n_claims = 0;
    leat_rng rng = leat_rng_make(8, 0, 0, 0);
    for (int i = 0; i < 200; i++) {
        leat_meter a[N], b[N];
        leat_compare_arm arm = { .simulated = 0 };
        for (int j = 0; j < N; j++) {
            a[j] = round_of(1000, 0.8, 0.1, 100 + (double)leat_rng_normal(&rng));
            b[j] = round_of(1000, 0.8, 0.1, 100 + (double)leat_rng_normal(&rng));
        }
        leat_rounds_conclude(&(leat_rounds){ a, a, a }, b, N, &arm);
        assert_true(arm.speedup.low <= arm.speedup.value && arm.speedup.value <= arm.speedup.high);
        n_claims += arm.speedup.low > 1 || arm.speedup.high < 1;
    }
    assert_in_range(n_claims, 1, 200 * 20 / 100); /* about 12 % with 7 rounds */
}

TEST(arms_are_settled_when_clear_or_narrow)
{
    leat_meter base[N], twice[N], same[N], noisy[N];
    leat_rng rng = leat_rng_make(1, 2, 3, 4);
    for (int i = 0; i < N; i++) {
        const double r = 0.8 + 0.4 * (double)leat_rng_f32(&rng);
        base[i] = round_of(1000, 0.5, 0.1, 100);
        twice[i] = round_of(1000, 0.5, 0.1, 200 * r);
        same[i] = round_of(1000, 0.5, 0.1, 100 + 0.01 * i);
        noisy[i] = round_of(1000, 0.5, 0.1, 100 * r);
    }
    assert_true(leat_rounds_settled(twice, base, N));
    assert_true(leat_rounds_settled(base, twice, N));
    assert_true(leat_rounds_settled(same, base, N));
    assert_false(leat_rounds_settled(noisy, base, N));
    assert_true(leat_rounds_settled(base, base, N));
    assert_false(leat_rounds_settled(noisy, noisy, N));
}

TEST(times_on_other_devices_are_means_over_steps)
{
    leat_meter rounds[] = { round_of(1000, 0.5, 0, 10), round_of(3000, 0.5, 0, 10) };
    leat_compare_arm arm = { .simulated = 0 };
    rounds[1].n_steps = 30;
    for (int i = 0; i < 2; i++) {
        rounds[i].crossings = 4;
        rounds[i].crossed_bytes = 100;
        rounds[i].crossing_ns = 10 + 20 * i;
        rounds[i].elsewhere_ns = 100 + 200 * i;
    }
    leat_rounds_conclude(&(leat_rounds){ rounds, rounds, rounds }, rounds, 2, &arm);
    assert_near(arm.meter.crossings, 4);
    assert_near(arm.meter.crossed_bytes, 100);
    assert_near(arm.meter.crossing_ns, 25);
    assert_near(arm.meter.elsewhere_ns, 250);
    assert_near(arm.placement_ns, 275);
}

/* --- how rounds run ---------------------------------------------------------------------------- */

struct notes {
    char text[256]; /* "0a 0b 1b 1a": rounds and cells */
    int32_t stop_round, stop_cell, code;
    int32_t enough_at;
    int n_enough;
};

static int note(void *user, int32_t cell, int32_t round, leat_error *err)
{
    struct notes *const n = user;
    const size_t used = strlen(n->text);
    snprintf(n->text + used, sizeof n->text - used, "%s%d%c", used ? " " : "", round, 'a' + cell);
    if (n->code && round == n->stop_round && cell == n->stop_cell)
        return n->code == LEAT_E_END ? n->code : leat_fail(err, n->code, "cell %d", cell);
    return LEAT_OK;
}

static bool is_enough(void *user, int32_t n_rounds)
{
    struct notes *const n = user;
    assert_int_equal(n_rounds, ++n->n_enough);
    return n_rounds == n->enough_at;
}

static int run(struct notes *notes, int32_t n_cells, int32_t n_rounds, int32_t *n_done)
{
    leat_error err = { 0 };
    leat_alternate a = { .n_cells = n_cells,
                         .n_rounds = n_rounds,
                         .run = note,
                         .enough = notes->enough_at ? is_enough : NULL,
                         .user = notes };
    const int rc = leat_rounds_run(&a, &err);
    *n_done = a.n_done;
    assert_true(a.cores >= 1 && a.taken >= 0 && a.taken <= a.cores && a.throttled >= 0);
    assert_int_equal(err.code, rc);
    return rc;
}

TEST(odd_rounds_go_backwards)
{
    struct notes notes = { .text = "" };
    int32_t n_done;
    assert_int_equal(run(&notes, 3, 3, &n_done), LEAT_OK);
    assert_string_equal(notes.text, "0a 0b 0c 1c 1b 1a 2a 2b 2c");
    assert_int_equal(n_done, 3);
    notes.text[0] = 0;
    assert_int_equal(run(&notes, 0, 2, &n_done), LEAT_OK);
    assert_string_equal(notes.text, "");
}

TEST(enough_ends_after_a_whole_round)
{
    struct notes notes = { .enough_at = 2 };
    int32_t n_done;
    assert_int_equal(run(&notes, 2, 5, &n_done), LEAT_OK);
    assert_string_equal(notes.text, "0a 0b 1b 1a");
    assert_int_equal(n_done, 2);
}

TEST(a_round_that_is_cut_does_not_count)
{
    struct notes notes = { .stop_round = 1, .stop_cell = 1, .code = LEAT_E_END };
    int32_t n_done;
    assert_int_equal(run(&notes, 2, 5, &n_done), LEAT_OK);
    assert_string_equal(notes.text, "0a 0b 1b");
    assert_int_equal(n_done, 1);
}

TEST(an_error_ends_all)
{
    struct notes notes = { .stop_round = 0, .stop_cell = 1, .code = LEAT_E_IO };
    int32_t n_done;
    assert_int_equal(run(&notes, 3, 5, &n_done), LEAT_E_IO);
    assert_string_equal(notes.text, "0a 0b");
    assert_int_equal(n_done, 0);
}
