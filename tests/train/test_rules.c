/* SPDX-License-Identifier: MIT
 *
 * Learning rates and weight decay of single parameters. */
#include "fixtures/train_fixture.h"

#include <math.h>

static const char model[] = "model: [conv2d: {filters: 4, kernel: 3, name: first}, batch_norm, "
                            "relu, flatten, dense: {units: "
                            "5, name: fc}, relu, dense: 3], loss: softmax_cross_entropy";

static int open_with(fixture *f, const char *rules)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ 6, 6, 2 }, 4);
    char text[512];
    snprintf(text, sizeof text, "train: {%s, %s}", model, rules);
    return fixture_open(f, text, &feed);
}

static const leat_model_param *param(const fixture *f, const char *name)
{
    const leat_model *m = &f->trainer->model;
    char is[160];
    for (int32_t i = 0; i < m->n_params; i++) {
        leat_model_param_name(m, m->params[i].layer, m->params[i].index, is, sizeof is);
        if (!strcmp(is, name))
            return &m->params[i];
    }
    fail_msg("there is no %s", name);
    return NULL;
}

static void assert_rate(const fixture *f, const char *name, float rate)
{
    if (param(f, name)->rate != rate)
        fail_msg("%s has rate %g, not %g", name, (double)param(f, name)->rate, (double)rate);
}

TEST(the_most_exact_key_counts)
{
    fixture f;
    assert_int_equal(open_with(&f, "multipliers: {first: 3, fc.weight: 0.5, bias: 2, "
                                   "dense.bias: 4, batch_norm.shift: 64}"),
                     LEAT_OK);
    assert_rate(&f, "first.weight", 3);
    assert_rate(&f, "first.bias", 3);
    assert_rate(&f, "1.batch_norm.scale", 1);
    assert_rate(&f, "1.batch_norm.shift", 64);
    assert_rate(&f, "fc.weight", 0.5f);
    assert_rate(&f, "fc.bias", 4);
    assert_rate(&f, "6.dense.weight", 1);
    assert_rate(&f, "6.dense.bias", 4);
    fixture_close(&f);
    assert_int_equal(open_with(&f, "multipliers: {6.dense: 0}"), LEAT_OK);
    assert_rate(&f, "6.dense.weight", 0);
    fixture_close(&f);
}

/* Names before patterns; of patterns the last one. */
TEST(patterns)
{
    fixture f;
    assert_int_equal(open_with(&f, "multipliers: {'*': 0.1, '[0-9]*.scale': 3, 'f*.weight': 5, "
                                   "fc: 7, bias: 9}, no_decay: ['*.batch_norm', 'f?.bias']"),
                     LEAT_OK);
    assert_rate(&f, "first.weight", 5);
    assert_rate(&f, "first.bias", 9);
    assert_rate(&f, "1.batch_norm.scale", 3);
    assert_rate(&f, "1.batch_norm.shift", 0.1f);
    assert_rate(&f, "fc.weight", 7);
    assert_rate(&f, "fc.bias", 7);
    assert_rate(&f, "6.dense.weight", 0.1f);
    assert_false(param(&f, "1.batch_norm.shift")->decays);
    assert_false(param(&f, "fc.bias")->decays);
    assert_true(param(&f, "first.bias")->decays);
    fixture_close(&f);
    assert_int_equal(open_with(&f, "multipliers: {'first*': 5, '*': 0.1}"), LEAT_OK);
    assert_rate(&f, "first.weight", 0.1f);
    fixture_close(&f);
}

TEST(parameters_without_decay)
{
    fixture f;
    assert_int_equal(open_with(&f, "no_decay: [bias, batch_norm.scale, fc]"), LEAT_OK);
    assert_true(param(&f, "first.weight")->decays);
    assert_false(param(&f, "first.bias")->decays);
    assert_false(param(&f, "1.batch_norm.scale")->decays);
    assert_true(param(&f, "1.batch_norm.shift")->decays);
    assert_false(param(&f, "fc.weight")->decays);
    assert_false(param(&f, "6.dense.bias")->decays);
    fixture_close(&f);
}

/* Rate 0 keeps a parameter as it is; a gradient of 0 moves weights by decay alone. */
TEST(the_update_follows_them)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ 6, 6, 2 }, 4);
    fixture f;
    float x[4 * 72] = { 0 };
    int64_t y[4] = { 0 };
    assert_int_equal(
        open_with(&f, "multipliers: {first.weight: 0.5, fc: 0}, no_decay: [6.dense], optimizer: "
                      "{sgd: {learning_rate: 0.1, weight_decay: 0.4}}"),
        LEAT_OK);
    float *first = read_param(f.trainer, 0, 0), *fc = read_param(f.trainer, 4, 0);
    float *last = read_param(f.trainer, 6, 0);
    fixture_step(&f, &feed, x, y, 4, true);
    float *first2 = read_param(f.trainer, 0, 0), *fc2 = read_param(f.trainer, 4, 0);
    float *last2 = read_param(f.trainer, 6, 0);
    for (size_t i = 0; i < param(&f, "first.weight")->n; i++)
        assert_true(fabsf(first2[i] - first[i] * (1 - 0.05f * 0.4f)) < 1e-6f);
    assert_memory_equal(fc, fc2, param(&f, "fc.weight")->n * sizeof *fc);
    assert_memory_equal(last, last2, param(&f, "6.dense.weight")->n * sizeof *last);
    free(first);
    free(fc);
    free(last);
    free(first2);
    free(fc2);
    free(last2);
    fixture_close(&f);
}

TEST(unknown_keys_are_named)
{
    static const char *const bad[][2] = {
        { "multipliers: {bias: 2, batch_norm.shfit: 64}", "did you mean 'batch_norm.shift'" },
        { "multipliers: {mean: 2}", "trains no 'mean'" },
        { "multipliers: {bias: fast}", "fast" },
        { "multipliers: {bias: -1}", "-1" },
        { "multipliers: {bias: [1]}", "needs a number" },
        { "multipliers: 3", "must be a map" },
        { "no_decay: [bais]", "did you mean 'bias'" },
        { "multipliers: {'fisrt.*': 2}", "did you mean 'first.*'" },
        { "multipliers: {'1.btch_norm.s*': 2}", "did you mean '1.batch_norm.s*'" },
        { "multipliers: {'*.mean': 2}", "trains no '*.mean'" },
        { "frozen: [first], multipliers: {first: 2}", "trains no 'first'" },
        { "frozen: [frist]", "the model has no 'frist'; did you mean 'first'" },
        { "frozen: ['batchnorm.*']", "did you mean 'batch_norm.*'" },
        { "frozen: ['layer9.*']", "a layer, LAYER.PART, or a pattern such as 'layer1.*'" },
        { "frozen: ['*']", "all of train.model is frozen" },
        { "frozen: {first: 1}", "frozen" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fixture f;
        assert_int_equal(open_with(&f, bad[i][0]), LEAT_E_CONFIG);
        if (!strstr(f.err.message, bad[i][1]) || !strstr(f.err.message, "test.yaml:1:"))
            fail_msg("%s: %s", bad[i][0], f.err.message);
        fixture_close(&f);
    }
}
