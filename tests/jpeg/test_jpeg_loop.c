/* SPDX-License-Identifier: MIT
 *
 * test_jpeg_loop.c: the Huffman loop is chosen once per process: by LEAT_JPEG_LOOP, else by a measurement. That all
 * loops give the same bytes is tested wherever levels are compared (N_LEVELS). */
#include "fixtures/jpeg_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu.h"
#include "leat/jpeg_probe.h"
#include "ops/jpeg/huffman/jpeg_loop.h"

/* In a process of its own: with this variable the answer is `name`, and `why` contains that text. */
static int answers(const char *variable, const char *name, const char *why)
{
    const pid_t child = fork();
    if (!child) {
        char text[120];
        if (variable)
            setenv("LEAT_JPEG_LOOP", variable, 1);
        else
            unsetenv("LEAT_JPEG_LOOP");
        const char *const loop = leat_jpeg_loop(text, sizeof text);
        const int is_right =
            (!name || !strcmp(loop, name)) && strstr(text, why) && loop == leat_jpeg_loop(NULL, 0);
        const leat_jpeg_dsp *const dsp = leat_jpeg_dsp_use(leat_cpu_best());
        const int used = leat_jpeg_loop_get();
        const leat_jpeg_dsp *const same =
            leat_jpeg_dsp_at(used ? LEAT_N_CPU_LEVELS + leat_cpu_best() - 1 : leat_cpu_best());
        const int is_same = dsp->flat == same->flat && dsp->skip == same->skip &&
                            dsp->pair == (leat_jpeg_loop_pairs() ? same->pair : NULL);
        _exit(is_right && is_same ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && !WEXITSTATUS(status);
}

static void the_variable_decides(void **state)
{
    (void)state;
    if (leat_cpu_best() < LEAT_CPU_AVX2)
        skip();
    assert_true(answers("loads", "loads", "set by LEAT_JPEG_LOOP"));
    assert_true(answers("shifts", "shifts", "set by LEAT_JPEG_LOOP"));
}

static void else_it_is_measured(void **state)
{
    (void)state;
    if (leat_cpu_best() < LEAT_CPU_AVX2)
        skip();
    assert_true(answers(NULL, NULL, "measured: "));
    assert_true(answers("", NULL, "measured: "));
}

static void plain_c_has_its_own(void **state)
{
    char why[8] = "before";
    (void)state;
    leat_cpu_use(LEAT_CPU_C);
    assert_string_equal(leat_jpeg_loop(why, sizeof why), "c");
    assert_string_equal(why, "");
    assert_string_equal(leat_jpeg_loop(NULL, 0), "c");
    leat_cpu_use(leat_cpu_best());
}

static void the_tables_of_tests_are_all_there_are(void **state)
{
    (void)state;
    assert_int_equal(LEAT_JPEG_N_DSP, /* C, each level with each loop, and one without pairs */
                     1 + (LEAT_N_CPU_LEVELS - 1) * LEAT_JPEG_N_LOOPS + 1);
    for (int i = 0; i < LEAT_JPEG_N_DSP; i++)
        for (int k = 0; k < i; k++)
            assert_true(!leat_jpeg_dsp_at(i) || leat_jpeg_dsp_at(i) != leat_jpeg_dsp_at(k));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_variable_decides),
        cmocka_unit_test(else_it_is_measured),
        cmocka_unit_test(plain_c_has_its_own),
        cmocka_unit_test(the_tables_of_tests_are_all_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
