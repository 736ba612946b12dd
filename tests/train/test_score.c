/* SPDX-License-Identifier: MIT
 *
 * test_score.c: predictions of batches, their scores against a plain count, masked rows, and the records of a
 * batch. */
#include <math.h>

#include "fixtures/train_fixture.h"

enum { RECORDS = 50, BATCH = 8, CLASSES = 5, INPUTS = 6 };

static float inputs[RECORDS * INPUTS];
static int64_t labels[RECORDS];

static leat_plan *open_rows(const leat_rows rows[2])
{
    leat_builder *builder = leat_builder_open();
    leat_builder_rows(builder, RECORDS, rows, 2);
    leat_builder_seed(builder, 7);
    leat_builder_stage(builder, "shuffle", NULL);
    leat_builder_stage(builder, "batch", "8");
    return plan_of_builder(builder);
}

static leat_plan *open_plan(void)
{
    const int64_t dims[] = { INPUTS };
    const leat_rows rows[] = { { "image", leat_shape_make(LEAT_F32, 1, dims), inputs },
                               { "label", leat_shape_make(LEAT_I64, 0, NULL), labels } };
    return open_rows(rows);
}

/* Counts in the plainest way; the matrix is [class][predicted]. */
typedef struct plain {
    uint64_t n, right, in_top, matrix[CLASSES][CLASSES];
    double loss;
} plain;

static void count_row(plain *p, const float *x, int64_t label, int top)
{
    double sum = 0;
    int best = 0, before = 0;
    for (int k = 0; k < CLASSES; k++) {
        sum += exp((double)x[k]);
        best = x[k] > x[best] ? k : best;
        before += x[k] > x[label];
    }
    p->n++;
    p->right += best == label;
    p->in_top += before < top;
    p->matrix[label][best]++;
    p->loss += log(sum) - (double)x[label];
}

static void check_score(const leat_score *score, const plain *p)
{
    leat_score_info info;
    leat_score_get(score, &info);
    assert_int_equal(info.samples, p->n);
    assert_int_equal(info.n_classes, CLASSES);
    assert_true(fabs(info.loss - p->loss / (double)p->n) < 1e-6);
    assert_true(fabs(info.accuracy - (double)p->right / (double)p->n) < 1e-12);
    assert_true(fabs(info.top - (double)p->in_top / (double)p->n) < 1e-12);
    assert_memory_equal(info.confusion, p->matrix, sizeof p->matrix);
    for (int k = 0; k < CLASSES; k++) {
        leat_score_class one;
        uint64_t samples = 0, predicted = 0;
        for (int i = 0; i < CLASSES; i++) {
            samples += p->matrix[k][i];
            predicted += p->matrix[i][k];
        }
        leat_score_get_class(score, k, &one);
        assert_int_equal(one.samples, samples);
        assert_int_equal(one.predicted, predicted);
        assert_int_equal(one.right, p->matrix[k][k]);
        if (samples)
            assert_true(fabs(one.f1 - 2.0 * (double)one.right / (double)(samples + predicted)) <
                        1e-12);
    }
}

TEST(an_output_that_is_not_finite_is_marked)
{
    leat_plan *plan = open_plan();
    leat_loader *loader = NULL;
    leat_batch *batch = NULL;
    float bias[CLASSES] = { 0, 0, INFINITY }, outputs[BATCH * CLASSES];
    fixture f = { 0 };
    assert_int_equal(leat_config_parse("train: {loss: softmax_cross_entropy, model: [dense: 5]}",
                                       "x", &f.config, &f.err),
                     LEAT_OK);
    if (leat_trainer_open_device(f.config, &f.device, &f.err) < 0 ||
        leat_trainer_open(f.config, plan, f.device, &f.trainer, &f.err) < 0 ||
        leat_loader_open(plan, NULL, &loader, &f.err) < 0 ||
        leat_loader_next(loader, &batch, &f.err) < 0)
        fail_msg("%s", f.err.message);
    f.trainer->backend->write(f.trainer->net, 0, 1, LEAT_VALUES_WEIGHT, bias, NULL);
    assert_int_equal(leat_trainer_predict(f.trainer, batch, outputs, &f.err), LEAT_E_DATA);
    assert_non_null(strstr(f.err.message, "the model's output for row 0"));
    assert_int_equal(f.err.not_finite, 1);
    leat_batch_release(batch);
    leat_loader_close(&loader);
    fixture_close(&f);
    leat_plan_close(&plan);
}

/* Adds the first batch of a plan. back: after it was given back. */
static int add_of(leat_score *score, const leat_plan *plan, bool back, leat_error *err)
{
    static const float outputs[2 * BATCH * CLASSES];
    leat_loader *loader = NULL;
    leat_batch *batch = NULL;
    if (leat_loader_open(plan, NULL, &loader, err) < 0 || leat_loader_next(loader, &batch, err) < 0)
        fail_msg("%s", err->message);
    if (back)
        leat_batch_release(batch);
    const int rc = leat_score_add(score, batch, outputs, NULL, NULL, err);
    if (!back)
        leat_batch_release(batch);
    leat_loader_close(&loader);
    return rc;
}

TEST(what_is_no_batch_of_the_plan_has_no_score)
{
    const int64_t dims[] = { INPUTS };
    const leat_shape x = leat_shape_make(LEAT_F32, 1, dims);
    const leat_shape label = leat_shape_make(LEAT_I64, 0, NULL);
    const leat_rows others[][2] = {
        { { "label", label, labels }, { "image", x, inputs } },
        { { "image", leat_shape_make(LEAT_F32, 0, NULL), inputs }, { "label", label, labels } },
        { { "image", x, inputs }, { "label", x, inputs } },
    };
    leat_plan *plan = open_plan();
    leat_score *score = NULL;
    leat_score_info info;
    fixture f = { 0 };
    memset(labels, 0, sizeof labels);
    if (leat_config_parse("train: {loss: softmax_cross_entropy, model: [dense: 5]}", "x", &f.config,
                          &f.err) < 0 ||
        leat_trainer_open_device(f.config, &f.device, &f.err) < 0 ||
        leat_trainer_open(f.config, plan, f.device, &f.trainer, &f.err) < 0 ||
        leat_score_open(f.trainer, 2, &score, &f.err) < 0)
        fail_msg("%s", f.err.message);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        leat_plan *other = open_rows(others[i]);
        assert_int_equal(add_of(score, other, false, &f.err), LEAT_E_ARGUMENT);
        assert_non_null(strstr(f.err.message, "the trainer was opened for samples of"));
        leat_plan_close(&other);
    }
    assert_int_equal(add_of(score, plan, true, &f.err), LEAT_E_ARGUMENT);
    leat_score_get(score, &info);
    assert_int_equal(info.samples, 0);
    assert_int_equal(add_of(score, plan, false, &f.err), LEAT_OK);
    leat_score_close(&score);
    fixture_close(&f);
    leat_plan_close(&plan);
}

TEST(scores_are_plain_counts)
{
    const leat_loader_options once = { .epochs = 1 };
    leat_plan *plan = open_plan();
    leat_loader *loader = NULL;
    leat_score *score = NULL;
    leat_batch *batch;
    leat_metrics metrics, before;
    plain p = { 0 };
    fixture f = { 0 };
    assert_int_equal(
        leat_config_parse("train: {loss: softmax_cross_entropy, model: [dense: 7, relu, dense: 5]}",
                          "x", &f.config, &f.err),
        LEAT_OK);
    if (leat_trainer_open_device(f.config, &f.device, &f.err) < 0 ||
        leat_trainer_open(f.config, plan, f.device, &f.trainer, &f.err) < 0 ||
        leat_score_open(f.trainer, 2, &score, &f.err) < 0 ||
        leat_loader_open(plan, &once, &loader, &f.err) < 0)
        fail_msg("%s", f.err.message);
    assert_int_equal(leat_trainer_get_info(f.trainer)->n_outputs, CLASSES);
    leat_trainer_so_far(f.trainer, &before);
    while (leat_loader_next(loader, &batch, &f.err) == LEAT_OK) {
        const leat_batch_info *info = leat_batch_get_info(batch);
        float outputs[BATCH * CLASSES];
        uint64_t records[BATCH];
        int64_t predicted[BATCH], actual[BATCH];
        assert_int_equal(leat_trainer_predict(f.trainer, batch, outputs, &f.err), LEAT_OK);
        assert_int_equal(leat_score_add(score, batch, outputs, predicted, actual, &f.err), LEAT_OK);
        assert_int_equal(leat_plan_records(plan, info->number, records, BATCH), info->rows);
        for (int64_t i = 0; i < info->rows; i++) {
            char text[64];
            assert_int_equal(actual[i], labels[records[i]]);
            assert_true(*leat_plan_record_text(plan, records[i], text, sizeof text));
            count_row(&p, outputs + i * CLASSES, labels[records[i]], 2);
        }
        assert_int_equal(leat_trainer_probabilities(f.trainer, outputs, info->rows), 1);
        for (int64_t i = 0; i < info->rows; i++) {
            double sum = 0;
            for (int k = 0; k < CLASSES; k++)
                sum += (double)outputs[i * CLASSES + k];
            assert_true(fabs(sum - 1) < 1e-5);
        }
        leat_batch_release(batch);
    }
    leat_trainer_so_far(f.trainer, &metrics);
    assert_int_equal(metrics.samples, before.samples); /* predictions are no training */
    check_score(score, &p);
    leat_loader_close(&loader);
    assert_int_equal(leat_loader_open(plan, &once, &loader, &f.err), LEAT_OK);
    assert_int_equal(leat_trainer_evaluate(f.trainer, loader, &metrics, &f.err), LEAT_OK);
    assert_true(fabs(metrics.loss - p.loss / (double)p.n) < 1e-6);
    leat_loader_close(&loader);
    leat_score_close(&score);
    fixture_close(&f);
    leat_plan_close(&plan);
}

/* The one output of binary_cross_entropy is two classes; several of them are none. */
static void yes_or_no(const char *text, int64_t n_outputs, float middle)
{
    const int64_t dims[] = { INPUTS }, targets[] = { n_outputs };
    float bits[RECORDS * 3];
    for (int i = 0; i < RECORDS * 3; i++)
        bits[i] = (float)(labels[i % RECORDS] % 2);
    const leat_rows rows[] = { { "image", leat_shape_make(LEAT_F32, 1, dims), inputs },
                               { "label", leat_shape_make(LEAT_F32, n_outputs > 1, targets),
                                 bits } };
    leat_plan *plan = open_rows(rows);
    leat_loader *loader = NULL;
    leat_score *score = NULL;
    leat_score_info info;
    leat_metrics metrics;
    leat_batch *batch;
    uint64_t matrix[2][2] = { { 0 } };
    fixture f = { 0 };
    assert_int_equal(leat_config_parse(text, "x", &f.config, &f.err), LEAT_OK);
    if (leat_trainer_open_device(f.config, &f.device, &f.err) < 0 ||
        leat_trainer_open(f.config, plan, f.device, &f.trainer, &f.err) < 0 ||
        leat_score_open(f.trainer, 1, &score, &f.err) < 0 ||
        leat_loader_open(plan, NULL, &loader, &f.err) < 0)
        fail_msg("%s", f.err.message);
    while (leat_loader_next(loader, &batch, &f.err) == LEAT_OK) {
        float outputs[BATCH * 3], before[BATCH * 3];
        int64_t predicted[BATCH], actual[BATCH];
        const int64_t n = leat_batch_get_info(batch)->rows;
        const float *target = leat_batch_tensor(batch, 1).data;
        assert_int_equal(leat_trainer_predict(f.trainer, batch, outputs, &f.err), LEAT_OK);
        assert_int_equal(leat_score_add(score, batch, outputs, predicted, actual, &f.err), LEAT_OK);
        memcpy(before, outputs, sizeof before);
        assert_int_equal(leat_trainer_probabilities(f.trainer, outputs, n), 1);
        for (int64_t i = 0; i < n; i++) {
            const double x = (double)before[i], p = middle > 0 ? x : 1 / (1 + exp(-x));
            assert_int_equal(actual[i], n_outputs == 1 ? target[i] > 0.5f : -1);
            assert_true(fabs((double)outputs[i] - p) < 1e-6);
            if (n_outputs == 1) {
                assert_int_equal(predicted[i], before[i] > middle);
                matrix[actual[i]][predicted[i]]++;
            }
        }
        leat_batch_release(batch);
    }
    leat_score_get(score, &info);
    assert_int_equal(info.samples, RECORDS);
    assert_int_equal(info.n_classes, n_outputs == 1 ? 2 : 0);
    if (n_outputs == 1) {
        assert_memory_equal(info.confusion, matrix, sizeof matrix);
        assert_true(fabs(info.accuracy - (double)(matrix[0][0] + matrix[1][1]) / RECORDS) < 1e-12);
        assert_true(fabs(info.top - info.accuracy) < 1e-12);
        assert_true(matrix[0][1] + matrix[1][1] > 0 && matrix[0][0] + matrix[1][0] > 0);
    }
    leat_loader_close(&loader);
    assert_int_equal(leat_loader_open(plan, NULL, &loader, &f.err), LEAT_OK);
    assert_int_equal(leat_trainer_evaluate(f.trainer, loader, &metrics, &f.err), LEAT_OK);
    assert_true(fabs(metrics.loss - info.loss) < 1e-6);
    assert_true(fabs(metrics.accuracy - info.accuracy) < 1e-9);
    leat_loader_close(&loader);
    leat_score_close(&score);
    fixture_close(&f);
    leat_plan_close(&plan);
}

TEST(yes_or_no_is_two_classes)
{
    yes_or_no("train: {loss: binary_cross_entropy, model: [dense: 7, tanh, dense: 1]}", 1, 0);
    yes_or_no("train: {loss: {binary_cross_entropy: {with_logits: false}}, "
              "model: [dense: 7, tanh, dense: 1, sigmoid]}",
              1, 0.5f);
    yes_or_no("train: {loss: binary_cross_entropy, model: [dense: 3]}", 3, 0);
}

/* The target is a list of one share. */
static void one_class(const char *text)
{
    const int64_t dims[] = { INPUTS }, one[] = { 1 };
    float shares[RECORDS];
    for (int i = 0; i < RECORDS; i++)
        shares[i] = 1;
    const leat_rows rows[] = { { "image", leat_shape_make(LEAT_F32, 1, dims), inputs },
                               { "label", leat_shape_make(LEAT_F32, 1, one), shares } };
    leat_plan *plan = open_rows(rows);
    leat_loader *loader = NULL;
    leat_score *score = NULL;
    leat_score_info info;
    leat_batch *batch;
    fixture f = { 0 };
    assert_int_equal(leat_config_parse(text, "x", &f.config, &f.err), LEAT_OK);
    if (leat_trainer_open_device(f.config, &f.device, &f.err) < 0 ||
        leat_trainer_open(f.config, plan, f.device, &f.trainer, &f.err) < 0 ||
        leat_score_open(f.trainer, 5, &score, &f.err) < 0 ||
        leat_loader_open(plan, NULL, &loader, &f.err) < 0)
        fail_msg("%s", f.err.message);
    while (leat_loader_next(loader, &batch, &f.err) == LEAT_OK) {
        float outputs[BATCH];
        int64_t predicted[BATCH], actual[BATCH];
        assert_int_equal(leat_trainer_predict(f.trainer, batch, outputs, &f.err), LEAT_OK);
        assert_int_equal(leat_score_add(score, batch, outputs, predicted, actual, &f.err), LEAT_OK);
        for (int64_t i = 0; i < leat_batch_get_info(batch)->rows; i++)
            assert_true(predicted[i] == 0 && actual[i] == 0);
        leat_batch_release(batch);
    }
    leat_score_get(score, &info);
    assert_true(info.n_classes == 1 && info.confusion[0] == RECORDS);
    assert_non_null(strstr(leat_trainer_get_info(f.trainer)->note, "the model has one class"));
    assert_true(info.accuracy == 1 && info.top == 1 && info.loss == 0);
    leat_loader_close(&loader);
    leat_score_close(&score);
    fixture_close(&f);
    leat_plan_close(&plan);
}

/* More than a matrix of them has room for. */
TEST(many_classes_have_all_but_a_matrix)
{
    enum { N = (1 << 14) + 1 };
    leat_plan *plan = open_plan();
    leat_loader *loader = NULL;
    leat_score *score = NULL;
    leat_score_info info;
    leat_batch *batch;
    fixture f = { 0 };
    float *outputs = calloc((size_t)BATCH * N, sizeof *outputs);
    assert_non_null(outputs);
    assert_int_equal(
        leat_config_parse("train: {loss: softmax_cross_entropy, model: [dense: 16385]}", "x",
                          &f.config, &f.err),
        LEAT_OK);
    if (leat_trainer_open_device(f.config, &f.device, &f.err) < 0 ||
        leat_trainer_open(f.config, plan, f.device, &f.trainer, &f.err) < 0 ||
        leat_score_open(f.trainer, 1, &score, &f.err) < 0 ||
        leat_loader_open(plan, NULL, &loader, &f.err) < 0)
        fail_msg("%s", f.err.message);
    for (int64_t i = 0; i < BATCH; i++)
        outputs[i * N + N - 1] = 1;
    assert_int_equal(leat_loader_next(loader, &batch, &f.err), LEAT_OK);
    int64_t predicted[BATCH], actual[BATCH];
    assert_int_equal(leat_score_add(score, batch, outputs, predicted, actual, &f.err), LEAT_OK);
    for (int64_t i = 0; i < BATCH; i++)
        assert_true(predicted[i] == N - 1 && actual[i] >= 0 && actual[i] < CLASSES);
    leat_score_get(score, &info);
    assert_true(info.n_classes == N && info.n_labels == N && !info.confusion);
    assert_true(info.accuracy == 0 && info.top == 0);
    leat_batch_release(batch);
    leat_loader_close(&loader);
    leat_score_close(&score);
    fixture_close(&f);
    leat_plan_close(&plan);
    free(outputs);
}

/* Top-5 of one class; and nothing is left to spread. */
TEST(one_class_is_always_right)
{
    one_class("train: {loss: softmax_cross_entropy, model: [dense: 1]}");
    one_class("train: {loss: {softmax_cross_entropy: {label_smoothing: 0.3, class_weights: [2]}}, "
              "model: [dense: 1]}");
}

TEST(layers_and_memory_add_up)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 4 }, 6);
    leat_train_memory memory;
    leat_layer_info layer;
    fixture f;
    fixture_must_open(
        &f, "train: {loss: softmax_cross_entropy, optimizer: adam, model: [dense: 3]}", &feed);
    assert_int_equal(leat_trainer_layer(f.trainer, 0, &layer), LEAT_OK);
    assert_string_equal(layer.name, "0.dense");
    assert_int_equal(layer.n_parameters, 15);
    assert_true(layer.forward_flops == 24 && layer.backward_flops == 24);
    assert_int_equal(leat_trainer_layer(f.trainer, 1, &layer), LEAT_E_END);
    assert_int_equal(leat_trainer_memory(f.trainer, &memory, &f.err), LEAT_OK);
    assert_true(memory.weights >= 60 && memory.states == 2 * memory.weights);
    assert_true(memory.average == 0 && memory.activations >= 2 * 6 * 3 * 4);
    fixture_close(&f);
}

TEST(folders_know_their_newest)
{
    int64_t step = 0;
    assert_int_equal(leat_checkpoint_newest("/no/such/folder", &step, NULL), LEAT_OK);
    assert_int_equal(step, -1);
}

/* A weight below 0 is a number. */
TEST(a_sample_weight_that_is_not_finite_is_marked)
{
    static const float bad[] = { -1, NAN, INFINITY };
    float kept[RECORDS * INPUTS];
    memcpy(kept, inputs, sizeof kept);
    const leat_loader_options how = { .epochs = 1, .expect.weights = 1 };
    for (int i = 0; i < 3; i++) {
        leat_plan *plan = open_plan();
        leat_loader *loader = NULL;
        leat_batch *batch;
        leat_error err;
        int rc;
        for (int k = 0; k < RECORDS * INPUTS; k++)
            inputs[k] = bad[i];
        assert_int_equal(leat_loader_open(plan, &how, &loader, &err), LEAT_OK);
        while ((rc = leat_loader_next(loader, &batch, &err)) == LEAT_OK)
            leat_batch_release(batch);
        assert_int_equal(rc, LEAT_E_DATA);
        assert_non_null(strstr(err.message, "a sample weight is a finite number"));
        assert_int_equal(err.not_finite, i > 0);
        leat_loader_close(&loader);
        leat_plan_close(&plan);
    }
    memcpy(inputs, kept, sizeof kept);
}

int main(void)
{
    leat_rng rng = leat_rng_make(5, 0, 0, 0);
    for (int i = 0; i < RECORDS * INPUTS; i++)
        inputs[i] = leat_rng_range(&rng, -1, 1);
    for (int i = 0; i < RECORDS; i++)
        labels[i] = leat_rng_below(&rng, CLASSES);
    return unit_run();
}
