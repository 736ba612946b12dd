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
          "source.csv.features.more- pipeline.map[1]- ", 2 },
        { ALL, MAP("x") ", " MAP("more") ", " MAP("x") ", " MAP("more") ", {batch: 2}", "{}",
          "source.csv.features.more- pipeline.map[3]- pipeline.map[1]- ", 2 },
        { "x: [a, b], label: c, more: d, most: [a, b, d]", "{batch: 1}", "{}",
          "source.csv.features.more- source.csv.features.most- ", 2 },
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

SUITE_FIXTURE(prepare, remove_folder)
