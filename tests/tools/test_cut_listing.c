/* SPDX-License-Identifier: MIT
 *
 * test_cut_listing.c: the listing of a folder fails in the middle, as over NFS or FUSE, or where it may not be read: it is no
 * shorter folder. Each readdir() of each command fails once. */
#include "fixtures/command_pipeline.h"
#include "fixtures/disturb.h"

#include <errno.h>

static int clean_all(void **state)
{
    shell("chmod -R u+rwX g; rm -rf c c0 g log rings");
    return clean(state);
}

static void make_groups(void)
{
    expect_success(
        shell("mkdir -p g/a g/b && $L convert images test-images -o g/a/s --shards 2 -q "
              "&& $L convert images test-images -o g/b/s --shards 2 -q && "
              "printf 'source: {tfrecord: \"g/*/s-*.tfrecord\"}\\npipeline: [{map: [decode_jpeg, "
              "{resize: 8}]}, {batch: 9}]\\n' > x.yaml"));
}

/* Fails each readdir() of a command. Returns how often the command said so; else its output is `whole`. */
static int fail_each(const char *command, const char *before, const char *whole)
{
    int n_told = 0;
    for (int call = 1; call < 400; call++) {
        expect_success(shell("%s", before));
        const int code = disturb(command, "readdir", call, EIO);
        if (!strstr(err, "fault: ")) {
            expect_success(code);
            return n_told;
        }
        n_told += code != 0;
        if (code)
            expect_in(err, strerror(EIO));
        else if (!strstr(out, whole))
            fail_msg("call %d of %s: %s%s", call, command, out, err);
    }
    fail_msg("%s: more than 400 calls", command);
    return 0;
}

TEST(patterns_find_all_or_fail)
{
    make_groups();
    assert_true(fail_each("$L plan x.yaml", "true", "120 records") > 8);
    assert_true(fail_each("$L inspect 'g/*/s-*.tfrecord'", "true", "records              120") > 8);
    assert_true(fail_each("$L convert tfrecord 'g/*/s-*.tfrecord' -o x", "rm -rf x-* .x*",
                          "120 records") > 8);
}

/* Root may read all folders. */
TEST(a_folder_that_may_not_be_read)
{
    if (geteuid() == 0)
        skip();
    make_groups();
    expect_success(shell("chmod 0 g/b"));
    expect_failure(shell("$L inspect 'g/*/s-*.tfrecord'"), 1,
                   "g/b: cannot be read, so what matches 'g/*/s-*.tfrecord' is not known");
    assert_int_not_equal(shell("$L plan x.yaml"), 0);
    expect_in(err, "x.yaml:1:");
    expect_in(err, "g/b: cannot be read");
}

TEST(what_is_gone_or_leads_nowhere_matches_nothing)
{
    make_groups();
    expect_success(
        shell("ln -s nowhere g/c; ln -s d g/d; touch g/file; $L inspect 'g/*/s-*.tfrecord'"));
    expect_in(out, "120");
}

TEST(a_run_does_not_begin_again)
{
    make_pipeline();
    expect_success(shell("$L train x.yaml --steps 4 -q --checkpoint c && cp -r c c0"));
    assert_true(fail_each("$L train x.yaml --steps 6 --checkpoint c --resume --log log --json",
                          "rm -rf c log && cp -r c0 c", "\"resumed\": \"c/step-0") > 0);
}

/* Either the old set or the new one is there in the end. */
TEST(a_set_is_replaced_whole)
{
    int n_failed = 0;
    for (int call = 1; call < 400; call++) {
        clean(NULL);
        expect_success(shell("$L convert images test-images -o x --shards 3 -q"));
        const int code =
            disturb("$L convert images images -o x --shards 8 -q", "readdir", call, EIO);
        const bool failed = strstr(err, "fault: ") != NULL;
        if (strstr(err, "leat convert finish"))
            expect_success(shell("$L convert finish -o x"));
        expect_success(shell("$L inspect --json 'x-*.tfrecord'"));
        json_t *const json = parse_out();
        const int64_t n = number(json, "records");
        json_decref(json);
        if (n != 240 && (n != 60 || code == 0))
            fail_msg("call %d: code %d, %d records", call, code, (int)n);
        if (!failed)
            break;
        n_failed += code != 0;
    }
    assert_true(n_failed > 4);
}

/* Not as a file without a class: the others would get other numbers. */
TEST(skip_bad_leaves_out_no_class_that_cannot_be_read)
{
    static const char *const lines[] = {
        "$L convert images bad -o xb --class-from '([a-z]+)/[^/]+$' --skip-bad -q",
        "$L convert images bad -o xb --skip-bad -q",
        ("$L plan x.yaml --set 'source={images: {path: bad, class_from: \"([a-z]+)/[^/]+$\", "
         "skip_bad: true}}'"),
    };
    make_pipeline();
    expect_success(shell("cp -r test-images bad && mv bad/ring rings && ln -s ../rings bad/ring"));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        expect_success(shell("%s && rm -f xb-*", lines[i]));
        char line[300];
        snprintf(line, sizeof line, "LEAT_FAULT_PATH=bad/ring %s", lines[i]);
        assert_int_not_equal(disturb(line, "stat", 0, EIO), 0);
        expect_in(err, "bad/ring: cannot look at what may be a whole class: Input/output error");
    }
    assert_int_equal(count_files("xb-*"), 0);
}

/* What cannot be looked at may be there. */
TEST(a_failed_look_is_no_missing_file)
{
    static const struct {
        const char *path, *call, *line;
    } cases[] = {
        { "x.incomplete", "lstat", "$L inspect 'x-*.tfrecord'" },
        { "x-labels.txt", "stat", "$L convert images test-images -o x --shards 2 -q" },
        { "x-manifest.json", "stat", "$L convert images test-images -o x --shards 2 -q" },
        { "x.svg", "stat", "$L train x.yaml --steps 1 -q --trace x.svg" },
        { "x[1].tfrecord", "access", "$L inspect 'x[1].tfrecord'" },
        { "x[1].tfrecord", "lstat", "$L plan x.yaml --set 'source={tfrecord: \"x[1].tfrecord\"}'" },
        { "unfinished", "lstat", "$L convert finish -o x" },
        { "x-log/log.jsonl", "stat", "$L train x.yaml --steps 1 -q --log x-log" },
        { "best.safetensors", "access",
          "$L train x.yaml --steps 1 -q --checkpoint c --set "
          "train.checkpoint.best=loss" },
    };
    make_pipeline();
    expect_success(shell("cp x-00000-of-*.tfrecord 'x[1].tfrecord' && cp x-00000-of-*.tfrecord "
                         "x1.tfrecord && echo mine >x.svg && mkdir -p .x.part x-log && "
                         "cp x-labels.txt xold"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[300];
        snprintf(line, sizeof line, "LEAT_FAULT_PATH='%s' %s", cases[i].path, cases[i].line);
        if (!disturb(line, cases[i].call, 0, EIO) || !strstr(err, strerror(EIO)))
            fail_msg("%s of %s: %s", cases[i].call, cases[i].path, err);
        expect_in(err, cases[i].path);
    }
    expect_success(shell("grep -q mine x.svg && cmp x-labels.txt xold"));
    /* Names of classes are not lost without a word. */
    disturb("LEAT_FAULT_PATH=x-labels.txt $L convert tfrecord 'x-*-of-*.tfrecord' -o xb -q",
            "access", 0, EIO);
    expect_success(shell("cmp x-labels.txt xb-labels.txt"));
    /* Nor is an evaluation that does not need them. */
    expect_success(shell("$L train x.yaml --steps 1 -q --save x.st"));
    assert_int_equal(
        disturb("LEAT_FAULT_PATH=x-labels.txt $L eval x.yaml --weights x.st -q", "stat", 0, EIO),
        0);
    expect_in(err, "note: names of classes are not known: x-labels.txt: Input/output error");
}

TEST_FIXTURE(NULL, clean_all)
SUITE_FIXTURE(make_images, command_remove_folder)
