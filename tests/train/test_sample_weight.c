/* SPDX-License-Identifier: MIT
 *
 * test_sample_weight.c: train.sample_weight multiplies the loss and the gradient of each row, in training, evaluation
 * and scores; weights and tensors that are none are refused. */
#include <math.h>

#include "fixtures/loss_fixture.h"
#include "leat/score.h"
#include "train/cpu/onednn.h"

enum { ROWS = 16, SIDE = 6, CHANNELS = 3, VALUES = SIDE * SIDE * CHANNELS, CLASSES = 4, STEPS = 5 };

/* --- losses ---------------------------------------------------------------------------------- */

/* Loss and gradient of every row alone, times its weight. */
static void check_loss(const leat_loss *loss, const void *options, const leat_view *target,
                       const float *logits, int64_t n)
{
    static const float weights[LOSS_ROWS] = { 0, 1, 0.25f, 3, 1e-3f, 7 };
    static const uint8_t valid[LOSS_ROWS] = { 1, 1, 0, 1, 1, 1 };
    float grads[2][LOSS_ROWS * LOSS_MOST];
    double sums[2] = { 0 }, rights[2] = { 0 }, wanted = 0;
    for (int k = 0; k < 2; k++) {
        const leat_loss_rows in = { .logits = logits,
                                    .n = n,
                                    .rows = LOSS_ROWS,
                                    .target = target,
                                    .weights = k ? weights : NULL,
                                    .valid = valid,
                                    .batch_rows = LOSS_ROWS - 1,
                                    .grad = grads[k] };
        loss->eval(options, &in, &sums[k], &rights[k]);
    }
    for (int64_t r = 0; r < LOSS_ROWS; r++) {
        leat_view one = *target;
        double sum = 0, right = 0;
        one.shape.dims[0] = 1;
        one.data = (char *)one.data + r * leat_shape_bytes(&one.shape);
        loss_evaluate(loss, options, logits + r * n, n, &one, 1, NULL, &sum, &right);
        wanted += valid[r] ? (double)weights[r] * sum : 0;
        for (int64_t i = r * n; i < (r + 1) * n; i++) {
            const double grad = (double)weights[r] * (double)grads[0][i];
            assert_true(fabs((double)grads[1][i] - grad) <= 4e-7 * fabs(grad));
        }
    }
    assert_true(fabs(sums[1] - wanted) <= 1e-12 * fabs(wanted));
    assert_true(rights[0] == rights[1]); /* hits are counted, not weighed */
}

TEST(every_loss_is_multiplied)
{
    static const struct {
        const leat_loss *loss;
        const char *option, *value;
    } cases[] = {
        { &leat_loss_softmax_cross_entropy, NULL, NULL },
        { &leat_loss_softmax_cross_entropy, "label_smoothing", "0.2" },
        { &leat_loss_binary_cross_entropy, NULL, NULL },
        { &leat_loss_binary_cross_entropy, "with_logits", "false" },
        { &leat_loss_binary_cross_entropy, "positive_weight", "3" },
        { &leat_loss_mean_squared_error, NULL, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int soft = 0; soft < 2; soft++) {
            const leat_loss *loss = cases[i].loss;
            const bool classes = !soft && loss == &leat_loss_softmax_cross_entropy;
            void *options = loss_options_of(loss, cases[i].option, cases[i].value);
            float *logits = random_floats(i, LOSS_ROWS * 3),
                  *t = random_floats(i + 9, LOSS_ROWS * 3);
            int64_t *labels = random_labels(i, LOSS_ROWS, 3);
            for (int k = 0; k < LOSS_ROWS * 3; k++) { /* shares of three, and probabilities */
                logits[k] = (logits[k] + 1) / 2;
                t[k] = k % 3 == 2 ? 1 - t[k - 1] - t[k - 2] : (t[k] + 1) / 4;
            }
            const leat_view target = {
                classes ? leat_shape_make(LEAT_I64, 1, (int64_t[]){ LOSS_ROWS })
                        : leat_shape_make(LEAT_F32, 2, (int64_t[]){ LOSS_ROWS, 3 }),
                classes ? (void *)labels : (void *)t, NULL
            };
            check_loss(loss, options, &target, logits, 3);
            free(options);
            free(logits);
            free(labels);
            free(t);
        }
}

/* --- training -------------------------------------------------------------------------------- */

static const char *const models[] = {
    "[flatten, dense: 9, gelu, dense: 4]",
    "[conv2d: {filters: 8, kernel: 3, padding: same}, batch_norm, relu, max_pool: 2, flatten, "
    "dense: "
    "4]",
};

static void open_one(fixture *f, const char *model, const char *how, int threads)
{
    const leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ SIDE, SIDE, CHANNELS }, ROWS);
    char text[600];
    snprintf(text, sizeof text,
             "train: {threads: %d, micro_batches: 3, accumulate: 2, loss: {softmax_cross_entropy: "
             "{class_weights: [1, 2, 0.5, 1], label_smoothing: 0.1}}, model: %s, %s}",
             threads, model, how);
    fixture_must_open(f, text, &feed);
}

static int try_step(fixture *f, int s, float *weights, uint8_t *valid, bool train)
{
    const leat_shape in = leat_shape_make(LEAT_F32, 3, (int64_t[]){ SIDE, SIDE, CHANNELS });
    const leat_shape one = leat_shape_make(LEAT_I64, 0, NULL), weight = { LEAT_F32, 0, { 0 } };
    const int64_t n = s == 3 ? ROWS - 3 : ROWS;
    float *x = random_floats((uint64_t)s, ROWS * VALUES);
    int64_t *y = random_labels((uint64_t)s, ROWS, CLASSES);
    leat_net_rows rows = { .x = batch_view(&in, n, x),
                           .y = batch_view(&one, n, y),
                           .weights = batch_view(&weight, n, weights),
                           .valid = valid,
                           .rows = n };
    for (int64_t i = 0; i < n; i++)
        rows.n_valid += !valid || valid[i];
    const int rc = leat_trainer_step_rows(f->trainer, &rows, train, &f->err);
    free(x);
    free(y);
    return rc;
}

static void step(fixture *f, int s, float *weights, uint8_t *valid, bool train)
{
    if (try_step(f, s, weights, valid, train) < 0)
        fail_msg("%s", f->err.message);
}

/* Bit for bit, because 2 is a power of 2. */
TEST(weights_of_two_are_twice_the_rate)
{
    float twos[ROWS];
    for (int i = 0; i < ROWS; i++)
        twos[i] = 2;
    for (int m = 0; m < 2; m++)
        for (int half = 0; half < (leat_dn_has_bf16() ? 2 : 1); half++)
            for (int threads = 1; threads <= 3; threads++) {
                const char *const type = half ? "precision: bf16, " : "";
                char text[200];
                fixture a, b;
                snprintf(text, sizeof text,
                         "%soptimizer: {sgd: {learning_rate: 0.1}}, sample_weight: w", type);
                open_one(&a, models[m], text, threads);
                snprintf(text, sizeof text, "%soptimizer: {sgd: {learning_rate: 0.2}}", type);
                open_one(&b, models[m], text, 1);
                for (int s = 0; s < STEPS; s++) {
                    step(&a, s, twos, NULL, true);
                    step(&b, s, NULL, NULL, true);
                    const leat_metrics x = fixture_metrics(&a), y = fixture_metrics(&b);
                    assert_true(x.loss == 2 * y.loss && x.accuracy == y.accuracy);
                }
                assert_true(fixture_same_weights(&a, &b));
                step(&a, STEPS, twos, NULL, false);
                step(&b, STEPS, NULL, NULL, false);
                assert_true(fixture_metrics(&a).loss == 2 * fixture_metrics(&b).loss);
                fixture_close(&a);
                fixture_close(&b);
            }
}

/* The divisor is the number of rows that count, whatever they weigh. */
TEST(rows_of_weight_zero_teach_nothing)
{
    float weights[ROWS];
    uint8_t valid[ROWS];
    fixture a, b;
    for (int i = 0; i < ROWS; i++) {
        valid[i] = i % 2 ? 1 : 0;
        weights[i] = i % 2 ? 2.0f : 0.0f;
    }
    open_one(&a, models[0], "sample_weight: w", 2);
    open_one(&b, models[0], "device: cpu", 1);
    for (int s = 0; s < 3; s++) { /* of 16 rows half, so that both divisors are powers of 2 */
        step(&a, s, weights, NULL, true);
        step(&b, s, NULL, valid, true);
        assert_true(fabs(fixture_metrics(&a).loss - fixture_metrics(&b).loss) < 1e-12);
    }
    assert_true(fixture_same_weights(&a, &b));
    fixture_close(&a);
    fixture_close(&b);
}

TEST(bits_do_not_depend_on_threads)
{
    for (int m = 0; m < 2; m++) {
        fixture one, other;
        open_one(&one, models[m], "sample_weight: w", 1);
        open_one(&other, models[m], "sample_weight: w", 3);
        for (int s = 0; s < STEPS; s++) {
            float *weights = random_floats(100 + (uint64_t)s, ROWS);
            for (int i = 0; i < ROWS; i++)
                weights[i] = fabsf(weights[i]);
            step(&one, s, weights, NULL, true);
            step(&other, s, weights, NULL, true);
            free(weights);
        }
        assert_true(fixture_same_weights(&one, &other));
        fixture_close(&one);
        fixture_close(&other);
    }
}

/* --- through a loader ------------------------------------------------------------------------ */

enum { N = 40 };
static float xs[N * 5], weights[N];
static int64_t ys[N];

static leat_plan *make_plan(const leat_rows *weight, int32_t n)
{
    leat_builder *builder = leat_builder_open();
    const leat_rows rows[] = {
        { "features", leat_shape_make(LEAT_F32, 1, (int64_t[]){ 5 }), xs },
        { "label", leat_shape_make(LEAT_I64, 0, NULL), ys },
        *weight,
    };
    leat_builder_rows(builder, N, rows, n);
    leat_builder_stage(builder, "batch", "{size: 16, drop_remainder: false}");
    return plan_of_builder(builder);
}

static const leat_rows a_weight = { "w", { LEAT_F32, 1, { 1 } }, weights };

static void open_on(fixture *f, const leat_plan *plan, const char *name, int wanted)
{
    char text[200];
    memset(f, 0, sizeof *f);
    snprintf(text, sizeof text,
             "train: {model: [dense: 3], loss: softmax_cross_entropy, sample_weight: %s}", name);
    assert_int_equal(leat_config_parse(text, "test.yaml", &f->config, &f->err), LEAT_OK);
    assert_int_equal(leat_trainer_open_device(f->config, &f->device, &f->err), LEAT_OK);
    if (leat_trainer_open(f->config, plan, f->device, &f->trainer, &f->err) != wanted)
        fail_msg("%s", f->err.message);
}

static void draw_rows(void)
{
    float *x = random_floats(1, N * 5), *w = random_floats(2, N);
    int64_t *y = random_labels(3, N, 3);
    memcpy(xs, x, sizeof xs);
    memcpy(ys, y, sizeof ys);
    for (int i = 0; i < N; i++)
        weights[i] = i % 5 ? fabsf(w[i]) : 0;
    free(x);
    free(y);
    free(w);
}

static leat_loader *loader_of(fixture *f, const leat_plan *plan)
{
    const leat_loader_options how = { .epochs = 1,
                                      .expect = leat_trainer_get_info(f->trainer)->expect };
    leat_loader *loader;
    assert_int_equal(leat_loader_open(plan, &how, &loader, &f->err), LEAT_OK);
    return loader;
}

/* Adds the weighted loss of a batch, from the model's outputs. */
static double loss_of_batch(const float *outputs, int64_t first, int64_t rows)
{
    double loss = 0;
    for (int64_t i = 0; i < rows; i++) {
        const float *x = outputs + i * 3;
        const double sum = exp((double)x[0]) + exp((double)x[1]) + exp((double)x[2]);
        loss += (double)weights[first + i] * (log(sum) - (double)x[ys[first + i]]);
    }
    return loss;
}

TEST(evaluation_and_scores_are_weighted)
{
    leat_metrics metrics;
    leat_score_info info;
    leat_score *score;
    leat_batch *batch;
    float outputs[16 * 3];
    double wanted = 0;
    fixture f;
    draw_rows();
    leat_plan *plan = make_plan(&a_weight, 3);
    open_on(&f, plan, "w", LEAT_OK);
    leat_loader *loader = loader_of(&f, plan);
    while (leat_loader_next(loader, &batch, &f.err) == LEAT_OK)
        assert_int_equal(leat_trainer_step(f.trainer, batch, &f.err), LEAT_OK);
    leat_loader_close(&loader);
    loader = loader_of(&f, plan);
    assert_int_equal(leat_trainer_evaluate(f.trainer, loader, &metrics, &f.err), LEAT_OK);
    leat_loader_close(&loader);
    loader = loader_of(&f, plan);
    assert_int_equal(leat_score_open(f.trainer, 1, &score, &f.err), LEAT_OK);
    while (leat_loader_next(loader, &batch, &f.err) == LEAT_OK) {
        const leat_batch_info *of = leat_batch_get_info(batch);
        assert_int_equal(leat_trainer_predict(f.trainer, batch, outputs, &f.err), LEAT_OK);
        assert_int_equal(leat_score_add(score, batch, outputs, NULL, NULL, &f.err), LEAT_OK);
        wanted += loss_of_batch(outputs, of->number * 16, of->rows) / N;
        leat_batch_release(batch);
    }
    leat_score_get(score, &info);
    assert_true(fabs(info.loss - wanted) < 1e-6 && fabs(metrics.loss - wanted) < 1e-6);
    assert_true(info.accuracy == metrics.accuracy);
    leat_score_close(&score);
    leat_loader_close(&loader);
    fixture_close(&f);
    leat_plan_close(&plan);
}

/* --- refusals -------------------------------------------------------------------------------- */

TEST(tensors_of_a_wrong_kind_are_named)
{
    static const struct {
        leat_rows rows;
        const char *name, *words[2];
    } cases[] = {
        { { "w", { LEAT_I64, 0, { 0 } }, ys }, "w", { "'w' is int64", "op cast" } },
        { { "w", { LEAT_F32, 1, { 2 } }, xs }, "w", { "one float32 per sample", "float32[2]" } },
        { { "w", { LEAT_F32, 0, { 0 } }, weights }, "v", { "no tensor 'v'", "label" } },
    };
    fixture f;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_plan *plan = make_plan(&cases[i].rows, 3);
        open_on(&f, plan, cases[i].name, LEAT_E_CONFIG);
        for (int k = 0; k < 2; k++)
            if (!strstr(f.err.message, cases[i].words[k]))
                fail_msg("not '%s': %s", cases[i].words[k], f.err.message);
        fixture_close(&f);
        leat_plan_close(&plan);
    }
    leat_plan *plan = make_plan(&a_weight, 3), *without = make_plan(&a_weight, 2);
    open_on(&f, plan, "w", LEAT_OK);
    assert_int_equal(leat_trainer_check(f.trainer, plan, &f.err), LEAT_OK);
    assert_int_equal(leat_trainer_check(f.trainer, without, &f.err), LEAT_E_CONFIG);
    assert_non_null(strstr(f.err.message, "train.sample_weight"));
    fixture_close(&f);
    leat_plan_close(&plan);
    leat_plan_close(&without);
}

/* A mixed row has the weight of one of its two samples. */
TEST(mixed_samples_have_no_weight)
{
    static float images[N * 4 * 4 * 1], of_classes[N * 3];
    static const struct {
        const char *map;
        int wanted;
    } cases[] = {
        { "[{mixup: {alpha: 0.3}}]", LEAT_E_CONFIG },
        { "[{cutmix: {label: none}}]", LEAT_E_CONFIG },
        { "{tensor: other, ops: [{mixup: {label: none}}]}", LEAT_OK },
    };
    draw_rows();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const leat_shape shape = leat_shape_make(LEAT_F32, 3, (int64_t[]){ 4, 4, 1 });
        const leat_rows rows[] = {
            { "image", shape, images },
            { "label", leat_shape_make(LEAT_F32, 1, (int64_t[]){ 3 }), of_classes },
            a_weight,
            { "other", shape, images },
        };
        static const char text[] = "train: {model: [flatten, dense: 3], loss: "
                                   "softmax_cross_entropy, sample_weight: w}";
        leat_builder *const builder = leat_builder_open();
        fixture f = { 0 };
        leat_builder_rows(builder, N, rows, 4);
        leat_builder_stage(builder, "batch", "16");
        leat_builder_stage(builder, "map", cases[i].map);
        leat_plan *plan = plan_of_builder(builder);
        assert_int_equal(leat_config_parse(text, "t.yaml", &f.config, &f.err), LEAT_OK);
        assert_int_equal(leat_trainer_open_device(f.config, &f.device, &f.err), LEAT_OK);
        const int rc = leat_trainer_open(f.config, plan, f.device, &f.trainer, &f.err);
        if (rc != cases[i].wanted ||
            (rc < 0 && !strstr(f.err.message, "mix pairs of samples, and a mixed row would count "
                                              "with the weight of one of them only")))
            fail_msg("%zu: %s", i, rc < 0 ? f.err.message : "taken");
        fixture_close(&f);
        leat_plan_close(&plan);
    }
}

/* The model reads the first tensor that is nothing else, wherever the weight stands; which one, is told where there is a
 * choice. */
TEST(a_weight_is_no_input)
{
    const leat_rows features = { "features", leat_shape_make(LEAT_F32, 1, (int64_t[]){ 5 }), xs };
    const leat_rows label = { "label", leat_shape_make(LEAT_I64, 0, NULL), ys };
    const leat_rows more = { "more", leat_shape_make(LEAT_F32, 1, (int64_t[]){ 5 }), xs };
    for (int with_more = 0; with_more < 2; with_more++) {
        leat_builder *builder = leat_builder_open();
        const leat_rows rows[] = { a_weight, label, features, more };
        fixture f;
        leat_builder_rows(builder, N, rows, 3 + with_more);
        leat_builder_stage(builder, "batch", "16");
        leat_plan *plan = plan_of_builder(builder);
        open_on(&f, plan, "w", LEAT_OK);
        assert_int_equal(f.trainer->input_at, 2);
        assert_int_equal(f.trainer->weight_at, 0);
        assert_int_equal(!!strstr(f.trainer->note, "the model reads 'features', the first"),
                         with_more);
        fixture_close(&f);
        leat_plan_close(&plan);
    }
}

/* The sizes of padded rows, which padded_batch adds, are no choice. */
TEST(lengths_are_no_other_input)
{
    const leat_rows rows[] = {
        { "label", leat_shape_make(LEAT_I64, 0, NULL), ys },
        { "features", leat_shape_make(LEAT_F32, 1, (int64_t[]){ 5 }), xs },
        { "features_width", leat_shape_make(LEAT_I64, 0, NULL), ys },
        a_weight,
    };
    for (int with_more = 0; with_more < 2; with_more++) {
        leat_builder *builder = leat_builder_open();
        fixture f;
        leat_builder_rows(builder, N,
                          with_more ? rows : (leat_rows[]){ rows[0], rows[1], a_weight },
                          3 + with_more);
        leat_builder_stage(builder, "padded_batch", "{size: 16, shapes: {features: [8]}}");
        leat_plan *plan = plan_of_builder(builder);
        assert_int_equal(leat_plan_tensor_index(plan, "features_length"), 3 + with_more);
        open_on(&f, plan, "w", LEAT_OK);
        assert_int_equal(f.trainer->input_at, 1);
        assert_int_equal(!!strstr(f.trainer->note, "the model reads 'features', the first"),
                         with_more);
        fixture_close(&f);
        leat_plan_close(&plan);
    }
}

TEST(impossible_weights_are_named)
{
    static const float bad[] = { -1e-30f, NAN, INFINITY, -INFINITY };
    fixture f;
    open_one(&f, models[0], "sample_weight: w", 1);
    for (int i = 0; i < 4; i++) {
        float w[ROWS] = { 0 };
        uint8_t valid[ROWS] = { 1, 1, 1 };
        w[9] = bad[i];
        assert_int_equal(try_step(&f, 0, w, NULL, true), LEAT_E_DATA);
        assert_non_null(strstr(f.err.message, "row 9 of the batch has the sample weight"));
        assert_int_equal(f.err.not_finite, i > 0);
        assert_int_equal(try_step(&f, 0, w, valid, true), LEAT_OK); /* it does not count */
    }
    assert_int_equal(try_step(&f, 0, NULL, NULL, true), LEAT_E_ARGUMENT);
    fixture_close(&f);
}
