/* SPDX-License-Identifier: MIT
 *
 * test_combined_errors.c: which combinations of sources are refused, and that a message about a part (a note
 * or a bad record) names the part. */
#include "fixtures/combined_fixture.h"

static void refused(const char *source, const char *says)
{
    leat_plan *plan;
    leat_error err;
    if (combined_try_plan(source, "", "[{batch: 4}]", &plan, &err) >= 0)
        fail_msg("%s opens", source);
    assert_null(plan);
    if (!strstr(err.message, says) || strncmp(err.message, "c.yaml:1:", 9))
        fail_msg("%s\nsays: %s\nnot: %s", source, err.message, says);
}

static void errors_say_what_and_where(void **state)
{
    (void)state;
    refused("{concat: []}", "sources is a list");
    refused("{concat: {tfrecord: 'A'}}", "option");
    refused("{concat: [7]}", "each entry is a source");
    refused("{concat: [{pipeline: [shuffle]}]}", "each entry is a source");
    refused("{concat: [{tfrecord: 'A', images: 'I'}]}", "own dash");
    refused("{concat: [{tfrecrd: 'A'}]}", "did you mean 'tfrecord'");
    refused("{concat: [" XA ", pipeline: [{batch: 3}]}]}", "batch is not allowed in the pipeline");
    refused("{concat: [" XA ", pipeline: [{map: [cast]}]}]}", "map is not allowed in the pipeline");
    refused("{concat: [" XA ", pipeline: shuffle}]}", "pipeline must be a list");
    refused("{concat: [" XA ", pipeline: [{skip: 99}]}]}", "skip removes all 40");
    refused("{concat: [" XA ", pipeline: [{repeat: forever}]}, " XB "}]}", "never be used");
    refused("{interleave: {cycle_length: 1, sources: [" XA ", pipeline: [repeat]}, " XB "}]}}",
            "never be used");
    refused("{mix: {weights: [1], sources: [" XA "}, " XB "}]}}", "a list of 2 numbers");
    refused("{mix: {weights: [1, 0], sources: [" XA "}, " XB "}]}}",
            "a weight is a number above 0");
    refused("{mix: {weights: [1, -1], sources: [" XA "}, " XB "}]}}", "above 0");
    refused("{mix: {weights: [1, 1e3], sources: [" XA "}, " XB "}]}}", "above 0");
    refused("{mix: {weights: [1, .], sources: [" XA "}, " XB "}]}}", "above 0");
    refused("{mix: {weights: [1, [2]], sources: [" XA "}, " XB "}]}}", "above 0");
    refused("{mix: {weights: [1, 0.0000000001], sources: [" XA "}, " XB "}]}}", "above 0");
    refused("{mix: {weights: [1, 65536], sources: [" XA "}, " XB "}]}}", "round them");
    refused("{mix: {stop: 0, sources: [" XA "}]}}", "stop");
    refused("{mix: [" XA "}, {tfrecord: {files: 'B', features: {x: {}}}}]}",
            "source 2 (tfrecord: {features: {x: {}}");
    refused("{mix: [" XA "}, {tfrecord: {files: 'B', features: {x: {}}}}]}",
            "and source 1 (tfrecord:");
    refused("{mix: [" XA "}, {tfrecord: {files: 'B', features: {x: {key: id}, id: {shape: []}}}}]}",
            "'x' as int64[] and source 1");
    refused("{zip: [" XA "}, " XB "}]}", "both have a tensor 'x'");
    refused("{zip: [" XA ", pipeline: [shuffle]}]}", "must be the same in every epoch");
    refused("{zip: [" XA ", pipeline: [{repeat: 2}]}]}", "must be the same in every epoch");
    refused("{zip: [{concat: [" XA ", pipeline: [shuffle]}]}]}", "must be the same");
}

/* What a source's own pipeline has to say is said with its number. */
static void notes_of_the_parts_reach_the_plan(void **state)
{
    leat_plan *plan;
    leat_error err;
    (void)state;
    check(combined_try_plan("{concat: [" XA "}, {mix: [" XA "}, " XB
                            ", pipeline: [{filter: {feature: id, min: 103}}]}]}]}",
                            "", "[{batch: 4}]", &plan, &err),
          &err);
    assert_non_null(leat_plan_note(plan, 0));
    assert_string_equal(leat_plan_note(plan, 0), "source 2: source 2: filter: keeps 22 of 25 "
                                                 "samples; all of them are read once, at open");
    assert_null(leat_plan_note(plan, 1));
    leat_plan_close(&plan);
}

/* … of every kind of source, and all that a part has to say. */
static void every_kind_names_its_parts(void **state)
{
    static const char *const kinds[] = { "concat", "mix", "interleave" };
    static const char kept[] = "source 1: filter: keeps 30 of 40 samples; all of them are read "
                               "once, at open";
    char source[600];
    leat_plan *plan;
    leat_error err;
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        snprintf(source, sizeof source,
                 "{%s: [" XA ", pipeline: [{filter: {feature: id, min: 10}}, {shuffle: {window: "
                 "8}}]}, " XB ", pipeline: [{shuffle: {window: 6}}]}]}",
                 kinds[k]);
        check(combined_try_plan(source, "", "[{batch: 4}]", &plan, &err), &err);
        assert_string_equal(leat_plan_note(plan, 0), kept);
        assert_ptr_equal(strstr(leat_plan_note(plan, 1), "source 1: shuffle: with a window of 8"),
                         leat_plan_note(plan, 1));
        assert_ptr_equal(strstr(leat_plan_note(plan, 2), "source 2: shuffle: with a window of 6"),
                         leat_plan_note(plan, 2));
        assert_null(leat_plan_note(plan, 3));
        leat_plan_close(&plan);
    }
    check(combined_try_plan(
              "{zip: [{tfrecord: {files: 'A', features: {id: {shape: []}}}, pipeline: "
              "[{filter: {feature: id, min: 10}}]}, {tfrecord: {files: 'C', features: {label: "
              "{shape: []}}}}]}",
              "", "[{batch: 4}]", &plan, &err),
          &err);
    assert_string_equal(leat_plan_note(plan, 0), kept);
    assert_null(leat_plan_note(plan, 1));
    leat_plan_close(&plan);
}

/* A damaged record is named by its own file and number there. */
static void a_bad_record_is_named_by_its_file(void **state)
{
    static const struct {
        const char *source, *first;
    } cases[] = {
        { "{concat: [" XA "}, " XB "}]}", NULL },
        { "{mix: [" XA "}, {concat: [" XB "}]}]}", NULL },
        { "{zip: [" XB "}, {tfrecord: {files: 'A', features: {y: {key: x}}}}]}", "a.tfrecord" },
    };
    char bad[80], side[90], command[400];
    (void)state;
    snprintf(bad, sizeof bad, "%s/b.good", test_folder);
    snprintf(command, sizeof command, "cp %s %s", b, bad);
    assert_int_equal(system(command), 0);
    leat_plan *plan;
    leat_error err;
    check(combined_try_plan(cases[0].source, "", "[{batch: 4}]", &plan, &err),
          &err); /* makes the index */
    leat_plan_close(&plan);
    FILE *f = fopen(b, "r+b"); /* a byte near the end: in the last record */
    fseek(f, -8, SEEK_END);
    const int byte = fgetc(f);
    fseek(f, -8, SEEK_END);
    fputc(byte ^ 1, f);
    fclose(f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int ahead = 0; ahead < 2; ahead++) {
            leat_batch *batch;
            int rc;
            check(combined_try_plan(cases[i].source, ahead ? "" : "reader: pread", "[{batch: 4}]",
                                    &plan, &err),
                  &err);
            leat_loader *loader = open_loader(plan, NULL);
            while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK)
                leat_batch_release(batch);
            assert_int_equal(rc, LEAT_E_DATA);
            if (!strstr(err.message, "b.tfrecord, record 24"))
                fail_msg("%s", err.message);
            if (cases[i].first && !strstr(err.message, cases[i].first))
                fail_msg("%s", err.message);
            leat_loader_close(&loader);
            leat_plan_close(&plan);
        }
    snprintf(side, sizeof side, "%s.idx", b);
    snprintf(command, sizeof command, "mv %s %s; rm -f %s", bad, b, side);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_say_what_and_where),
        cmocka_unit_test(notes_of_the_parts_reach_the_plan),
        cmocka_unit_test(every_kind_names_its_parts),
        cmocka_unit_test(a_bad_record_is_named_by_its_file),
    };
    return cmocka_run_group_tests(tests, make_files, remove_folder);
}
