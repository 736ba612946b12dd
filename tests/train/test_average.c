/* SPDX-License-Identifier: MIT
 *
 * Averages of the weights against the definitions in average.c, computed here in double from the weights of
 * each step of a run without average. */
#include "fixtures/train_fixture.h"

#include <math.h>
#include <unistd.h>

#include "train/average.h"

enum { STEPS = 12, ROWS = 4, IN = 5, OUT = 3 };

static const char model[] = "model: [dense: 6, batch_norm, relu, dense: 3], loss: "
                            "softmax_cross_entropy, optimizer: {sgd: {learning_rate: 0.3}}";

static leat_trainer_feed the_feed(void)
{
    leat_trainer_feed feed = feed_of(LEAT_F32, 1, (int64_t[]){ IN }, ROWS);
    feed.batches = STEPS;
    return feed;
}

static void open_with(fixture *f, const char *average)
{
    char text[512];
    const leat_trainer_feed feed = the_feed();
    snprintf(text, sizeof text, "train: {%s%s%s}", model, *average ? ", average: " : "", average);
    fixture_must_open(f, text, &feed);
}

static void step(fixture *f, int i)
{
    const leat_trainer_feed feed = the_feed();
    float *x = random_floats((uint64_t)i, ROWS * IN);
    int64_t *y = random_labels((uint64_t)i, ROWS, OUT);
    fixture_step(f, &feed, x, y, ROWS, true);
    free(x);
    free(y);
}

/* All parameters, also running statistics, one after the other. */
static double *all_values(const fixture *f, leat_param_values which, size_t *n)
{
    const leat_model *m = &f->trainer->model;
    double *values = calloc(m->n_floats, sizeof *values);
    *n = 0;
    for (int32_t i = 0; i < m->n_params; i++) {
        float *part = malloc(m->params[i].n * sizeof *part);
        assert_int_equal(f->trainer->backend->read(f->trainer->net, m->params[i].layer,
                                                   m->params[i].index, which, part, NULL),
                         LEAT_OK);
        for (size_t k = 0; k < m->params[i].n; k++)
            values[(*n)++] = (double)part[k];
        free(part);
    }
    return values;
}

static void assert_near(const fixture *f, leat_param_values which, const double *wanted, int n)
{
    size_t count;
    double *is = all_values(f, which, &count);
    for (size_t i = 0; i < count; i++)
        if (!(fabs(is[i] - wanted[i]) <= 1e-5 * (1 + fabs(wanted[i]))))
            fail_msg("after %d updates, value %zu: %.9g, not %.9g", n, i, is[i], wanted[i]);
    free(is);
}

/* An average changes nothing of the training itself. */
static void check_ema(const char *options, double (*decay)(int n))
{
    fixture plain, averaged;
    size_t count;
    open_with(&plain, "");
    open_with(&averaged, options);
    double *mean = all_values(&plain, LEAT_VALUES_WEIGHT, &count);
    for (int n = 1; n <= STEPS; n++) {
        step(&plain, n);
        step(&averaged, n);
        double *now = all_values(&plain, LEAT_VALUES_WEIGHT, &count);
        for (size_t i = 0; i < count; i++)
            mean[i] = decay(n) * mean[i] + (1 - decay(n)) * now[i];
        assert_true(fixture_same_weights(&plain, &averaged));
        assert_near(&averaged, LEAT_VALUES_AVERAGE, mean, n);
        free(now);
    }
    free(mean);
    fixture_close(&plain);
    fixture_close(&averaged);
}

static double ema_plain(int n)
{
    return 0.8;
}

static double ema_every(int n)
{
    return n % 3 ? 1 : 0.5;
}

static double ema_warm(int n)
{
    const double early = (1.0 + n) / (10.0 + n);
    return early < 0.4 ? early : 0.4;
}

TEST(ema_equals_the_definition)
{
    check_ema("{ema: 0.8}", ema_plain);
    check_ema("{ema: {decay: 0.5, every: 3}}", ema_every);
    check_ema("{ema: {decay: 0.4, warmup: true}}", ema_warm);
}

/* A step begins with the weights that the average gave: one step of a plain run from there. */
static void check_lookahead(const char *options, int every, double decay, double power)
{
    fixture plain, f;
    size_t count;
    open_with(&plain, "");
    open_with(&f, options);
    double *mean = all_values(&f, LEAT_VALUES_WEIGHT, &count);
    for (int n = 1; n <= STEPS; n++) {
        const double kept = decay * pow(n / (double)STEPS, power);
        step(&plain, n);
        step(&f, n);
        double *now = all_values(&plain, LEAT_VALUES_WEIGHT, &count);
        for (size_t i = 0; i < count && n % every == 0; i++)
            mean[i] = kept * mean[i] + (1 - kept) * now[i];
        assert_near(&f, LEAT_VALUES_AVERAGE, mean, n);
        const bool back = n % every == 0 || (power > 0 && n == STEPS);
        assert_near(&f, LEAT_VALUES_WEIGHT, back ? mean : now, n);
        free(now);
        /* go on from the same weights */
        for (int32_t i = 0; i < f.trainer->model.n_params; i++) {
            const leat_model_param *p = &f.trainer->model.params[i];
            float *values = read_param(f.trainer, p->layer, p->index);
            plain.trainer->backend->write(plain.trainer->net, p->layer, p->index,
                                          LEAT_VALUES_WEIGHT, values, NULL);
            free(values);
        }
    }
    free(mean);
    fixture_close(&plain);
    fixture_close(&f);
}

TEST(lookahead_equals_the_definition)
{
    check_lookahead("lookahead", 5, pow(0.95, 5), 3);
    check_lookahead("{lookahead: {every: 3, decay: 0.9, power: 1}}", 3, 0.9, 1);
    check_lookahead("{lookahead: {every: 4, decay: 0.5, power: 0}}", 4, 0.5, 0);
}

/* A sum of gradients that was begun before the start is left out. */
static void check_late_start(int start, int accumulate)
{
    fixture f;
    size_t count;
    char options[128];
    snprintf(options, sizeof options,
             "{lookahead: {every: 2, decay: 0.9, power: 1}}, accumulate: %d", accumulate);
    open_with(&f, options);
    assert_int_equal(leat_trainer_start_at(f.trainer, start, &f.err), LEAT_OK);
    for (int n = start + 1; n <= STEPS; n++) {
        const int taken = n - start % accumulate, updates = taken / accumulate;
        const bool blends = taken % accumulate == 0 && updates % 2 == 0;
        step(&f, n);
        double *average = all_values(&f, LEAT_VALUES_AVERAGE, &count);
        double *weights = all_values(&f, LEAT_VALUES_WEIGHT, &count);
        if (!memcmp(average, weights, count * sizeof *weights) != (blends || n == STEPS))
            fail_msg("start at %d, accumulate %d: wrong after batch %d", start, accumulate, n);
        free(average);
        free(weights);
    }
    fixture_close(&f);
}

/* A run that begins later, with saved weights, follows the rest of the schedule of the whole run. */
TEST(lookahead_of_a_late_start_ends_with_the_run)
{
    for (int start = 0; start < STEPS; start++)
        for (int accumulate = 1; accumulate < 5; accumulate++)
            check_late_start(start, accumulate);
}

static void step_masked(fixture *f)
{
    float x[ROWS * IN] = { 0 };
    int64_t y[ROWS] = { 0 };
    const uint8_t valid[ROWS] = { 0 };
    const leat_trainer_feed feed = the_feed();
    const leat_net_rows rows = { .x = batch_view(&feed.input, ROWS, x),
                                 .y = batch_view(&feed.target, ROWS, y),
                                 .valid = valid,
                                 .rows = ROWS };
    assert_int_equal(leat_trainer_step_rows(f->trainer, &rows, true, &f->err), LEAT_OK);
}

/* A copy of the trainer's state, as at the end of an epoch. */
static void resume_into(fixture *to, fixture *from, int next_batch)
{
    const leat_loader_state state = fixture_state(next_batch);
    char folder[] = "/tmp/leat_test_average_XXXXXX", path[64];
    leat_checkpoint_found found;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/step-1.ckpt", folder);
    if (leat_checkpoint_write(from->trainer, &state, path, &from->err) < 0 ||
        leat_checkpoint_resume(to->trainer, path, &found, &to->err) < 0)
        fail_msg("%s%s", from->err.message, to->err.message);
    unlink(path);
    rmdir(folder);
}

/* Masked batches make no update, and the run ends with its last batch all the same. accumulate: an update takes so
 * many batches with a valid row. resume_after: go on with a checkpoint of this many batches; 0: do not. */
static void check_lookahead_masked(int masked, int accumulate, int resume_after)
{
    fixture f, other;
    size_t count;
    char options[128];
    snprintf(options, sizeof options,
             "{lookahead: {every: 2, decay: 0.9, power: 1}}, accumulate: %d", accumulate);
    open_with(&f, options);
    open_with(&other, options);
    fixture *at = &f;
    for (int n = 1; n <= STEPS; n++) {
        if (n == masked)
            step_masked(at);
        else
            step(at, n);
        const int updates = (n - (n >= masked)) / accumulate;
        const bool updated = n != masked && (n - (n >= masked)) % accumulate == 0;
        double *average = all_values(at, LEAT_VALUES_AVERAGE, &count);
        double *weights = all_values(at, LEAT_VALUES_WEIGHT, &count);
        if (updated && n < STEPS && updates % 2)
            assert_memory_not_equal(average, weights, count * sizeof *weights);
        if (n == STEPS || (updated && updates % 2 == 0))
            assert_memory_equal(average, weights, count * sizeof *weights);
        free(average);
        free(weights);
        if (n == resume_after) {
            resume_into(&other, &f, n);
            at = &other;
        }
    }
    fixture_close(&f);
    fixture_close(&other);
}

TEST(lookahead_ends_with_the_run_whatever_is_masked)
{
    for (int masked = 1; masked <= STEPS; masked++) {
        check_lookahead_masked(masked, 1, 0);
        check_lookahead_masked(masked, 2, 0);
        check_lookahead_masked(masked, 5, 0); /* the last batches make no update */
        check_lookahead_masked(masked, 1, 8);
    }
}

TEST(evaluation_and_files_use_the_ema)
{
    fixture f, g;
    size_t count;
    char path[] = "/tmp/leat_test_average_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    open_with(&f, "{ema: 0.9}");
    open_with(&g, "");
    double *first =
        all_values(&f, LEAT_VALUES_WEIGHT, &count); /* before a step there is no average */
    assert_int_equal(leat_trainer_save(f.trainer, path, &f.err), LEAT_OK);
    assert_int_equal(leat_trainer_restore(g.trainer, path, &g.err), LEAT_OK);
    assert_near(&g, LEAT_VALUES_WEIGHT, first, 0);
    free(first);
    for (int n = 1; n <= STEPS; n++)
        step(&f, n);
    double *weights = all_values(&f, LEAT_VALUES_WEIGHT, &count);
    double *mean = all_values(&f, LEAT_VALUES_AVERAGE, &count);
    assert_int_equal(leat_trainer_save(f.trainer, path, &f.err), LEAT_OK);
    assert_near(&f, LEAT_VALUES_WEIGHT, weights, STEPS);
    assert_int_equal(leat_trainer_restore(g.trainer, path, &g.err), LEAT_OK);
    assert_near(&g, LEAT_VALUES_WEIGHT, mean, STEPS);
    unlink(path);
    free(weights);
    free(mean);
    fixture_close(&f);
    fixture_close(&g);
}

TEST(errors)
{
    const leat_trainer_feed endless = feed_of(LEAT_F32, 1, (int64_t[]){ IN }, ROWS);
    fixture f;
    char text[512];
    snprintf(text, sizeof text, "train: {%s, average: lookahead}", model);
    assert_int_equal(fixture_open(&f, text, &endless), LEAT_E_CONFIG);
    assert_non_null(strstr(f.err.message, "power: 0"));
    fixture_close(&f);
    snprintf(text, sizeof text, "train: {%s, average: lokahead}", model);
    assert_int_equal(fixture_open(&f, text, &endless), LEAT_E_CONFIG);
    assert_non_null(strstr(f.err.message, "did you mean 'lookahead'"));
    fixture_close(&f);
    snprintf(text, sizeof text, "train: {%s, average: {lookahead: {power: 0}}}", model);
    assert_int_equal(fixture_open(&f, text, &endless), LEAT_OK);
    fixture_close(&f);
}
