/* SPDX-License-Identifier: MIT
 *
 * Small models against PyTorch: outputs, gradients, and parameters after 200 updates by every optimiser that
 * PyTorch has. tests/golden/make_training.py has written the file and says how. */
#include "fixtures/train_fixture.h"

#include <math.h>

#include "formats/safetensors.h"
#include "train/schedule.h"

enum { STEPS = 200, ROWS = 16, BATCHES = 4, CLASSES = 5 };

static leat_safetensors *file;

static const struct {
    const char *name;
    int rank;
    int64_t dims[3];
} models[] = { { "mlp", 1, { 24 } }, { "cnn", 3, { 8, 8, 3 } }, { "residual", 3, { 6, 6, 2 } } };
enum { N_MODELS = sizeof models / sizeof *models };

/* The same as draw() of the script. */
static float draw(uint32_t stream, uint32_t i)
{
    uint32_t x = i + stream * 0x9E3779B9u;
    x ^= x >> 16;
    x *= 0x7FEB352Du;
    x ^= x >> 15;
    x *= 0x846CA68Bu;
    x ^= x >> 16;
    return (float)((double)(x >> 8) / 8388608 - 1);
}

/* Runs whose targets are numbers for all classes: shares of two of them, or answers from 0 to 1. */
static bool is_shares(const char *run)
{
    return !strcmp(run, "weighted_shares");
}

static bool is_answers(const char *run)
{
    return !strcmp(run, "weighted_binary");
}

static leat_trainer_feed feed_for(int model, const char *run)
{
    leat_trainer_feed feed = feed_of(LEAT_F32, models[model].rank, models[model].dims, ROWS);
    feed.batches = STEPS;
    if (is_shares(run) || is_answers(run))
        feed.target = leat_shape_make(LEAT_F32, 1, (int64_t[]){ CLASSES });
    return feed;
}

static const float *golden(const char *name, const char *part, size_t n)
{
    char whole[96];
    snprintf(whole, sizeof whole, "%s.%s", name, part);
    const leat_safetensor *found = leat_safetensors_find(file, whole);
    if (!found || found->bytes != n * sizeof(float))
        fail_msg("%s: not %zu floats", whole, n);
    return found->data;
}

/* --- a trainer with the script's weights ----------------------------------------------------- */

static void set_weights(const fixture *f)
{
    const leat_model *m = &f->trainer->model;
    uint32_t stream = 0;
    for (int32_t i = 0; i < m->n_params; i++) {
        const leat_model_param *p = &m->params[i];
        if (!p->spec->trained)
            continue;
        float *values = malloc(p->n * sizeof *values);
        for (size_t k = 0; k < p->n; k++)
            values[k] =
                draw(stream, (uint32_t)k) * 0.5f + (strcmp(p->spec->part, "scale") ? 0 : 1.0f);
        assert_int_equal(f->trainer->backend->write(f->trainer->net, p->layer, p->index,
                                                    LEAT_VALUES_WEIGHT, values, NULL),
                         LEAT_OK);
        free(values);
        stream++;
    }
}

/* run: its name; config: its options */
static void open_run(fixture *f, int model, const char *run, const char *config)
{
    const char *layers = leat_safetensors_note_of(file, models[model].name);
    const leat_trainer_feed feed = feed_for(model, run);
    char text[2048];
    assert_non_null(layers);
    snprintf(text, sizeof text, "train: {model: %s, %s%s}", layers, config,
             strstr(config, "loss:") ? "" : ", loss: softmax_cross_entropy");
    fixture_must_open(f, text, &feed);
    set_weights(f);
}

static float *trained_values(const fixture *f, leat_param_values which, size_t *n)
{
    const leat_model *m = &f->trainer->model;
    float *values = calloc(m->n_floats, sizeof *values);
    *n = 0;
    for (int32_t i = 0; i < m->n_params; i++)
        if (m->params[i].spec->trained) {
            f->trainer->backend->read(f->trainer->net, m->params[i].layer, m->params[i].index,
                                      which, values + *n, NULL);
            *n += m->params[i].n;
        }
    return values;
}

/* 3/4 of the label's class, 1/4 of the next one. */
static void shares_of(int64_t label, float *t)
{
    memset(t, 0, CLASSES * sizeof *t);
    t[label] = 0.75f;
    t[(label + 1) % CLASSES] = 0.25f;
}

static void step(const fixture *f, int model, const char *run, int k, float *logits)
{
    const leat_trainer_feed feed = feed_for(model, run);
    const size_t n = ROWS * (size_t)leat_shape_elements(&feed.input);
    const leat_shape weight = { LEAT_F32, 0, { 0 } };
    float *x = malloc(n * sizeof *x), t[ROWS * CLASSES], weights[ROWS];
    int64_t y[ROWS];
    for (size_t i = 0; i < n; i++)
        x[i] = draw(1000 + (uint32_t)k, (uint32_t)i);
    for (int i = 0; i < ROWS; i++)
        y[i] = (int64_t)(((double)draw(2000 + (uint32_t)k, (uint32_t)i) + 1) / 2 * CLASSES);
    for (int i = 0; i < ROWS; i++) {
        weights[i] = i == 3 ? 0 : draw(3000 + (uint32_t)k, (uint32_t)i) + 1;
        shares_of(y[i], t + i * CLASSES);
    }
    for (int i = 0; i < ROWS * CLASSES && is_answers(run); i++)
        t[i] = (draw(4000 + (uint32_t)k, (uint32_t)i) + 1) / 2;
    leat_net_rows rows = { .x = batch_view(&feed.input, ROWS, x),
                           .y = batch_view(&feed.target, ROWS,
                                           feed.target.rank ? (void *)t : (void *)y),
                           .rows = ROWS,
                           .n_valid = ROWS };
    if (!strncmp(run, "weighted", 8))
        rows.weights = batch_view(&weight, ROWS, weights);
    leat_error err;
    int rc;
    if (logits) {
        const leat_net_step how = {
            .train = true, .first = true, .last = true, .share = 1, .rate = 1, .logits = logits
        };
        leat_step_times times = { 0 };
        rc = f->trainer->backend->step(f->trainer->net, NULL, &rows, &how, &times, &err);
    } else {
        rc = leat_trainer_step_rows(f->trainer, &rows, true, &err);
    }
    if (rc < 0)
        fail_msg("%s", err.message);
    free(x);
}

/* Largest difference as a share of the largest value. */
static double difference(const float *is, const float *wanted, size_t n)
{
    double most = 0, size = 1e-6;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs((double)is[i] - (double)wanted[i]));
        size = fmax(size, fabs((double)wanted[i]));
        most = isnan(is[i]) ? INFINITY : most;
    }
    return most / size;
}

/* --- tests ----------------------------------------------------------------------------------- */

TEST(outputs_and_gradients_are_pytorchs)
{
    for (int model = 0; model < N_MODELS; model++) {
        fixture f;
        float logits[ROWS * CLASSES];
        size_t n;
        open_run(&f, model, "first", "optimizer: {sgd: {learning_rate: 1}}");
        float *before = trained_values(&f, LEAT_VALUES_WEIGHT, &n);
        step(&f, model, "first", 0, logits);
        float *after = trained_values(&f, LEAT_VALUES_WEIGHT, &n);
        for (size_t i = 0; i < n; i++)
            after[i] = before[i] - after[i];
        const char *name = models[model].name;
        const double a = difference(logits, golden(name, "logits", ROWS * CLASSES), ROWS * CLASSES);
        const double b = difference(after, golden(name, "gradient", n), n);
        if (getenv("LEAT_TEST_SAY"))
            printf("%s: logits %.2g, gradient %.2g\n", name, a, b);
        if (!(a < 2e-6 && b < 4e-6))
            fail_msg("%s: logits differ by %g, gradients by %g", name, a, b);
        free(before);
        free(after);
        fixture_close(&f);
    }
}

/* What the two sides differ by is float32 here and float64 there; and PyTorch clips to a length of
 * clip × length / (length + 1e-6). */
static void check_run(int model, const char *run, const char *config)
{
    const bool ema = !strcmp(run, "ema");
    const double most = strcmp(run, "clipped") ? 2e-4 : 1e-3;
    char loss[64];
    float losses[BATCHES];
    size_t n;
    fixture f;
    open_run(&f, model, run, config);
    for (int k = 0; k < STEPS; k++) {
        step(&f, model, run, k % BATCHES, NULL);
        const leat_metrics metrics = fixture_metrics(&f);
        losses[k % BATCHES] = (float)metrics.loss;
    }
    float *is = trained_values(&f, ema ? LEAT_VALUES_AVERAGE : LEAT_VALUES_WEIGHT, &n);
    snprintf(loss, sizeof loss, "loss.%s", run);
    const double a = difference(is, golden(models[model].name, run, n), n);
    const double b = difference(losses, golden(models[model].name, loss, BATCHES), BATCHES);
    if (getenv("LEAT_TEST_SAY"))
        printf("%s %s: parameters %.2g, losses %.2g\n", models[model].name, run, a, b);
    if (!(a < most && b < most))
        fail_msg("%s, %s: after %d updates parameters differ by %g, losses by %g",
                 models[model].name, run, STEPS, a, b);
    free(is);
    fixture_close(&f);
}

TEST(two_hundred_updates_are_pytorchs)
{
    static const char *const runs[] = { "sgd",
                                        "nesterov",
                                        "rules",
                                        "clipped",
                                        "adam",
                                        "adam_l2",
                                        "adamw",
                                        "one_cycle",
                                        "ema",
                                        "muon",
                                        "weighted",
                                        "weighted_smoothed",
                                        "weighted_shares",
                                        "weighted_binary" };
    for (int model = 0; model < N_MODELS; model++)
        for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
            char name[64];
            snprintf(name, sizeof name, "run.%s", runs[i]);
            const char *config = leat_safetensors_note_of(file, name);
            assert_non_null(config);
            if (model == 0 || strcmp(runs[i], "muon") != 0)
                check_run(model, runs[i], config);
        }
}

TEST(schedules_are_pytorchs)
{
    static const char *const texts[][2] = {
        { "one_cycle", "schedule: one_cycle" },
        { "cosine", "schedule: cosine" },
        { "linear", "schedule: {linear: 0.1}" },
        { "step", "schedule: {step: {milestones: [60, 120, 180], factor: 0.2, unit: steps}}" },
    };
    const leat_run_length run = { 1, STEPS, 1 };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const float *wanted = golden("schedule", texts[i][0], STEPS);
        leat_schedule *schedule;
        leat_config *config;
        leat_error err;
        assert_int_equal(leat_config_parse(texts[i][1], "test.yaml", &config, &err), LEAT_OK);
        const leat_node *root = leat_config_root(config);
        assert_int_equal(
            leat_schedule_open(leat_node_find(root, "schedule"), root, &run, &schedule, &err),
            LEAT_OK);
        for (int t = 0; t < STEPS; t++) {
            const double is = leat_schedule_factor(schedule, t);
            if (!(fabs(is - (double)wanted[t]) < 2e-7))
                fail_msg("%s, update %d: %.9g, not %.9g", texts[i][0], t, is, (double)wanted[t]);
        }
        leat_schedule_close(&schedule);
        leat_config_close(&config);
    }
}

static int open_file(void **state)
{
    leat_format_error err;
    return leat_safetensors_open(&file, SOURCE_DIR "/tests/golden/training.safetensors", &err);
}

static int close_file(void **state)
{
    leat_safetensors_close(&file);
    return 0;
}

SUITE_FIXTURE(open_file, close_file)
