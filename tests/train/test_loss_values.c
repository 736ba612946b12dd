/* SPDX-License-Identifier: MIT
 *
 * test_loss_values.c: binary_cross_entropy and mean_squared_error against their definition in long double, and their
 * gradients against central differences. */
#include <math.h>

#include "fixtures/loss_fixture.h"

static void binary_is_right(void **state)
{
    (void)state;
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

static void binary_bears_extremes(void **state)
{
    (void)state;
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

static void binary_smoothed_and_weighted_is_right(void **state)
{
    const leat_loss *loss = &leat_loss_binary_cross_entropy;
    (void)state;
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

static void squared_error_is_right(void **state)
{
    const leat_loss *loss = &leat_loss_mean_squared_error;
    (void)state;
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
static void squared_error_refuses(void **state)
{
    const leat_loss *loss = &leat_loss_mean_squared_error;
    const leat_shape three = leat_shape_make(LEAT_F32, 1, (int64_t[]){ 3 });
    const leat_shape two = leat_shape_make(LEAT_F32, 1, (int64_t[]){ 2 });
    float values[6] = { 0, 0, 0, 0, NAN, 0 };
    uint8_t valid[2] = { 1, 0 };
    const leat_view target = { leat_shape_make(LEAT_F32, 2, (int64_t[]){ 2, 3 }), values, NULL };
    leat_loss_rows rows = { .n = 3, .rows = 2, .target = &target, .batch_rows = 2 };
    leat_error err;
    (void)state;
    assert_int_equal(loss->check(NULL, &three, &two, 0, &err), LEAT_E_CONFIG);
    assert_int_equal(loss->check(NULL, &three, &three, 0, &err), LEAT_OK);
    assert_int_equal(loss->check_targets(NULL, &three, &rows, &err), LEAT_E_DATA);
    assert_non_null(strstr(err.message, "row 1"));
    rows.valid = valid;
    assert_int_equal(loss->check_targets(NULL, &three, &rows, &err), LEAT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binary_is_right),
        cmocka_unit_test(binary_bears_extremes),
        cmocka_unit_test(binary_smoothed_and_weighted_is_right),
        cmocka_unit_test(squared_error_is_right),
        cmocka_unit_test(squared_error_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
