/* SPDX-License-Identifier: MIT
 *
 * test_doctor_tables.c: the figures on the screen of `leat doctor`: times and percentages add up, the limit is
 * marked, and what explains them stands below. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "doctor_screen.h"

static void shares_are_divided_without_a_rest(void **state)
{
    (void)state;
    srand(1);
    for (int i = 0; i < 2000; i++) {
        double shares[7], sum = 0;
        long out[7], given = 0;
        const int n = 1 + rand() % 7;
        const long total = i % 2 ? 100 : 100 + rand() % 900;
        for (int k = 0; k < n; k++)
            sum += shares[k] = rand() % 4 ? rand() : 0;
        for (int k = 0; k < n; k++)
            shares[k] = sum > 0 ? shares[k] / sum : 1.0 / n;
        leat_doctor_divide(shares, n, total, out);
        for (int k = 0; k < n; k++) {
            assert_true(out[k] >= 0 && fabs((double)out[k] - shares[k] * (double)total) < 1 + 1e-9);
            given += out[k];
        }
        assert_int_equal(given, total);
    }
}

/* Reads the table of shares back. */
static void what_is_printed_adds_up(void **state)
{
    (void)state;
    static const double steps[] = { 0.01234, 0.2718, 1.001, 9.996, 16.37, 99.96, 118.2, 3421 };
    static const double shares[][LEAT_N_SHARES] = {
        { 0.302, 0.524, 0, 0, 0, 0, 0.174, 0 },
        { 0.001, 0.985, 0, 0, 0, 0, 0.014, 0 },
        { 0.985, 0.004, 0.003, 0.004, 0, 0, 0.004, 0 },
        { 1, 0, 0, 0, 0, 0, 0, 0 },
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
            char ms[32], head[64];
            double sum = 0, part;
            int percent = 0, one, n = 0;
            set_step(steps[i]);
            set_shares(shares[k]);
            const char *const text = screen_of("x.yaml", NULL);
            snprintf(head, sizeof head, "where these %s ms go", leat_doctor_ms_text(steps[i], ms));
            const char *at = strstr(text, head);
            assert_non_null(at);
            for (at = strchr(at, '\n') + 1; *at != '\n'; at = strchr(at, '\n') + 1)
                if (sscanf(at + 28, "%d %% %lf ms", &one, &part) == 2) {
                    percent += one;
                    sum += part;
                    n++;
                }
            assert_in_range(n, 1, 4);
            assert_int_equal(percent, 100);
            if (fabs(sum / atof(ms) - 1) > 1e-9)
                fail_msg("%g, not %s ms:\n%s", sum, ms, text);
            snprintf(head, sizeof head, "A step takes %s ms now", ms);
            assert_non_null(strstr(text, head));
        }
}

/* The parts that the verdict blames are marked, also those of a second one, and of a job that is too short. */
static void the_limit_is_marked(void **state)
{
    (void)state;
    static const struct {
        leat_verdict verdict;
        leat_part next;
        const char *loader, *step;
    } cases[] = {
        { { .kind = LEAT_VERDICT_INPUT_BOUND }, LEAT_PART_STEP, "the limit", "next limit" },
        { { .kind = LEAT_VERDICT_COMPUTE_BOUND }, LEAT_PART_LOADER, "next limit", "the limit" },
        { { .kind = LEAT_VERDICT_LAUNCH_BOUND }, LEAT_PART_LOADER, "next limit", "the limit" },
        { { .kind = LEAT_VERDICT_INPUT_BOUND, .also = LEAT_VERDICT_COMPUTE_BOUND },
          LEAT_PART_NONE,
          "the limit",
          "the limit" },
        { { .kind = LEAT_VERDICT_WARM_UP, .also = LEAT_VERDICT_COMPUTE_BOUND },
          LEAT_PART_STEP,
          "",
          "the limit" },
        { { .kind = LEAT_VERDICT_INPUT_BOUND, .cause = LEAT_CAUSE_NOT_OVERLAPPED },
          LEAT_PART_LOADER,
          "next limit",
          "" },
        { { .kind = LEAT_VERDICT_INCONCLUSIVE }, LEAT_PART_NONE, "", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[2][128];
        set_step(10);
        set_shares((const double[LEAT_N_SHARES]){ 1 });
        r.verdict = cases[i].verdict;
        r.next_limit = cases[i].next;
        r.capacities[r.n_capacities++] =
            (leat_doctor_capacity){ .part = LEAT_PART_LOADER, .step_ms = 9.5 };
        r.capacities[r.n_capacities++] =
            (leat_doctor_capacity){ .part = LEAT_PART_STEP, .step_ms = 0.123 };
        const char *const text = screen_of("x.yaml", NULL);
        snprintf(line[0], 128, " 9.5 ms%s%s\n", *cases[i].loader ? "  <- " : "", cases[i].loader);
        snprintf(line[1], 128, " 0.12 ms%s%s\n", *cases[i].step ? "  <- " : "", cases[i].step);
        if (!strstr(text, line[0]) || !strstr(text, line[1]))
            fail_msg("%zu: %s", i, text);
    }
}

static void times_have_three_digits(void **state)
{
    (void)state;
    static const struct {
        double ms;
        const char *text;
    } cases[] = {
        { 0.0128, "0.0128" }, { 0.2718, "0.272" }, { 9.996, "10.0" }, { 16.37, "16.4" },
        { 118.2, "118" },     { 3421, "3421" },    { 0, "0" },        { 1e-9, "0.000000" }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[32];
        assert_string_equal(leat_doctor_ms_text(cases[i].ms, text), cases[i].text);
    }
}

/* The rule of the prediction, why the host is late, and what recording costs. */
static void what_explains_is_printed(void **state)
{
    (void)state;
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 0.9, 0, 0, 0, 0, 0, 0.1, 0 });
    r.predicted_step_ms = 8;
    explain("rule", "predicted: the slowest of loader 8, step 2 ms");
    explain("host_late", "host is late: why");
    explain("spans", "recording spans costs 1 % of a step");
    const char *text = screen_of("x.yaml", NULL);
    assert_non_null(strstr(text,
                           "\n  predicted: the slowest of loader 8, step 2 ms; the parts explain "
                           "8.00 of 10.0\n  ms\n"));
    assert_non_null(strstr(text, "\n  * host is late: why\n"));
    assert_non_null(strstr(text, "\nrecording spans costs 1 % of a step\n"));
    r.n_evidence--;
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    text = screen_of("x.yaml", NULL);
    assert_null(strstr(text, "* "));
    assert_null(strstr(text, "recording"));
}

/* Where no part is the limit, none has the same one. */
static void nothing_is_the_same_as_no_limit(void **state)
{
    (void)state;
    set_step(10);
    set_shares((const double[LEAT_N_SHARES]){ 1 });
    r.verdict.kind = LEAT_VERDICT_INCONCLUSIVE;
    r.capacities[r.n_capacities++] =
        (leat_doctor_capacity){ .part = LEAT_PART_SHARED, .step_ms = 9.5 };
    assert_null(strstr(screen_of("x.yaml", NULL), "limit"));
    r.verdict.kind = LEAT_VERDICT_INPUT_BOUND;
    r.next_limit = LEAT_PART_STEP;
    r.next_limit_step_ms = 2;
    assert_non_null(strstr(screen_of("x.yaml", NULL), "<- same limit"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_divided_without_a_rest),
        cmocka_unit_test(what_is_printed_adds_up),
        cmocka_unit_test(the_limit_is_marked),
        cmocka_unit_test(times_have_three_digits),
        cmocka_unit_test(what_explains_is_printed),
        cmocka_unit_test(nothing_is_the_same_as_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
