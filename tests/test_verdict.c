/* SPDX-License-Identifier: MIT
 *
 * test_verdict.c: figures into words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "verdict.h"

static leat_compare_arm arm_of(double input_wait, double exposed_copy, double other, double noise)
{
    leat_compare_arm arm = { .simulated = 0 };
    arm.meter = (leat_meter){ .busy = 1 - input_wait - exposed_copy - other,
                              .input_wait = input_wait,
                              .exposed_copy = exposed_copy,
                              .other = other,
                              .samples_per_s = 100 };
    arm.idle = 1 - arm.meter.busy;
    arm.idle_low = arm.idle - noise / 2;
    arm.idle_high = arm.idle + noise / 2;
    return arm;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' lacks '%s'", text, part);
}

static void each_verdict_has_its_evidence(void **state)
{
    (void)state;
    static const struct {
        double input_wait, exposed_copy, other, noise;
        const char *verdict, *says;
    } cases[] = {
        { 0.41, 0.01, 0.01, 0.02, "input-bound",
          "input-bound (high): the device waits for batches "
          "41 % of the time" },
        { 0.06, 0.01, 0.01, 0.02, "input-bound", "(moderate)" },
        { 0.20, 0.00, 0.00, 0.02, "input-bound", "(high)" },
        { 0.049, 0.01, 0.01, 0.02, "compute-bound", "nothing to fix in the input" },
        { 0.01, 0.03, 0.01, 0.02, "transfer-bound",
          "(moderate): copies to the device that no "
          "compute covers take 3.0 % of the time" },
        { 0.01, 0.16, 0.01, 0.02, "transfer-bound", "(high)" },
        { 0.10, 0.16, 0.01, 0.02, "transfer-bound", "input wait 10 %" },
        { 0.20, 0.16, 0.01, 0.02, "input-bound", "exposed copy 16 %" },
        { 0.01, 0.01, 0.40, 0.02, "other", "launch, host work and synchronisation take 40 %" },
        { 0.06, 0.01, 0.40, 0.02, "other", "input wait 6.0 %" },
        { 0.00, 0.00, 0.00, 0.00, "compute-bound", "busy 100 %" },
        { 0.04, 0.02, 0.06, 0.02, "other", "no single thing" },
        { 0.30, 0.00, 0.00, 0.31, "inconclusive", "device idle is 15 % to 46 %" },
        { 0.02, 0.00, 0.00, 0.11, "inconclusive", "run longer" },
        { 0.30, 0.00, 0.00, 0.29, "input-bound", "30 %" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_compare_arm arm =
            arm_of(cases[i].input_wait, cases[i].exposed_copy, cases[i].other, cases[i].noise);
        leat_verdict_arm(&arm);
        assert_string_equal(arm.verdict, cases[i].verdict);
        assert_has(arm.sentence, cases[i].says);
        assert_null(strstr(arm.sentence, "simulated"));
        arm.simulated = 1;
        leat_verdict_arm(&arm);
        assert_has(arm.sentence, "simulated, ");
        assert_true(strlen(arm.sentence) < sizeof arm.sentence - 1); /* not cut */
    }
}

static leat_compare_result *result_of(int rounds, int n_arms)
{
    leat_compare_result *result = calloc(1, sizeof *result);
    assert_non_null(result);
    result->rounds = rounds;
    result->n_arms = n_arms;
    for (int i = 0; i < n_arms; i++) {
        result->arms[i] = arm_of(i ? 0.02 : 0.41, 0, 0, 0.02);
        leat_compare_arm *arm = &result->arms[i];
        snprintf(arm->name, sizeof arm->name, "prefetch=%d", i);
        arm->speedup = arm->speedup_low = arm->speedup_high = 1;
        leat_verdict_arm(arm);
    }
    return result;
}

static void set_speedup(leat_compare_arm *arm, double low, double value, double high)
{
    arm->speedup_low = low;
    arm->speedup = value;
    arm->speedup_high = high;
}

static void the_summary_names_the_fastest_arm(void **state)
{
    (void)state;
    leat_compare_result *result = result_of(6, 3);
    set_speedup(&result->arms[1], 1.5, 1.6, 1.7);
    set_speedup(&result->arms[2], 1.2, 1.3, 1.4);
    leat_verdict_summary(result);
    assert_string_equal(result->summary,
                        "prefetch=1 makes training 1.60× as fast as prefetch=0 (95 % interval "
                        "1.50–1.70): device idle falls from 41 % to 2.0 %");
    set_speedup(&result->arms[1], 0.9, 1.6, 1.7); /* no longer sure: the other is named */
    leat_verdict_summary(result);
    assert_has(result->summary, "prefetch=2 makes training 1.30×");
    result->arms[2].simulated = 1;
    leat_verdict_summary(result);
    assert_has(result->summary, "(arms in part simulated)");
    result->arms[0].simulated = result->arms[1].simulated = 1;
    leat_verdict_summary(result);
    assert_has(result->summary, " (simulated)");
    set_speedup(&result->arms[1], 0.4, 0.5, 0.6); /* faster is told before slower */
    leat_verdict_summary(result);
    assert_has(result->summary, "prefetch=2 makes");
    set_speedup(&result->arms[2], 0.7, 0.8, 0.9); /* only slower ones: the slowest */
    leat_verdict_summary(result);
    assert_has(result->summary, "prefetch=1 makes training 0.500×");
    free(result);
}

static void idle_is_told_only_where_it_differs(void **state)
{
    (void)state;
    leat_compare_result *result = result_of(6, 2);
    set_speedup(&result->arms[1], 1.5, 1.6, 1.7);
    result->arms[0].idle_low = result->arms[1].idle_high;
    leat_verdict_summary(result);
    assert_null(strstr(result->summary, "idle"));
    result->arms[0].idle_low = 0.4;
    result->arms[1].idle = result->arms[1].idle_low = result->arms[1].idle_high = 0.9;
    leat_verdict_summary(result);
    assert_has(result->summary, "device idle rises from 41 % to 90 %");
    free(result);
}

static void nothing_is_claimed_without_evidence(void **state)
{
    (void)state;
    leat_compare_result *result = result_of(6, 3);
    set_speedup(&result->arms[1], 0.98, 1.01, 1.03);
    set_speedup(&result->arms[2], 0.97, 0.99, 1.0);
    leat_verdict_summary(result);
    assert_has(result->summary, "no arm is faster or slower than prefetch=0");
    assert_has(result->summary, "0.970–1.03×");
    set_speedup(&result->arms[1], 1.5, 1.6, 1.7);
    result->rounds = 4;
    leat_verdict_summary(result);
    assert_has(result->summary, "no difference is claimed from fewer than 5 rounds");
    free(result);
}

static void one_arm_speaks_for_itself(void **state)
{
    (void)state;
    leat_compare_result *result = result_of(1, 1);
    leat_verdict_summary(result);
    assert_string_equal(result->summary, result->arms[0].sentence);
    free(result);
}

static void long_names_leave_room_for_the_rest(void **state)
{
    (void)state;
    leat_compare_result *result = result_of(6, 2);
    for (int i = 0; i < 2; i++)
        memset(result->arms[i].name, 'a' + i, sizeof result->arms[i].name - 1);
    set_speedup(&result->arms[1], 1.5, 1.6, 1.7);
    result->arms[0].simulated = result->arms[1].simulated = 1;
    leat_verdict_summary(result);
    assert_has(result->summary, "device idle falls from 41 % to 2.0 % (simulated)");
    free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_verdict_has_its_evidence),
        cmocka_unit_test(the_summary_names_the_fastest_arm),
        cmocka_unit_test(idle_is_told_only_where_it_differs),
        cmocka_unit_test(nothing_is_claimed_without_evidence),
        cmocka_unit_test(one_arm_speaks_for_itself),
        cmocka_unit_test(long_names_leave_room_for_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
