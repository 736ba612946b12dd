/* SPDX-License-Identifier: MIT
 *
 * test_parse_csv.c: lines of comma-separated values as vectors, and what is said about others. */
#include <locale.h>

#include "fixtures/op_test.h"

/* Options as text, by name. */
static void *given(const char *const *options)
{
    const leat_op *const op = leat_op_find("parse_csv");
    void *const out = calloc(1, op->options_size);
    leat_error err;
    leat_option_init(op->options, out);
    for (; options[0]; options += 2)
        if (leat_option_set(leat_option_find(op->options, options[0]), out, options[1], &err) < 0)
            fail_msg("%s: %s", options[0], err.message);
    return out;
}

static op_result parse(const char *const *options, const char *line, size_t n)
{
    void *const o = given(options);
    leat_view in = op_bytes(line, n);
    op_result r = op_run(leat_op_find("parse_csv"), o, in, 0);
    free(in.data);
    free(o);
    return r;
}

/* More of them than the bytes of a number. */
#define BLANKS "                                        \t                                        "

TEST(lines_become_numbers)
{
    static const struct {
        const char *options[9];
        const char *line;
        int64_t n;
        double values[6];
    } cases[] = {
        { { "columns", "3" }, "1,2.5,-3e2", 3, { 1, 2.5, -300 } },
        { { "columns", "3" }, "1,2,3\n", 3, { 1, 2, 3 } },
        { { "columns", "3" }, "1,2,3\r\n", 3, { 1, 2, 3 } },
        { { "columns", "1" }, "7", 1, { 7 } },
        { { "columns", "2" }, " 1 ,\t2 ", 2, { 1, 2 } },
        { { "columns", "3" }, "\"1\",\"2.5\",3", 3, { 1, 2.5, 3 } },
        { { "columns", "2" }, "\" 1\",\"2\t\"", 2, { 1, 2 } },
        { { "columns", "2", "fill", "9" }, BLANKS "1" BLANKS "," BLANKS, 2, { 1, 9 } },
        { { "columns", "2", "delimiter", ";" }, "1;2", 2, { 1, 2 } },
        { { "columns", "2", "delimiter", "\t" }, "1\t2", 2, { 1, 2 } },
        { { "columns", "2", "delimiter", "." }, "1.2", 2, { 1, 2 } },
        { { "columns", "3", "fill", "-1" }, ",2,", 3, { -1, 2, -1 } },
        { { "columns", "3", "fill", "0.5" }, "\"\", ,1", 3, { 0.5, 0.5, 1 } },
        { { "columns", "1", "fill", "9" }, "", 1, { 9 } },
        { { "columns", "1", "fill", "9" }, "\n", 1, { 9 } },
        { { "columns", "3", "fill", "0", "na", "[NA, '?']" }, "NA,?,\"NA\"", 3, { 0, 0, 0 } },
        { { "columns", "2", "first", "1", "fields", "4" }, "a b,1,2,x", 2, { 1, 2 } },
        { { "columns", "1", "first", "2" }, "\"one, two\",\"said \"\"no\"\"\",3", 1, { 3 } },
        { { "columns", "1", "first", "1" }, "\"two\nlines\",3", 1, { 3 } },
        { { "columns", "2" }, "3.4028235e38,1e-46", 2, { 3.4028234663852886e38, 0 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        op_result r = parse(cases[i].options, cases[i].line, strlen(cases[i].line));
        if (r.rc < 0)
            fail_msg("'%s': %s", cases[i].line, r.err.message);
        assert_int_equal(r.out.shape.dtype, LEAT_F32);
        assert_int_equal(r.out.shape.rank, 1);
        assert_int_equal(r.out.shape.dims[0], cases[i].n);
        for (int64_t k = 0; k < cases[i].n; k++)
            if ((double)op_f32(r.out)[k] != cases[i].values[k])
                fail_msg("'%s', field %d: %.9g", cases[i].line, (int)k, (double)op_f32(r.out)[k]);
        free(r.out.data);
    }
}

TEST(whole_numbers_are_exact)
{
    static const char *const options[] = { "columns", "4",  "dtype", "int64", "fill",
                                           "-7",      "na", "[x]",   NULL };
    static const char line[] = "9223372036854775807,-9223372036854775808,x,\"12\"";
    op_result r = parse(options, line, sizeof line - 1);
    assert_int_equal(r.rc, LEAT_OK);
    assert_int_equal(r.out.shape.dtype, LEAT_I64);
    static const int64_t want[] = { INT64_MAX, INT64_MIN, -7, 12 };
    assert_memory_equal(r.out.data, want, sizeof want);
    free(r.out.data);
}

TEST(bad_lines_are_named)
{
    static const struct {
        const char *options[7];
        const char *line, *says;
    } cases[] = {
        { { "columns", "3" }, "1,2", "parse_csv: 2 fields where 3 are expected" },
        { { "columns", "1" }, "1,2", "parse_csv: 2 fields where 1 are expected" },
        { { "columns", "1", "fields", "3" }, "1,2", "parse_csv: 2 fields where 3 are expected" },
        { { "columns", "2" }, "1,x2", "parse_csv: field 1 is no float32: 'x2'" },
        { { "columns", "1" }, "1.5.2", "parse_csv: field 0 is no float32: '1.5.2'" },
        { { "columns", "1" }, "nano", "parse_csv: field 0 is no float32: 'nano'" },
        { { "columns", "1" }, "1e39", "parse_csv: field 0 is no float32: '1e39'" },
        { { "columns", "1" }, "0x10", "parse_csv: field 0 is no float32: '0x10'" },
        { { "columns", "1", "dtype", "int64" }, "1.0", "parse_csv: field 0 is no int64: '1.0'" },
        { { "columns", "1", "dtype", "int64" },
          "9223372036854775808",
          "parse_csv: field 0 is no int64: '9223372036854775808'" },
        { { "columns", "2" },
          "1,",
          "parse_csv: field 1 is empty: give `fill` a number for such fields" },
        { { "columns", "1", "na", "[NA]" },
          "NA",
          "parse_csv: field 0 is the missing value NA: give `fill` a number for such fields" },
        { { "columns", "2", "na", "['-999', nan]" },
          "1,-999",
          "parse_csv: field 1 is the missing value -999: give `fill` a number for such fields" },
        { { "columns", "2", "na", "['-999', nan]" },
          "nan,1",
          "parse_csv: field 0 is the missing value nan: give `fill` a number for such fields" },
        { { "columns", "1" },
          "\"1",
          "parse_csv: field 0 has a quote that RFC 4180 does not allow" },
        { { "columns", "1" },
          "1\"",
          "parse_csv: field 0 has a quote that RFC 4180 does not allow" },
        { { "columns", "1" },
          "\"1\"2",
          "parse_csv: field 0 has a quote that RFC 4180 does not allow" },
        { { "columns", "1", "first", "1" },
          "a \"b\" c,1",
          "parse_csv: field 0 has a quote that RFC 4180 does not allow" },
        /* What is cut is not missing. */
        { { "columns", "1", "fill", "9" },
          "\"" BLANKS "5\"",
          "parse_csv: field 0 is no float32: ''…" },
        { { "columns", "1" },
          "0000000000000000000000000000000000000000000000000000000000000000000000000001",
          "parse_csv: field 0 is no float32: "
          "'000000000000000000000000000000000000000000000000000000000000000'…" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        op_result r = parse(cases[i].options, cases[i].line, strlen(cases[i].line));
        assert_int_equal(r.rc, LEAT_E_DATA);
        assert_string_equal(r.err.message, cases[i].says);
        free(r.out.data);
    }
}

TEST(a_zero_byte_ends_no_field)
{
    static const char *const options[] = { "columns", "1", "na", "[NA]", "fill", "0", NULL };
    static const char lines[][8] = { "2\0junk", "\"2\0\"", "2,\0", "NA\0", "\0" };
    static const size_t sizes[] = { 6, 4, 3, 3, 1 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        op_result r = parse(options, lines[i], sizes[i]);
        assert_int_equal(r.rc, LEAT_E_DATA);
        assert_non_null(strstr(r.err.message, " has a zero byte, which no text has"));
        free(r.out.data);
    }
}

/* Any prefix of a line, from memory that ends right there, is a result or an error. */
TEST(nothing_is_read_past_the_end)
{
    static const char *const options[] = { "columns", "2", "fill", "0", NULL };
    static const char line[] = "\"1\"\"2\",\"\",3.5e-2,\"x\"\r\n";
    for (size_t n = 0; n < sizeof line; n++) {
        op_result r = parse(options, line, n);
        assert_true(r.rc == LEAT_OK || r.rc == LEAT_E_DATA);
        free(r.out.data);
    }
}

TEST(options_are_checked)
{
    const leat_shape bytes = { LEAT_U8, 1, { LEAT_UNKNOWN_DIM } };
    op_expect_refusal("parse_csv", given((const char *[]){ "columns", "1", NULL }),
                      (leat_shape){ LEAT_F32, 1, { 4 } },
                      "parse_csv expects bytes (uint8[n]), got float32[4]");
    op_expect_refusal(
        "parse_csv", given((const char *[]){ "columns", "1", "delimiter", ", ", NULL }), bytes,
        "parse_csv: delimiter is one byte, such as \"\\t\" (a tab), and no quote or line end");
    op_expect_refusal(
        "parse_csv", given((const char *[]){ "columns", "1", "delimiter", "\"", NULL }), bytes,
        "parse_csv: delimiter is one byte, such as \"\\t\" (a tab), and no quote or line end");
    op_expect_refusal("parse_csv",
                      given((const char *[]){ "columns", "2", "first", "3", "fields", "4", NULL }),
                      bytes, "parse_csv: 2 columns from field 3 on do not fit in 4 fields");
    op_expect_refusal(
        "parse_csv",
        given((const char *[]){ "columns", "2", "dtype", "int64", "fill", "0.5", NULL }), bytes,
        "parse_csv: fill is no int64: '0.5'");
}

/* A decimal comma in the program's locale changes nothing. */
TEST(the_locale_does_not_matter)
{
    static const char *const options[] = { "columns", "2", NULL };
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        return;
    op_result r = parse(options, "1.5,2", 5);
    setlocale(LC_NUMERIC, "C");
    assert_int_equal(r.rc, LEAT_OK);
    assert_true(op_f32(r.out)[0] == 1.5f && op_f32(r.out)[1] == 2);
    free(r.out.data);
}

SUITE_FIXTURE(op_test_setup, op_test_teardown)
