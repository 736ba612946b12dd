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
#include "ops/jpeg/huffman/jpeg_usual.h"

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

TEST(the_variable_decides)
{
    if (leat_cpu_best() < LEAT_CPU_AVX2)
        skip();
    assert_true(answers("loads", "loads", "set by LEAT_JPEG_LOOP"));
    assert_true(answers("shifts", "shifts", "set by LEAT_JPEG_LOOP"));
}

TEST(else_it_is_measured)
{
    if (leat_cpu_best() < LEAT_CPU_AVX2)
        skip();
    assert_true(answers(NULL, NULL, "measured: "));
    assert_true(answers("", NULL, "measured: "));
}

TEST(plain_c_has_its_own)
{
    char why[8] = "before";
    leat_cpu_use(LEAT_CPU_C);
    assert_string_equal(leat_jpeg_loop(why, sizeof why), "c");
    assert_string_equal(why, "");
    assert_string_equal(leat_jpeg_loop(NULL, 0), "c");
    leat_cpu_use(leat_cpu_best());
}

TEST(the_tables_of_tests_are_all_there_are)
{
    assert_int_equal(LEAT_JPEG_N_DSP, /* C, each level with each loop, and one without pairs */
                     1 + (LEAT_N_CPU_LEVELS - 1) * LEAT_JPEG_N_LOOPS + 1);
    for (int i = 0; i < LEAT_JPEG_N_DSP; i++)
        for (int k = 0; k < i; k++)
            assert_true(!leat_jpeg_dsp_at(i) || leat_jpeg_dsp_at(i) != leat_jpeg_dsp_at(k));
}

/* The usual Huffman tables are those that libjpeg-turbo writes, are found in its files, and are what
 * building them again gives. */

TEST(libjpeg_writes_them)
{
    const reference_picture p = {
        .width = 40, .height = 30, .channels = 3, .h = 2, .v = 2, .quality = 80
    };
    uint8_t *data;
    leat_jpeg jpeg;
    const size_t size = reference_encode(&p, 1, &data);
    assert_int_equal(leat_jpeg_open(&jpeg, data, size, NULL), LEAT_OK);
    for (int i = 0; i < 3; i++)
        for (int kind = LEAT_JPEG_DC; kind < LEAT_JPEG_N_TABLES; kind++) {
            const leat_jpeg_component *const c = &jpeg.component[i];
            const leat_jpeg_table *const found =
                leat_jpeg_usual_find(kind, kind == LEAT_JPEG_DC ? c->dc : c->ac);
            assert_non_null(found);
            assert_ptr_equal(found, leat_jpeg_usual_find(kind, kind == LEAT_JPEG_DC
                                                                   ? leat_jpeg_usual_dc[i > 0]
                                                                   : leat_jpeg_usual_ac[i > 0]));
        }
    free(data);
}

TEST(they_are_what_building_gives)
{
    static leat_jpeg_table built, skip;
    for (int level = 0; level < N_LEVELS; level++) {
        const leat_jpeg_dsp *const dsp = leat_jpeg_dsp_at(level);
        for (int i = 0; dsp && i < LEAT_JPEG_N_USUAL; i++) {
            const leat_jpeg_table *found =
                leat_jpeg_usual_find(LEAT_JPEG_DC, leat_jpeg_usual_dc[i]);
            assert_int_equal(leat_jpeg_table_build(&built, leat_jpeg_usual_dc[i], 1, dsp), 0);
            assert_memory_equal(found->fast, built.fast, sizeof built.fast);
            assert_memory_equal(found->limit, built.limit, sizeof built.limit);
            found = leat_jpeg_usual_find(LEAT_JPEG_AC, leat_jpeg_usual_ac[i]);
            assert_int_equal(leat_jpeg_table_build(&built, leat_jpeg_usual_ac[i], 0, dsp), 0);
            assert_memory_equal(found->fast, built.fast, sizeof built.fast);
            assert_memory_equal(found->symbols, built.symbols, 162);
            leat_jpeg_table_join(&skip, &built, dsp);
            found = leat_jpeg_usual_find(LEAT_JPEG_SKIP, leat_jpeg_usual_ac[i]);
            assert_memory_equal(found->fast, skip.fast, sizeof skip.fast);
        }
    }
}

/* A table that differs in any byte is another one; the last symbol ends an allocation, so that reads beyond show. */
TEST(others_are_not_found)
{
    for (int i = 0; i < LEAT_JPEG_N_USUAL; i++)
        for (size_t at = 0; at < sizeof *leat_jpeg_usual_ac; at++) {
            uint8_t *spec = malloc(sizeof *leat_jpeg_usual_ac);
            memcpy(spec, leat_jpeg_usual_ac[i], sizeof *leat_jpeg_usual_ac);
            spec[at] ^= 1;
            assert_null(leat_jpeg_usual_find(LEAT_JPEG_AC, spec));
            assert_null(leat_jpeg_usual_find(LEAT_JPEG_SKIP, spec));
            free(spec);
        }
    for (int i = 0; i < LEAT_JPEG_N_USUAL; i++)
        for (size_t at = 0; at < sizeof *leat_jpeg_usual_dc; at++) {
            uint8_t *spec = malloc(sizeof *leat_jpeg_usual_dc);
            memcpy(spec, leat_jpeg_usual_dc[i], sizeof *leat_jpeg_usual_dc);
            spec[at] ^= 1;
            assert_null(leat_jpeg_usual_find(LEAT_JPEG_DC, spec));
            free(spec);
        }
}
