/* SPDX-License-Identifier: MIT
 *
 * test_cli.c: lists in one word of the command line. */
#include "fixtures/unit.h"
#include "tools/cli.h"

TEST(words_are_split)
{
    static const struct {
        const char *text, *words[4];
        int n; /* -1: refused as empty, -2: as given twice */
    } cases[] = {
        { "cpu", { "cpu" }, 1 },
        { "cpu,sim:h200", { "cpu", "sim:h200" }, 2 },
        { " a , b ,c", { "a", "b", "c" }, 3 },
        { "sim:{a: 1, b: [2, 3]},cpu", { "sim:{a: 1, b: [2, 3]}", "cpu" }, 2 },
        { "sim:{a: 1,cpu", { "sim:{a: 1,cpu" }, 1 }, /* the device tells what is wrong */
        { "a},b", { "a}", "b" }, 2 },
        { "", { NULL }, -1 },
        { "a,", { NULL }, -1 },
        { ",a", { NULL }, -1 },
        { "a, ,b", { NULL }, -1 },
        { "a,b, a", { NULL }, -2 },
        { "sim {a: 1},b,sim {a: 1}", { NULL }, -2 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_cli_list list;
        leat_error err = { 0 };
        const int rc = leat_cli_list_init(&list, "--device", cases[i].text, &err);
        assert_int_equal(rc, cases[i].n < 0 ? LEAT_E_ARGUMENT : LEAT_OK);
        assert_int_equal(list.n, cases[i].n < 0 ? 0 : cases[i].n);
        for (int w = 0; w < list.n; w++)
            assert_string_equal(list.words[w], cases[i].words[w]);
        assert_int_equal(rc < 0, strstr(err.message, "--device") != NULL);
        assert_int_equal(cases[i].n == -1, strstr(err.message, "a value is empty") != NULL);
        assert_int_equal(cases[i].n == -2, strstr(err.message, "a value is given twice") != NULL);
        leat_cli_list_fini(&list);
        leat_cli_list_fini(&list);
    }
    char many[12 * LEAT_CLI_LIST_MAX + 8] = "a";
    leat_error err = { 0 };
    for (int i = 0; i < LEAT_CLI_LIST_MAX; i++)
        snprintf(many + strlen(many), 12, ",%d", i);
    leat_cli_list list;
    assert_int_equal(leat_cli_list_init(&list, "x", many, &err), LEAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "too many values"));
}

TEST(numbers_are_checked)
{
    static const char *const bad[] = { "0", "1025",      "2,x",  "2.5", "99999999999999999999",
                                       "",  "1,2,3,4,5", "2,8,2" };
    int32_t out[4];
    int n;
    assert_int_equal(leat_cli_list_numbers("--threads", "2, 8,1024", 1, 1024, out, 4, &n, NULL), 0);
    assert_int_equal(n, 3);
    assert_int_equal(out[0], 2);
    assert_int_equal(out[2], 1024);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        leat_error err = { 0 };
        assert_int_equal(leat_cli_list_numbers("--threads", bad[i], 1, 1024, out, 4, &n, &err),
                         LEAT_E_ARGUMENT);
        assert_non_null(strstr(err.message, "--threads"));
    }
}
