/* SPDX-License-Identifier: MIT
 *
 * test_suggest_unread.c: which tensors leat doctor leaves out, and that the config without them opens. */
#include "study/suggest/suggest.h"

#include "study/suggest_fixture.h"

static int prepare(void **state)
{
    static const char rows[] = "a,b,c,d\n1,2,0,5\n3,4,1,6\n";
    if (make_folder(state) < 0)
        return -1;
    put_file("rows.csv", rows, sizeof rows - 1);
    return 0;
}

#define MAP(tensor) "{map: {tensor: " tensor ", ops: [{scale: 2}]}}"
#define ALL         "x: [a, b], label: c, more: d"
#define MIDDLE      "x: [a, b], more: d, label: c"

TEST(what_is_left_out)
{
    static const struct {
        const char *features, *stages, *train;
        const char *sets; /* with a space behind each; "": nothing is left out */
        int n_left;       /* tensors */
    } cases[] = {
        { ALL, "{batch: 1}", "{}", "source.csv.features.more- ", 2 },
        { "x: [a, b], label: c", "{batch: 1}", "{}", "", 2 },
        { ALL, "{batch: 1}", "{sample_weight: more}", "", 3 },
        { ALL, "{batch: 1}", "{input: more, target: x}", "source.csv.features.label- ", 2 },
        { ALL, "{batch: 1}", "{target: more}", "source.csv.features.label- ", 2 },
        /* `image` is the default, not the first. */
        { "x: a, image: [a, b], label: c, more: d", "{map: {ops: [{scale: 2}]}}, {batch: 1}", "{}",
          "source.csv.features.x- source.csv.features.more- ", 2 },
        { "x: a, image: [a, b], label: c", "{batch: 1}", "{input: x}", "", 3 },
        { "more: d, x: a, label: c", "{batch: 1}", "{sample_weight: more}", "", 3 },
        /* A map without a name works on the first tensor, which must stay the first. */
        { "more: d, x: a, label: c", "{map: {ops: [{scale: 2}]}}, {batch: 1}", "{input: x}", "",
          3 },
        { ALL, "{map: {ops: [{scale: 2}]}}, " MAP("more") ", {batch: 1}", "{}",
          "pipeline.map[1]- source.csv.features.more- ", 2 },
        { ALL, MAP("x") ", " MAP("more") ", " MAP("x") ", " MAP("more") ", {batch: 2}", "{}",
          "pipeline.map[3]- pipeline.map[1]- source.csv.features.more- ", 2 },
        { "x: [a, b], label: c, more: d, most: [a, b, d]", "{batch: 1}", "{}",
          "source.csv.features.more- source.csv.features.most- ", 2 },
        /* Their maps keep their numbers until they are removed. */
        { ALL ", most: a", MAP("more") ", " MAP("x") ", " MAP("most") ", {batch: 1}", "{}",
          "pipeline.map[2]- pipeline.map[0]- source.csv.features.more- source.csv.features.most- ",
          2 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        leat_doctor_suggestion change = { .n_set = 0 };
        snprintf(text, sizeof text,
                 "source: {csv: {files: %s/rows.csv, features: {%s}}}\npipeline: [%s]\ntrain: %s\n",
                 test_folder, cases[i].features, cases[i].stages, cases[i].train);
        suggest_job job = suggest_job_open(text);
        const leat_suggest_about about = { .config = job.config, .arm = &job.arm };
        assert_int_equal(leat_suggest_unread_any(&about), cases[i].sets[0] != 0);
        leat_suggest_unread_set(&about, &change);
        suggest_job_change(&job, &change, cases[i].sets);
        assert_int_equal(leat_plan_get_info(job.arm.plan)->n_tensors, cases[i].n_left);
        suggest_job_close(&job);
    }
}

/* Batches of another part are taken by place, so what is left out is left out there, too; or nowhere. */
TEST(other_parts_go_with_it)
{
    static const struct {
        const char *features, *stages;
        const char
            *sets; /* of the part "P", behind those of the training; NULL: nothing is left out */
    } cases[] = {
        { MIDDLE, "{batch: 1}", "P.source.csv.features.more- " },
        { MIDDLE, MAP("x") ", " MAP("more") ", {batch: 1}",
          "P.pipeline.map[1]- P.source.csv.features.more- " },
        { "x: [a, b], other: d, label: c", "{batch: 1}", NULL },
        { "x: [a, b], label: c", "{batch: 1}", "" },
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const char *const part = i % 2 ? "eval" : "whiten", *sets = cases[i / 2].sets;
        char text[1024], want[256] = "";
        leat_doctor_suggestion change = { .n_set = 0 };
        snprintf(text, sizeof text,
                 "source: {csv: {files: %s/rows.csv, features: {" MIDDLE "}}}\n"
                 "pipeline: [{batch: 1}]\n%s: {source: {csv: {files: %s/rows.csv, features: "
                 "{%s}}}, pipeline: [%s]}\n",
                 test_folder, part, test_folder, cases[i / 2].features, cases[i / 2].stages);
        suggest_job job = suggest_job_open(text);
        const leat_suggest_about about = { .config = job.config, .arm = &job.arm };
        assert_int_equal(leat_suggest_unread_any(&about), sets != NULL);
        if (sets) {
            leat_suggest_unread_set(&about, &change);
            strcpy(want, "source.csv.features.more- "); /* the training has no maps */
            for (size_t n = strlen(want); *sets; sets++, n = strlen(want))
                snprintf(want + n, sizeof want - n, "%.*s", *sets == 'P' ? 8 : 1,
                         *sets == 'P' ? part : sets);
            suggest_job_change(&job, &change, want);
            leat_plan *other = NULL;
            assert_int_equal(leat_plan_open(job.config, part, &other, NULL), LEAT_OK);
            assert_int_equal(leat_plan_tensor_index(other, "label"), 1);
            leat_plan_close(&other);
        }
        suggest_job_close(&job);
    }
}

/* The draws of an op depend on how many of its name stand before it. */
TEST(other_draws_are_told)
{
    static const struct {
        const char *more, *x;
        bool differs;
    } cases[] = { { "random_brightness: 0.5", "random_brightness: 0.5", true },
                  { "random_brightness: 0.5", "scale: 2", false },
                  { "scale: 2", "random_brightness: 0.5", false },
                  { "scale: 2", "scale: 2", false } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        leat_doctor_suggestion change = { .n_set = 0 };
        snprintf(text, sizeof text,
                 "source: {csv: {files: %s/rows.csv, features: {x: [a, b], label: c, more: [a, "
                 "d]}}}\npipeline: [{map: "
                 "{tensor: more, ops: [{reshape: [1, 2, 1]}, {%s}]}}, {map: {tensor: x, ops: "
                 "[{reshape: [1, 2, 1]}, {%s}]}}, {batch: 1}]\n",
                 test_folder, cases[i].more, cases[i].x);
        suggest_job job = suggest_job_open(text);
        const leat_suggest_about about = { .config = job.config, .arm = &job.arm };
        leat_suggest_unread_set(&about, &change);
        assert_string_equal(change.differs, cases[i].differs ? "other random draws" : "");
        suggest_job_close(&job);
    }
}

SUITE_FIXTURE(prepare, remove_folder)
