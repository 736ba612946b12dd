/* SPDX-License-Identifier: MIT
 *
 * test_bench_common.c: arms that report times of their own, so that medians, ratios and the order of
 * runs are known beforehand. */
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench_common.c"
#include "fixtures/unit.h"

static char order[64]; /* one letter per run */

typedef struct fixed_arm {
    char letter;
    int n_runs;
    const int64_t *ns; /* first for the warm-up */
} fixed_arm;

static int64_t run_fixed(void *arg)
{
    fixed_arm *arm = arg;
    const size_t n = strlen(order);
    if (n + 1 < sizeof order)
        order[n] = arm->letter;
    return arm->ns[arm->n_runs++];
}

static bench *open_quietly(const char *repeats, const char *only)
{
    static char name[] = "test", json[] = "--json", r[] = "--repeats", o[] = "--only";
    static char repeats_text[16], only_text[16];
    char *argv[] = { name, json, r, repeats_text, o, only_text, NULL };
    snprintf(repeats_text, sizeof repeats_text, "%s", repeats);
    snprintf(only_text, sizeof only_text, "%s", only ? only : "");
    memset(order, 0, sizeof order);
    return bench_open(only ? 6 : 4, argv, "test");
}

/* Ratios are taken repeat by repeat: here each repeat is 10 times slower than the one before, for
 * both arms alike, and the ratio stays what it is. */
TEST(ratios_are_paired)
{
    static const int64_t slow[] = { 7, 1000, 10000, 100000 }, fast[] = { 7, 500, 5000, 50000 };
    fixed_arm a = { 'a', 0, slow }, b = { 'b', 0, fast };
    const bench_arm arms[] = { { "a", run_fixed, &a, 10, "things" },
                               { "b", run_fixed, &b, 20, "things" } };
    bench_figure figures[2];
    bench *t = open_quietly("3", NULL);
    bench_group_figures(t, "group", arms, 2, "a", figures);
    assert_string_equal(order, "ababbaab"); /* warm-up, then ABBA */
    assert_true(figures[0].median_ns == 10000 && figures[1].median_ns == 5000);
    assert_true(figures[0].low_ns == 5500 && figures[0].high_ns == 55000);
    assert_true(figures[0].ratio == 1 && figures[0].ratio_low == 1 && figures[0].ratio_high == 1);
    assert_true(fabs(figures[1].ratio - 4) < 1e-9); /* half the time for twice the work */
    assert_true(fabs(figures[1].ratio_low - 4) < 1e-9);
    assert_true(fabs(figures[1].per_s - 4e6) < 1);
    assert_int_equal(bench_close(&t), 0);
    assert_null(t);
}

TEST(only_keeps_the_baseline)
{
    static const int64_t ns[] = { 1, 1, 1 };
    fixed_arm a = { 'a', 0, ns }, b = { 'b', 0, ns }, c = { 'c', 0, ns };
    const bench_arm arms[] = { { "first", run_fixed, &a, 1, "x" },
                               { "second", run_fixed, &b, 1, "x" },
                               { "third", run_fixed, &c, 1, "x" } };
    bench *t = open_quietly("1", "hird");
    assert_false(bench_wants(t, "group"));
    bench_group(t, "group", arms, 3, "first");
    assert_string_equal(order, "acac");
    assert_int_equal(bench_close(&t), 0);

    t = open_quietly("1", "none such");
    memset(order, 0, sizeof order);
    bench_group(t, "group", arms, 3, "first");
    assert_string_equal(order, "");
    assert_int_equal(bench_close(&t), 0);
}

TEST(failures_make_the_exit_code)
{
    static const int64_t late[] = { 1, 1, -1 };
    fixed_arm a = { 'a', 0, late };
    const bench_arm arms[] = { { "a", run_fixed, &a, 1, "x" } };
    bench_figure figure = { .median_ns = 5 };
    bench *t = open_quietly("2", NULL);
    bench_group_figures(t, "group", arms, 1, "a", &figure);
    assert_true(figure.median_ns == 0);
    assert_int_equal(bench_close(&t), 1);

    t = open_quietly("2", NULL);
    bench_group(t, "group", arms, 1, "no such arm");
    assert_int_equal(bench_close(&t), 1);
}

TEST(wrong_options_end_the_program)
{
    static char *const bad[][3] = { { "--repeats", "0" },   { "--repeats", "10001" },
                                    { "--repeats", "two" }, { "--repeats", NULL },
                                    { "--only", NULL },     { "--what", NULL } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const pid_t child = fork();
        if (child == 0) {
            char name[] = "test", *argv[] = { name, bad[i][0], bad[i][1], NULL };
            if (!freopen("/dev/null", "w", stderr))
                _exit(3);
            bench_open(bad[i][1] ? 3 : 2, argv, "test");
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
    }
}
