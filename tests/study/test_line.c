/* SPDX-License-Identifier: MIT
 *
 * test_line.c: lines through planted times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "study/line.h"

static void close_to(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected) + 1e-12))
        fail_msg("%.9g is not %.9g", value, expected);
}

static void a_line_is_found(void **state)
{
    (void)state;
    static const double lines[][2] = { { 1, 0.01 }, { 0.05, 3 }, { 100, 0 }, { 0, 2 }, { -1, 5 } };
    const double x[] = { 1, 4, 16, 64, 256, 1024 };
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
        for (size_t n = 2; n <= 6; n++) {
            double y[6];
            for (size_t i = 0; i < n; i++)
                y[i] = lines[k][0] + lines[k][1] * x[i];
            const leat_line line = leat_line_fit(x, y, n);
            close_to(line.alpha, lines[k][0], 1e-6);
            close_to(line.beta, lines[k][1], 1e-6);
        }
}

static void one_point_far_off_changes_little(void **state)
{
    (void)state;
    const double x[] = { 1, 4, 16, 64, 256, 1024 };
    for (size_t bad = 0; bad < 6; bad++) {
        double y[6];
        for (size_t i = 0; i < 6; i++)
            y[i] = (2 + 0.05 * x[i]) * (i == bad ? 3 : 1);
        const leat_line line = leat_line_fit(x, y, 6);
        if (bad < 5) /* nothing but the last tells the slope so well */
            close_to(line.beta, 0.05, 0.1);
        close_to(line.alpha, 2, 0.15);
    }
}

static void lines_cross_or_do_not(void **state)
{
    (void)state;
    close_to(leat_line_crossing((leat_line){ 1, 0.5 }, (leat_line){ 6, 0.25 }), 20, 1e-9);
    close_to(leat_line_crossing((leat_line){ 6, 0.25 }, (leat_line){ 1, 0.5 }), 20, 1e-9);
    close_to(leat_line_crossing((leat_line){ 6, 0.5 }, (leat_line){ 1, 0.25 }), -20, 1e-9);
    assert_true(isnan(leat_line_crossing((leat_line){ 1, 0.5 }, (leat_line){ 2, 0.5 })));
    assert_true(isnan(leat_line_crossing((leat_line){ 1, 0 }, (leat_line){ 1, 0 })));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_found),
        cmocka_unit_test(one_point_far_off_changes_little),
        cmocka_unit_test(lines_cross_or_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
