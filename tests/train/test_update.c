/* SPDX-License-Identifier: MIT
 *
 * Updates of a whole model: clipping, accumulation, the same bits for any number of threads, and that states and
 * the number of updates are all there is to go on from. */
#include "fixtures/train_fixture.h"

#include <math.h>

enum { ROWS = 16, HEIGHT = 8, IN = HEIGHT * HEIGHT * 2, OUT = 5 };

static const char plain_model[] = "[conv2d: {filters: 6, kernel: 3}, relu, max_pool: 2, flatten, "
                                  "dense: 20, gelu, dense: 5]";
static const char dropout_model[] =
    "[flatten, dropout: 0.3, dense: 20, gelu, dropout: 0.5, dense: 5]";
static const char norm_model[] = "[conv2d: {filters: 6, kernel: 3}, batch_norm, relu, flatten, "
                                 "dense: 20, relu, dense: 5]";

static leat_trainer_feed feed_for(int64_t rows)
{
    leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ HEIGHT, HEIGHT, 2 }, rows);
    feed.batches = 10;
    return feed;
}

static void open_with(fixture *f, int64_t rows, const char *model, const char *rest)
{
    char text[1024];
    const leat_trainer_feed feed = feed_for(rows);
    snprintf(text, sizeof text, "train: {loss: softmax_cross_entropy, model: %s, %s}", model, rest);
    fixture_must_open(f, text, &feed);
}

/* Rows first … first + rows - 1 of an endless line of samples. */
static void step(fixture *f, int first, int rows)
{
    const leat_trainer_feed feed = feed_for(rows);
    float *x = malloc((size_t)rows * IN * sizeof *x);
    int64_t *y = malloc((size_t)rows * sizeof *y);
    for (int i = 0; i < rows; i++) {
        float *one = random_floats((uint64_t)(first + i), IN);
        memcpy(x + i * IN, one, IN * sizeof *x);
        y[i] = (first + i) * 7 % OUT;
        free(one);
    }
    fixture_step(f, &feed, x, y, rows, true);
    free(x);
    free(y);
}

/* All trained parameters, one after the other. */
static float *trained_values(const fixture *f, size_t *n)
{
    const leat_model *m = &f->trainer->model;
    float *values = calloc(m->n_floats, sizeof *values);
    *n = 0;
    for (int32_t i = 0; i < m->n_params; i++)
        if (m->params[i].spec->trained) {
            float *part = read_param(f->trainer, m->params[i].layer, m->params[i].index);
            memcpy(values + *n, part, m->params[i].n * sizeof *part);
            *n += m->params[i].n;
            free(part);
        }
    return values;
}

/* --- accumulation ---------------------------------------------------------------------------- */

static void check_accumulation(const char *model, const char *optimizer)
{
    char rest[256];
    fixture whole, parts;
    size_t n;
    snprintf(rest, sizeof rest, "optimizer: %s", optimizer);
    open_with(&whole, 3 * ROWS, model, rest);
    snprintf(rest, sizeof rest, "accumulate: 3, optimizer: %s", optimizer);
    open_with(&parts, ROWS, model, rest);
    for (int i = 0; i < 5; i++) {
        step(&whole, 3 * ROWS * i, 3 * ROWS);
        float *before = trained_values(&parts, &n);
        step(&parts, 3 * ROWS * i, ROWS);
        step(&parts, 3 * ROWS * i + ROWS, ROWS);
        float *still = trained_values(&parts, &n);
        assert_memory_equal(before, still, n * sizeof *before);
        step(&parts, 3 * ROWS * i + 2 * ROWS, ROWS);
        float *a = trained_values(&whole, &n), *b = trained_values(&parts, &n);
        for (size_t k = 0; k < n; k++)
            if (!(fabsf(a[k] - b[k]) <= 2e-5f))
                fail_msg("%s, update %d: %.9g and %.9g", optimizer, i, (double)a[k], (double)b[k]);
        assert_int_equal(parts.trainer->backend->updates(parts.trainer->net), i + 1);
        free(before);
        free(still);
        free(a);
        free(b);
    }
    fixture_close(&whole);
    fixture_close(&parts);
}

TEST(several_batches_are_one_large_batch)
{
    static const char sgd[] = "{sgd: {learning_rate: 0.1, momentum: 0.9, weight_decay: 0.01}}";
    check_accumulation(plain_model, sgd);
    check_accumulation(plain_model, "{lars: {learning_rate: 2, trust: 0.05}}");
    check_accumulation(plain_model, "{muon: {learning_rate: 0.05}}");
    check_accumulation(dropout_model, sgd); /* every row of the large batch has a mask of its own */
}

/* What steps over samples 0 … and 16 … change; 0: that step is left out. */
static float *change_of(const char *rest, int rows, int more_rows, size_t *n)
{
    fixture f;
    open_with(&f, ROWS, plain_model, rest);
    float *before = trained_values(&f, n);
    if (rows)
        step(&f, 0, rows);
    if (more_rows)
        step(&f, ROWS, more_rows);
    float *after = trained_values(&f, n);
    for (size_t i = 0; i < *n; i++)
        after[i] -= before[i];
    free(before);
    fixture_close(&f);
    return after;
}

/* Accumulation takes the mean of the batches' gradients, however many rows they have. */
TEST(a_short_batch_has_a_whole_share)
{
    static const char rate[] = "optimizer: {sgd: {learning_rate: 1}}";
    static const char both[] = "accumulate: 2, optimizer: {sgd: {learning_rate: 1}}";
    size_t n;
    float *a = change_of(rate, ROWS, 0, &n), *b = change_of(rate, 0, 5, &n);
    float *c = change_of(both, ROWS, 5, &n);
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(c[i] - (a[i] + b[i]) / 2) <= 1e-6f))
            fail_msg("%zu: %.9g, not the mean of %.9g and %.9g", i, (double)c[i], (double)a[i],
                     (double)b[i]);
    free(a);
    free(b);
    free(c);
}

/* --- clipping -------------------------------------------------------------------------------- */

/* The step of plain gradient descent at rate 1 is the gradient. */
static float *step_taken(const char *rest, size_t *n)
{
    fixture f;
    open_with(&f, ROWS, norm_model, rest);
    float *before = trained_values(&f, n);
    step(&f, 0, ROWS);
    float *after = trained_values(&f, n);
    for (size_t i = 0; i < *n; i++)
        after[i] = before[i] - after[i];
    free(before);
    fixture_close(&f);
    return after;
}

static double length_of(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

TEST(long_gradients_are_shortened)
{
    size_t n;
    float *plain = step_taken("optimizer: {sgd: {learning_rate: 1}}", &n);
    float *clipped = step_taken("optimizer: {sgd: {learning_rate: 1}}, clip: 0.125", &n);
    float *same = step_taken("optimizer: {sgd: {learning_rate: 1}}, clip: 1000", &n);
    const double length = length_of(plain, n);
    assert_true(length > 0.2);
    if (!(fabs(length_of(clipped, n) - 0.125) < 1e-5))
        fail_msg("clipped to %.9g", length_of(clipped, n));
    for (size_t i = 0; i < n; i++)
        assert_true(fabs((double)clipped[i] - (double)plain[i] * 0.125 / length) < 1e-6);
    assert_memory_equal(plain, same, n * sizeof *plain);
    free(plain);
    free(clipped);
    free(same);
}

/* --- threads --------------------------------------------------------------------------------- */

static const char *const runs[] = {
    "clip: 0.5, accumulate: 2, optimizer: {sgd: {learning_rate: 0.1, momentum: 0.9, decoupled: "
    "true, weight_decay: 0.1, nesterov: true}}, schedule: triangular, average: lookahead, "
    "multipliers: {bias: 2}",
    "clip: 0.5, optimizer: {lars: {learning_rate: 2, trust: 0.05, weight_decay: 0.1}}, no_decay: "
    "[bias, scale, shift], schedule: one_cycle",
    "optimizer: {muon: {weight_decay: 0.1}}, average: {ema: 0.9}, schedule: {cosine: {warmup: "
    "0.2}}",
    "optimizer: {adamw: {weight_decay: 0.1}}, average: {ema: {decay: 0.9, warmup: true, every: 2}}",
    "optimizer: adam, average: {lookahead: {every: 2, power: 0, decay: 0.5}}",
};
enum { N_RUNS = sizeof runs / sizeof *runs };

static void open_run(fixture *f, int run, int threads)
{
    char rest[600];
    snprintf(rest, sizeof rest, "threads: %d, micro_batches: 8, %s", threads, runs[run]);
    open_with(f, ROWS, norm_model, rest);
}

static void assert_same_slots(const fixture *a, const fixture *b, const char *what)
{
    const leat_model *m = &a->trainer->model;
    for (int which = 0; which < LEAT_N_VALUES; which++)
        for (int32_t i = 0; i < m->n_params; i++) {
            const leat_model_param *p = &m->params[i];
            float *x = calloc(p->n, sizeof *x), *y = calloc(p->n, sizeof *y);
            a->trainer->backend->read(a->trainer->net, p->layer, p->index, (leat_param_values)which,
                                      x, NULL);
            b->trainer->backend->read(b->trainer->net, p->layer, p->index, (leat_param_values)which,
                                      y, NULL);
            if (memcmp(x, y, p->n * sizeof *x))
                fail_msg("%s: values %d of parameter %d differs", what, which, (int)i);
            free(x);
            free(y);
        }
}

TEST(the_same_bits_for_any_threads)
{
    for (int run = 0; run < N_RUNS; run++) {
        fixture one, many;
        open_run(&one, run, 1);
        for (int i = 0; i < 6; i++)
            step(&one, ROWS * i, i < 5 ? ROWS : 5);
        for (int threads = 2; threads < 9; threads += threads < 3 ? 1 : 5) {
            open_run(&many, run, threads);
            for (int i = 0; i < 6; i++)
                step(&many, ROWS * i, i < 5 ? ROWS : 5);
            assert_same_slots(&one, &many, runs[run]);
            fixture_close(&many);
        }
        fixture_close(&one);
    }
}

/* --- going on -------------------------------------------------------------------------------- */

static void copy_slots(const fixture *from, fixture *to)
{
    const leat_model *m = &from->trainer->model;
    const leat_backend *backend = from->trainer->backend;
    for (int which = 0; which < LEAT_N_VALUES; which++)
        for (int32_t i = 0; i < m->n_params; i++) {
            const leat_model_param *p = &m->params[i];
            float *x = calloc(p->n, sizeof *x);
            backend->read(from->trainer->net, p->layer, p->index, (leat_param_values)which, x,
                          NULL);
            backend->write(to->trainer->net, p->layer, p->index, (leat_param_values)which, x, NULL);
            free(x);
        }
    backend->set_updates(to->trainer->net, backend->updates(from->trainer->net));
    to->trainer->n_accumulated = from->trainer->n_accumulated;
    to->trainer->average.begun = true;
}

/* Slots and the number of updates are the whole state between two updates. */
TEST(slots_are_all_there_is)
{
    for (int run = 0; run < N_RUNS; run++)
        for (int at = 2; at < 8; at += 2) {
            fixture straight, again;
            open_run(&straight, run, 1);
            open_run(&again, run, 1);
            for (int i = 0; i < 10; i++) {
                if (i == at)
                    copy_slots(&straight, &again);
                step(&straight, ROWS * i, ROWS);
                if (i >= at)
                    step(&again, ROWS * i, ROWS);
            }
            assert_same_slots(&straight, &again, runs[run]);
            fixture_close(&straight);
            fixture_close(&again);
        }
}
