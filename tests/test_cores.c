/* SPDX-License-Identifier: MIT */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cores.h"

static void quota_lines(void **state)
{
    (void)state;
    const struct {
        const char *line;
        int n;
    } cases[] = { { "max 100000", 0 },     { "200000 100000", 2 }, { "150000 100000", 2 },
                  { "1000 100000", 1 },    { "-1 100000", 0 },     { "", 0 },
                  { "100000", 0 },         { "100000 0", 0 },      { "x y", 0 },
                  { "9223372036854775806 1", 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(leat_cores_quota(cases[i].line), cases[i].n);
}

static void affinity_counts(void **state)
{
    cpu_set_t all, one;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_in_range(leat_cores_count(), 1, CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &one);
            break;
        }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(leat_cores_count(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(quota_lines),
                                        cmocka_unit_test(affinity_counts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
