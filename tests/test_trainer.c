/* SPDX-License-Identifier: MIT
 *
 * The trainer fed from memory: it learns, repeats itself bit for bit, saves and restores, and says
 * what is wrong with a model, a label or a file. */
#include "train_fixture.h"

#include <math.h>
#include <unistd.h>

#include "safetensors.h"

static leat_trainer_feed feed_of(leat_dtype dtype, int rank, const int64_t *dims, int64_t batch)
{
    return (leat_trainer_feed){ .input = leat_shape_make(dtype, rank, dims),
                                .target = leat_shape_make(LEAT_I64, 0, NULL),
                                .batch_size = batch,
                                .seed = 1 };
}

static void step(fixture *f, const leat_trainer_feed *feed, void *x, void *y, int64_t rows,
                 bool train)
{
    const leat_view xs = batch_view(&feed->input, rows, x);
    const leat_view ys = batch_view(&feed->target, rows, y);
    if (leat_trainer_step_views(f->trainer, &xs, &ys, rows, train, &f->err) < 0)
        fail_msg("%s", f->err.message);
}

static leat_metrics metrics_of(fixture *f)
{
    leat_metrics metrics;
    assert_int_equal(leat_trainer_metrics(f->trainer, &metrics, &f->err), LEAT_OK);
    return metrics;
}

/* --- learning -------------------------------------------------------------------------------- */

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

static void learns_xor(void **state)
{
    static const char *const ends[] = {
        "dense: 2], loss: softmax_cross_entropy, optimizer: {adam: {learning_rate: 0.02}}",
        "dense: 1], loss: binary_cross_entropy, optimizer: {adam: {learning_rate: 0.02}}",
        "dense: 1, sigmoid], loss: {binary_cross_entropy: {with_logits: false}}, optimizer: "
        "{adam: {learning_rate: 0.02}}",
        "dense: 2], loss: softmax_cross_entropy, optimizer: {sgd: {learning_rate: 0.1, momentum: "
        "0.9}}",
    };
    (void)state;
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
            step(&f, &feed, x, y, 64, true);
        }
        const leat_metrics trained = metrics_of(&f);
        assert_int_equal(trained.samples, 300 * 64);
        draw_xor(1000, 64, x, y);
        step(&f, &feed, x, y, 64, false);
        const leat_metrics m = metrics_of(&f);
        if (m.samples != 64 || !(m.accuracy > 0.95) || !(m.loss < trained.loss))
            fail_msg("accuracy %g, loss %g after %g\n%s", m.accuracy, m.loss, trained.loss, text);
        fixture_close(&f);
    }
}

/* Bright column at one of four places. */
static void learns_images(void **state)
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
    (void)state;
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
            metrics_of(&f);
        step(&f, &feed, x, y, ROWS, i < 60);
    }
    assert_true(metrics_of(&f).accuracy > 0.95);
    fixture_close(&f);
}

static void bytes_are_the_same_as_floats(void **state)
{
    static const char *const models[] = { "flatten, dense: 3",
                                          "relu, flatten, dense: 3",
                                          "conv2d: {filters: 4}, flatten, dense: 3",
                                          "max_pool: 2, flatten, dense: 3",
                                          "batch_norm, flatten, dense: 3",
                                          "dropout: 0.5, flatten, dense: 3" };
    (void)state;
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
            step(&f, &feed, k ? (void *)bytes : floats, y, 2, true);
            loss[k] = metrics_of(&f).loss;
            fixture_close(&f);
        }
        assert_true(loss[0] == loss[1]);
    }
}

/* --- sameness -------------------------------------------------------------------------------- */

static const char small_cnn[] =
    "model: [conv2d: {filters: 8, kernel: 3, padding: same}, batch_norm, relu, max_pool: 2, "
    "conv2d: "
    "{filters: 20, kernel: 3}, relu, dropout: 0.3, flatten, dense: 33, relu, dense: 10], loss: "
    "softmax_cross_entropy, optimizer: adam";

/* Trains a little on random images; the last batch is short. */
static void train_cnn(fixture *f, int threads, int64_t seed, int n)
{
    char text[512];
    const leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ 12, 12, 3 }, 16);
    snprintf(text, sizeof text, "train: {threads: %d, seed: %d, %s}", threads, (int)seed,
             small_cnn);
    fixture_must_open(f, text, &feed);
    for (int i = 0; i < n; i++) {
        float *x = random_floats((uint64_t)i, 16 * 12 * 12 * 3);
        int64_t *y = random_labels((uint64_t)i, 16, 10);
        step(f, &feed, x, y, i + 1 < n ? 16 : 5, true);
        free(x);
        free(y);
    }
}

static bool same_weights(fixture *a, fixture *b)
{
    const leat_model *model = &a->trainer->model;
    bool same = true;
    for (int32_t i = 0; i < model->n_layers; i++)
        for (int32_t k = 0; k < model->layers[i].n_params; k++) {
            float *x = read_param(a->trainer, i, k), *y = read_param(b->trainer, i, k);
            same =
                same && !memcmp(x, y, (size_t)leat_shape_bytes(&model->layers[i].params[k].shape));
            free(x);
            free(y);
        }
    return same;
}

static void runs_repeat_bit_for_bit(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        fixture a, b, other;
        train_cnn(&a, threads, 7, 6);
        train_cnn(&b, threads, 7, 6);
        train_cnn(&other, threads, 8, 6);
        assert_true(same_weights(&a, &b));
        assert_false(same_weights(&a, &other));
        assert_true(metrics_of(&a).loss == metrics_of(&b).loss);
        fixture_close(&a);
        fixture_close(&b);
        fixture_close(&other);
    }
}

/* Wide enough that updates and dropout are split among threads. */
static void wide_layers_repeat_too(void **state)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 600 }, 32);
    float *x = random_floats(1, 32 * 600);
    int64_t *y = random_labels(1, 32, 10);
    fixture f[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        fixture_must_open(&f[i],
                          "train: {threads: 2, model: [dropout: 0.1, dense: 200, relu, dense: 10], "
                          "loss: softmax_cross_entropy, optimizer: adam}",
                          &feed);
        for (int k = 0; k < 8; k++)
            step(&f[i], &feed, x, y, 32, true);
    }
    assert_true(same_weights(&f[0], &f[1]));
    assert_true(metrics_of(&f[0]).loss == metrics_of(&f[1]).loss);
    fixture_close(&f[0]);
    fixture_close(&f[1]);
    free(x);
    free(y);
}

/* --- dropout --------------------------------------------------------------------------------- */

/* One dense layer of ones and no bias sums what dropout leaves. */
static void dropout_drops_its_share(void **state)
{
    enum { WIDTH = 4096, ROWS = 4 };
    fixture f;
    float *weight, mask[2][WIDTH];
    float *x = malloc(ROWS * WIDTH * sizeof *x);
    int64_t y[ROWS] = { 0 };
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ WIDTH }, ROWS);
    (void)state;
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
        step(&f, &feed, x, y, ROWS, true);
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
        const double p = exp(-(ROWS * metrics_of(&f).loss - (ROWS - 1) * log(2)));
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

static void evaluation_neither_drops_nor_learns(void **state)
{
    fixture a, b;
    double loss[3];
    const leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ 12, 12, 3 }, 16);
    float *x = random_floats(9, 40 * 12 * 12 * 3);
    int64_t *y = random_labels(9, 40, 10);
    (void)state;
    train_cnn(&a, 1, 1, 4);
    train_cnn(&b, 1, 1, 4);
    metrics_of(&a);
    for (int i = 0; i < 3; i++) {
        step(&a, &feed, x, y, 40, false); /* more rows than a batch has are fine here */
        loss[i] = metrics_of(&a).loss;
    }
    assert_true(loss[0] == loss[1] && loss[1] == loss[2]);
    assert_true(same_weights(&a, &b));
    /* Row by row gives the same as all at once, but for rounding. */
    for (int64_t i = 0; i < 40; i++)
        step(&a, &feed, x + i * 12 * 12 * 3, y + i, 1, false);
    assert_true(fabs(metrics_of(&a).loss - loss[0]) < 1e-5);
    free(x);
    free(y);
    fixture_close(&a);
    fixture_close(&b);
}

/* --- weights --------------------------------------------------------------------------------- */

static const char weights_path[] = BUILD_DIR "/test_trainer.safetensors";

static void saves_and_restores(void **state)
{
    fixture a, b;
    leat_format_error ferr;
    leat_safetensors *file;
    (void)state;
    train_cnn(&a, 1, 3, 5);
    train_cnn(&b, 2, 4, 0);
    assert_false(same_weights(&a, &b));
    assert_int_equal(leat_trainer_save(a.trainer, weights_path, &a.err), LEAT_OK);
    assert_int_equal(leat_trainer_restore(b.trainer, weights_path, &b.err), LEAT_OK);
    assert_true(same_weights(&a, &b));
    assert_int_equal(leat_safetensors_open(&file, weights_path, &ferr), 0);
    const leat_safetensor *conv = leat_safetensors_find(file, "4.conv2d.weight");
    assert_non_null(conv);
    assert_int_equal(conv->n_dims, 4);
    assert_int_equal(conv->shape[0], 3);
    assert_int_equal(conv->shape[2], 8);
    assert_int_equal(conv->shape[3], 20);
    assert_non_null(leat_safetensors_find(file, "1.batch_norm.variance"));
    assert_non_null(leat_safetensors_find(file, "10.dense.bias"));
    leat_safetensors_close(&file);
    fixture_close(&a);
    fixture_close(&b);
}

/* A file that does not fit says how, and changes nothing. */
static void refuses_other_weights(void **state)
{
    static const struct {
        const char *model, *said;
    } others[] = {
        { "dense: 4, relu, dense: 3", "no tensor '2.dense.weight'" },
        { "dense: 5, dense: 3",
          "tensor '0.dense.weight' is F32 [6, 4], the model needs F32 [6, 5]" },
        { "dense: 4", "has 4 tensors, the model has 2" },
        { "dense: {units: 4, bias: false}, dense: 3", "has 4 tensors, the model has 3" },
    };
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 6 }, 4);
    fixture a;
    (void)state;
    fixture_must_open(&a, "train: {model: [dense: 4, dense: 3], loss: softmax_cross_entropy}",
                      &feed);
    assert_int_equal(leat_trainer_save(a.trainer, weights_path, &a.err), LEAT_OK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[256];
        fixture b, same;
        snprintf(text, sizeof text, "train: {model: [%s], loss: softmax_cross_entropy}",
                 others[i].model);
        fixture_must_open(&b, text, &feed);
        fixture_must_open(&same, text, &feed);
        assert_int_equal(leat_trainer_restore(b.trainer, weights_path, &b.err), LEAT_E_DATA);
        if (!strstr(b.err.message, others[i].said) || !strstr(b.err.message, weights_path))
            fail_msg("%s", b.err.message);
        assert_true(same_weights(&b, &same));
        fixture_close(&b);
        fixture_close(&same);
    }
    assert_int_equal(leat_trainer_restore(a.trainer, "/no/such/file", &a.err), LEAT_E_IO);
    assert_int_equal(leat_trainer_save(a.trainer, "/no/such/folder/file", &a.err), LEAT_E_IO);
    fixture_close(&a);
    unlink(weights_path);
}

/* --- errors ---------------------------------------------------------------------------------- */

static void a_wrong_label_stops_before_it_teaches(void **state)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 3 }, 4);
    static const char text[] = "train: {model: [dense: 3], loss: softmax_cross_entropy}";
    fixture a, b;
    float *x = random_floats(0, 12);
    int64_t y[4] = { 0, 2, 3, 1 };
    const leat_view xs = batch_view(&feed.input, 4, x), ys = batch_view(&feed.target, 4, y);
    (void)state;
    fixture_must_open(&a, text, &feed);
    fixture_must_open(&b, text, &feed);
    assert_int_equal(leat_trainer_step_views(a.trainer, &xs, &ys, 4, true, &a.err), LEAT_E_DATA);
    assert_non_null(strstr(a.err.message, "row 2"));
    assert_non_null(strstr(a.err.message, "label 3"));
    assert_non_null(strstr(a.err.message, "3 classes"));
    assert_true(same_weights(&a, &b));
    assert_int_equal(metrics_of(&a).samples, 0);
    assert_true(isnan(metrics_of(&a).loss));
    free(x);
    fixture_close(&a);
    fixture_close(&b);
}

static void views_that_do_not_fit_are_refused(void **state)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 3 }, 4);
    const leat_trainer_feed other = feed_of(LEAT_F32, 1, (int64_t[]){ 4 }, 4);
    fixture f;
    float x[16] = { 0 };
    int64_t y[4] = { 0 };
    const leat_view wide = batch_view(&other.input, 4, x), right = batch_view(&feed.input, 4, x);
    leat_view ys = batch_view(&feed.target, 4, y);
    (void)state;
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
};

static void bad_configs_say_where_and_what(void **state)
{
    leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ 32, 32, 3 }, 4);
    (void)state;
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

static void inputs_and_targets_of_wrong_type_are_refused(void **state)
{
    static const char text[] = "train: {model: [flatten, dense: 10]" LOSS;
    leat_trainer_feed feed = feed_of(LEAT_I64, 1, (int64_t[]){ 4 }, 4);
    fixture f;
    (void)state;
    assert_int_equal(fixture_open(&f, text, &feed), LEAT_E_CONFIG);
    assert_non_null(strstr(f.err.message, "add the op cast"));
    fixture_close(&f);
    feed = feed_of(LEAT_F32, 1, (int64_t[]){ 4 }, 4);
    feed.target = leat_shape_make(LEAT_F32, 0, NULL);
    assert_int_equal(fixture_open(&f, text, &feed), LEAT_E_CONFIG);
    assert_non_null(strstr(f.err.message, "whole number"));
    fixture_close(&f);
    feed = feed_of(LEAT_F32, 1, (int64_t[]){ 0 }, 4);
    assert_int_equal(fixture_open(&f, text, &feed), LEAT_E_CONFIG);
    fixture_close(&f);
}

/* --- facts ----------------------------------------------------------------------------------- */

/* 308,426 parameters and 7.3 MFLOP forward are known figures of this model. */
static void counts_parameters_and_operations(void **state)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ 64, 64, 3 }, 32);
    fixture f;
    (void)state;
    fixture_must_open(
        &f,
        "train: {epochs: 3, model: [conv2d: {filters: 32, kernel: 3}, relu, max_pool: "
        "2, flatten, dense: 10]" LOSS,
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
        leat_layer_cost_of(l->layer, l->options, &l->in, &l->out, 1, &cost);
        forward += cost.forward.flops;
    }
    assert_true(forward > 7.2e6 && forward < 7.6e6);
    assert_true(info->flops_per_sample > 2 * forward && info->flops_per_sample < 3.1 * forward);
    fixture_close(&f);
}

static void initial_weights_have_their_bounds(void **state)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 600 }, 4);
    fixture f;
    (void)state;
    fixture_must_open(&f, "train: {model: [dense: 400, batch_norm, relu, dense: 200]" LOSS, &feed);
    const float bounds[] = { sqrtf(6.0f / 600), sqrtf(6.0f / 600) }; /* 400 + 200 = 600 */
    for (int32_t i = 0; i < 2; i++) {
        float *weight = read_param(f.trainer, i * 3, 0), *bias = read_param(f.trainer, i * 3, 1);
        const int64_t n = i ? 400 * 200 : 600 * 400;
        double sum = 0, most = 0;
        for (int64_t k = 0; k < n; k++) {
            sum += (double)weight[k];
            most = fabs((double)weight[k]) > most ? fabs((double)weight[k]) : most;
        }
        assert_true(most <= (double)bounds[i] && most > 0.999 * (double)bounds[i]);
        assert_true(fabs(sum / (double)n) < 0.01 * (double)bounds[i]);
        for (int k = 0; k < 200; k++)
            assert_true(bias[k] == 0);
        free(weight);
        free(bias);
    }
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learns_xor),
        cmocka_unit_test(learns_images),
        cmocka_unit_test(bytes_are_the_same_as_floats),
        cmocka_unit_test(runs_repeat_bit_for_bit),
        cmocka_unit_test(wide_layers_repeat_too),
        cmocka_unit_test(dropout_drops_its_share),
        cmocka_unit_test(evaluation_neither_drops_nor_learns),
        cmocka_unit_test(saves_and_restores),
        cmocka_unit_test(refuses_other_weights),
        cmocka_unit_test(a_wrong_label_stops_before_it_teaches),
        cmocka_unit_test(views_that_do_not_fit_are_refused),
        cmocka_unit_test(bad_configs_say_where_and_what),
        cmocka_unit_test(inputs_and_targets_of_wrong_type_are_refused),
        cmocka_unit_test(counts_parameters_and_operations),
        cmocka_unit_test(initial_weights_have_their_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
