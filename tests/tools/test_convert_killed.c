/* SPDX-License-Identifier: MIT
 *
 * test_convert_killed.c: a conversion over an existing set that is killed at any change of a name, or where any call
 * fails, leaves the old set, the new set, or a set that is refused and can be finished. It never leaves a mixture that
 * is read without an error, and never deletes files that were complete. */
#include "fixtures/disturb.h"

#include <errno.h>

enum { N_SHARDS = 3, N_OLD = 24, N_NEW = 6, MOST_CALLS = 200 };

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

/* Ways to make the new set: with labels and with shards in parallel, or one shard after the other. */
static const char *const ways[] = { "$L convert images test-images -o x --shards 3 --threads 2 -q",
                                    "$L convert tfrecord 'new-*.tfrecord' -o x -q" };

static void put_old_set(bool over_old)
{
    expect_success(shell("rm -rf x* .x*"));
    if (over_old)
        expect_success(shell("for f in old-*; do cp -p $f x-${f#old-}; done"));
}

/* What readers find is whole, or refused. Returns the records, or 0. */
static int64_t expect_no_mixture(void)
{
    const int n_old = shards_like("old"), n_new = shards_like("new");
    assert_true(n_old == 0 || n_new == 0); /* readers without markers, too */
    const int64_t records = records_of_set();
    if (records == N_OLD)
        assert_int_equal(n_old, N_SHARDS);
    else if (records == N_NEW)
        assert_int_equal(n_new, N_SHARDS);
    else
        assert_int_equal(records, 0);
    if (records) /* names of classes belong to them */
        assert_int_equal(shell("cmp -s x-labels.txt old-labels.txt") == 0, records == N_OLD);
    return records;
}

static void expect_new_set(void)
{
    assert_int_equal(expect_no_mixture(), N_NEW);
    assert_int_equal(count_files("x.incomplete") + count_files(".x.part"), 0);
}

static void no_mixed_set_is_read(const char *way, bool over_old)
{
    int n_killed = 0, n_refused = 0, n_finished = 0, code = -1;
    for (int call = 1; code != 0; call++) {
        assert_true(call < MOST_CALLS);
        put_old_set(over_old);
        code = disturb(way, "rename unlink mkdir rmdir linkat", call, 0);
        n_killed += code != 0;
        assert_true(code == 0 || code == 128 + 9);
        const bool is_refused = expect_no_mixture() == 0 && count_files("x-*.tfrecord");
        n_refused += is_refused;
        /* What was complete is finished, and nothing else is written before. */
        if (call % 2 == 0) {
            const bool is_finished = shell("$L convert finish -o x") == 0;
            n_finished += is_finished;
            assert_true(is_finished || !is_refused);
            if (is_finished)
                expect_new_set();
        }
        if (shell("%s", way)) {
            expect_in(err, "wait in .x.part: `leat convert finish -o x` gives them their names");
            expect_no_mixture();
            expect_success(shell("$L convert finish -o x"));
        }
        expect_new_set();
    }
    assert_true(n_killed >= 2 * N_SHARDS);
    assert_true(n_refused >= N_SHARDS - 1);
    assert_true(n_finished >= N_SHARDS);
}

/* After one failed call: the old set or the new one is whole, or new files wait and are finished; files that were
 * complete are never deleted. */
static int fail_each(const char *way, const char *calls, int error)
{
    int n_failed = 0, n_kept = 0;
    char line[200];
    const bool looks = strstr("lstat access stat", calls) != NULL; /* at the input, too */
    snprintf(line, sizeof line, "LEAT_FAULT_PATH= %s", way);
    for (int call = 1;; call++) {
        assert_true(call < MOST_CALLS);
        put_old_set(true);
        const int code = disturb(line, calls, call, error);
        const bool hit = strstr(err, "fault: ") != NULL;
        if (code != 0 && (code != 1 || !hit))
            fail_msg("call %d of %s: code %d: %s", call, calls, code, err);
        if (code) {
            const bool is_kept = strstr(err, "kept in .x.part") != NULL;
            expect_in(err, "leat convert: ");
            expect_in(err, is_kept ? "`leat convert finish -o x` gives them their names"
                           : looks ? strerror(error)
                                   : "x");
            const int64_t records = expect_no_mixture();
            n_failed++;
            n_kept += is_kept;
            assert_true(is_kept || records == N_OLD || records == N_NEW);
            if (is_kept) {
                expect_success(shell("$L convert finish -o x"));
                expect_new_set();
            }
        } else { /* a lock that could not be deleted may be left, for instance */
            assert_int_equal(expect_no_mixture(), N_NEW);
        }
        if (!hit)
            break;
    }
    assert_true(n_failed >= 1 || !strcmp(calls, "linkat")); /* it has another way */
    return n_kept;
}

TEST(failed_calls_lose_nothing)
{
    static const char *const calls[] = { "rename", "unlink", "mkdir", "rmdir",  "fsync", "open",
                                         "linkat", "write",  "lstat", "access", "stat" };
    static const int errors[] = { EACCES, ENOSPC, EPERM, EROFS };
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        int n_kept = 0;
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            if (strcmp(calls[i], "rmdir") != 0) /* nothing depends on it */
                n_kept += fail_each(ways[w], calls[i], EIO);
        assert_true(n_kept >= 3 * N_SHARDS);
        for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
            assert_true(fail_each(ways[w], "rename", errors[i]) >= 2 * N_SHARDS);
    }
}

/* A folder has the name of a file, or a link: nothing is lost, and a link is replaced. */
TEST(names_that_are_taken)
{
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        put_old_set(true);
        expect_success(shell("rm x-00001-of-00003.tfrecord; mkdir x-00001-of-00003.tfrecord"));
        expect_failure(shell("%s", ways[w]), 1,
                       "x-00001-of-00003.tfrecord: exists and is not a file");
        expect_in(err, "kept in .x.part");
        assert_int_equal(shards_like("old"), N_SHARDS - 1);
        expect_failure(shell("%s", ways[w]), 1, "files of an earlier conversion wait in .x.part");
        expect_failure(shell("$L convert finish -o x"), 1, "exists and is not a file");
        assert_int_equal(shards_like("old"), N_SHARDS - 1);
        expect_success(shell("rmdir x-00001-of-00003.tfrecord; $L convert finish -o x"));
        expect_new_set();
        expect_success(
            shell("echo safe >safe; rm x-00001*; ln -s safe x-00001-of-00003.tfrecord; %s; "
                  "grep safe safe",
                  ways[w]));
        expect_new_set();
    }
}

/* Complete files wait, and the user makes others of the same names: no conversion replaces these, or deletes those. */
static void keep_new_set(const char *way)
{
    put_old_set(true);
    expect_success(shell("rm x-*; mkdir x-00001-of-00003.tfrecord"));
    expect_failure(shell("%s", way), 1, "kept in .x.part");
    expect_success(shell("rmdir x-*.tfrecord; for f in old-*; do cp -p $f x-${f#old-}; done"));
}

TEST(complete_files_wait)
{
    static const char *const more[] = { "--part 1/2", "--part 2/3", "" };
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        keep_new_set(ways[w]);
        for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
            expect_failure(shell("%s %s", ways[w], more[i]), 1,
                           "x: complete files of an earlier conversion wait in .x.part: `leat "
                           "convert finish -o x` gives them their names, then run this again; or "
                           "remove that folder");
            assert_int_equal(shards_like("old"), N_SHARDS);
        }
        assert_int_equal(count_files(".x.part-*"), 0);
        expect_success(shell("$L convert finish -o x"));
        expect_new_set();
        keep_new_set(ways[w]);
        expect_success(shell("rm -r .x.part; %s", ways[w]));
        expect_new_set();
    }
}

/* Files of the user, where leat writes and deletes its own. */
TEST(files_of_the_user_are_left)
{
    static const char *const names[] = { ".x.part/thesis.txt", ".x.part/old/thesis.txt",
                                         ".x.part/.thesis", "x.incomplete",
                                         ".x.part-1-of-2/thesis.txt" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            put_old_set(true);
            expect_success(shell("mkdir -p $(dirname %s) && echo mine >%s", names[i], names[i]));
            expect_failure(shell("%s%s", ways[w], strstr(names[i], "of-2") ? " --part 1/2" : ""), 2,
                           names[i]);
            expect_in(err, ": move it away, or choose another PREFIX");
            expect_success(shell("grep mine %s", names[i]));
            assert_int_equal(shards_like("old"), N_SHARDS);
        }
    keep_new_set(ways[0]);
    expect_success(shell("echo mine >x.incomplete"));
    expect_failure(shell("$L convert finish -o x"), 2,
                   "x.incomplete: exists and is not a mark of leat convert: move it away");
    expect_in(err, "kept in .x.part");
    expect_success(shell("grep mine x.incomplete && rm x.incomplete && $L convert finish -o x"));
    expect_new_set();
}

/* A folder that somebody else made is not written in: it may hold links. */
TEST(folders_of_others_are_refused)
{
    put_old_set(true);
    expect_success(shell("mkdir trap; ln -s trap .x.part"));
    expect_failure(shell("%s", ways[0]), 1, ".x.part is not a folder of this user");
    expect_success(shell("rm .x.part; rmdir trap; touch .x.part"));
    expect_failure(shell("%s", ways[0]), 1, ".x.part is not a folder of this user");
    expect_success(shell("rm .x.part; mkdir .x.part; echo safe >safe; ln -s ../safe .x.part/lock"));
    expect_failure(shell("%s", ways[0]), 1, "cannot create a file in .x.part");
    expect_success(shell("grep safe safe; rm -r .x.part"));
    if (geteuid() == 0) {
        expect_success(shell("mkdir .x.part && chown 1234 .x.part"));
        expect_failure(shell("%s", ways[0]), 1, ".x.part is not a folder of this user");
    }
    assert_int_equal(shards_like("old"), N_SHARDS);
    expect_success(shell("rm -rf x* .x*"));
}

TEST(over_an_existing_set)
{
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        no_mixed_set_is_read(ways[w], true);
}

TEST(where_there_was_none)
{
    no_mixed_set_is_read(ways[0], false);
}

/* The set is another's: its own files are read. */
TEST(a_marker_is_for_its_own_set)
{
    expect_success(shell(CONVERT " && touch x.incomplete x-0.incomplete", "test-images", "xy"));
    expect_success(shell("$L inspect 'xy-*.tfrecord' && cp xy-00000-of-00003.tfrecord x-other && "
                         "$L inspect x-other"));
    expect_success(shell("touch xy.incomplete"));
    static const char *const readers[] = { "inspect xy-00002-of-00003.tfrecord",
                                           "convert tfrecord 'xy-*.tfrecord' -o z",
                                           "convert tfrecord xy-manifest.json -o z",
                                           "index --check 'xy-*.tfrecord'",
                                           "index 'xy-*' --manifest z-manifest.json" };
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        expect_failure(shell("$L %s", readers[i]), 1, "this set is incomplete");
    assert_int_equal(count_files("z*") + count_files(".z*"), 0);
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
        "[{map: [decode_image, {resize: {size: [8, 8]}}]}, batch: 2]\\n' > y.yaml && echo more "
        ">>old-labels.txt",
        "images", "old", "test-images", "new");
}

SUITE_FIXTURE(make_sets, command_remove_folder)
