/* SPDX-License-Identifier: MIT
 *
 * test_note.c: what a plan says about itself. */
#include "fixtures/compressed.h"
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"

#include "pipeline/build/stage.h"

TEST(notes_are_kept_once_and_in_order)
{
    leat_build build = { .plan = calloc(1, sizeof *build.plan) };
    char want[32];
    assert_null(leat_plan_note(build.plan, 0));
    for (int i = 0; i < LEAT_MAX_NOTES; i++) {
        leat_note_add(build.plan, "stage %d: said", i);
        snprintf(want, sizeof want, "stage %d: said", i);
        assert_string_equal(leat_plan_note(build.plan, i), want);
    }
    for (int twice = 0; twice < 2; twice++)
        for (int i = 0; i < LEAT_MAX_NOTES + 3; i++)
            leat_note_add(build.plan, "stage %d: said", i);
    for (int i = 0; i < LEAT_MAX_NOTES - 1; i++) {
        snprintf(want, sizeof want, "stage %d: said", i);
        assert_string_equal(leat_plan_note(build.plan, i), want);
    }
    assert_string_equal(leat_plan_note(build.plan, LEAT_MAX_NOTES - 1), "and 4 more notes");
    assert_null(leat_plan_note(build.plan, LEAT_MAX_NOTES));
    assert_null(leat_plan_note(build.plan, -1));
    leat_note_clear(build.plan);
    free(build.plan);
}

TEST(a_long_note_is_whole)
{
    leat_build build = { .plan = calloc(1, sizeof *build.plan) };
    char longer[5000]; /* as with the path of a file */
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    leat_note_add(build.plan, "%s", longer);
    assert_string_equal(leat_plan_note(build.plan, 0), longer);
    leat_note_add(build.plan, "%s", longer);
    assert_null(leat_plan_note(build.plan, 1));
    leat_note_clear(build.plan);
    free(build.plan);
}

/* --- notes of the files ------------------------------------------------------------------------- */

static int make_files(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    for (int i = 0; i < 4; i++) {
        const char name[] = { (char)('a' + i), 0 };
        write_records(in_folder(name), 0, i % 2 ? 3 : 0, 0);
    }
    return 0;
}

/* What a plan says over these files, and how many samples it has. */
static void expect_notes(const char *files, int size, const char *notes, int64_t n_samples)
{
    char text[300], said[600] = "";
    snprintf(text, sizeof text,
             "source: {tfrecord: {files: %s, features: {x: {}}}}\npipeline: [batch: %d]\n", files,
             size);
    assert_int_equal(chdir(test_folder), 0); /* so that names are short */
    leat_plan *plan = plan_of_text(text);
    for (int32_t i = 0; leat_plan_note(plan, i); i++)
        strcat(strcat(said, leat_plan_note(plan, i)), "\n");
    assert_string_equal(said, notes);
    assert_int_equal(leat_plan_get_info(plan)->n_samples, n_samples);
    leat_plan_close(&plan);
}

TEST(files_that_give_nothing_are_told)
{
    expect_notes("[b, d]", 2, "", 6);
    expect_notes("[a, b]", 2, "tfrecord: a holds no record\n", 3);
    expect_notes("[d, c, b, a]", 2, "tfrecord: 2 files hold no record; the first: a\n", 6);
    expect_notes("[b, d, b]", 2, "tfrecord: b is listed twice and read once\n", 6);
    expect_notes("[b, d, '*d', '[ad]']", 2,
                 "tfrecord: a holds no record\n"
                 "tfrecord: d is listed twice and read once\n",
                 6);
    expect_notes("[b, d, '[bd]']", 2,
                 "tfrecord: 2 files are listed twice and read once; the first: b\n", 6);
}

/* … by other names and links, too: the first name in byte order stands for them. */
TEST(a_file_of_two_names_is_read_once)
{
    expect_notes("[b, ./b]", 2, "tfrecord: ./b (also b) is listed twice and read once\n", 3);
    assert_int_equal(symlink("b", in_folder("e")), 0);
    assert_int_equal(link(in_folder("d"), in_folder("f")), 0);
    expect_notes("[b, e]", 2, "tfrecord: b (also e) is listed twice and read once\n", 3);
    expect_notes("'[d-f]'", 2, "tfrecord: d (also f) is listed twice and read once\n", 6);
    unlink(in_folder("e"));
    unlink(in_folder("f"));
}

/* The names of a set say how many files it has; who names a part of it misses nothing. */
TEST(a_file_that_is_missing_from_a_set_is_told)
{
    static const char missing[] = "tfrecord: x-00001-of-00003 is missing: of the 3 files that the "
                                  "names of its set count, 2 are there\n";
    write_records(in_folder("x-00000-of-00003"), 0, 3, 0);
    write_records(in_folder("x-00002-of-00003"), 3, 3, 0);
    expect_notes("'x-*3'", 2, missing, 6);
    expect_notes("[x-00000-of-00003, x-00002-of-00003]", 2, "", 6);
    expect_notes("'x-*[02]-of-*3'", 2, "", 6);
    write_records(in_folder("x-00001-of-00003"), 6, 3, 0);
    expect_notes("'x-*3'", 3, "", 9);
}

/* A name cannot end a note or colour a terminal. */
TEST(names_of_files_are_visible)
{
    const char *const odd = "odd\n\x1b[1m\xff";
    write_records(in_folder(odd), 0, 0, 0);
    expect_notes("[b, 'odd*']", 2, "tfrecord: odd\\x0a\\x1b[1m\\xff holds no record\n", 3);
    assert_int_equal(unlink(in_folder(odd)), 0);
}

TEST(a_batch_that_is_never_full_is_told)
{
    expect_notes("[b, d]", 6, "", 6);
    expect_notes("[b, d]", 7,
                 "batch: the 6 samples of a pass make one batch, smaller than its size of 7\n", 6);
}

/* --- options without effect --------------------------------------------------------------------- */

/* The notes of a plan, each in a line. Closes the plan. */
static const char *notes_of(leat_plan *plan)
{
    static char said[2000];
    *said = 0;
    for (int32_t i = 0; leat_plan_note(plan, i); i++)
        strcat(strcat(said, leat_plan_note(plan, i)), "\n");
    leat_plan_close(&plan);
    return said;
}

TEST(a_limit_without_a_policy_is_told)
{
    static const char *const options[] = { "fail", "mask", "{policy: mask, max_errors: 5}",
                                           "{max_errors: 5}",
                                           "{policy: fail, max_errors: unlimited}" };
    float *const rows = make_rows(5);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        leat_builder *b = build_rows(5, rows);
        leat_builder_stage(b, "on_error", options[i]);
        leat_builder_stage(b, "batch", "5");
        assert_string_equal(notes_of(plan_of_builder(b)),
                            i < 3 ? ""
                                  : "on_error: max_errors has no effect with policy: fail, which "
                                    "stops at the first bad record; write policy: mask or "
                                    "replace\n");
    }
    free(rows);
}

static void write_compressed(const char *name)
{
    size_t n, size;
    uint8_t *const bytes = read_whole(in_folder("b"), &n);
    assert_non_null(bytes);
    uint8_t *const packed = compressed(bytes, n, 0, n, &size);
    assert_non_null(packed);
    put_file(name, packed, size);
    free(packed);
    free(bytes);
}

TEST(direct_reads_that_are_none_are_told)
{
    static const struct {
        const char *source, *kind; /* kind NULL: they are direct */
    } cases[] = {
        { "tfrecord: {files: b, features: {x: {}}}", NULL },
        { "tfrecord: {files: packed, features: {x: {}}}", "tfrecord" },
        { "images: set", "images" },
        { "concat: [{tfrecord: {files: b, features: {x: {}}}}]", NULL },
        { "concat: [{images: set}]", "concat" },
        /* some are */
        { "concat: [{tfrecord: {files: packed, features: {x: {}}}}, "
          "{tfrecord: {files: b, features: {x: {}}}}]",
          NULL },
        { "concat: [{tfrecord: {files: b, features: {x: {}}}}, "
          "{tfrecord: {files: packed, features: {x: {}}}}]",
          NULL },
    };
    write_compressed("packed");
    put_file("set/class/one.jpg", "\xff\xd8\xff\xe0 and no more", 16);
    assert_int_equal(chdir(test_folder), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int direct = 0; direct < 2; direct++) {
            char want[200];
            snprintf(want, sizeof want,
                     "engine.io: direct has no effect: source '%s' does not read its records by "
                     "io_uring\n",
                     cases[i].kind ? cases[i].kind : "");
            leat_plan *const plan = plan_format(
                "source: {%s}\npipeline: [%sbatch: 1]\nengine: {io: %s}\n", cases[i].source,
                strstr(cases[i].source, "set") ? "map: [decode_jpeg, {resize: [8, 8]}], " : "",
                direct ? "direct" : "buffered");
            const char *const notes = notes_of(plan);
            assert_int_equal(strstr(notes, want) != NULL, direct && cases[i].kind);
            assert_int_equal(strstr(notes, "has no effect") != NULL, direct && cases[i].kind);
        }
}

/* Memory is for the samples that there are. */
TEST(a_slot_is_no_larger_than_a_pass)
{
    leat_error err;
    leat_plan *plan[2];
    leat_budget budget[2];
    float *const rows = make_rows(5);
    for (int i = 0; i < 2; i++) {
        leat_builder *b = build_rows(5, rows);
        leat_builder_stage(b, "batch", i ? "16777216" : "5");
        plan[i] = plan_of_builder(b);
        check(leat_plan_budget(plan[i], NULL, &budget[i], &err), &err);
    }
    assert_int_equal(budget[0].slot_bytes, budget[1].slot_bytes);
    leat_loader *loader = open_loader(plan[1], &(leat_loader_options){ .epochs = 2 });
    for (int epoch = 0; epoch < 2; epoch++) {
        leat_batch *batch;
        check(leat_loader_next(loader, &batch, &err), &err);
        assert_int_equal(leat_batch_get_info(batch)->rows, 5);
        assert_memory_equal(leat_batch_tensor(batch, 0).data, rows, 5 * ROW_FLOATS * sizeof *rows);
        leat_batch_release(batch);
    }
    leat_loader_close(&loader);
    leat_plan_close(&plan[0]);
    leat_plan_close(&plan[1]);
    free(rows);
}

SUITE_FIXTURE(make_files, remove_folder)
