/* SPDX-License-Identifier: MIT
 *
 * test_trainer.c: the trainer fed from memory: it learns, gives the same weights bit for bit each time,
 * applies dropout, and reports its size. */
#include "fixtures/train_fixture.h"

#include <math.h>

/* Four clouds of points; a label is the exclusive or of the signs. */
static void draw_xor(uint64_t seed, int64_t rows, float *x, int64_t *y)
{
    leat_rng rng = leat_rng_make(seed, 0, 0, 3);
    for (int64_t i = 0; i < rows; i++) {
        for (int k = 0; k < 2; k++)
            x[2 * i + k] = (leat_rng_below(&rng, 2) ? 1.0f : -1.0f) + 0.25f * leat_rng_normal(&rng);
        y[i] = (x[2 * i] > 0) != (x[2 * i + 1] > 0);
    }
}

TEST(learns_xor)
{
    static const char *const ends[] = {
        "dense: 2], loss: softmax_cross_entropy, optimizer: {adam: {learning_rate: 0.02}}",
        "dense: 1], loss: binary_cross_entropy, optimizer: {adam: {learning_rate: 0.02}}",
        "dense: 1, sigmoid], loss: {binary_cross_entropy: {with_logits: false}}, optimizer: "
        "{adam: {learning_rate: 0.02}}",
        "dense: 2], loss: softmax_cross_entropy, optimizer: {sgd: {learning_rate: 0.1, momentum: "
        "0.9}}",
    };
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
        char text[512];
        float x[2 * 64];
        int64_t y[64];
        fixture f;
        const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 2 }, 64);
        snprintf(text, sizeof text, "train: {model: [dense: 16, relu, %s}", ends[e]);
        fixture_must_open(&f, text, &feed);
        for (uint64_t i = 0; i < 300; i++) {
            draw_xor(i, 64, x, y);
            fixture_step(&f, &feed, x, y, 64, true);
        }
        const leat_metrics trained = fixture_metrics(&f);
        assert_int_equal(trained.samples, 300 * 64);
        draw_xor(1000, 64, x, y);
        fixture_step(&f, &feed, x, y, 64, false);
        const leat_metrics m = fixture_metrics(&f);
        if (m.samples != 64 || !(m.accuracy > 0.95) || !(m.loss < trained.loss))
            fail_msg("accuracy %g, loss %g after %g\n%s", m.accuracy, m.loss, trained.loss, text);
        fixture_close(&f);
    }
}

/* Seven right values of twelve rows with three values each, in one batch and one in each of seven: a sum of thirds is not exact.
 * Of zeros the model says no, as long as it is not trained. */
TEST(equal_hits_are_equal_accuracies)
{
    static const char text[] = "train: {model: [dense: 3], loss: binary_cross_entropy}";
    float x[12] = { 0 }, one[36], apart[36];
    leat_metrics m[2];
    leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 1 }, 12);
    feed.target = leat_shape_make(LEAT_F32, 1, (int64_t[]){ 3 });
    for (int i = 0; i < 36; i++) {
        one[i] = i >= 7;
        apart[i] = i % 3 > 0 || i >= 21;
    }
    for (int i = 0; i < 2; i++) {
        fixture f;
        fixture_must_open(&f, text, &feed);
        for (int row = 0; i && row < 12; row++)
            fixture_step(&f, &feed, x, apart + 3 * row, 1, false);
        if (!i)
            fixture_step(&f, &feed, x, one, 12, false);
        m[i] = fixture_metrics(&f);
        fixture_close(&f);
    }
    assert_true(m[0].accuracy == 7.0 / 36 && m[1].accuracy == 7.0 / 36);
}

/* Bright column at one of four places. */
TEST(learns_images)
{
    enum { ROWS = 32, SIZE = 12 };
    static uint8_t x[ROWS * SIZE * SIZE * 3];
    static const char *const text =
        "train: {model: [conv2d: {filters: 8, kernel: 3, padding: same, bias: false}, batch_norm, "
        "relu, max_pool: 2, dropout: 0.25, flatten, dense: 4], loss: softmax_cross_entropy, "
        "optimizer: {adam: {learning_rate: 0.01}}}";
    int64_t y[ROWS];
    fixture f;
    const leat_trainer_feed feed = feed_of(LEAT_U8, 3, (int64_t[]){ SIZE, SIZE, 3 }, ROWS);
    fixture_must_open(&f, text, &feed);
    for (uint64_t i = 0; i <= 60; i++) {
        leat_rng rng = leat_rng_make(i, 0, 0, 4);
        for (size_t k = 0; k < sizeof x; k++)
            x[k] = (uint8_t)leat_rng_below(&rng, 80);
        for (int64_t r = 0; r < ROWS; r++) {
            y[r] = leat_rng_below(&rng, 4);
            for (int64_t row = 0; row < SIZE; row++)
                x[((r * SIZE + row) * SIZE + y[r] * 3) * 3] = 200;
        }
        if (i == 60)
            fixture_metrics(&f);
        fixture_step(&f, &feed, x, y, ROWS, i < 60);
    }
    assert_true(fixture_metrics(&f).accuracy > 0.95);
    fixture_close(&f);
}

TEST(bytes_are_the_same_as_floats)
{
    static const char *const models[] = { "flatten, dense: 3",
                                          "relu, flatten, dense: 3",
                                          "conv2d: {filters: 4}, flatten, dense: 3",
                                          "max_pool: 2, flatten, dense: 3",
                                          "batch_norm, flatten, dense: 3",
                                          "dropout: 0.5, flatten, dense: 3" };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        uint8_t bytes[2 * 6 * 5 * 3];
        float floats[2 * 6 * 5 * 3];
        int64_t y[2] = { 2, 0 };
        double loss[2];
        char text[256];
        snprintf(text, sizeof text, "train: {model: [%s], loss: softmax_cross_entropy}", models[i]);
        for (size_t k = 0; k < sizeof bytes; k++)
            floats[k] = bytes[k] = (uint8_t)(k * 37 % 256);
        for (int k = 0; k < 2; k++) {
            fixture f;
            const leat_trainer_feed feed =
                feed_of(k ? LEAT_U8 : LEAT_F32, 3, (int64_t[]){ 6, 5, 3 }, 2);
            fixture_must_open(&f, text, &feed);
            fixture_step(&f, &feed, k ? (void *)bytes : floats, y, 2, true);
            loss[k] = fixture_metrics(&f).loss;
            fixture_close(&f);
        }
        assert_true(loss[0] == loss[1]);
    }
}

TEST(runs_repeat_bit_for_bit)
{
    for (int threads = 1; threads <= 2; threads++) {
        fixture a, b, other;
        fixture_train_cnn(&a, threads, 7, 6);
        fixture_train_cnn(&b, threads, 7, 6);
        fixture_train_cnn(&other, threads, 8, 6);
        assert_true(fixture_same_weights(&a, &b));
        assert_false(fixture_same_weights(&a, &other));
        assert_true(fixture_metrics(&a).loss == fixture_metrics(&b).loss);
        fixture_close(&a);
        fixture_close(&b);
        fixture_close(&other);
    }
}

/* Wide enough that updates and dropout are split among threads. */
TEST(wide_layers_repeat_too)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 600 }, 32);
    float *x = random_floats(1, 32 * 600);
    int64_t *y = random_labels(1, 32, 10);
    fixture f[2];
    for (int i = 0; i < 2; i++) {
        fixture_must_open(&f[i],
                          "train: {threads: 2, model: [dropout: 0.1, dense: 200, relu, dense: 10], "
                          "loss: softmax_cross_entropy, optimizer: adam}",
                          &feed);
        for (int k = 0; k < 8; k++)
            fixture_step(&f[i], &feed, x, y, 32, true);
    }
    assert_true(fixture_same_weights(&f[0], &f[1]));
    assert_true(fixture_metrics(&f[0]).loss == fixture_metrics(&f[1]).loss);
    fixture_close(&f[0]);
    fixture_close(&f[1]);
    free(x);
    free(y);
}

/* One dense layer of ones and no bias sums what dropout leaves. */
TEST(dropout_drops_its_share)
{
    enum { WIDTH = 4096, ROWS = 4 };
    fixture f;
    float *weight, mask[2][WIDTH];
    float *x = malloc(ROWS * WIDTH * sizeof *x);
    int64_t y[ROWS] = { 0 };
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ WIDTH }, ROWS);
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        x[i] = i < WIDTH ? 1.0f : 0.0f; /* only row 0 moves the weights */
    fixture_must_open(&f,
                      "train: {model: [dropout: {rate: 0.25}, dense: {units: 2, bias: false}], "
                      "loss: softmax_cross_entropy, optimizer: {sgd: {learning_rate: 0.0001}}}",
                      &feed);
    float *before = read_param(f.trainer, 1, 0);
    for (int run = 0; run < 2; run++) {
        int kept = 0;
        float size = 0;
        fixture_step(&f, &feed, x, y, ROWS, true);
        weight = read_param(f.trainer, 1, 0);
        for (int i = 0; i < WIDTH; i++) { /* gradient is input times error: 0 or the same */
            const float moved = fabsf(weight[2 * i] - before[2 * i]);
            mask[run][i] = moved > 0;
            kept += moved > 0;
            size = moved > size ? moved : size;
        }
        assert_in_range(kept, 0.72 * WIDTH, 0.78 * WIDTH);
        /* Rows of zeros cost log 2 each; the rest of the loss gives row 0's probability, and that
         * the gradient. What is kept counts 1 / (1 - rate) times. */
        const double p = exp(-(ROWS * fixture_metrics(&f).loss - (ROWS - 1) * log(2)));
        const double wanted = 1e-4 / 0.75 * (1 - p) / ROWS;
        assert_true(fabs((double)size - wanted) < wanted / 50);
        for (int i = 0; i < WIDTH; i++)
            if (mask[run][i] > 0)
                assert_true(fabsf(fabsf(weight[2 * i] - before[2 * i]) - size) < size / 50);
        free(before);
        before = weight;
    }
    assert_memory_not_equal(mask[0], mask[1], sizeof mask[0]);
    free(before);
    free(x);
    fixture_close(&f);
}

TEST(evaluation_neither_drops_nor_learns)
{
    fixture a, b;
    double loss[3];
    const leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ 12, 12, 3 }, 16);
    float *x = random_floats(9, 40 * 12 * 12 * 3);
    int64_t *y = random_labels(9, 40, 10);
    fixture_train_cnn(&a, 1, 1, 4);
    fixture_train_cnn(&b, 1, 1, 4);
    fixture_metrics(&a);
    for (int i = 0; i < 3; i++) {
        fixture_step(&a, &feed, x, y, 40, false); /* more rows than a batch has are fine here */
        loss[i] = fixture_metrics(&a).loss;
    }
    assert_true(loss[0] == loss[1] && loss[1] == loss[2]);
    assert_true(fixture_same_weights(&a, &b));
    /* Row by row gives the same as all at once, but for rounding. */
    for (int64_t i = 0; i < 40; i++)
        fixture_step(&a, &feed, x + i * 12 * 12 * 3, y + i, 1, false);
    assert_true(fabs(fixture_metrics(&a).loss - loss[0]) < 1e-5);
    free(x);
    free(y);
    fixture_close(&a);
    fixture_close(&b);
}

/* 308,426 parameters and 7.3 MFLOP forward are known figures of this model. */
TEST(counts_parameters_and_operations)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ 64, 64, 3 }, 32);
    fixture f;
    fixture_must_open(
        &f,
        "train: {epochs: 3, model: [conv2d: {filters: 32, kernel: 3}, relu, max_pool: "
        "2, flatten, dense: 10], loss: softmax_cross_entropy}",
        &feed);
    const leat_trainer_info *info = leat_trainer_get_info(f.trainer);
    assert_int_equal(info->n_parameters, 308426);
    assert_int_equal(info->epochs, 3);
    assert_int_equal(info->simulated, 0);
    assert_string_equal(info->device, "cpu");
    double forward = 0;
    for (int32_t i = 0; i < f.trainer->model.n_layers; i++) {
        const leat_model_layer *l = &f.trainer->model.layers[i];
        leat_layer_cost cost;
        leat_layer_cost_of(l, 1, &cost);
        forward += cost.forward.flops;
    }
    assert_true(forward > 7.2e6 && forward < 7.6e6);
    assert_true(info->flops_per_sample > 2 * forward && info->flops_per_sample < 3.1 * forward);
    fixture_close(&f);
}
