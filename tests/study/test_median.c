/* SPDX-License-Identifier: MIT
 *
 * test_median.c: medians of odd, even and empty sets, in any order, and of values near the ends of int64_t. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "study/median.h"

static void medians(void **state)
{
    (void)state;
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
static void far_values_are_ordered(void **state)
{
    (void)state;
    int64_t values[] = { INT64_MAX, 0, INT64_MIN };
    leat_median_sort(values, 3);
    assert_true(values[0] == INT64_MIN && values[1] == 0 && values[2] == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians),
        cmocka_unit_test(far_values_are_ordered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
