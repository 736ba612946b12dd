/* SPDX-License-Identifier: MIT
 *
 * test_not_finite.c: NaN and infinite values stop training and evaluation, whatever layers and activations stand
 * between them and the loss; they are neither saved nor loaded. */
#include "fixtures/own_folder.h"
#include "fixtures/train_fixture.h"

#include <math.h>

#include "train/cpu/onednn.h"

enum { SIDE = 28, PIXELS = SIDE * SIDE, ROWS = 9 };

/* Each is followed by every activation and by a dense layer. */
static const char *const layers[] = {
    "conv2d: {filters: 4, padding: same}",
    "conv2d: {filters: 4, padding: same, bias: false}",
    "conv2d: {filters: 4}, batch_norm",
    "conv2d: {filters: 4}, layer_norm",
    "conv2d: {filters: 4}, max_pool: 2",
    "conv2d: {filters: 4}, avg_pool: 2",
    "conv2d: {filters: 4}, dropout: 0.1",
    "max_pool: {size: 3, stride: 2}",
    "avg_pool: 2",
    "batch_norm",
    "layer_norm",
    "dropout: 0.1",
    "softmax",
    "flatten",
    "flatten, dense: 5",
    "global_avg_pool",
};

static const char *const activations[] = {
    "dropout: 0", "relu", "leaky_relu", "sigmoid", "tanh", "gelu", "silu", "relu, max_pool: 2",
};

static const char *const models[] = {
    "lenet",
    "resnet9",
    "vgg11",
    "{mlp: {units: [20]}}",
};

static bool all_finite(leat_trainer *t)
{
    bool finite = true;
    for (int32_t i = 0; i < t->model.n_params; i++) {
        const leat_model_param *const p = &t->model.params[i];
        for (int which = 0; which <= t->model.optimizer->n_states; which++) {
            float *const x = malloc(p->n * sizeof *x);
            assert_int_equal(
                t->backend->read(t->net, p->layer, p->index, (leat_param_values)which, x, NULL),
                LEAT_OK);
            for (size_t k = 0; k < p->n; k++)
                finite = finite && isfinite(x[k]);
            free(x);
        }
    }
    return finite;
}

static leat_trainer_feed feed(void)
{
    leat_trainer_feed f = feed_of(LEAT_F32, 3, (int64_t[]){ SIDE, SIDE, 1 }, ROWS);
    f.n_classes = 10;
    return f;
}

/* False if this model, machine or precision is not possible. */
static bool open_model(fixture *f, const char *model, const char *rest)
{
    char text[600];
    const leat_trainer_feed of = feed();
    snprintf(text, sizeof text, "train: {model: %s, loss: softmax_cross_entropy, %s}", model, rest);
    if (fixture_open(f, text, &of) == LEAT_OK)
        return true;
    if (!strstr(f->err.message, "needs an image") && !strstr(f->err.message, "flatten"))
        fail_msg("%s: %s", text, f->err.message);
    fixture_close(f);
    return false;
}

static int step(fixture *f, float *x, bool train)
{
    int64_t labels[ROWS] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
    const leat_trainer_feed of = feed();
    const leat_view xs = batch_view(&of.input, ROWS, x), ys = batch_view(&of.target, ROWS, labels);
    return leat_trainer_step_views(f->trainer, &xs, &ys, ROWS, train, &f->err);
}

static void plant_everywhere(const char *model, const char *rest, uint64_t seed)
{
    static const float values[] = { NAN, INFINITY, -INFINITY };
    fixture f;
    if (!open_model(&f, model, rest))
        return;
    float *const x = random_floats(seed, ROWS * PIXELS);
    assert_int_equal(step(&f, x, true), LEAT_OK);
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        const size_t at = (seed * 7919 + k * 104729) % (ROWS * PIXELS);
        const float was = x[at];
        x[at] = values[k];
        for (int train = 0; train < 2; train++)
            if (step(&f, x, train) != LEAT_E_DATA || !f.err.not_finite)
                fail_msg("%s, %s: %g at %zu is not seen, train %d: %s", model, rest,
                         (double)values[k], at, train, f.err.message);
        x[at] = was;
    }
    assert_true(all_finite(f.trainer));
    assert_int_equal(step(&f, x, true), LEAT_OK);
    free(x);
    fixture_close(&f);
}

static const char *precision(int i)
{
    return i ? "precision: bf16, optimizer: adam" : "optimizer: {sgd: {momentum: 0.9}}";
}

static int n_precisions(void)
{
    return leat_dn_has_bf16() ? 2 : 1;
}

TEST(no_layer_hides_an_input)
{
    char model[300];
    uint64_t seed = 1;
    for (int p = 0; p < n_precisions(); p++)
        for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
            for (size_t k = 0; k < sizeof activations / sizeof *activations; k++, seed++) {
                const bool flat = strstr(layers[i], "flatten") || strstr(layers[i], "global");
                if (flat && strstr(activations[k], "max_pool"))
                    continue;
                snprintf(model, sizeof model, "[%s, %s, %sdense: 10]", layers[i], activations[k],
                         flat ? "" : "flatten, ");
                plant_everywhere(model, precision(p), seed);
            }
}

TEST(no_preset_hides_an_input)
{
    for (int p = 0; p < n_precisions(); p++)
        for (size_t i = 0; i < sizeof models / sizeof *models; i++)
            plant_everywhere(models[i], precision(p), i + 1);
}

/* The pixel that is no number may stand anywhere in a window. */
TEST(max_pool_keeps_what_is_no_number)
{
    for (int at = 0; at < 4; at++) {
        fixture f;
        float *const x = random_floats(1, ROWS * PIXELS);
        assert_true(open_model(&f,
                               "[conv2d: {filters: 1, kernel: 1}, max_pool: 2, flatten, dense: 10]",
                               "optimizer: sgd"));
        x[at / 2 * SIDE + at % 2] = 3e38f;
        float weight = 1e5f;
        f.trainer->backend->write(f.trainer->net, 0, 0, LEAT_VALUES_WEIGHT, &weight, NULL);
        assert_int_equal(step(&f, x, true), LEAT_E_DATA);
        free(x);
        fixture_close(&f);
    }
}

/* Sums that overflow inside of the model, where its input and its weights are finite. */
TEST(no_layer_hides_an_overflow)
{
    char model[300];
    for (int p = 0; p < n_precisions(); p++)
        for (size_t k = 0; k < sizeof activations / sizeof *activations; k++) {
            fixture f;
            float *const x = random_floats(3, ROWS * PIXELS);
            snprintf(model, sizeof model,
                     "[conv2d: {filters: 4}, %s, conv2d: {filters: 3}, relu, flatten, dense: 10]",
                     activations[k]);
            assert_true(open_model(&f, model, precision(p)));
            float *const weight = read_param(f.trainer, 0, 0);
            for (int i = 0; i < 36; i++)
                weight[i] = i % 2 ? 3e38f : -3e38f;
            f.trainer->backend->write(f.trainer->net, 0, 0, LEAT_VALUES_WEIGHT, weight, NULL);
            free(weight);
            for (int i = 0; i < ROWS * PIXELS; i++)
                x[i] *= 1e3f;
            const bool bounded = strstr("sigmoid tanh", activations[k]);
            const int rc = step(&f, x, true);
            if (!bounded && rc != LEAT_E_DATA)
                fail_msg("%s: an overflow is not seen", model);
            assert_true(all_finite(f.trainer));
            free(x);
            fixture_close(&f);
        }
}

/* Steps that are far too long end in an error, and never in steps that go on without one. */
TEST(a_rate_that_is_too_high_is_seen)
{
    static const char *const optimizers[] = {
        "optimizer: {sgd: {learning_rate: 100, momentum: 0.9}}",
        "optimizer: {sgd: {learning_rate: 1e6}}",
        "optimizer: {sgd: {learning_rate: 1e6, momentum: 0.9}}, clip: 1",
        "optimizer: {adam: {learning_rate: 1e6}}",
        "optimizer: {lars: {learning_rate: 1e6}}",
        "optimizer: {adamw: {learning_rate: 1e6}}, accumulate: 2",
    };
    static const char *const nets[] = {
        "[conv2d: {filters: 4}, relu, conv2d: {filters: 4}, relu, flatten, dense: 10]",
        "[conv2d: {filters: 4}, batch_norm, relu, conv2d: {filters: 4}, relu, flatten, dense: 10]",
        "[flatten, dense: 30, relu, dense: 10]",
        "lenet",
    };
    for (int p = 0; p < n_precisions(); p++)
        for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++)
            for (size_t k = 0; k < sizeof nets / sizeof *nets; k++) {
                fixture f;
                char rest[200];
                float *const x = random_floats(i + 1, ROWS * PIXELS);
                snprintf(rest, sizeof rest, "%s%s", optimizers[i], p ? ", precision: bf16" : "");
                assert_true(open_model(&f, nets[k], rest));
                int rc = LEAT_OK;
                for (int s = 0; s < 60 && rc == LEAT_OK; s++) {
                    rc = step(&f, x, true);
                    if (rc == LEAT_OK && !all_finite(f.trainer))
                        fail_msg("%s, %s: step %d leaves values that are not finite", nets[k], rest,
                                 s);
                }
                assert_true(rc == LEAT_OK || rc == LEAT_E_DATA);
                free(x);
                fixture_close(&f);
            }
}

/* Inputs whose squares overflow float32: the variance is infinite, the normalised values are finite. */
TEST(a_variance_that_overflows_is_seen)
{
    fixture f;
    float *const x = random_floats(1, ROWS * PIXELS);
    for (int i = 0; i < ROWS * PIXELS; i++)
        x[i] = x[i] * 1e25f;
    assert_true(open_model(&f, "[batch_norm, relu, flatten, dense: 10]", "optimizer: sgd"));
    assert_int_equal(step(&f, x, true), LEAT_E_DATA);
    assert_non_null(strstr(f.err.message, "'0.batch_norm'"));
    assert_true(all_finite(f.trainer));
    free(x);
    fixture_close(&f);
}

TEST(weights_are_neither_saved_nor_loaded)
{
    static const float values[] = { NAN, INFINITY, -INFINITY };
    char path[300], none[300];
    snprintf(path, sizeof path, "%s", in_folder("bad.st"));
    snprintf(none, sizeof none, "%s", in_folder("none.st"));
    for (size_t k = 0; k < 3; k++) {
        fixture f;
        assert_true(open_model(&f, "[flatten, dense: 10]", "optimizer: sgd"));
        assert_int_equal(leat_trainer_save(f.trainer, path, &f.err), LEAT_OK);
        float *const bias = read_param(f.trainer, 1, 1);
        bias[7] = values[k];
        f.trainer->backend->write(f.trainer->net, 1, 1, LEAT_VALUES_WEIGHT, bias, NULL);
        free(bias);
        assert_int_equal(leat_trainer_save(f.trainer, none, &f.err), LEAT_E_DATA);
        assert_non_null(strstr(f.err.message, "'1.dense.bias'"));
        assert_int_equal(f.err.not_finite, 1);
        assert_int_equal(leat_trainer_restore(f.trainer, path, &f.err), LEAT_OK);
        FILE *const file =
            fopen(path, "r+b"); /* the bias is the last tensor; the digest is dropped */
        assert_non_null(file);
        char bytes[60000];
        const size_t n = fread(bytes, 1, sizeof bytes, file);
        char *note = NULL;
        for (size_t i = 0; i + 8 < 2000; i++)
            if (!memcmp(bytes + i, "\"digest\"", 8))
                note = bytes + i;
        assert_non_null(note);
        memcpy(note, "\"digesx\"", 8);
        memcpy(bytes + n - 4, &values[k], 4);
        rewind(file);
        assert_int_equal(fwrite(bytes, 1, n, file), n);
        fclose(file);
        assert_int_equal(leat_trainer_restore(f.trainer, path, &f.err), LEAT_E_DATA);
        if (!strstr(f.err.message, "that is not a finite number") || !f.err.not_finite)
            fail_msg("%s", f.err.message);
        assert_true(all_finite(f.trainer));
        fixture_close(&f);
    }
}

SUITE_FIXTURE(make_folder, remove_folder)
