/* SPDX-License-Identifier: MIT
 *
 * test_figure.c: numbers as people read them. */
#include <math.h>

#include "fixtures/unit.h"
#include "formats/figure.h"

struct row {
    double value;
    const char *text;
};

static void check_rows(const struct row *rows, leat_figure (*figure)(double))
{
    for (; rows->text; rows++)
        assert_string_equal(figure(rows->value).text, rows->text);
}

TEST(bytes_have_three_digits_and_a_unit)
{
    static const struct row rows[] = {
        { 0, "0 B" },          { 7, "7 B" },           { 999, "999 B" },
        { 999.5, "1.00 kB" },  { 1000, "1.00 kB" },    { 1344, "1.34 kB" },
        { 1345, "1.35 kB" },   { 9994, "9.99 kB" },    { 9999, "10.0 kB" },
        { 12345, "12.3 kB" },  { 12350, "12.4 kB" },   { 397312, "397 kB" },
        { 999999, "1.00 MB" }, { 4194304, "4.19 MB" }, { 1.35e9, "1.35 GB" },
        { 64e12, "64.0 TB" },  { 0x1p63, "9223 PB" },  { 0, NULL },
    };
    check_rows(rows, leat_figure_bytes);
}

TEST(times_rates_and_shares)
{
    static const struct row ms[] = { { 0, "0" },        { 0.0012345, "0.0012" }, { 0.5, "0.500" },
                                     { 2.844, "2.84" }, { 118.4, "118" },        { 0, NULL } };
    static const struct row rates[] = {
        { -1, "0" },          { 0.4, "0.4" },
        { 1.94, "1.94" },     { 99.9, "99.9" },
        { 99.96, "100" },     { 999.5, "1,000" },
        { 34100, "34,100" },  { (double)INFINITY, "1,000,000,000,000,000" },
        { (double)NAN, "0" }, { 0, NULL }
    };
    static const struct row scaled[] = { { 7, "7.00 " }, { 45.3e9, "45.3 G" }, { 0, NULL } };
    check_rows(ms, leat_figure_ms);
    check_rows(rates, leat_figure_rate);
    check_rows(scaled, leat_figure_scaled);
}

TEST(thousands_have_commas)
{
    assert_string_equal(leat_figure_count(0).text, "0");
    assert_string_equal(leat_figure_count(999).text, "999");
    assert_string_equal(leat_figure_count(1000).text, "1,000");
    assert_string_equal(leat_figure_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
    assert_string_equal(leat_figure_group("-1234567.25").text, "-1,234,567.25");
    assert_string_equal(leat_figure_group("12345e6").text, "12345e6");
}

TEST(the_page_has_a_dash_for_what_is_unknown)
{
    static const struct row numbers[] = {
        { 0.0123, "0.012" },  { 4.163, "4.16" },    { 98.14, "98.1" },    { 10464.4, "10,464" },
        { 1e-5, "1.00e-05" }, { 5e12, "5.00e+12" }, { (double)NAN, "–" }, { 0, NULL },
    };
    static const struct row percents[] = { { 0.28, "28\xc2\xa0%" },
                                           { 0.021, "2.1\xc2\xa0%" },
                                           { 0.0001, "0\xc2\xa0%" },
                                           { (double)NAN, "–" },
                                           { 0, NULL } };
    static const struct row times[] = {
        { 1.4, "1.40×" }, { 1e9, "1.00e+09×" }, { (double)NAN, "–" }, { 0, NULL }
    };
    check_rows(numbers, leat_figure_number);
    check_rows(percents, leat_figure_percent);
    check_rows(times, leat_figure_times);
    assert_string_equal(leat_figure_unit(4.163, "ms").text, "4.16\xc2\xa0ms");
    assert_string_equal(leat_figure_unit((double)NAN, "ms").text, "–");
    assert_string_equal(leat_figure_range(1.5, 10464).text, "1.50–10,464");
    assert_string_equal(leat_figure_range(1, (double)INFINITY).text, "");
}
