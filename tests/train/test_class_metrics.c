/* SPDX-License-Identifier: MIT
 *
 * test_class_metrics.c: precision, recall, F1 and AUC against scikit-learn (tests/golden/make_metrics.py), in every split
 * into batches and order of rows; masked rows; evaluations of a trainer for any number of threads; what is refused. */
#include <math.h>

#include "fixtures/train_fixture.h"
#include "train/classes/class_ask.h"

/* One case of metrics.inc. `is_float`: targets are float, of binary_cross_entropy or weights of classes. */
typedef struct golden {
    const char *name, *loss;
    int64_t rows, n, classes;
    const float *outputs;
    const void *targets;
    int is_float;
    double means[4];
    const double *table; /* [classes][4] */
} golden;

#include "../golden/metrics.inc"

enum { N_CASES = sizeof cases / sizeof *cases, MOST = 40 };

/* The values of both in the order of the golden ones; a metric that is added to the list is missing here. */
static void values_of(const leat_metrics *m, double to[4])
{
    int n = 0;
#define VALUE(name, text, field)                                                                   \
    if (leat_decide_is_of_classes(LEAT_METRIC_##name))                                             \
        to[n++] = m->field;
    LEAT_METRIC_LIST(VALUE)
#undef VALUE
    assert_int_equal(n, 4);
}

static bool same(double a, double b)
{
    return isnan(a) || isnan(b) ? isnan(a) && isnan(b) : fabs(a - b) < 1e-12;
}

static void check(const golden *g, leat_class_metrics *m)
{
    leat_metrics means;
    double all[4];
    leat_class_metrics_means(m, &means);
    values_of(&means, all);
    for (int i = 0; i < 4; i++)
        if (!same(all[i], g->means[i]))
            fail_msg("%s: mean %d is %.17g, not %.17g", g->name, i, all[i], g->means[i]);
    for (int64_t k = 0; k < g->classes; k++) {
        leat_score_class c;
        leat_class_metrics_get(m, k, &c);
        const double values[4] = { c.precision, c.recall, c.f1, c.auc };
        for (int i = 0; i < 4; i++)
            if (!same(values[i], g->table[4 * k + i]))
                fail_msg("%s: class %d, value %d is %.17g, not %.17g", g->name, (int)k, i,
                         values[i], g->table[4 * k + i]);
    }
}

/* The target's shape of a sample. */
static leat_shape target_of(const golden *g)
{
    return g->is_float ? leat_shape_make(LEAT_F32, 1, &g->n) : leat_shape_make(LEAT_I64, 0, NULL);
}

static void open_case(const golden *g, fixture *f)
{
    const int64_t dims[] = { 3 };
    const leat_trainer_feed feed = { .input = leat_shape_make(LEAT_F32, 1, dims),
                                     .target = target_of(g),
                                     .batch_size = 8 };
    char text[300];
    snprintf(text, sizeof text, "train: {metrics: [auc], model: [dense: %d%s], loss: %s}",
             (int)g->n, strstr(g->loss, "false") ? ", sigmoid" : "", g->loss);
    fixture_must_open(f, text, &feed);
}

/* Rows [from, from + n) of the case in order of `order`, with a masked row of nonsense between them if `masks`. */
static void add_rows(const golden *g, leat_class_metrics *m, const int *order, int from, int n,
                     bool masks)
{
    static float outputs[2 * MOST * 8], floats[2 * MOST * 8];
    static int64_t classes[2 * MOST];
    static uint8_t valid[2 * MOST];
    leat_error err;
    int at = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < (masks ? 2 : 1); k++, at++) {
            const int64_t row = order[from + i];
            valid[at] = k == 0;
            for (int64_t c = 0; c < g->n; c++) {
                outputs[at * g->n + c] = k ? NAN : g->outputs[row * g->n + c];
                floats[at * g->n + c] = k             ? -1.0f
                                        : g->is_float ? ((const float *)g->targets)[row * g->n + c]
                                                      : 0.0f;
            }
            classes[at] = k ? 1000 : g->is_float ? 0 : ((const int64_t *)g->targets)[row];
        }
    const leat_shape sample = target_of(g);
    const leat_view target =
        batch_view(&sample, at, g->is_float ? (void *)floats : (void *)classes);
    const leat_loss_rows rows = {
        .logits = outputs, .n = g->n, .rows = at, .target = &target, .valid = masks ? valid : NULL
    };
    assert_int_equal(leat_class_metrics_add(m, &rows, &err), LEAT_OK);
}

TEST(values_are_those_of_scikit_learn)
{
    for (int i = 0; i < N_CASES; i++) {
        const golden *const g = &cases[i];
        leat_class_metrics *m = NULL;
        fixture f;
        open_case(g, &f);
        assert_int_equal(leat_class_metrics_classes(&f.trainer->model), g->classes);
        assert_int_equal(leat_class_ask_open(f.trainer, &m, &f.err), LEAT_OK);
        for (int way = 0; way < 6; way++) {
            int order[MOST];
            const int step = way % 3 == 0 ? MOST : way % 3 == 1 ? 1 : 7;
            for (int r = 0; r < MOST; r++)
                order[r] = way % 2 ? (r * 27 + 5) % MOST : r; /* 27 and 40 have no common factor */
            leat_class_metrics_reset(m);
            for (int from = 0; from < MOST; from += step) {
                add_rows(g, m, order, from, from + step > MOST ? MOST - from : step, way >= 3);
                if (way == 1) { /* asked for in between */
                    leat_metrics between;
                    leat_class_metrics_means(m, &between);
                }
            }
            check(g, m);
        }
        leat_class_metrics_close(&m);
        fixture_close(&f);
    }
}

/* An output that is not finite has no place among the others. */
TEST(not_finite_has_no_auc)
{
    const float outputs[] = { 1, 0, NAN, 0, 0, 1 };
    const int64_t labels[] = { 0, 1, 1 };
    const leat_shape sample = leat_shape_make(LEAT_I64, 0, NULL);
    const leat_view target = batch_view(&sample, 3, (void *)(uintptr_t)labels);
    const leat_loss_rows rows = { .logits = outputs, .n = 2, .rows = 3, .target = &target };
    const golden two = { .loss = "softmax_cross_entropy", .n = 2 };
    leat_class_metrics *m = NULL;
    leat_metrics means;
    fixture f;
    open_case(&two, &f);
    assert_int_equal(leat_class_ask_open(f.trainer, &m, &f.err), LEAT_OK);
    leat_class_metrics_means(m, &means);
    assert_true(isnan(means.precision) && isnan(means.recall) && isnan(means.f1) &&
                isnan(means.auc)); /* no rows */
    assert_int_equal(leat_class_metrics_add(m, &rows, &f.err), LEAT_OK);
    leat_class_metrics_means(m, &means);
    assert_true(isnan(means.auc) && !isnan(means.recall));
    leat_class_metrics_reset(m);
    leat_class_metrics_means(m, &means);
    assert_true(isnan(means.recall));
    leat_class_metrics_close(&m);
    fixture_close(&f);
}

/* --- in a trainer -------------------------------------------------------------------------------- */

enum { RECORDS = 90, INPUTS = 6, CLASSES = 5 };

static float inputs[RECORDS * INPUTS];
static int64_t labels[RECORDS];

static leat_plan *open_plan(const char *batch)
{
    const int64_t dims[] = { INPUTS };
    const leat_rows rows[] = { { "image", leat_shape_make(LEAT_F32, 1, dims), inputs },
                               { "label", leat_shape_make(LEAT_I64, 0, NULL), labels } };
    leat_builder *builder = leat_builder_open();
    leat_builder_rows(builder, RECORDS, rows, 2);
    leat_builder_stage(builder, "batch", batch);
    return plan_of_builder(builder);
}

static void open_trainer(fixture *f, const leat_plan *plan, const char *options)
{
    char text[400];
    *f = (fixture){ 0 };
    snprintf(text, sizeof text,
             "train: {loss: softmax_cross_entropy, model: [dense: 7, relu, dense: 5], %s}",
             options);
    if (leat_config_parse(text, "x", &f->config, &f->err) < 0 ||
        leat_trainer_open_device(f->config, &f->device, &f->err) < 0 ||
        leat_trainer_open(f->config, plan, f->device, &f->trainer, &f->err) < 0)
        fail_msg("%s", f->err.message);
}

static leat_metrics evaluate(fixture *f, const leat_plan *plan)
{
    const leat_loader_options once = { .epochs = 1, .device = f->device };
    leat_loader *loader = NULL;
    leat_metrics out = { 0 };
    if (leat_loader_open(plan, &once, &loader, &f->err) < 0 ||
        leat_trainer_evaluate(f->trainer, loader, &out, &f->err) < 0)
        fail_msg("%s", f->err.message);
    leat_loader_close(&loader);
    return out;
}

/* As `leat eval` does. */
static void score_all(fixture *f, const leat_plan *plan, leat_score **score)
{
    const leat_loader_options once = { .epochs = 1 };
    leat_loader *loader = NULL;
    leat_batch *batch;
    float outputs[RECORDS * CLASSES];
    assert_int_equal(leat_score_open(f->trainer, 1, score, &f->err), LEAT_OK);
    assert_int_equal(leat_loader_open(plan, &once, &loader, &f->err), LEAT_OK);
    while (leat_loader_next(loader, &batch, &f->err) == LEAT_OK) {
        assert_int_equal(leat_trainer_predict(f->trainer, batch, outputs, &f->err), LEAT_OK);
        assert_int_equal(leat_score_add(*score, batch, outputs, NULL, NULL, &f->err), LEAT_OK);
        leat_batch_release(batch);
    }
    leat_loader_close(&loader);
}

/* Evaluations twice, for 1 to 5 threads and any batch: the same bits, which are those of a score. The loss is what it is
 * without metrics. */
TEST(an_evaluation_has_the_bits_of_a_score)
{
    static const char *const batches[] = { "90", "8", "1" };
    leat_plan *plan = open_plan("8");
    fixture plain;
    open_trainer(&plain, plan, "threads: 1");
    const leat_metrics without = evaluate(&plain, plan);
    assert_true(isnan(without.auc) && isnan(without.f1));
    assert_int_equal(leat_score_n_evaluated(plain.trainer), 0);
    for (int threads = 1; threads <= 5; threads += 2)
        for (int b = 0; b < 3; b++) {
            leat_plan *eval = open_plan(batches[b]);
            char options[80];
            fixture f;
            leat_score *score = NULL;
            leat_score_info info;
            snprintf(options, sizeof options, "threads: %d, metrics: [f1, auc]", threads);
            open_trainer(&f, plan, options);
            assert_int_equal(leat_score_n_evaluated(f.trainer), 0);
            evaluate(&f, eval);
            const leat_metrics m = evaluate(&f, eval);
            score_all(&f, eval, &score);
            leat_score_get(score, &info);
            assert_int_equal(m.samples, RECORDS);
            assert_true(fabs(m.loss - without.loss) < 1e-6 && m.accuracy == without.accuracy);
            assert_true(info.precision == m.precision && info.recall == m.recall);
            assert_true(info.f1 == m.f1 && info.auc == m.auc && m.auc > 0 && m.auc < 1);
            assert_int_equal(leat_score_n_evaluated(f.trainer), CLASSES);
            assert_int_equal(info.n_labels, CLASSES);
            for (int k = 0; k <= CLASSES; k++) {
                leat_score_class x, y;
                leat_score_get_class(score, k, &x);
                leat_score_evaluated_class(f.trainer, k, &y);
                assert_true(x.samples == y.samples && x.right == y.right);
                assert_true(same(x.auc, y.auc) && isnan(x.auc) == (k == CLASSES));
            }
            leat_score_close(&score);
            fixture_close(&f);
            leat_plan_close(&eval);
        }
    fixture_close(&plain);
    leat_plan_close(&plan);
}

/* Only outputs that someone needs are kept. */
TEST(auc_is_there_where_it_is_asked_for)
{
    static const struct {
        const char *options;
        bool classes, auc;
    } rows[] = {
        { "metrics: [accuracy, loss]", false, false },
        { "metrics: [precision]", true, false },
        { "metrics: [auc]", true, true },
        { "stop: {patience: 2, metric: auc}", true, true },
        { "checkpoint: {dir: x, best: f1}", true, false },
        { "schedule: {plateau: {metric: auc}}", true, true },
    };
    leat_plan *plan = open_plan("8");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[400];
        fixture f = { 0 };
        snprintf(text, sizeof text,
                 "train: {loss: softmax_cross_entropy, model: [dense: 5], %s}\neval: {source: x}",
                 rows[i].options);
        if (leat_config_parse(text, "x", &f.config, &f.err) < 0 ||
            leat_trainer_open_device(f.config, &f.device, &f.err) < 0 ||
            leat_trainer_open(f.config, plan, f.device, &f.trainer, &f.err) < 0)
            fail_msg("%s", f.err.message);
        const leat_metrics m = evaluate(&f, plan);
        assert_int_equal(!isnan(m.f1), rows[i].classes);
        assert_int_equal(!isnan(m.auc), rows[i].auc);
        leat_train_memory memory, after;
        assert_int_equal(leat_trainer_memory(f.trainer, &memory, &f.err), LEAT_OK);
        assert_int_equal(leat_trainer_check(f.trainer, plan, &f.err), LEAT_OK);
        assert_int_equal(leat_trainer_memory(f.trainer, &after, &f.err), LEAT_OK);
        assert_true((after.metrics >= RECORDS * CLASSES * 4) == rows[i].auc);
        assert_int_equal(after.total - memory.total, after.metrics);
        fixture_close(&f);
    }
    leat_plan_close(&plan);
}

TEST(every_metric_decides)
{
    for (int32_t i = 0; i < LEAT_N_METRICS; i++) {
        const leat_trainer_feed feed = { .input = leat_shape_make(LEAT_F32, 1, (int64_t[]){ 3 }),
                                         .target = leat_shape_make(LEAT_I64, 0, NULL),
                                         .batch_size = 4,
                                         .batches = 5 };
        leat_metrics m[3] = { { .samples = 1 }, { .samples = 1 }, { .samples = 1 } };
        const double values[3] = { 0.5, 0.4, 0.6 };
        leat_train_decision d[3];
        char text[300];
        fixture f;
        for (int k = 0; k < 3; k++) {
            switch (i) {
#define SET(name, text_, field)                                                                    \
    case LEAT_METRIC_##name:                                                                       \
        m[k].field = values[k];                                                                    \
        break;
                LEAT_METRIC_LIST(SET)
#undef SET
            }
        }
        snprintf(text, sizeof text,
                 "train: {loss: softmax_cross_entropy, model: [dense: 3], stop: {patience: 1, "
                 "metric: %s}, checkpoint: {dir: x, best: %s}}\neval: {source: x}",
                 leat_patience_metrics[i], leat_patience_metrics[i]);
        fixture_must_open(&f, text, &feed);
        for (int k = 0; k < 3; k++)
            assert_int_equal(leat_trainer_decide(f.trainer, &m[k], &d[k], &f.err), LEAT_OK);
        const bool lower = i == LEAT_METRIC_LOSS;
        assert_true(d[0].better == 1 && d[1].better == lower && d[2].better == !lower);
        assert_true(d[0].stop == 0 && d[1].stop == !lower && d[2].stop == lower);
        fixture_close(&f);
    }
}

TEST(what_cannot_be_measured_is_refused)
{
    static const struct {
        const char *text;
        const char *words[2];
    } rows[] = {
        { "train: {loss: softmax_cross_entropy, model: [dense: 3], metrics: [f1, presicion]}",
          { "test.yaml:1:", "did you mean 'precision'" } },
        { "train: {loss: mean_squared_error, model: [dense: 1], metrics: [auc]}",
          { "test.yaml:1:", "the loss mean_squared_error has no classes" } },
        { "train: {loss: mean_squared_error, model: [dense: 1], stop: {patience: 1, metric: f1}}\n"
          "eval: {source: x}",
          { "test.yaml:1:", "no classes, so there is no f1" } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ 3 }, 4);
        fixture f;
        feed.batches = 5;
        if (strstr(rows[i].text, "squared"))
            feed.target = leat_shape_make(LEAT_F32, 1, (int64_t[]){ 1 });
        assert_int_equal(fixture_open(&f, rows[i].text, &feed), LEAT_E_CONFIG);
        for (int k = 0; k < 2; k++)
            if (!strstr(f.err.message, rows[i].words[k]))
                fail_msg("'%s' is not in: %s", rows[i].words[k], f.err.message);
        fixture_close(&f);
    }
}

/* The memory is counted before, and watched while rows come. */
TEST(outputs_beyond_the_memory_are_refused)
{
    const golden *const g = &cases[0];
    const leat_class_limit little = { true, 30 * 49, "a test" }; /* 49 bytes a row of 5 outputs */
    leat_class_metrics *m = NULL;
    int order[MOST];
    fixture f;
    open_case(g, &f);
    for (int r = 0; r < MOST; r++)
        order[r] = r;
    assert_int_equal(leat_class_metrics_bytes(&f.trainer->model, 30), little.bytes);
    assert_int_equal(leat_class_metrics_fits(&f.trainer->model, &little, 30, &f.err), LEAT_OK);
    assert_int_equal(leat_class_metrics_fits(&f.trainer->model, &little, 31, &f.err), LEAT_E_NOMEM);
    assert_non_null(strstr(f.err.message, "31 samples"));
    assert_non_null(strstr(f.err.message, "(a test): leave out auc"));
    assert_int_equal(leat_class_metrics_open(&f.trainer->model, &little, &m, &f.err), LEAT_OK);
    add_rows(g, m, order, 0, 30, false);
    const leat_shape sample = target_of(g);
    const leat_view target = batch_view(&sample, 1, (void *)(uintptr_t)g->targets);
    const leat_loss_rows more = { .logits = g->outputs, .n = g->n, .rows = 1, .target = &target };
    assert_int_equal(leat_class_metrics_add(m, &more, &f.err), LEAT_E_NOMEM);
    leat_class_metrics_reset(m);
    assert_int_equal(leat_class_metrics_add(m, &more, &f.err), LEAT_OK);
    leat_class_metrics_close(&m);
    f.trainer->machine.memory_bytes = 0;
    assert_int_equal(leat_class_ask_memory(f.trainer, 1, &f.err), LEAT_E_NOMEM);
    assert_int_equal(leat_class_ask_memory(f.trainer, -1, &f.err), LEAT_OK); /* not known */
    fixture_close(&f);
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
