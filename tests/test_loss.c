/* SPDX-License-Identifier: MIT
 *
 * Losses against their definition in long double, their gradients against central differences, and
 * what they refuse. */
#include "train_fixture.h"

#include <math.h>

#include "losses.h"

enum { ROWS = 6, MOST = 7 };

static void *options_of(const leat_loss *loss, const char *name, const char *value)
{
    void *options = calloc(1, loss->options_size ? loss->options_size : 1);
    leat_option_init(loss->kind.options, options);
    if (name)
        assert_int_equal(
            leat_option_set(leat_option_find(loss->kind.options, name), options, value, NULL), 0);
    return options;
}

static double loss_of(const leat_loss *loss, const void *options, const float *logits, int64_t n,
                      const leat_view *target, int64_t rows, double *right)
{
    double sum = 0;
    *right = 0;
    loss->eval(options, logits, n, target, rows, rows, NULL, &sum, right);
    return sum;
}

/* Mean loss moves by grad * h, up to the curvature and the float of the logits. */
static void check_gradient(const leat_loss *loss, const void *options, const float *logits,
                           int64_t n, const leat_view *target)
{
    float grad[ROWS * MOST], moved[ROWS * MOST];
    double sum = 0, right = 0;
    loss->eval(options, logits, n, target, ROWS, ROWS, grad, &sum, &right);
    for (int64_t i = 0; i < ROWS * n; i++) {
        const float h = 1.0f / 256;
        memcpy(moved, logits, sizeof moved);
        moved[i] = logits[i] + h;
        const double up = loss_of(loss, options, moved, n, target, ROWS, &right);
        moved[i] = logits[i] - h;
        const double down = loss_of(loss, options, moved, n, target, ROWS, &right);
        const double slope = (up - down) / (2 * (double)h) / ROWS;
        if (!(fabs(slope - (double)grad[i]) <= 3e-5 + 1e-3 * fabs(slope)))
            fail_msg("%s: gradient [%d] is %.8g, difference %.8g", loss->kind.name, (int)i,
                     (double)grad[i], slope);
    }
}

static void softmax_is_right(void **state)
{
    (void)state;
    const leat_loss *loss = &leat_loss_softmax_cross_entropy;
    for (int64_t n = 1; n <= MOST; n++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            float *logits = random_floats(seed, ROWS * MOST);
            int64_t *labels = random_labels(seed, ROWS, (uint32_t)n);
            leat_view target = { leat_shape_make(LEAT_I64, 1, (int64_t[]){ ROWS }), labels, NULL };
            long double wanted = 0;
            double right, hits = 0;
            for (int64_t r = 0; r < ROWS; r++) {
                long double sum = 0;
                int64_t best = 0;
                for (int64_t c = 0; c < n; c++) {
                    sum += expl((long double)logits[r * n + c]);
                    best = logits[r * n + c] > logits[r * n + best] ? c : best;
                }
                wanted += logl(sum) - (long double)logits[r * n + labels[r]];
                hits += best == labels[r];
            }
            const double got = loss_of(loss, NULL, logits, n, &target, ROWS, &right);
            assert_true(fabs(got - (double)wanted) < 1e-6 * ROWS);
            assert_true(right == hits);
            check_gradient(loss, NULL, logits, n, &target);
            free(logits);
            free(labels);
        }
}

static void softmax_bears_large_logits(void **state)
{
    (void)state;
    const float logits[] = { 1e30f, -1e30f, 0, 300, -300, 0 };
    int64_t labels[] = { 0, 1 };
    float grad[6];
    double sum = 0, right = 0;
    const leat_view target = { leat_shape_make(LEAT_I64, 1, (int64_t[]){ 2 }), labels, NULL };
    leat_loss_softmax_cross_entropy.eval(NULL, logits, 3, &target, 2, 2, grad, &sum, &right);
    assert_true(fabs(sum - 600) < 1e-3);
    assert_true(right == 1);
    for (int i = 0; i < 6; i++)
        assert_true(isfinite(grad[i]));
}

static void labels_of_every_type_mean_the_same(void **state)
{
    (void)state;
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
        leat_loss_softmax_cross_entropy.eval(NULL, logits, 3, &target, 3, 3, NULL, &sums[i],
                                             &right);
    }
    assert_true(sums[0] == sums[1] && sums[1] == sums[2]);
    free(logits);
}

static void binary_is_right(void **state)
{
    (void)state;
    const leat_loss *loss = &leat_loss_binary_cross_entropy;
    for (int with_logits = 0; with_logits < 2; with_logits++)
        for (int64_t n = 1; n <= MOST; n++) {
            void *options = options_of(loss, "with_logits", with_logits ? "true" : "false");
            float *logits = random_floats((uint64_t)n, ROWS * MOST);
            float *targets = random_floats(77, ROWS * MOST);
            long double wanted = 0;
            double hits = 0, right;
            for (int64_t i = 0; i < ROWS * n; i++) {
                targets[i] = i % 3 ? fabsf(targets[i]) : (float)(i % 2);
                logits[i] = with_logits ? logits[i] * 4 : 0.1f + 0.8f * fabsf(logits[i]);
                const long double x = (long double)logits[i], t = (long double)targets[i];
                const long double p = with_logits ? 1 / (1 + expl(-x)) : x;
                wanted -= (t * logl(p) + (1 - t) * logl(1 - p)) / (long double)n;
                hits += ((p > 0.5L) == (t > 0.5L)) / (double)n;
            }
            const leat_view target = { leat_shape_make(LEAT_F32, 2, (int64_t[]){ ROWS, n }),
                                       targets, NULL };
            const double got = loss_of(loss, options, logits, n, &target, ROWS, &right);
            assert_true(fabs(got - (double)wanted) < 1e-5 * ROWS);
            assert_true(fabs(right - hits) < 1e-9);
            check_gradient(loss, options, logits, n, &target);
            free(options);
            free(logits);
            free(targets);
        }
}

static void binary_bears_extremes(void **state)
{
    (void)state;
    for (int with_logits = 0; with_logits < 2; with_logits++) {
        void *options = options_of(&leat_loss_binary_cross_entropy, "with_logits",
                                   with_logits ? "true" : "false");
        const float logits[] = { with_logits ? 1e30f : 1.0f, with_logits ? -1e30f : 0.0f };
        int64_t labels[] = { 1, 0 };
        float grad[2];
        double sum = 0, right = 0;
        const leat_view target = { leat_shape_make(LEAT_I64, 1, (int64_t[]){ 2 }), labels, NULL };
        leat_loss_binary_cross_entropy.eval(options, logits, 1, &target, 2, 2, grad, &sum, &right);
        assert_true(sum >= 0 && sum < 1e-6 && right == 2);
        assert_true(isfinite(grad[0]) && isfinite(grad[1]));
        free(options);
    }
}

static void impossible_targets_are_named(void **state)
{
    (void)state;
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
        assert_int_equal(softmax->check_targets(NULL, &logits, &view, 4, &err), LEAT_OK);
        assert_int_equal(binary->check_targets(NULL, &one, &floats, 4, &err), LEAT_OK);
        snprintf(where, sizeof where, "row %d ", (int)row);
        labels[row] = row % 2 ? 3 : -1;
        assert_int_equal(softmax->check_targets(NULL, &logits, &view, 4, &err), LEAT_E_DATA);
        assert_non_null(strstr(err.message, where));
        assert_non_null(strstr(err.message, row % 2 ? "label 3" : "label -1"));
        assert_non_null(strstr(err.message, "3 classes"));
        targets[row] = row == 3 ? NAN : 1.5f;
        assert_int_equal(binary->check_targets(NULL, &one, &floats, 4, &err), LEAT_E_DATA);
        assert_non_null(strstr(err.message, where));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_is_right),
        cmocka_unit_test(softmax_bears_large_logits),
        cmocka_unit_test(labels_of_every_type_mean_the_same),
        cmocka_unit_test(binary_is_right),
        cmocka_unit_test(binary_bears_extremes),
        cmocka_unit_test(impossible_targets_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
