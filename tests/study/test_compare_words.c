/* SPDX-License-Identifier: MIT
 *
 * test_compare_words.c: figures into words. */
#define leat_compare double_compare /* before the headers, so that they declare the double */
#include "fixtures/unit.h"
#include "study/compare.c"

static leat_estimate within(double value, double noise)
{
    return (leat_estimate){ value, value * (1 - noise), value * (1 + noise) };
}

/* Rates are of the arm, of the loader alone and of the step alone; noise is half an interval. */
static leat_compare_arm arm_of(double rate, double loader, double step, double noise)
{
    leat_compare_arm arm = { .overlaps = 1, .step_busy = 1 };
    arm.meter = (leat_meter){ .busy = rate / step, .samples_per_s = rate };
    arm.idle = within(1 - arm.meter.busy, noise);
    arm.loader = within(loader, noise);
    arm.step = within(step, noise);
    arm.of_loader = within(rate / loader, noise);
    arm.of_step = within(rate / step, noise);
    arm.loader_of_step = within(loader / step, noise);
    return arm;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' lacks '%s'", text, part);
}

static int32_t workers = 2;

static leat_facts facts_of(const leat_compare_arm *arm, double taken)
{
    return (leat_facts){ .on_host = arm->on_host,
                         .overlaps = arm->overlaps,
                         .cores = 2,
                         .threads = workers,
                         .taken = 2 * taken,
                         .rows = 10,
                         .run = { arm->meter.samples_per_s, 0, 0 },
                         .loader = arm->loader,
                         .step = arm->step,
                         .of_loader = arm->of_loader,
                         .of_step = arm->of_step,
                         .loader_of_step = arm->loader_of_step,
                         .step_busy = arm->step_busy,
                         .meter = arm->meter,
                         .copying = arm->copying };
}

static void decide(leat_compare_arm *arm, double taken)
{
    const leat_facts facts = facts_of(arm, taken);
    say_arm(arm, &facts);
}

static void assert_verdict(leat_compare_arm *arm, double taken, const char *verdict,
                           const char *says)
{
    decide(arm, taken);
    const char *const got = leat_verdict_about(arm->verdict.kind)->name;
    if (strcmp(got, verdict) != 0)
        fail_msg("%s, not %s: %s", got, verdict, arm->sentence);
    assert_has(arm->sentence, says);
    assert_true(strlen(arm->why) < sizeof arm->why - 1); /* not cut */
    assert_true(strlen(arm->sentence) < sizeof arm->sentence - 1);
    assert_has(arm->sentence, arm->why);
}

TEST(slack_decides)
{
    static const struct {
        double rate, loader, step, noise;
        const char *verdict, *says;
    } cases[] = {
        { 34100, 35000, 385216, 0.01, "input-bound",
          "the device waits for batches; samples/s: 34,100, the loader alone 35,000, the step "
          "alone 385,216" },
        { 90, 100, 1000, 0.06, "input-bound", "waits for batches;" },
        { 80, 100, 1000, 0.01, "input-bound", "some of the workers' cores" },
        { 110, 100, 1000, 0.02, "input-bound", "" },
        { 98, 1000, 100, 0.01, "compute-bound", "nothing to fix in the input" },
        { 93, 1000, 100, 0.03, "compute-bound", "" },
        { 98, 99, 100, 0.01, "compute-bound", "the loader alone 99" }, /* the next wall is near */
        { 98, 101, 100, 0.01, "compute-bound", "the loader alone 101" },
        { 60, 100, 1000, 0.01, "inconclusive", "run longer" },
        { 80, 1000, 100, 0.01, "inconclusive", "run longer" },
        { 90, 100, 120, 0.30, "inconclusive", "" }, /* which is slower is not sure */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_compare_arm arm =
            arm_of(cases[i].rate, cases[i].loader, cases[i].step, cases[i].noise);
        assert_verdict(&arm, 0, cases[i].verdict, cases[i].says);
        assert_null(strstr(arm.sentence, "simulated"));
        arm.simulated = 1;
        assert_verdict(&arm, 0, cases[i].verdict, "simulated, ");
        if (!strcmp(cases[i].verdict, "inconclusive"))
            assert_verdict(&arm, 0.3, "environment", "other processes used 30 % of the CPUs");
    }
}

/* It was "other" or "transfer-bound", by whatever filled the gaps, where all cores fed the device. */
TEST(who_filled_a_gap_proves_nothing)
{
    for (int share = 0; share <= 90; share += 10) {
        leat_compare_arm arm = arm_of(34000, 34500, 400000, 0.05);
        arm.copying = 0.04;
        arm.meter.exposed_copy = share / 100.;
        arm.meter.input_wait = (90 - share) / 200.;
        arm.meter.other = (90 - share) / 200.;
        assert_verdict(&arm, 0, "input-bound", "exposed copy");
        assert_verdict(&arm, 0.8, "input-bound", "waits for batches");
        arm = arm_of(26000, 34500, 400000, 0.20);
        arm.meter.exposed_copy = share / 100.;
        assert_verdict(&arm, 0.8, "input-bound", "waits for batches");
    }
}

TEST(nothing_is_launched_on_the_cpu)
{
    static const struct {
        double rate, loader, step;
        const char *verdict, *says;
    } cases[] = {
        { 15058, 92000, 18000, "shared-cores", "workers and trainer share the cores" },
        { 9100, 10000, 91000, "shared-cores", "the loader alone 10,000, the step alone 91,000" },
        { 17800, 92000, 18000, "compute-bound", "nothing to fix" },
        { 990, 1000, 91000, "input-bound", "waits for batches" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int overlaps = 0; overlaps < 2; overlaps++) {
            leat_compare_arm arm = arm_of(cases[i].rate, cases[i].loader, cases[i].step, 0.01);
            arm.on_host = 1;
            arm.overlaps = overlaps;
            arm.step_busy = 0.5;
            arm.meter.other = 0.4;
            decide(&arm, 0);
            assert_null(strstr(arm.sentence, "launch"));
            if (overlaps)
                assert_verdict(&arm, 0, cases[i].verdict, cases[i].says);
        }
}

TEST(a_transfer_needs_copies_that_take_the_time)
{
    leat_compare_arm arm = arm_of(98, 100, 1000, 0.01);
    arm.copying = 0.95; /* the loader does little else */
    assert_verdict(&arm, 0, "transfer-bound", "waits for copies");
    arm.copying = 0.80;
    assert_verdict(&arm, 0, "input-bound", "waits for batches");

    arm = arm_of(80, 200, 100, 0.01); /* copy and step take turns */
    arm.copying = 0.5;
    arm.meter.exposed_copy = 0.2;
    assert_verdict(&arm, 0, "transfer-bound", "each step waits for the copy");
    assert_verdict(&arm, 0.3, "environment", "30 % of the CPUs");
    arm.copying = 0.05; /* the host came late: copies take 2 % of the time */
    assert_verdict(&arm, 0, "inconclusive", "exposed copy 20 %");

    arm = arm_of(80, 200, 100, 0.01);
    arm.meter.input_wait = 0.2;
    assert_verdict(&arm, 0, "input-bound", "come unevenly");
    assert_verdict(&arm, 0.5, "environment", "50 % of the CPUs");
}

TEST(the_rest_of_a_step_is_named)
{
    leat_compare_arm arm = arm_of(98, 1000, 100, 0.01);
    arm.step_busy = 0.6;
    assert_verdict(&arm, 0, "launch-bound", "launching kernels takes 40 % of the step itself");
    arm.step_busy = 0.9;
    assert_verdict(&arm, 0, "compute-bound", "nothing to fix");
    /* Handing over batches makes such steps slower still; it does not hide what they wait for. */
    arm = arm_of(85, 1000, 100, 0.01);
    arm.step_busy = 0.2;
    assert_verdict(&arm, 0, "launch-bound", "launching kernels takes 80 % of the step itself");
    arm.step_busy = 0.6;
    assert_verdict(&arm, 0, "inconclusive", "");
}

TEST(without_prefetch_both_count)
{
    leat_compare_arm arm = arm_of(50, 100, 100, 0.01);
    arm.overlaps = 0;
    arm.copying = 0.4;
    assert_verdict(&arm, 0, "input-bound", "nothing overlaps (prefetch 0): each step waits");
    workers = 0;
    assert_verdict(&arm, 0, "input-bound", "nothing overlaps (engine.threads 0): each step waits");
    workers = 2;
    arm.copying = 0.6;
    assert_verdict(&arm, 0, "transfer-bound", "copies");
    arm = arm_of(98, 5000, 100, 0.01);
    arm.overlaps = 0;
    assert_verdict(&arm, 0, "compute-bound", "prefetch 0");
}

static leat_compare_result *result_of(int rounds, int n_arms)
{
    leat_compare_result *result = calloc(1, sizeof *result);
    assert_non_null(result);
    result->rounds = rounds;
    result->n_arms = n_arms;
    for (int i = 0; i < n_arms; i++) {
        result->arms[i] = i ? arm_of(98, 1000, 100, 0.01) : arm_of(59, 60, 100, 0.01);
        leat_compare_arm *arm = &result->arms[i];
        snprintf(arm->name, sizeof arm->name, "prefetch=%d", i);
        arm->speedup = within(1, 0);
        decide(arm, 0);
    }
    return result;
}

static void set_speedup(leat_compare_arm *arm, double low, double value, double high)
{
    arm->speedup = (leat_estimate){ value, low, high };
}

TEST(the_summary_names_the_fastest_arm)
{
    leat_compare_result *result = result_of(6, 3);
    set_speedup(&result->arms[1], 1.5, 1.6, 1.7);
    set_speedup(&result->arms[2], 1.2, 1.3, 1.4);
    say_all(result);
    assert_string_equal(result->summary,
                        "prefetch=1 makes training 1.60× as fast as prefetch=0 (95 % interval "
                        "1.50–1.70×): device idle falls from 41 % to 2.0 %");
    set_speedup(&result->arms[1], 0.9, 1.6, 1.7); /* no longer sure: the other is named */
    say_all(result);
    assert_has(result->summary, "prefetch=2 makes training 1.30×");
    assert_has(result->summary, "; prefetch=1 does not differ from it measurably");
    result->arms[2].simulated = 1;
    say_all(result);
    assert_has(result->summary, "(arms in part simulated)");
    result->arms[0].simulated = result->arms[1].simulated = 1;
    say_all(result);
    assert_has(result->summary, " (simulated)");
    set_speedup(&result->arms[1], 0.4, 0.5, 0.6); /* faster is told before slower */
    say_all(result);
    assert_has(result->summary, "prefetch=2 makes");
    set_speedup(&result->arms[2], 0.7, 0.8, 0.9); /* only slower ones: the slowest */
    say_all(result);
    assert_has(result->summary, "prefetch=1 makes training 0.500×");
    free(result);
}

/* The winner is the one whose interval stands clear of the others. */
TEST(arms_that_may_be_as_fast_are_named)
{
    leat_compare_result *result = result_of(6, 4);
    set_speedup(&result->arms[1], 1.5, 1.6, 1.7);
    set_speedup(&result->arms[2], 1.45, 1.55, 1.65);
    set_speedup(&result->arms[3], 1.1, 1.2, 1.3);
    say_all(result);
    assert_has(result->summary, "prefetch=1 makes training 1.60×");
    assert_has(result->summary, "; prefetch=2 does not differ from it measurably");
    set_speedup(&result->arms[3], 1.1, 1.2, 1.55);
    say_all(result);
    assert_has(result->summary, "; 2 others do not differ from it measurably");
    set_speedup(&result->arms[2], 1.1, 1.2, 1.3);
    set_speedup(&result->arms[3], 1.1, 1.2, 1.3);
    say_all(result);
    assert_null(strstr(result->summary, "measurably"));
    free(result);
}

TEST(idle_is_said_to_change_only_where_it_does)
{
    leat_compare_result *result = result_of(6, 2);
    set_speedup(&result->arms[1], 1.5, 1.6, 1.7);
    result->arms[0].idle.low = result->arms[1].idle.high;
    say_all(result);
    assert_has(result->summary, "device idle does not change measurably");
    result->arms[0].idle.low = 0.4;
    result->arms[1].idle = within(0.9, 0);
    say_all(result);
    assert_has(result->summary, "device idle rises from 41 % to 90 %");
    result->arms[0].idle = within(0.9902, 0);
    result->arms[1].idle = within(0.9897, 0);
    say_all(result);
    assert_has(result->summary, "device idle stays at 99 %");
    free(result);
}

TEST(nothing_is_claimed_without_evidence)
{
    leat_compare_result *result = result_of(6, 3);
    set_speedup(&result->arms[1], 0.98, 1.01, 1.03);
    set_speedup(&result->arms[2], 0.97, 0.99, 1.0);
    say_all(result);
    assert_has(result->summary, "no arm is faster or slower than prefetch=0");
    assert_has(result->summary, "0.970–1.03×");
    set_speedup(&result->arms[1], 1.5, 1.6, 1.7);
    result->rounds = 4;
    say_all(result);
    assert_has(result->summary, "fewer than 5 rounds: too few to claim a difference");
    assert_has(result->summary, "within 0.970–1.70×");
    set_speedup(&result->arms[2], 1.2, 1.3, 1.4); /* the first arm itself is not among them */
    say_all(result);
    assert_has(result->summary, "within 1.20–1.70×");
    free(result);
}

TEST(one_arm_speaks_for_itself)
{
    leat_compare_result *result = result_of(1, 1);
    say_all(result);
    assert_string_equal(result->summary, result->arms[0].sentence);
    free(result);
}

TEST(long_names_leave_room_for_the_rest)
{
    leat_compare_result *result = result_of(6, 2);
    for (int i = 0; i < 2; i++)
        memset(result->arms[i].name, 'a' + i, sizeof result->arms[i].name - 1);
    set_speedup(&result->arms[1], 1.5, 1.6, 1.7);
    result->arms[0].simulated = result->arms[1].simulated = 1;
    say_all(result);
    assert_has(result->summary, "device idle falls from 41 % to 2.0 % (simulated)");
    free(result);
}
