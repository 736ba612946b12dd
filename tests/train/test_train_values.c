/* SPDX-License-Identifier: MIT
 *
 * test_train_values.c: labels that are no class, and values that are no number, in `leat train`: the record is
 * named, `on_error` decides, and a loss that is not finite is not put down to the learning rate. */
#include <math.h>

#include "fixtures/engine_fixture.h"

#include "fixtures/command_fixture.h"

#define N         200
#define N_CLASSES 4

static const char config[] =
    "source: {tfrecord: {files: v.tfrecord, features: {x: {}, label: {}, weight: {}}}}\n"
    "pipeline:\n%s  - batch: 20\n"
    "train:\n  epochs: 2\n  model: [dense: 4]\n  loss: softmax_cross_entropy\n"
    "  optimizer: {sgd: {learning_rate: 0.01}}\n";

/* The record `odd` has this label, this first value and this weight. */
static void write_set(const char *policy, int64_t odd, int64_t label, float value, float odd_weight)
{
    char path[256];
    leat_format_error inner;
    snprintf(path, sizeof path, "%s/v.tfrecord", folder);
    record_writer to = open_records(path);
    for (int64_t r = 0; r < N; r++) {
        const int64_t class = r == odd ? label : r % N_CLASSES;
        float x[8] = { (float)class, 1 };
        const float weight = r == odd ? odd_weight : 1;
        x[0] = r == odd ? value : x[0];
        assert_int_equal(leat_example_add_floats(to.builder, "x", x, 8, &inner), 0);
        assert_int_equal(leat_example_add_int64s(to.builder, "label", &class, 1, &inner), 0);
        assert_int_equal(leat_example_add_floats(to.builder, "weight", &weight, 1, &inner), 0);
        put_record(&to);
    }
    close_records(&to);
    snprintf(path, sizeof path, "%s/v.yaml", folder);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, config, policy);
    fclose(file);
}

TEST(a_label_that_is_no_class_is_a_bad_record)
{
    static const int64_t labels[] = { 4, -1, INT64_MAX };
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        char found[64];
        snprintf(found, sizeof found, "'label' is %lld, but the model has 4 classes",
                 (long long)labels[i]);
        write_set("", 77, labels[i], 0, 1);
        assert_int_equal(shell("$L train v.yaml -q"), 1);
        expect_in(err, "v.tfrecord, record 77 (byte ");
        expect_in(err, found);
        assert_null(strstr(err, "(batch ")); /* told before the first */
        write_set("  - on_error: mask\n", 77, labels[i], 0, 1);
        expect_success(shell("$L train v.yaml -q --errors errors.txt && cat errors.txt"));
        expect_in(out, "v.tfrecord, record 77 (byte ");
        expect_in(out, found);
        expect_in(out, "batch 3");
        write_set("  - on_error: replace\n", 77, labels[i], 0, 1);
        expect_success(shell("$L train v.yaml -q"));
    }
}

TEST(a_value_that_is_no_number_is_named)
{
    static const char *const policies[] = { "", "  - shuffle\n", "  - on_error: mask\n" };
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++)
        for (int infinite = 0; infinite < 2; infinite++) {
            write_set(policies[p], 123, 3, infinite ? INFINITY : NAN, 1);
            assert_int_equal(shell("$L train v.yaml -q"), 1);
            expect_in(err, "the loss is not a finite number");
            expect_in(err, "v.tfrecord, record 123 (byte ");
            expect_in(err, infinite ? "'x': value 0 is infinite" : "'x': value 0 is NaN");
            assert_null(strstr(err, "learning rate"));
        }
    write_set("", 123, 3, 0, 1);
    assert_int_equal(shell("$L train v.yaml -q --set train.optimizer.sgd.learning_rate=1e6 "
                           "--set 'train.model=[dense: 64, dense: 64, dense: 4]'"),
                     1);
    expect_in(err, "learning rate"); /* here it is */
}

TEST(a_weight_that_is_none_is_a_bad_record)
{
    static const struct {
        float weight;
        const char *text;
    } cases[] = { { -2, "'weight' is -2, but" },
                  { NAN, "'weight' is " },
                  { INFINITY, "'weight' is inf" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_set("", 77, 1, 0, cases[i].weight);
        expect_success(shell("$L train v.yaml -q")); /* nothing uses it */
        assert_int_equal(shell("$L train v.yaml -q --set train.sample_weight=weight"), 1);
        expect_in(err, "v.tfrecord, record 77 (byte ");
        expect_in(err, cases[i].text);
        expect_in(err, "batch 3");
        write_set("  - on_error: mask\n", 77, 1, 0, cases[i].weight);
        expect_success(shell("$L train v.yaml -q --set train.sample_weight=weight --errors "
                             "errors.txt && cat errors.txt"));
        expect_in(out, "v.tfrecord, record 77 (byte ");
        expect_in(out, cases[i].text);
    }
}

TEST_FIXTURE(NULL, clean)
SUITE_FIXTURE(command_make_folder, command_remove_folder)
