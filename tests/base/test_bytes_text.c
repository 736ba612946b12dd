/* SPDX-License-Identifier: MIT
 *
 * test_bytes_text.c: numbers of bytes as people read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes_text.h"

static void three_digits_and_a_unit(void **state)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {
        { 0, "0 B" },
        { 7, "7 B" },
        { 999, "999 B" },
        { 1000, "1.00 kB" },
        { 1344, "1.34 kB" },
        { 1345, "1.35 kB" },
        { 12345, "12.3 kB" },
        { 12350, "12.4 kB" },
        { 397312, "397 kB" },
        { 4194304, "4.19 MB" },
        { 1350000000, "1.35 GB" },
        { 64000000000000, "64.0 TB" },
        { INT64_MAX, "9223 PB" },
    };
    char text[32];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(leat_bytes_text(cases[i].bytes, text), cases[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(three_digits_and_a_unit) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
