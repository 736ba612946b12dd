/* SPDX-License-Identifier: MIT
 *
 * test_vary.c: "path=a,b,c" and products of it. */
#include "fixtures/unit.h"
#include "study/vary.h"

/* "path|value|value" */
static const char *joined(const char *text)
{
    static char out[512];
    leat_vary vary;
    leat_error err;
    if (leat_vary_parse(text, &vary, &err))
        fail_msg("%s: %s", text, err.message);
    int n = snprintf(out, sizeof out, "%.*s", (int)vary.path.length, vary.path.text);
    for (size_t i = 0; i < vary.n_values; i++)
        n += snprintf(out + n, sizeof out - (size_t)n, "|%.*s", (int)vary.values[i].length,
                      vary.values[i].text);
    return out;
}

TEST(commas_split_only_outside)
{
    static const char *const cases[][2] = {
        { "a.b=0,2", "a.b|0|2" },
        { "a=1", "a|1" },
        { " a = 1 , 2 ", "a|1|2" },
        { "a=x=y,z", "a|x=y|z" },
        { "size=[32, 32],[64, 64]", "size|[32, 32]|[64, 64]" },
        { "device=sim:{launch_ns: 0, copy_latency_ns: 1},cpu",
          "device|sim:{launch_ns: 0, copy_latency_ns: 1}|cpu" },
        { "a={b: [1, {c: 2, d: 3}], e: 4},5", "a|{b: [1, {c: 2, d: 3}], e: 4}|5" },
        { "a=\"x, y\",z", "a|\"x, y\"|z" },
        { "a=\"x\\\", y\",z", "a|\"x\\\", y\"|z" },
        { "a='x, y',z", "a|'x, y'|z" },
        { "a='it''s, so',z", "a|'it''s, so'|z" },
        { "a=it's,z", "a|it's|z" },
        { "a=[']', 1],z", "a|[']', 1]|z" },
        { "a={b: \"}\"},z", "a|{b: \"}\"}|z" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(joined(cases[i][0]), cases[i][1]);
}

TEST(bad_texts_say_what_is_wrong)
{
    static const char *const cases[][2] = {
        { "", "does not say what to vary" },
        { "a", "path=a,b,c" },
        { "=1,2", "does not say what to vary" },
        { " =1", "does not say what to vary" },
        { "a=", "value 1 is empty" },
        { "a=1,", "value 2 is empty" },
        { "a=1,,2", "value 2 is empty" },
        { "a= ,2", "value 1 is empty" },
        { "a=[1,2", "] is missing" },
        { "a={b: [1}", "} without an opening bracket" },
        { "a=1]", "] without an opening bracket" },
        { "a=\"x,y", "\" is never closed" },
        { "a=\"x\\\"", "\" is never closed" },
        { "a='x,y", "' is never closed" },
        { "a=[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1", "too deep" },
        { "a=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,"
          "32,33",
          "more than 32 values" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_vary vary;
        leat_error err = { 0 };
        assert_int_equal(leat_vary_parse(cases[i][0], &vary, &err), LEAT_E_ARGUMENT);
        if (!strstr(err.message, cases[i][1]))
            fail_msg("'%s': '%s' lacks '%s'", cases[i][0], err.message, cases[i][1]);
        assert_int_equal(leat_vary_parse(cases[i][0], &vary, NULL), LEAT_E_ARGUMENT);
    }
}

static char value_of(const leat_vary *varies, size_t n, size_t arm, size_t v)
{
    return *leat_vary_value(varies, n, arm, v).text;
}

TEST(arms_are_the_product)
{
    leat_vary varies[3];
    size_t n;
    assert_int_equal(leat_vary_parse("x=a,b", &varies[0], NULL), LEAT_OK);
    assert_int_equal(leat_vary_parse("y=c,d,e", &varies[1], NULL), LEAT_OK);
    assert_int_equal(leat_vary_parse("z=f,g,h,i,j", &varies[2], NULL), LEAT_OK);
    assert_int_equal(leat_vary_count(varies, 0, 32, &n, NULL), LEAT_OK);
    assert_int_equal(n, 1);
    assert_int_equal(leat_vary_count(varies, 3, 32, &n, NULL), LEAT_OK);
    assert_int_equal(n, 30);
    assert_int_equal(leat_vary_count(varies, 3, 29, &n, NULL), LEAT_E_ARGUMENT);
    size_t arm = 0; /* the last changes fastest */
    for (char x = 'a'; x <= 'b'; x++)
        for (char y = 'c'; y <= 'e'; y++)
            for (char z = 'f'; z <= 'j'; z++, arm++) {
                assert_int_equal(value_of(varies, 3, arm, 0), x);
                assert_int_equal(value_of(varies, 3, arm, 1), y);
                assert_int_equal(value_of(varies, 3, arm, 2), z);
            }
}
