/* SPDX-License-Identifier: MIT
 *
 * test_float_mode.c: batches and weights are the same where the program flushes subnormal numbers to zero or rounds another
 * way, whichever thread computes them; and the program's setting stays. */
#include "fixtures/train_fixture.h"

#include "base/float_mode.h"
#include "base/pool.h"
#include "fixtures/engine_fixture.h"

#if defined(__x86_64__)

enum { ROWS = 64, WIDTH = 48, CLASSES = 3 };

static const unsigned modes[] = { LEAT_FLOAT_MODE_USUAL, 0x9fc0 /* FTZ, DAZ */,
                                  0x7f80 /* rounds to zero */ };
enum { N_MODES = sizeof modes / sizeof *modes };

static float xs[ROWS * WIDTH];
static int64_t ys[ROWS];

static void draw_rows(void)
{
    leat_rng rng = leat_rng_make(5, 0, 0, 0);
    for (int i = 0; i < ROWS * WIDTH; i++)
        xs[i] = i % 4 ? leat_rng_range(&rng, -1, 1) : 3e-39f;
    for (int i = 0; i < ROWS; i++)
        ys[i] = leat_rng_below(&rng, CLASSES);
}

static unsigned setting(void)
{
    return _mm_getcsr() & ~LEAT_FLOAT_MODE_FLAGS;
}

/* sleep: else the consumer finds no batch to help with */
static leat_plan *plan_of(int threads, int prefetch, bool sleeps)
{
    char text[64];
    const leat_rows rows[] = {
        { "x", leat_shape_make(LEAT_F32, 1, (int64_t[]){ WIDTH }), xs },
        { "label", leat_shape_make(LEAT_I64, 0, NULL), ys },
    };
    leat_builder *b = leat_builder_open();
    leat_builder_rows(b, ROWS, rows, 2);
    snprintf(text, sizeof text, "{threads: %d, digest: true}", threads);
    leat_builder_engine(b, text);
    snprintf(text, sizeof text, "{tensor: x, ops: [{scale: {factor: 0.3}}%s]}",
             sleeps ? ", {sleep: {ms: 0.1}}" : "");
    leat_builder_stage(b, "map", text);
    leat_builder_stage(b, "batch", "16");
    snprintf(text, sizeof text, "{batches: %d}", prefetch);
    leat_builder_stage(b, "prefetch", text);
    return plan_of_builder(b);
}

TEST(batches_do_not_depend_on_it)
{
    uint64_t want = 0;
    draw_rows();
    for (int i = 0; i < N_MODES * 3 * 2; i++) {
        const unsigned mode = modes[i / 6];
        _mm_setcsr(mode);
        leat_plan *plan = plan_of(i / 2 % 3, i % 2 ? 2 : 0, true);
        const uint64_t digest = digest_and_close(plan, 2, NULL);
        const unsigned after = setting();
        _mm_setcsr(LEAT_FLOAT_MODE_USUAL);
        assert_int_equal(after, mode);
        want = i ? want : digest;
        if (digest != want)
            fail_msg("mode %x, %d threads, prefetch %d: other batches", mode, i / 2 % 3,
                     i % 2 ? 2 : 0);
    }
}

static void note_setting(void *arg, int i)
{
    ((unsigned *)arg)[i] = setting();
}

TEST(threads_do_not_inherit_it)
{
    unsigned seen[2] = { 0 };
    leat_pool *pool;
    leat_error err;
    _mm_setcsr(modes[1]);
    check(leat_pool_open(&pool, 2, "test", note_setting, seen, &err), &err);
    leat_pool_close(&pool);
    assert_int_equal(setting(), modes[1]);
    _mm_setcsr(LEAT_FLOAT_MODE_USUAL);
    assert_int_equal(seen[0], LEAT_FLOAT_MODE_USUAL);
    assert_int_equal(seen[1], LEAT_FLOAT_MODE_USUAL);
}

/* What came of a run. */
typedef struct results {
    leat_metrics training, evaluation;
    float outputs[16 * CLASSES];
} results;

/* Opens, trains, evaluates and predicts under a setting. */
static void run(fixture *f, unsigned mode, int threads, results *out)
{
    char text[400];
    leat_batch *batch;
    memset(f, 0, sizeof *f);
    snprintf(text, sizeof text,
             "train: {threads: %d, epochs: 2, input: x, model: [dense: 40, relu, dense: %d], "
             "loss: softmax_cross_entropy, optimizer: {adam: {learning_rate: 0.02}}}",
             threads, CLASSES);
    check(leat_config_parse(text, "test.yaml", &f->config, &f->err), &f->err);
    _mm_setcsr(mode);
    leat_plan *plan = plan_of(0, 0, false);
    check(leat_trainer_open_device(f->config, &f->device, &f->err), &f->err);
    check(leat_trainer_open(f->config, plan, f->device, &f->trainer, &f->err), &f->err);
    leat_loader *loader = open_loader(plan, &(leat_loader_options){ .epochs = 2 });
    while (leat_loader_next(loader, &batch, &f->err) == LEAT_OK)
        check(leat_trainer_step(f->trainer, batch, &f->err), &f->err);
    leat_loader_close(&loader);
    check(leat_trainer_metrics(f->trainer, &out->training, &f->err), &f->err);
    loader = open_loader(plan, NULL);
    check(leat_loader_next(loader, &batch, &f->err), &f->err);
    check(leat_trainer_predict(f->trainer, batch, out->outputs, &f->err), &f->err);
    leat_batch_release(batch);
    check(leat_trainer_evaluate(f->trainer, loader, &out->evaluation, &f->err), &f->err);
    close_loader_and_plan(&loader, &plan);
    const unsigned after = setting();
    _mm_setcsr(LEAT_FLOAT_MODE_USUAL);
    assert_int_equal(after, mode);
}

TEST(training_does_not_depend_on_it)
{
    draw_rows();
    for (int threads = 1; threads <= 2; threads++) {
        fixture usual, other;
        results want, is;
        run(&usual, modes[0], threads, &want);
        for (int i = 1; i < N_MODES; i++) {
            run(&other, modes[i], threads, &is);
            assert_true(fixture_same_weights(&usual, &other));
            assert_memory_equal(is.outputs, want.outputs, sizeof is.outputs);
            assert_true(is.training.loss == want.training.loss);
            assert_true(is.evaluation.loss == want.evaluation.loss);
            fixture_close(&other);
        }
        fixture_close(&usual);
    }
}

#endif
