/* SPDX-License-Identifier: MIT
 *
 * test_convert_killed.c: a conversion over an existing set that is killed at any rename leaves the
 * old set, the new set, or a set that is refused. It never leaves a mixture that is read without an error. */
#include "fixtures/command_fixture.h"

enum { N_SHARDS = 3, N_OLD = 24, N_NEW = 6, MOST_CALLS = 60 };

#define CONVERT "$L convert images %s -o %s --shards 3 --threads 2 -q"

/* Records that `leat inspect` and a loader find; 0: both refuse the set as incomplete, or all its files
 * are gone. */
static int64_t records_of_set(void)
{
    const char *const why =
        count_files("x-*.tfrecord") ? "this set is incomplete" : "no file matches";
    if (shell("$L inspect 'x-*.tfrecord' --json")) {
        expect_in(err, why);
        assert_int_equal(shell("$L plan y.yaml"), 1);
        expect_in(err, why);
        assert_int_equal(shell("$L inspect 'x-*.tfrecord' --record 0"), 1);
        expect_in(err, why);
        return 0;
    }
    json_t *const json = parse_out();
    const int64_t records = number(json, "records");
    json_decref(json);
    expect_success(shell("$L plan y.yaml"));
    return records;
}

/* Shards that are those of a set of this name. */
static int shards_like(const char *set)
{
    expect_success(shell("n=0; for i in 0 1 2; do cmp -s x-0000$i-of-00003.tfrecord "
                         "%s-0000$i-of-00003.tfrecord && n=$((n + 1)); done; echo $n",
                         set));
    return atoi(out);
}

/* Kills a conversion of new images over the old set there; its exit code. */
static int kill_at(int call, bool over_old)
{
    expect_success(shell("rm -f x* .x*"));
    if (over_old)
        expect_success(shell("for f in old-*; do cp $f x-${f#old-}; done"));
    /* A sanitizer that is linked in minds a library before it. */
    return shell("ASAN_OPTIONS=verify_asan_link_order=0:$ASAN_OPTIONS LD_PRELOAD=%s "
                 "LEAT_KILL_AT=%d " CONVERT,
                 KILL_AT, call, "test-images", "x");
}

static void no_mixed_set_is_read(bool over_old)
{
    int n_killed = 0, n_refused = 0, code = -1;
    for (int call = 1; code != 0; call++) {
        assert_true(call < MOST_CALLS);
        code = kill_at(call, over_old);
        n_killed += code != 0;
        assert_true(code == 0 || code == 128 + 9);
        const int n_old = shards_like("old"), n_new = shards_like("new");
        assert_true(n_old == 0 || n_new == 0); /* whoever reads them */
        const int64_t records = records_of_set();
        n_refused += records == 0;
        if (records == N_OLD)
            assert_int_equal(n_old, N_SHARDS);
        else if (records == N_NEW)
            assert_int_equal(n_new, N_SHARDS);
        else
            assert_int_equal(records, 0);
        /* Run again, it is whole. */
        expect_success(shell(CONVERT, "test-images", "x"));
        assert_int_equal(records_of_set(), N_NEW);
        assert_int_equal(count_files("x.incomplete"), 0);
    }
    assert_true(n_killed >= 2 * N_SHARDS);
    assert_true(n_refused >= N_SHARDS);
}

static void over_an_existing_set(void **state)
{
    (void)state;
    no_mixed_set_is_read(true);
}

static void where_there_was_none(void **state)
{
    (void)state;
    no_mixed_set_is_read(false);
}

/* The set is another's: its own files are read. */
static void a_marker_is_for_its_own_set(void **state)
{
    (void)state;
    expect_success(shell(CONVERT " && touch x.incomplete x-0.incomplete", "test-images", "xy"));
    expect_success(shell("$L inspect 'xy-*.tfrecord' && cp xy-00000-of-00003.tfrecord x-other && "
                         "$L inspect x-other"));
    expect_success(shell("touch xy.incomplete"));
    expect_failure(shell("$L inspect xy-00002-of-00003.tfrecord"), 1, "this set is incomplete");
    expect_success(shell("rm x*"));
}

static int make_sets(void **state)
{
    if (command_make_folder(state) < 0)
        return -1;
    return shell(
        "$L synth set --n 30 --size 8 --classes 2 --split 0.2 -q && mv set/train images && "
        "mv set/test test-images && " CONVERT " && " CONVERT
        " && printf 'source: {tfrecord: x-*.tfrecord}\\npipeline: "
        "[{map: [decode_image, {resize: {size: [8, 8]}}]}, batch: 2]\\n' > y.yaml",
        "images", "old", "test-images", "new");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_an_existing_set),
        cmocka_unit_test(where_there_was_none),
        cmocka_unit_test(a_marker_is_for_its_own_set),
    };
    return cmocka_run_group_tests(tests, make_sets, command_remove_folder);
}
