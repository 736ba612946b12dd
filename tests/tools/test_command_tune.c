/* SPDX-License-Identifier: MIT
 *
 * test_command_tune.c: `leat tune` on a job with too few threads: what it writes into the config, and what it leaves. Which
 * lines win is planted (tune_planted.c); that the right ones do is in test_tune.c, and of planted times in test_tune_lines.c. */
#include "fixtures/command_pipeline.h"

/* For the command in place of $L. */
#define PLANTED                                                                                    \
    "env ASAN_OPTIONS=verify_asan_link_order=0:$ASAN_OPTIONS LD_PRELOAD=" TUNE_PLANTED " $L tune "

static const char job[] = "# my job\n"
                          "engine: {threads: 1}   # too few\n"
                          "source: {tfrecord: \"x-*.tfrecord\"}\n"
                          "pipeline:\n"
                          "  - map:\n"
                          "      - decode_jpeg  # pixels\n"
                          "      - sleep: 1\n"
                          "      - center_crop: {size: [16, 16]}\n"
                          "      - cast\n"
                          "  - batch: {size: 4}\n"
                          "  - prefetch: {batches: 2}\n"
                          "train:\n"
                          "  model: [flatten, {dense: {units: 10}}]\n"
                          "  loss: softmax_cross_entropy\n"
                          "  threads: 1";

static int make_job(void **state)
{
    if (make_images(state) < 0)
        return -1;
    make_pipeline();
    return 0;
}

static void put_job(const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/job.yaml", folder);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* The lines of job.yaml that differ from `job`. */
static void expect_one_line(void)
{
    put_job(job);
    expect_success(shell("cp job.yaml old.yaml"));
}

TEST(the_file_is_edited_in_place)
{
    expect_one_line();
    expect_success(shell("chmod 604 job.yaml && " PLANTED "job.yaml -q --write job.yaml"));
    expect_in(out, "1,000 samples/s instead of 400 with\n  --set engine.threads=4\n");
    expect_in(out, "written to job.yaml");
    expect_in(out, "not tried: ");
    assert_int_equal(
        shell("diff old.yaml job.yaml > d; grep '^>' d && stat -c %%a job.yaml && $L plan "
              "job.yaml >p"),
        0);
    assert_string_equal(out, "> engine: {threads: 4}   # too few\n604\n");
}

TEST(a_patch_changes_it_likewise)
{
    expect_one_line();
    expect_success(shell(PLANTED "job.yaml -q --diff > p && cmp job.yaml old.yaml && cat p"));
    expect_in(out, "--- job.yaml\n+++ job.yaml\n@@ ");
    expect_in(out, "\n-engine: {threads: 1}   # too few\n+engine: {threads: 4}   # too few\n");
    if (shell("patch --version") != 0)
        return;
    expect_success(shell("patch -p0 < p && $L plan job.yaml && ! cmp job.yaml old.yaml"));
    expect_one_line(); /* by a name that patch itself refuses */
    expect_success(shell(PLANTED "\"$PWD/job.yaml\" -q --diff > p && patch job.yaml < p && $L plan "
                                 "job.yaml && ! cmp job.yaml old.yaml"));
}

/* JSON is UTF-8: the name is escaped, and the lines stay lines. */
TEST(a_patch_has_lines_in_json_whatever_the_name)
{
    expect_one_line();
    expect_success(
        shell("n=$(printf 'caf\\351.yaml') && cp job.yaml \"$n\" && " PLANTED "\"$n\" -q --json"));
    json_t *const json = parse_out();
    const char *const patch = json_string_value(json_object_get(json, "patch"));
    static const char head[] = "--- caf\\xe9.yaml\n+++ caf\\xe9.yaml\n@@ ";
    assert_non_null(patch);
    assert_int_equal(strncmp(patch, head, strlen(head)), 0);
    json_decref(json);
}

TEST(another_file_says_where_it_is_from)
{
    expect_one_line();
    expect_success(shell("rm -f t.yaml; " PLANTED "job.yaml -q --write t.yaml --json=j > o && "
                         "cmp job.yaml old.yaml && head -2 t.yaml && $L plan t.yaml > p && cat j"));
    static const char first[] = "# Written by `leat tune` from job.yaml on cpu: 2.50 times as fast "
                                "(95 % interval 2.25 to 2.75).\n# my job\n";
    assert_int_equal(strncmp(out, first, strlen(first)), 0);
    expect_in(out, "\"patch\": \"--- job.yaml\\n");
    /* Such a file may be tuned again, and has one such line. */
    expect_success(shell(PLANTED "t.yaml -q --set engine.threads=1 --write t.yaml && "
                                 "grep -c Written t.yaml"));
    expect_in(out, "\n1\n");
}

/* Nothing is lost: the lines are printed, and the file is as it was. */
TEST(a_file_that_changed_meanwhile_is_not_written)
{
    expect_one_line();
    assert_int_equal(
        shell("export LEAT_PLANTED_MEANWHILE=\"echo '# mine' >> old.yaml; cp old.yaml "
              "job.yaml\"; " PLANTED
              "job.yaml -q --write job.yaml; c=$?; cmp old.yaml job.yaml || c=9; exit $c"),
        1);
    expect_in(out, "--set engine.threads=");
    expect_in(err, "job.yaml: changed while tune measured");
}

TEST(what_cannot_be_edited_is_printed)
{
    expect_one_line();
    assert_int_equal(shell(PLANTED
                           "job.yaml -q --set "
                           "'pipeline.map={ops: [decode_jpeg, {sleep: 2}, {center_crop: 16}, "
                           "cast]}' --write job.yaml"),
                     1);
    expect_in(out, "--set engine.threads=");
    expect_in(err, "job.yaml was not written; write the lines above into it: job.yaml:");
    expect_success(shell("cmp job.yaml old.yaml"));
}

/* Whatever wins, or nothing. */
TEST(it_measures_and_says_what_it_wrote)
{
    expect_one_line();
    expect_success(shell("$L tune job.yaml -q --seconds 1 --write job.yaml"));
    const bool none = strstr(out, "nothing was written to job.yaml") != NULL;
    assert_true(none || (strstr(out, "\nwritten to job.yaml") && strstr(out, "  --set ")));
    assert_int_equal(shell("cmp -s job.yaml old.yaml"), !none);
}

SUITE_FIXTURE(make_job, command_remove_folder)
