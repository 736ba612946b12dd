/* SPDX-License-Identifier: MIT
 *
 * test_command_synth.c: `leat synth`. */
#include "fixtures/command_fixture.h"

static void synth_is_a_function_of_the_seed(void **state)
{
    (void)state;
    expect_success(shell("$L synth x1 --n 40 --size 24 --threads 1 && "
                         "$L synth x4 --n 40 --size 24 --threads 4 && diff -r x1 x4"));
    assert_int_equal(shell("$L synth x2 --n 40 --size 24 --seed 2 && diff -rq x1 x2"), 1);
    expect_success(shell("ls x1 | wc -l"));
    assert_int_equal(atoi(out), 10);
    expect_success(shell("$L synth x.png --n 10 --size 16 --format png >&2 && "
                         "$L convert images x.png -o xp --json"));
    json_t *json = parse_out();
    assert_int_equal(number(json, "images"), 10);
    json_decref(json);
    assert_int_equal(count_files(".x*"), 0);
}

static void synth_splits(void **state)
{
    (void)state;
    expect_success(shell("$L synth x --n 100 --size 8 --split 0.25 --classes 3 && "
                         "find x/test -type f | wc -l"));
    expect_in(out, "25\n");
    expect_success(shell("find x/train -type f | wc -l"));
    assert_int_equal(atoi(out), 75);
}

static void synth_takes_nothing_over(void **state)
{
    (void)state;
    expect_failure(shell("mkdir x && touch x/mine && $L synth x"), 1, "exists already");
    expect_success(shell("ls x/mine && mkdir xempty && $L synth xempty --n 3 --size 8"));
    expect_failure(shell("$L synth /dev/null/x"), 1, "/dev/null");
    expect_success(
        shell("$L synth new/folder/x --n 3 --size 8 -q && ls new/folder/x && rm -r new"));
    assert_int_equal(shell("ulimit -f 1; $L synth xfull --n 9 --size 64 -q"), 1);
    expect_in(err, "cannot write: File too large");
    assert_int_equal(count_files("xfull"), 0);
    assert_int_equal(count_files(".xfull*"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(synth_is_a_function_of_the_seed, clean),
        cmocka_unit_test_teardown(synth_splits, clean),
        cmocka_unit_test_teardown(synth_takes_nothing_over, clean),
    };
    return cmocka_run_group_tests(tests, make_images, command_remove_folder);
}
