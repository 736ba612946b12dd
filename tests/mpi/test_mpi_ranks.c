/* SPDX-License-Identifier: MIT
 *
 * test_mpi_ranks.c: ranks that mpirun started have the weights, losses and evaluation of one process, bit for bit. Started
 * without arguments it starts itself with mpirun; where there is none, it ends with the code 77. */
#include "mpi_fixture.h"

#include "fixtures/ranks_fixture.h"

static leat_ranks *ranks;

/* --- each rank ------------------------------------------------------------------------------- */

static void equal_to_one_process(void **state)
{
    (void)state;
    for (int k = 0; k < RANKS_JOBS; k++) {
        static ranks_outcome alone, mine;
        memset(&alone, 0, sizeof alone);
        ranks_run(&ranks_jobs[k], NULL, &alone);
        for (int how = 0; how < 4; how++) {
            ranks_job j = ranks_jobs[k];
            char text[80];
            j.threads = 1 + how % 2;
            j.overlap = how / 2;
            memset(&mine, 0, sizeof mine);
            ranks_run(&j, ranks, &mine);
            snprintf(text, sizeof text, "model %d, rank %d of %d, %d threads%s", k, ranks->rank,
                     ranks->n, j.threads, j.overlap ? ", overlap" : "");
            ranks_same_bits(&alone, &mine, text);
        }
    }
}

/* The error of one is that of all; and the exchange goes on. */
static void an_error_is_of_all(void **state)
{
    static ranks_outcome mine;
    ranks_job j = ranks_jobs[1];
    (void)state;
    j.bad_rank = ranks->n - 1;
    ranks_run(&j, ranks, &mine);
    assert_int_equal(mine.rc, LEAT_E_DATA);
    assert_non_null(strstr(mine.message, "photos/7.jpg is damaged"));
    assert_int_equal(leat_ranks_agree(ranks, LEAT_OK, NULL, NULL), LEAT_OK);
}

static void texts_are_compared(void **state)
{
    char text[64], wanted[64];
    leat_error why = { 0 };
    (void)state;
    assert_int_equal(leat_ranks_same(ranks, LEAT_OK, "one\ntwo", &why), LEAT_OK);
    snprintf(text, sizeof text, "one\n%s\nthree", ranks->rank == 1 ? "another" : "two");
    const int rc = leat_ranks_same(ranks, LEAT_OK, text, &why);
    assert_int_equal(rc, ranks->n > 1 ? LEAT_E_ARGUMENT : LEAT_OK);
    snprintf(wanted, sizeof wanted, "rank 1 of %d (", ranks->n);
    assert_true(rc == LEAT_OK || strstr(why.message, wanted));
    assert_true(rc == LEAT_OK || strstr(why.message, "has 'another' where rank 0 has 'two'"));
}

static int be_rank(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_to_one_process),
        cmocka_unit_test(an_error_is_of_all),
        cmocka_unit_test(texts_are_compared),
    };
    leat_error why;
    if (leat_ranks_open_mpi(&ranks, NULL, NULL, &why) < 0) {
        leat_error_print(&why, stderr);
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    leat_ranks_close(&ranks);
    return failed;
}

/* --- who starts them -------------------------------------------------------------------------- */

static void for_any_number(void **state)
{
    static const int counts[] = { 1, 2, 3, 4, 6 };
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        expect_success(
            shell("timeout 100 mpirun -n %d " BUILD_DIR "/tests/test_mpi_ranks rank", counts[i]));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(for_any_number) };
    (void)argv;
    mpi_fixture_init();
    return argc > 1 ? be_rank()
           : mpi_fixture_missing()
               ? 77
               : cmocka_run_group_tests(tests, command_make_folder, command_remove_folder);
}
