/* SPDX-License-Identifier: MIT
 *
 * test_error_fields.c: an error says in its fields what its message says in words: file, line, column and path of a
 * config; file, record and op of data. What is not known is 0, "" or -1, never what was there before. */
#include "fixtures/engine_fixture.h"
#include "fixtures/own_folder.h"

#define N_RECORDS 30

static int make_data(void **state)
{
    return make_parts(state, 2, N_RECORDS / 2, 40);
}

static void expect(const leat_error *err, const char *file, int line, int column, const char *path,
                   int64_t record, const char *op)
{
    if (strcmp(err->file, file) != 0 || err->line != line || err->column != column ||
        strcmp(err->path, path) != 0 || err->record != record || strcmp(err->op, op) != 0)
        fail_msg("%s\nfile '%s' line %d column %d path '%s' record %lld op '%s'", err->message,
                 err->file, err->line, err->column, err->path, (long long)err->record, err->op);
}

/* --- configs ------------------------------------------------------------------------------------ */

#define HEAD "source:\n  tfrecord: {files: '%s', features: {x: {}}}\npipeline:\n"

TEST(a_config_error_has_its_place)
{
    static const struct {
        const char *text; /* after HEAD, which has three lines */
        int line, column;
        const char *path;
    } cases[] = {
        { "  - batch: {size: nine}\n", 4, 19, "pipeline[0].batch.size" },
        { "  - shuffle\n  - bach: 4\n", 5, 5, "pipeline[1]" },
        { "  - shuffle: {sed: 1}\n  - batch: 4\n", 4, 15, "pipeline[0].shuffle.sed" },
        { "  - map: [{cast: int999}]\n  - batch: 4\n", 4, 18, "pipeline[0].map[0].cast" },
        { "  - map: {ops: [{cast: uint8}, {rndom_flip: 1}]}\n  - batch: 4\n", 4, 32,
          "pipeline[0].map.ops[1]" },
        { "  - batch: 4\nengine: {threads: -7}\n", 5, 19, "engine.threads" },
        { "  - batch: 4\n  - [\n", 6, 1, "" }, /* what YAML cannot read has no path */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[600];
        leat_plan *plan;
        leat_error err;
        memset(&err, 'x', sizeof err);
        const int n = snprintf(text, sizeof text, HEAD, in_folder("part-*"));
        snprintf(text + n, sizeof text - (size_t)n, "%s", cases[i].text);
        assert_int_equal(open_text(text, &plan, &err), LEAT_E_CONFIG);
        expect(&err, "test.yaml", cases[i].line, cases[i].column, cases[i].path, -1, "");
    }
}

TEST(an_error_of_a_source_has_its_place)
{
    static const struct {
        const char *features;
        int column;
        const char *path;
    } cases[] = {
        { "{nosuch: {}}", 21, "source.tfrecord.features.nosuch" },
        { "{x: {shape: [7]}}", 24, "source.tfrecord.features.x.shape" },
        { "{x: {shap: [7]}}", 17, "source.tfrecord.features.x.shap" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int policy = 0; policy < 2; policy++) {
            char text[600];
            leat_plan *plan;
            leat_error err;
            memset(&err, 'x', sizeof err);
            snprintf(text, sizeof text,
                     "source: {tfrecord: {files: '%s',\n features: %s}}\n"
                     "pipeline: [{on_error: %s}, {batch: 4}]\n",
                     in_folder("part-*"), cases[i].features, policy ? "mask" : "fail");
            assert_int_equal(open_text(text, &plan, &err), LEAT_E_CONFIG);
            expect(&err, "test.yaml", 2, cases[i].column, cases[i].path, -1, "");
        }
}

TEST(a_value_that_is_set_has_a_path)
{
    leat_config *config;
    leat_plan *plan;
    leat_error err;
    char text[400];
    snprintf(text, sizeof text, HEAD "  - batch: 4\n", in_folder("part-*"));
    check(leat_config_parse(text, "test.yaml", &config, &err), &err);
    check(leat_config_set(config, "pipeline.batch.drop_remainder=maybe", &err), &err);
    memset(&err, 'x', sizeof err);
    assert_int_equal(leat_plan_open(config, NULL, &plan, &err), LEAT_E_CONFIG);
    expect(&err, "--set pipeline.batch.drop_remainder", 0, 0, "pipeline[0].batch.drop_remainder",
           -1, "");
    leat_config_close(&config);
}

/* --- data --------------------------------------------------------------------------------------- */

TEST(a_data_error_has_its_record)
{
    static const char *const ops[] = { "[{fail_at: 21}]", "[{cast: float32}, {fail_at: 21}]" };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int threads = 0; threads < 3; threads++) {
            char text[300];
            leat_batch *batch;
            leat_error err;
            int rc;
            leat_builder *b = leat_builder_open();
            snprintf(text, sizeof text, "{files: '%s', features: {x: {}}}", in_folder("part-*"));
            leat_builder_source(b, "tfrecord", text);
            leat_builder_op(b, &fail_op);
            snprintf(text, sizeof text, "{threads: %d}", threads);
            leat_builder_engine(b, text);
            leat_builder_stage(b, "map", ops[i]);
            leat_builder_stage(b, "batch", "4");
            leat_plan *plan = plan_of_builder(b);
            leat_loader *loader = open_loader(plan, NULL);
            memset(&err, 'x', sizeof err);
            for (int again = 0; again < 2; again++) { /* the same on every later call */
                while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK)
                    leat_batch_release(batch);
                assert_int_equal(rc, LEAT_E_DATA);
                expect(&err, in_folder("part-1.tfrecord"), 0, 0, "", 21, "fail_at");
            }
            close_loader_and_plan(&loader, &plan);
        }
}

TEST(other_errors_have_no_place)
{
    leat_loader *loader = NULL;
    leat_error err;
    memset(&err, 'x', sizeof err);
    assert_int_equal(leat_loader_open(NULL, NULL, &loader, &err), LEAT_E_ARGUMENT);
    expect(&err, "", 0, 0, "", -1, "");
}

TEST(a_copy_says_the_same)
{
    leat_error a, b;
    memset(&b, 'x', sizeof b);
    leat_fail(&a, LEAT_E_DATA, "no %s", "more");
    a.record = 7;
    assert_int_equal(leat_fail_as(&b, &a), LEAT_E_DATA);
    assert_string_equal(b.message, "no more");
    expect(&b, "", 0, 0, "", 7, "");
    assert_int_equal(leat_fail_as(NULL, &a), LEAT_E_DATA);
    leat_fail_in(&b, LEAT_E_IO, "at %d: ", 3);
    assert_string_equal(b.message, "at 3: no more");
    expect(&b, "", 0, 0, "", 7, "");
}

SUITE_FIXTURE(make_data, remove_folder)
