/* SPDX-License-Identifier: MIT
 *
 * test_loss.c: softmax_cross_entropy against its definition in long double, its gradient against central
 * differences, and what losses refuse. */
#include <math.h>

#include "fixtures/loss_fixture.h"

TEST(softmax_is_right)
{
    const leat_loss *loss = &leat_loss_softmax_cross_entropy;
    for (int64_t n = 1; n <= LOSS_MOST; n++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            float *logits = random_floats(seed, LOSS_ROWS * LOSS_MOST);
            int64_t *labels = random_labels(seed, LOSS_ROWS, (uint32_t)n);
            leat_view target = { leat_shape_make(LEAT_I64, 1, (int64_t[]){ LOSS_ROWS }), labels,
                                 NULL };
            long double wanted = 0;
            double right, hits = 0;
            for (int64_t r = 0; r < LOSS_ROWS; r++) {
                long double sum = 0;
                int64_t best = 0;
                for (int64_t c = 0; c < n; c++) {
                    sum += expl((long double)logits[r * n + c]);
                    best = logits[r * n + c] > logits[r * n + best] ? c : best;
                }
                wanted += logl(sum) - (long double)logits[r * n + labels[r]];
                hits += best == labels[r];
            }
            const double got = loss_of(loss, NULL, logits, n, &target, LOSS_ROWS, &right);
            assert_true(fabs(got - (double)wanted) < 1e-6 * LOSS_ROWS);
            assert_true(right == hits);
            loss_check_gradient(loss, NULL, logits, n, &target);
            free(logits);
            free(labels);
        }
}

TEST(softmax_bears_large_logits)
{
    const float logits[] = { 1e30f, -1e30f, 0, 300, -300, 0 };
    int64_t labels[] = { 0, 1 };
    float grad[6];
    double sum = 0, right = 0;
    const leat_view target = { leat_shape_make(LEAT_I64, 1, (int64_t[]){ 2 }), labels, NULL };
    loss_evaluate(&leat_loss_softmax_cross_entropy, NULL, logits, 3, &target, 2, grad, &sum,
                  &right);
    assert_true(fabs(sum - 600) < 1e-3);
    assert_true(right == 1);
    for (int i = 0; i < 6; i++)
        assert_true(isfinite(grad[i]));
}

TEST(labels_of_every_type_mean_the_same)
{
    int64_t wide[] = { 2, 0, 1 };
    int32_t half[] = { 2, 0, 1 };
    uint8_t byte[] = { 2, 0, 1 };
    float *logits = random_floats(1, 9);
    double sums[3] = { 0 }, right = 0;
    void *data[] = { wide, half, byte };
    const leat_dtype types[] = { LEAT_I64, LEAT_I32, LEAT_U8 };
    for (int i = 0; i < 3; i++) {
        const leat_view target = { leat_shape_make(types[i], 2, (int64_t[]){ 3, 1 }), data[i],
                                   NULL };
        loss_evaluate(&leat_loss_softmax_cross_entropy, NULL, logits, 3, &target, 3, NULL, &sums[i],
                      &right);
    }
    assert_true(sums[0] == sums[1] && sums[1] == sums[2]);
    free(logits);
}

TEST(impossible_targets_are_named)
{
    leat_error err;
    const leat_shape logits = leat_shape_make(LEAT_F32, 1, (int64_t[]){ 3 });
    const leat_shape one = leat_shape_make(LEAT_F32, 1, (int64_t[]){ 1 });
    const leat_loss *softmax = &leat_loss_softmax_cross_entropy;
    const leat_loss *binary = &leat_loss_binary_cross_entropy;
    for (int64_t row = 0; row < 4; row++) {
        int64_t labels[4] = { 0, 1, 2, 0 };
        float targets[4] = { 0, 1, 0.5f, 0 };
        char where[32];
        const leat_view view = { leat_shape_make(LEAT_I64, 1, (int64_t[]){ 4 }), labels, NULL };
        const leat_view floats = { leat_shape_make(LEAT_F32, 1, (int64_t[]){ 4 }), targets, NULL };
        uint8_t valid[4] = { 1, 1, 1, 1 };
        const leat_loss_rows ints = { .target = &view, .valid = valid, .rows = 4 };
        const leat_loss_rows reals = { .target = &floats, .valid = valid, .rows = 4 };
        assert_int_equal(softmax->check_targets(NULL, &logits, &ints, &err), LEAT_OK);
        assert_int_equal(binary->check_targets(NULL, &one, &reals, &err), LEAT_OK);
        snprintf(where, sizeof where, "row %d ", (int)row);
        labels[row] = row % 2 ? 3 : -1;
        assert_int_equal(softmax->check_targets(NULL, &logits, &ints, &err), LEAT_E_DATA);
        assert_non_null(strstr(err.message, where));
        assert_non_null(strstr(err.message, row % 2 ? "label 3" : "label -1"));
        assert_non_null(strstr(err.message, "3 classes"));
        targets[row] = row == 3 ? NAN : 1.5f;
        assert_int_equal(binary->check_targets(NULL, &one, &reals, &err), LEAT_E_DATA);
        assert_non_null(strstr(err.message, where));
        assert_int_equal(err.not_finite, row == 3);
        valid[row] = 0; /* what does not count may be anything */
        assert_int_equal(softmax->check_targets(NULL, &logits, &ints, &err), LEAT_OK);
        assert_int_equal(binary->check_targets(NULL, &one, &reals, &err), LEAT_OK);
    }
}

TEST(weights_of_a_wrong_kind_are_named)
{
    static const float rows[][3] = {
        { 0.5f, 0.25f, 0.25f }, { 0.5f, 0.5f, 0.5f }, { 2, -1, 0 }, { NAN, 1, 0 }, { 0, 0, 0 }
    };
    static const char *const texts[] = { NULL, "do not sum to 1", "are not all 0 or more",
                                         "are not all 0 or more", "do not sum to 1" };
    const leat_shape logits = leat_shape_make(LEAT_F32, 1, (int64_t[]){ 3 });
    leat_error err;
    for (int i = 0; i < 5; i++) {
        float targets[2][3] = { { 1, 0, 0 } };
        const leat_view view = { leat_shape_make(LEAT_F32, 2, (int64_t[]){ 2, 3 }), targets, NULL };
        const leat_loss_rows in = { .target = &view, .rows = 2 };
        memcpy(targets[1], rows[i], sizeof targets[1]);
        const int rc = leat_loss_softmax_cross_entropy.check_targets(NULL, &logits, &in, &err);
        assert_int_equal(rc, texts[i] ? LEAT_E_DATA : LEAT_OK);
        if (texts[i])
            assert_true(strstr(err.message, texts[i]) && strstr(err.message, "row 1 "));
        if (texts[i])
            assert_int_equal(err.not_finite, i == 3);
    }
    const leat_shape two = leat_shape_make(LEAT_F32, 1, (int64_t[]){ 2 });
    assert_int_equal(leat_loss_softmax_cross_entropy.check(NULL, &logits, &two, 0, &err),
                     LEAT_E_CONFIG);
    assert_non_null(strstr(err.message, "one weight per class as its target, 3 in all"));
    assert_int_equal(leat_loss_softmax_cross_entropy.check(NULL, &logits, &logits, 0, &err),
                     LEAT_OK);
}

/* Rows of weights that sum to 1. */
static void draw_weights(uint64_t seed, int64_t n, float *weights)
{
    leat_rng rng = leat_rng_make(seed, 2, 0, 99);
    for (int64_t r = 0; r < LOSS_ROWS; r++) {
        float sum = 0;
        for (int64_t c = 0; c < n; c++)
            sum += weights[r * n + c] = leat_rng_f32(&rng) + 0.01f;
        for (int64_t c = 0; c < n; c++)
            weights[r * n + c] /= sum;
    }
}

TEST(class_weights_are_right)
{
    const leat_loss *loss = &leat_loss_softmax_cross_entropy;
    for (int64_t n = 2; n <= LOSS_MOST; n++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            float *logits = random_floats(seed, LOSS_ROWS * LOSS_MOST),
                  weights[LOSS_ROWS * LOSS_MOST];
            const leat_view target = { leat_shape_make(LEAT_F32, 2, (int64_t[]){ LOSS_ROWS, n }),
                                       weights, NULL };
            long double wanted = 0;
            double hits = 0, right;
            draw_weights(seed, n, weights);
            for (int64_t r = 0; r < LOSS_ROWS; r++) {
                const float *const x = logits + r * n, *const t = weights + r * n;
                long double sum = 0;
                int64_t best = 0, most = 0;
                for (int64_t c = 0; c < n; c++) {
                    sum += expl((long double)x[c]);
                    best = x[c] > x[best] ? c : best;
                    most = t[c] > t[most] ? c : most;
                }
                for (int64_t c = 0; c < n; c++)
                    wanted += (long double)t[c] * (logl(sum) - (long double)x[c]);
                hits += best == most;
            }
            const double got = loss_of(loss, NULL, logits, n, &target, LOSS_ROWS, &right);
            assert_true(fabs(got - (double)wanted) < 1e-6 * LOSS_ROWS);
            assert_true(right == hits);
            loss_check_gradient(loss, NULL, logits, n, &target);
            free(logits);
        }
}

/* Label smoothing and class weights, for targets of both kinds, against the definition in long double. */
TEST(smoothed_and_weighted_is_right)
{
    static const struct {
        const char *text;
        double smoothing;
        double weights[3];
    } cases[] = {
        { "{loss: {label_smoothing: 0.2}}", 0.2, { 1, 1, 1 } },
        { "{loss: {class_weights: [0.5, 2, 0]}}", 0, { 0.5, 2, 0 } },
        { "{loss: {label_smoothing: 0.1, class_weights: [1, 3, 0.25]}}", 0.1, { 1, 3, 0.25 } },
    };
    const leat_loss *loss = &leat_loss_softmax_cross_entropy;
    const leat_shape out = leat_shape_make(LEAT_F32, 1, (int64_t[]){ 3 });
    for (int soft = 0; soft < 2; soft++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            leat_config *config;
            leat_error err = { 0 };
            void *options = calloc(1, loss->options_size);
            float *logits = random_floats(i, LOSS_ROWS * LOSS_MOST), weights[LOSS_ROWS * 3];
            int64_t *labels = random_labels(i, LOSS_ROWS, 3);
            const leat_view target = {
                soft ? leat_shape_make(LEAT_F32, 2, (int64_t[]){ LOSS_ROWS, 3 })
                     : leat_shape_make(LEAT_I64, 1, (int64_t[]){ LOSS_ROWS }),
                soft ? (void *)weights : (void *)labels, NULL
            };
            long double wanted = 0;
            double right;
            draw_weights(i, 3, weights);
            assert_int_equal(leat_config_parse(cases[i].text, "x", &config, &err), LEAT_OK);
            const leat_node *node = leat_node_find(leat_config_root(config), "loss");
            assert_int_equal(
                leat_node_options(node, node, "loss", loss->kind.options, options, &err), LEAT_OK);
            assert_int_equal(loss->open(options, &out, &err), LEAT_OK);
            for (int64_t r = 0; r < LOSS_ROWS; r++) {
                long double sum = 0;
                for (int64_t c = 0; c < 3; c++)
                    sum += expl((long double)logits[r * 3 + c]);
                for (int64_t c = 0; c < 3; c++) {
                    const double plain = soft ? (double)weights[r * 3 + c] : labels[r] == c;
                    const double t = (1 - cases[i].smoothing) * plain + cases[i].smoothing / 3;
                    wanted += (long double)(t * cases[i].weights[c]) *
                              (logl(sum) - (long double)logits[r * 3 + c]);
                }
            }
            const double got = loss_of(loss, options, logits, 3, &target, LOSS_ROWS, &right);
            if (!(fabs(got - (double)wanted) < 1e-6 * LOSS_ROWS))
                fail_msg("%s: %.9g, not %.9g", cases[i].text, got, (double)wanted);
            loss_check_gradient(loss, options, logits, 3, &target);
            loss->close(options);
            leat_config_close(&config);
            free(options);
            free(logits);
            free(labels);
        }
}

TEST(class_weights_of_a_wrong_kind_are_refused)
{
    static const char *const bad[] = { "[1, 2]",      "3",      "[1, 2, -1]",
                                       "[1, 2, [3]]", "{a: 1}", "[0, 0, 0]" };
    const leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 4 }, 2);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fixture f;
        char text[256];
        snprintf(text, sizeof text,
                 "train: {model: [dense: 3], loss: {softmax_cross_entropy: {class_weights: %s}}}",
                 bad[i]);
        assert_int_equal(fixture_open(&f, text, &feed), LEAT_E_CONFIG);
        assert_non_null(strstr(f.err.message, "test.yaml:1:"));
        fixture_close(&f);
    }
}

TEST(a_weight_of_one_is_the_class)
{
    const leat_loss *loss = &leat_loss_softmax_cross_entropy;
    float *logits = random_floats(4, LOSS_ROWS * LOSS_MOST), weights[LOSS_ROWS * LOSS_MOST] = { 0 };
    float grads[2][LOSS_ROWS * LOSS_MOST];
    int64_t *labels = random_labels(4, LOSS_ROWS, LOSS_MOST);
    double sums[2] = { 0 }, rights[2] = { 0 };
    const leat_view classes = { leat_shape_make(LEAT_I64, 1, (int64_t[]){ LOSS_ROWS }), labels,
                                NULL };
    const leat_view soft = { leat_shape_make(LEAT_F32, 2, (int64_t[]){ LOSS_ROWS, LOSS_MOST }),
                             weights, NULL };
    for (int r = 0; r < LOSS_ROWS; r++)
        weights[r * LOSS_MOST + labels[r]] = 1;
    loss_evaluate(loss, NULL, logits, LOSS_MOST, &classes, LOSS_ROWS, grads[0], &sums[0],
                  &rights[0]);
    loss_evaluate(loss, NULL, logits, LOSS_MOST, &soft, LOSS_ROWS, grads[1], &sums[1], &rights[1]);
    assert_true(sums[0] == sums[1] && rights[0] == rights[1]);
    assert_memory_equal(grads[0], grads[1], sizeof grads[0]);
    free(logits);
    free(labels);
}

/* With some rows that do not count, loss, hits and gradients are those of the others alone. */
TEST(rows_that_do_not_count_weigh_nothing)
{
    static const uint8_t valid[LOSS_ROWS] = { 0, 1, 1, 0, 1, 0 };
    for (int which = 0; which < 3; which++) {
        const leat_loss *loss =
            which == 2 ? &leat_loss_binary_cross_entropy : &leat_loss_softmax_cross_entropy;
        const int64_t n = 3;
        void *options = loss_options_of(loss, NULL, NULL);
        float *logits = random_floats(7, LOSS_ROWS * n), weights[LOSS_ROWS * LOSS_MOST],
              kept[LOSS_ROWS * LOSS_MOST];
        float kept_weights[LOSS_ROWS * LOSS_MOST], grad[LOSS_ROWS * LOSS_MOST],
            want[LOSS_ROWS * LOSS_MOST];
        int64_t *labels = random_labels(7, LOSS_ROWS, 3), kept_labels[LOSS_ROWS];
        double sums[2] = { 0 }, rights[2] = { 0 };
        int64_t m = 0;
        draw_weights(7, n, weights);
        for (int64_t r = 0; r < LOSS_ROWS; r++)
            if (valid[r]) {
                memcpy(kept + m * n, logits + r * n, (size_t)n * sizeof *kept);
                memcpy(kept_weights + m * n, weights + r * n, (size_t)n * sizeof *kept);
                kept_labels[m++] = labels[r];
            } else {
                weights[r * n] = 1e9f; /* whatever */
                labels[r] = 0;
            }
        const leat_shape of_rows = which ? leat_shape_make(LEAT_F32, 2, (int64_t[]){ LOSS_ROWS, n })
                                         : leat_shape_make(LEAT_I64, 1, (int64_t[]){ LOSS_ROWS });
        leat_view target = { of_rows, which ? (void *)weights : labels, NULL };
        const leat_loss_rows in = { .logits = logits,
                                    .n = n,
                                    .rows = LOSS_ROWS,
                                    .target = &target,
                                    .valid = valid,
                                    .batch_rows = m,
                                    .grad = grad };
        loss->eval(options, &in, &sums[0], &rights[0]);
        target.data = which ? (void *)kept_weights : kept_labels;
        loss_evaluate(loss, options, kept, n, &target, m, want, &sums[1], &rights[1]);
        assert_true(sums[0] == sums[1] && rights[0] == rights[1]);
        m = 0;
        for (int64_t r = 0; r < LOSS_ROWS; r++)
            for (int64_t c = 0; c < n; c++)
                assert_true(grad[r * n + c] == (valid[r] ? want[m++] : 0));
        free(options);
        free(logits);
        free(labels);
    }
}

/* Binary_cross_entropy and mean_squared_error against their definition in long double, and their
 * gradients against central differences. */

TEST(binary_is_right)
{
    const leat_loss *loss = &leat_loss_binary_cross_entropy;
    for (int with_logits = 0; with_logits < 2; with_logits++)
        for (int64_t n = 1; n <= LOSS_MOST; n++) {
            void *options = loss_options_of(loss, "with_logits", with_logits ? "true" : "false");
            float *logits = random_floats((uint64_t)n, LOSS_ROWS * LOSS_MOST);
            float *targets = random_floats(77, LOSS_ROWS * LOSS_MOST);
            long double wanted = 0;
            double hits = 0, right;
            for (int64_t i = 0; i < LOSS_ROWS * n; i++) {
                targets[i] = i % 3 ? fabsf(targets[i]) : (float)(i % 2);
                logits[i] = with_logits ? logits[i] * 4 : 0.1f + 0.8f * fabsf(logits[i]);
                const long double x = (long double)logits[i], t = (long double)targets[i];
                const long double p = with_logits ? 1 / (1 + expl(-x)) : x;
                wanted -= (t * logl(p) + (1 - t) * logl(1 - p)) / (long double)n;
                hits += ((p > 0.5L) == (t > 0.5L)) / (double)n;
            }
            const leat_view target = { leat_shape_make(LEAT_F32, 2, (int64_t[]){ LOSS_ROWS, n }),
                                       targets, NULL };
            const double got = loss_of(loss, options, logits, n, &target, LOSS_ROWS, &right);
            assert_true(fabs(got - (double)wanted) < 1e-5 * LOSS_ROWS);
            assert_true(fabs(right - hits) < 1e-9);
            loss_check_gradient(loss, options, logits, n, &target);
            free(options);
            free(logits);
            free(targets);
        }
}

TEST(binary_bears_extremes)
{
    for (int with_logits = 0; with_logits < 2; with_logits++) {
        void *options = loss_options_of(&leat_loss_binary_cross_entropy, "with_logits",
                                        with_logits ? "true" : "false");
        const float logits[] = { with_logits ? 1e30f : 1.0f, with_logits ? -1e30f : 0.0f };
        int64_t labels[] = { 1, 0 };
        float grad[2];
        double sum = 0, right = 0;
        const leat_view target = { leat_shape_make(LEAT_I64, 1, (int64_t[]){ 2 }), labels, NULL };
        loss_evaluate(&leat_loss_binary_cross_entropy, options, logits, 1, &target, 2, grad, &sum,
                      &right);
        assert_true(sum >= 0 && sum < 1e-6 && right == 2);
        assert_true(isfinite(grad[0]) && isfinite(grad[1]));
        free(options);
    }
}

TEST(binary_smoothed_and_weighted_is_right)
{
    const leat_loss *loss = &leat_loss_binary_cross_entropy;
    for (int with_logits = 0; with_logits < 2; with_logits++) {
        void *options = loss_options_of(loss, "label_smoothing", "0.2");
        float *logits = random_floats(3, LOSS_ROWS * LOSS_MOST);
        int64_t *labels = random_labels(3, LOSS_ROWS * 2, 2);
        const leat_view target = { leat_shape_make(LEAT_I64, 2, (int64_t[]){ LOSS_ROWS, 2 }),
                                   labels, NULL };
        double wanted = 0, right;
        leat_option_set(leat_option_find(loss->kind.options, "positive_weight"), options, "3",
                        NULL);
        leat_option_set(leat_option_find(loss->kind.options, "with_logits"), options,
                        with_logits ? "true" : "false", NULL);
        for (int i = 0; i < LOSS_ROWS * 2; i++) {
            if (!with_logits)
                logits[i] = 0.5f + 0.4f * logits[i];
            const double x = (double)logits[i], p = with_logits ? 1 / (1 + exp(-x)) : x;
            const double t = 0.8 * (double)labels[i] + 0.1;
            wanted -= (3 * t * log(p) + (1 - t) * log(1 - p)) / 2;
        }
        assert_true(fabs(loss_of(loss, options, logits, 2, &target, LOSS_ROWS, &right) - wanted) <
                    1e-6);
        loss_check_gradient(loss, options, logits, 2, &target);
        free(options);
        free(logits);
        free(labels);
    }
}

TEST(squared_error_is_right)
{
    const leat_loss *loss = &leat_loss_mean_squared_error;
    for (int64_t n = 1; n <= LOSS_MOST; n++) {
        float *logits = random_floats(1, LOSS_ROWS * LOSS_MOST),
              *targets = random_floats(2, LOSS_ROWS * LOSS_MOST);
        const leat_view target = { leat_shape_make(LEAT_F32, 2, (int64_t[]){ LOSS_ROWS, n }),
                                   targets, NULL };
        double wanted = 0, right;
        for (int64_t i = 0; i < LOSS_ROWS * n; i++)
            wanted += pow((double)logits[i] - (double)targets[i], 2) / (double)n;
        assert_true(fabs(loss_of(loss, NULL, logits, n, &target, LOSS_ROWS, &right) - wanted) <
                    1e-9);
        assert_true(right == 0);
        loss_check_gradient(loss, NULL, logits, n, &target);
        free(logits);
        free(targets);
    }
}

/* The model's values and the targets must be as many; a target must be a number. */
TEST(squared_error_refuses)
{
    const leat_loss *loss = &leat_loss_mean_squared_error;
    const leat_shape three = leat_shape_make(LEAT_F32, 1, (int64_t[]){ 3 });
    const leat_shape two = leat_shape_make(LEAT_F32, 1, (int64_t[]){ 2 });
    float values[6] = { 0, 0, 0, 0, NAN, 0 };
    uint8_t valid[2] = { 1, 0 };
    const leat_view target = { leat_shape_make(LEAT_F32, 2, (int64_t[]){ 2, 3 }), values, NULL };
    leat_loss_rows rows = { .n = 3, .rows = 2, .target = &target, .batch_rows = 2 };
    leat_error err;
    assert_int_equal(loss->check(NULL, &three, &two, 0, &err), LEAT_E_CONFIG);
    assert_int_equal(loss->check(NULL, &three, &three, 0, &err), LEAT_OK);
    assert_int_equal(loss->check_targets(NULL, &three, &rows, &err), LEAT_E_DATA);
    assert_non_null(strstr(err.message, "row 1"));
    assert_int_equal(err.not_finite, 1);
    rows.valid = valid;
    assert_int_equal(loss->check_targets(NULL, &three, &rows, &err), LEAT_OK);
}
