/* SPDX-License-Identifier: MIT
 *
 * test_trainer_errors.c: mistakes in a config, a feed, a batch or a label are reported with their place,
 * before any training. */
#include "fixtures/train_fixture.h"

#include <math.h>

TEST(a_wrong_label_stops_before_it_teaches)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 3 }, 4);
    static const char text[] = "train: {model: [dense: 3], loss: softmax_cross_entropy}";
    fixture a, b;
    float *x = random_floats(0, 12);
    int64_t y[4] = { 0, 2, 3, 1 };
    const leat_view xs = batch_view(&feed.input, 4, x), ys = batch_view(&feed.target, 4, y);
    fixture_must_open(&a, text, &feed);
    fixture_must_open(&b, text, &feed);
    assert_int_equal(leat_trainer_step_views(a.trainer, &xs, &ys, 4, true, &a.err), LEAT_E_DATA);
    assert_non_null(strstr(a.err.message, "row 2"));
    assert_non_null(strstr(a.err.message, "label 3"));
    assert_non_null(strstr(a.err.message, "3 classes"));
    assert_true(fixture_same_weights(&a, &b));
    assert_int_equal(fixture_metrics(&a).samples, 0);
    assert_true(isnan(fixture_metrics(&a).loss));
    free(x);
    fixture_close(&a);
    fixture_close(&b);
}

TEST(views_that_do_not_fit_are_refused)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 3 }, 4);
    const leat_trainer_feed other = feed_of(LEAT_F32, 1, (int64_t[]){ 4 }, 4);
    fixture f;
    float x[16] = { 0 };
    int64_t y[4] = { 0 };
    const leat_view wide = batch_view(&other.input, 4, x), right = batch_view(&feed.input, 4, x);
    leat_view ys = batch_view(&feed.target, 4, y);
    fixture_must_open(&f, "train: {model: [dense: 3], loss: softmax_cross_entropy}", &feed);
    assert_int_equal(leat_trainer_step_views(f.trainer, &wide, &ys, 4, true, &f.err),
                     LEAT_E_ARGUMENT);
    assert_non_null(strstr(f.err.message, "float32[4, 4]"));
    ys.shape.dtype = LEAT_I32;
    assert_int_equal(leat_trainer_step_views(f.trainer, &right, &ys, 4, true, &f.err),
                     LEAT_E_ARGUMENT);
    assert_int_equal(leat_trainer_step_views(f.trainer, &right, &ys, 0, true, &f.err),
                     LEAT_E_ARGUMENT);
    fixture_close(&f);
}

typedef struct bad_config {
    const char *text;
    const char *where, *said;
} bad_config;

#define LOSS ", loss: softmax_cross_entropy}"

static const bad_config bad_configs[] = {
    { "source: {}", "test.yaml:1:1", "no `train` part" },
    { "train: {loss: softmax_cross_entropy}", "test.yaml:1:8", "'model'" },
    { "train: {model: [dense: 10]}", "test.yaml:1:8", "'loss'" },
    { "train: {model: dense" LOSS, "test.yaml:1:16", "list of layers" },
    { "train: {model: []" LOSS, "test.yaml:1:16", "list of layers" },
    { "train: {model: [flatten]" LOSS, "test.yaml:1:16", "nothing to learn" },
    { "train:\n  model:\n    - conv2: {filters: 3}\n  loss: softmax_cross_entropy", "test.yaml:3:7",
      "did you mean 'conv2d'" },
    { "train: {model: [flatten, dense]" LOSS, "test.yaml:1:26", "'units'" },
    { "train: {model: [flatten, dense: {units: 0}]" LOSS, "test.yaml:1:41", "units" },
    { "train: {model: [flatten, dense: {unit: 3}]" LOSS, "test.yaml:1:34", "did you mean 'units'" },
    { "train: {model: [flatten, relu: 3, dense: 3]" LOSS, "test.yaml:1:32", "takes no options" },
    { "train: {model: [dense: 10]" LOSS, "test.yaml:1:17",
      "dense needs a vector, got [32, 32, 3]: put flatten before it" },
    { "train: {model: [flatten, dense: 128, conv2d: {filters: 3}]" LOSS, "test.yaml:1:38",
      "conv2d needs an image [height, width, channels], got [128]" },
    { "train: {model: [max_pool: 33, flatten, dense: 10]" LOSS, "test.yaml:1:17",
      "33 × 33 does not fit into an image of 32 × 32" },
    { "train: {model: [max_pool: [1, 2, 3], flatten, dense: 10]" LOSS, "test.yaml:1:17",
      "one number or [height, width]" },
    { "train: {model: [conv2d: {filters: 2, kernel: 2, dilation: 3, padding: 4}, flatten, dense: "
      "10]" LOSS,
      "test.yaml:1:17", "padding 4 is not smaller than its window, which reaches over 4 pixels" },
    { "train: {model: [conv2d: {filters: 2, padding: some}, flatten, dense: 10]" LOSS,
      "test.yaml:1:47", "padding" },
    { "train: {model: [conv2d: {filters: 10}]" LOSS, "test.yaml:1:47",
      "needs a vector of one value per class, the model gives [30, 30, 10]" },
    { "train: {model: [flatten, dense: 9]" LOSS, "test.yaml:1:43", "the source has 10 classes" },
    { "train: {model: [flatten, dense: 10], loss: softmax}", "test.yaml:1:44",
      "softmax_cross_entropy" },
    { "train: {model: [flatten, dense: 3], loss: binary_cross_entropy}", "test.yaml:1:43",
      "as many units as a sample has targets" },
    { "train: {model: [flatten, dense: 1], loss: binary_cross_entropy}", "test.yaml:1:43",
      "the source has 10" },
    { "train: {model: [flatten, dense: 10], loss: softmax_cross_entropy, optimizer: sdg}",
      "test.yaml:1:78", "did you mean 'sgd'" },
    { "train: {model: [flatten, dense: 10], loss: softmax_cross_entropy, optimizer: {adam: {beta1: "
      "2}}}",
      "test.yaml:1:93", "beta1" },
    { "train: {device: gpu, model: [flatten, dense: 10]" LOSS, "test.yaml:1:17", "gpu" },
    { "train: {modl: [dense: 10]" LOSS, "test.yaml:1:9", "did you mean 'model'" },
    { "train: {model: [flatten, dense: 16777216, dense: 16777216, dense: 16777216, dense: 10]" LOSS,
      "test.yaml:1:43", "larger than 1 TiB" },
    { "train: {model: [dropout: 1, flatten, dense: 10]" LOSS, "test.yaml:1:26", "rate" },
    { "train: {model: [conv2d: {filters: 2, dilation: [1, 2, 3]}, flatten, dense: 10]" LOSS,
      "test.yaml:1:17", "its dilation is one number or [height, width], got 3 numbers" },
    /* names */
    { "train: {model: [flatten, relu: {name: input}, dense: 10]" LOSS, "test.yaml:1:26",
      "'input' is the name of the batch" },
    { "train: {model: [flatten: {name: a}, relu: {name: a}, dense: 10]" LOSS, "test.yaml:1:37",
      "another layer is named 'a'" },
    { "train: {model: [flatten: {name: 1.dense}, dense: 10]" LOSS, "test.yaml:1:43",
      "another layer is named '1.dense', as this one is without `name`" },
    { "train: {model: [flatten, dense: {units: 10, name: average}]" LOSS, "test.yaml:1:26",
      "begins with 'average', as other values do in files of checkpoints" },
    { "train: {model: [flatten, dense: {units: 10, name: optimizer.0}]" LOSS, "test.yaml:1:26",
      "begins with 'optimizer'" },
    { "train: {model: [flatten, dense: {units: 10, name: "
      "0123456789012345678901234567890123456789012345678901234567890123}]" LOSS,
      "test.yaml:1:26", "has 64 bytes, at most 63" },
    /* wires */
    { "train: {model: [flatten: {from: late}, dense: {units: 10, name: late}]" LOSS,
      "test.yaml:1:33", "no layer 'late' stands before this one" },
    { "train: {model: [flatten, relu: {from: 1.relu}, dense: 10]" LOSS, "test.yaml:1:39",
      "no layer '1.relu' stands before this one" },
    { "train: {model: [flatten, relu: {from: []}, dense: 10]" LOSS, "test.yaml:1:39",
      "relu reads one layer, not 0" },
    { "train: {model: [conv2d: {filters: 2, name: a}, flatten: {from: input}, dense: 10]" LOSS,
      "test.yaml:1:17", "no layer reads the output of layer 'a'" },
    /* the end and the loss */
    { "train: {model: [flatten, dense: 1, sigmoid], loss: binary_cross_entropy}", "test.yaml:1:52",
      "ends with sigmoid: leave it out, binary_cross_entropy includes it" },
    { "train: {model: [flatten, dense: 1], loss: {binary_cross_entropy: {with_logits: false}}}",
      "test.yaml:1:43", "this one ends with dense: leave out with_logits" },
};

TEST(bad_configs_say_where_and_what)
{
    leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ 32, 32, 3 }, 4);
    feed.n_classes = 10;
    for (size_t i = 0; i < sizeof bad_configs / sizeof *bad_configs; i++) {
        const bad_config *bad = &bad_configs[i];
        fixture f;
        const int rc = fixture_open(&f, bad->text, &feed);
        if (rc != LEAT_E_CONFIG || f.err.code != rc ||
            strncmp(f.err.message, bad->where, strlen(bad->where)) != 0 ||
            !strstr(f.err.message, bad->said))
            fail_msg("%s\ngave %s: %s\nexpected %s … %s", bad->text, leat_code_name(rc),
                     f.err.message, bad->where, bad->said);
        fixture_close(&f);
    }
}

TEST(inputs_and_targets_of_wrong_type_are_refused)
{
    static const char text[] = "train: {model: [flatten, dense: 10]" LOSS;
    leat_trainer_feed feed = feed_of(LEAT_I64, 1, (int64_t[]){ 4 }, 4);
    fixture f;
    assert_int_equal(fixture_open(&f, text, &feed), LEAT_E_CONFIG);
    assert_non_null(strstr(f.err.message, "add the op cast"));
    fixture_close(&f);
    feed = feed_of(LEAT_F32, 1, (int64_t[]){ 4 }, 4);
    feed.target = leat_shape_make(LEAT_F32, 0, NULL);
    assert_int_equal(fixture_open(&f, text, &feed), LEAT_E_CONFIG);
    assert_non_null(strstr(f.err.message, "whole number"));
    fixture_close(&f);
    static const char *const losses[] = { "mean_squared_error", "binary_cross_entropy",
                                          "softmax_cross_entropy" };
    for (int i = 0; i < 3; i++)
        for (int half = 0; half < 2; half++) {
            char one[128];
            feed.target = leat_shape_make(half ? LEAT_F16 : LEAT_BF16, 0, NULL);
            snprintf(one, sizeof one, "train: {model: [dense: 1], loss: %s}", losses[i]);
            assert_int_equal(fixture_open(&f, one, &feed), LEAT_E_CONFIG);
            assert_non_null(strstr(f.err.message, half ? "got float16" : "got bfloat16"));
            fixture_close(&f);
        }
    feed = feed_of(LEAT_F32, 1, (int64_t[]){ 0 }, 4);
    assert_int_equal(fixture_open(&f, text, &feed), LEAT_E_CONFIG);
    fixture_close(&f);
}

/* Samples and targets are mixed together, or neither, unless `label: none` says that only samples are. */
TEST(what_is_mixed_is_what_the_model_reads)
{
    enum { N = 8 };
    static float x[N * 4 * 4], y[N * 3];
    static const struct {
        const char *names, *map, *said;
    } cases[] = {
        { "", "[mixup: 1]", NULL },
        { "target: y, ", "[mixup: {label: y}]", NULL },
        { "target: y, ", "[mixup: {label: none}]", NULL },
        { "input: x, ", "{tensor: x, ops: [cutmix: {label: label}]}", NULL },
        { "input: x, target: y, ", "[mixup: 1]", NULL },
        { "target: y, ", "[mixup: 1]",
          "a map after batch mixes 'image' and 'label', but the model reads 'image' and learns "
          "'y': write `map: {tensor: image, ops: [{mixup: {label: y}}]}` (or cutmix)" },
        { "input: x, ", "[cutmix]",
          "a map after batch mixes 'label' and 'image', but the model reads 'x' and learns "
          "'label': write `map: {tensor: x, ops: [{mixup: {label: label}}]}`" },
        { "input: x, target: y, ", "{tensor: y, ops: [mixup]}", "mixes 'y' and 'label'" },
        { "input: x, target: y, ", "{tensor: y, ops: [mixup: {label: none}]}",
          "a map after batch mixes 'y', which the model learns, and not 'x', which it reads: write "
          "`map: {tensor: x, ops: [{mixup: {label: y}}]}`" },
        { "", "{tensor: label, ops: [mixup: {label: none}]}", "mixes 'label', which the model" },
        { "input: x, target: y, ", "{tensor: label, ops: [mixup: {label: none}]}", NULL },
    };
    const leat_shape image = leat_shape_make(LEAT_F32, 3, (int64_t[]){ 4, 4, 1 });
    const leat_shape weights = leat_shape_make(LEAT_F32, 1, (int64_t[]){ 3 });
    const leat_rows rows[] = {
        { "image", image, x }, { "x", image, x }, { "label", weights, y }, { "y", weights, y }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_builder *const builder = leat_builder_open();
        char text[200];
        fixture f = { 0 };
        snprintf(text, sizeof text,
                 "train: {%smodel: [flatten, dense: 3], loss: softmax_cross_entropy}",
                 cases[i].names);
        leat_builder_rows(builder, N, rows, 4);
        leat_builder_stage(builder, "batch", "4");
        leat_builder_stage(builder, "map", cases[i].map);
        leat_plan *plan = plan_of_builder(builder);
        assert_int_equal(leat_config_parse(text, "t.yaml", &f.config, &f.err), LEAT_OK);
        assert_int_equal(leat_trainer_open_device(f.config, &f.device, &f.err), LEAT_OK);
        const int rc = leat_trainer_open(f.config, plan, f.device, &f.trainer, &f.err);
        if (rc != (cases[i].said ? LEAT_E_CONFIG : LEAT_OK) ||
            (rc < 0 && !strstr(f.err.message, cases[i].said)))
            fail_msg("%zu: %s", i, rc < 0 ? f.err.message : "taken");
        fixture_close(&f);
        leat_plan_close(&plan);
    }
}

/* Without data, the target of every loss is one that it takes, for any number of outputs. */
TEST(a_model_without_data_fits_every_loss)
{
    const leat_shape input = leat_shape_make(LEAT_F32, 3, (int64_t[]){ 8, 8, 3 });
    for (size_t i = 0; leat_loss_at(i); i++)
        for (int outputs = 1; outputs <= 5; outputs++) {
            char text[160];
            fixture f = { 0 };
            snprintf(text, sizeof text, "train: {model: [flatten, dense: %d], loss: %s}", outputs,
                     leat_loss_at(i)->kind.name);
            if (leat_config_parse(text, "t", &f.config, &f.err) < 0 ||
                leat_trainer_open_device(f.config, &f.device, &f.err) < 0 ||
                leat_trainer_open_shape(f.config, &input, 4, f.device, &f.trainer, &f.err) < 0)
                fail_msg("%s: %s", text, f.err.message);
            static const int64_t wrong[] = { 0, -1, (1 << 24) + 1, INT64_MAX };
            for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
                leat_trainer *none = NULL;
                assert_int_equal(
                    leat_trainer_open_shape(f.config, &input, wrong[k], f.device, &none, &f.err),
                    LEAT_E_ARGUMENT);
                assert_null(none);
            }
            fixture_close(&f);
        }
}

/* The step names the first layer whose output is not finite, and changes no weight. */
TEST(a_loss_that_is_not_finite_names_the_layer)
{
    static const char text[] =
        "train: {micro_batches: 3, threads: 2, model: [conv2d: {filters: 3, name: first}, "
        "batch_norm, relu, flatten, dense: {units: 4, name: second}, dense: {units: 3, name: "
        "third}], loss: softmax_cross_entropy}";
    static const struct {
        int32_t layer;
        const char *said;
    } cases[] = { { 0, "is that of layer 'first'" },
                  { 4, "is that of layer 'second'" },
                  { 5, "is that of layer 'third'" },
                  { -1, "because the model's input is not" } };
    const leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ 5, 5, 2 }, 9);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float *x = random_floats(1, 9 * 50);
        int64_t labels[9] = { 0 };
        const leat_view xs = batch_view(&feed.input, 9, x),
                        ys = batch_view(&feed.target, 9, labels);
        fixture f, same;
        fixture *const both[] = { &f, &same };
        for (int k = 0; k < 2; k++) {
            fixture_must_open(both[k], text, &feed);
            leat_trainer *t = both[k]->trainer;
            if (cases[i].layer < 0)
                continue;
            float *bias = read_param(t, cases[i].layer, 1);
            bias[1] = INFINITY;
            t->backend->write(t->net, cases[i].layer, 1, LEAT_VALUES_WEIGHT, bias, NULL);
            free(bias);
        }
        if (cases[i].layer < 0)
            x[7 * 50] = NAN;
        assert_int_equal(leat_trainer_step_views(f.trainer, &xs, &ys, 9, true, &f.err),
                         LEAT_E_DATA);
        if (!strstr(f.err.message, cases[i].said))
            fail_msg("%s", f.err.message);
        float *a = read_param(f.trainer, 4, 0), *b = read_param(same.trainer, 4, 0);
        assert_memory_equal(a, b, sizeof(float) * 27 * 4);
        free(a);
        free(b);
        free(x);
        fixture_close(&f);
        fixture_close(&same);
    }
}
