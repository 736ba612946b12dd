/* SPDX-License-Identifier: MIT
 *
 * test_decide.c: what a sequence of evaluations decides, by hand; what cannot be decided is refused with its place. */
#include "fixtures/train_fixture.h"

#include <math.h>

#include "train/decide/decide.h"

#define MODEL "train: {model: [dense: 3], optimizer: {sgd: {learning_rate: 1}}, "
#define LOSS  "loss: softmax_cross_entropy"
#define EVAL  "}\neval: {source: none}\n"

static leat_trainer_feed feed(int64_t batches)
{
    leat_trainer_feed out = feed_of(LEAT_F32, 1, (int64_t[]){ 3 }, 4);
    out.batches = batches;
    return out;
}

static leat_train_decision decide(fixture *f, double loss, double accuracy)
{
    const leat_metrics metrics = { .samples = 10, .loss = loss, .accuracy = accuracy };
    leat_train_decision out;
    assert_int_equal(leat_trainer_decide(f->trainer, &metrics, &out, &f->err), LEAT_OK);
    return out;
}

/* One evaluation: loss, accuracy; better, stop, lowered, and the learning rate after it. */
typedef struct expected {
    double loss, accuracy;
    int better, stop, lowered;
    double rate;
} expected;

static void check_all(const char *text, const expected *list, size_t n)
{
    const leat_trainer_feed in = feed(5);
    fixture f;
    fixture_must_open(&f, text, &in);
    for (size_t i = 0; i < n; i++) {
        const leat_train_decision d = decide(&f, list[i].loss, list[i].accuracy);
        if (d.better != list[i].better || d.stop != list[i].stop || d.lowered != list[i].lowered)
            fail_msg("evaluation %zu of %s: better %d, stop %d, lowered %d", i, text, d.better,
                     d.stop, d.lowered);
        assert_true(fabs(leat_trainer_learning_rate(f.trainer) - list[i].rate) < 1e-12);
    }
    fixture_close(&f);
}

TEST(stop_counts_evaluations_that_are_not_better)
{
    static const expected list[] = {
        { 2.0, 0.1, 0, 0, 0, 1 }, { 1.0, 0.1, 0, 0, 0, 1 }, { 1.0, 0.1, 0, 0, 0, 1 },
        { 0.9, 0.1, 0, 0, 0, 1 }, { 0.9, 0.9, 0, 0, 0, 1 }, { 3.0, 0.9, 0, 1, 0, 1 },
    };
    check_all(MODEL LOSS ", stop: {patience: 2}" EVAL, list, 6);
}

/* 0.95 and 0.91 are not lower than 1 by more than 0.1; 0.89 is. */
TEST(min_delta_is_what_it_must_improve_by)
{
    static const expected list[] = {
        { 1.00, 0, 0, 0, 0, 1 }, { 0.95, 0, 0, 0, 0, 1 }, { 0.91, 0, 0, 0, 0, 1 },
        { 0.89, 0, 0, 0, 0, 1 }, { 0.80, 0, 0, 0, 0, 1 }, { 0.80, 0, 0, 0, 0, 1 },
        { 0.80, 0, 0, 1, 0, 1 },
    };
    check_all(MODEL LOSS ", stop: {patience: 3, min_delta: 0.1}" EVAL, list, 7);
}

/* 7, 8 and 10 right of 20: in doubles 0.4 - 0.35 is above 0.05, and 0.35 + 0.05 below 0.4. */
TEST(a_gain_of_min_delta_is_none)
{
    static const expected up[] = { { 0, 0.35, 0, 0, 0, 1 }, { 0, 0.4, 0, 1, 0, 1 } };
    static const expected down[] = { { 0.4, 0, 0, 0, 0, 1 }, { 0.35, 0, 0, 1, 0, 1 } };
    static const expected more[] = { { 0, 0.35, 0, 0, 0, 1 }, { 0, 0.5, 0, 0, 0, 1 } };
    check_all(MODEL LOSS ", stop: {patience: 1, min_delta: 0.05, metric: accuracy}" EVAL, up, 2);
    check_all(MODEL LOSS ", stop: {patience: 1, min_delta: 0.05}" EVAL, down, 2);
    check_all(MODEL LOSS ", stop: {patience: 1, min_delta: 0.05, metric: accuracy}" EVAL, more, 2);
}

/* An evaluation after each update, none better than the first: patience 2 is counted from the end of the warm-up on. */
TEST(a_plateau_waits_for_the_end_of_a_warm_up)
{
    static const double rates[] = { 0.2, 0.4, 0.6, 0.8, 1, 1, 1, 0.1, 0.1, 0.01 };
    const leat_trainer_feed in = feed(5);
    float x[12] = { 1, 2, 3 };
    int64_t y[4] = { 0, 1, 2, 0 };
    fixture f;
    fixture_must_open(
        &f, MODEL LOSS ", schedule: {plateau: {patience: 2, warmup: 5, unit: steps}}" EVAL, &in);
    for (int i = 0; i < 10; i++) {
        const int lowered = decide(&f, 1, 0).lowered;
        if (lowered != (i == 7 || i == 9) ||
            fabs(leat_trainer_learning_rate(f.trainer) - rates[i]) > 1e-12)
            fail_msg("after %d updates: lowered %d, rate %g", i, lowered,
                     leat_trainer_learning_rate(f.trainer));
        fixture_step(&f, &in, x, y, 4, true);
    }
    fixture_close(&f);
}

/* Not finite: never better, and never the best to compare with. */
TEST(what_is_not_finite_is_never_better)
{
    static const expected list[] = {
        { NAN, NAN, 0, 0, 0, 1 },      { 1.0, 0.5, 1, 0, 0, 1 }, { INFINITY, INFINITY, 0, 0, 0, 1 },
        { -INFINITY, -1, 0, 0, 0, 1 }, { NAN, 0.4, 0, 1, 0, 1 },
    };
    static const expected never[] = { { NAN, NAN, 0, 0, 0, 1 }, { NAN, NAN, 0, 1, 0, 1 } };
    check_all(MODEL LOSS ", stop: {patience: 3}, checkpoint: {dir: x, best: accuracy}" EVAL, list,
              5);
    check_all(MODEL LOSS ", stop: {patience: 2}, checkpoint: {dir: x, best: loss}" EVAL, never, 2);
}

/* Lowered after two that are not more accurate, then it waits for two again; never below min. */
TEST(a_plateau_lowers_the_rate)
{
    static const expected list[] = {
        { 1, 0.5, 0, 0, 0, 1 },    { 1, 0.5, 0, 0, 0, 1 },    { 1, 0.4, 0, 0, 1, 0.5 },
        { 1, 0.5, 0, 0, 0, 0.5 },  { 1, 0.5, 0, 0, 1, 0.25 }, { 1, 0.6, 0, 0, 0, 0.25 },
        { 1, 0.6, 0, 0, 0, 0.25 }, { 1, 0.6, 0, 0, 1, 0.2 },  { 1, 0.6, 0, 0, 0, 0.2 },
        { 1, 0.6, 0, 0, 0, 0.2 }, /* nothing is left to lower */
    };
    check_all(MODEL LOSS ", schedule: {plateau: {patience: 2, factor: 0.5, min: 0.2, metric: "
                         "accuracy}}" EVAL,
              list, 10);
}

TEST(without_options_nothing_is_decided)
{
    static const expected list[] = { { 1, 0.5, 0, 0, 0, 1 }, { 2, 0.4, 0, 0, 0, 1 } };
    check_all(MODEL LOSS "}", list, 2);
}

TEST(what_cannot_be_decided_is_refused)
{
    static const struct {
        const char *text;
        int64_t batches;
        const char *words[2];
    } rows[] = {
        { MODEL LOSS ", stop: {patience: 2}}", 5, { "test.yaml:1:", "add an `eval` part" } },
        { MODEL LOSS ", schedule: plateau}", 5, { "schedule 'plateau' needs", "`eval`" } },
        { MODEL LOSS ", checkpoint: {dir: x, best: loss}}",
          5,
          { "checkpoint.best needs", "`eval`" } },
        { MODEL LOSS ", stop: {patience: 2}" EVAL, 0, { "repeats without end", "leave out" } },
        { MODEL LOSS ", stop: {}" EVAL, 5, { "train.stop", "patience" } },
        { MODEL LOSS ", stop: {patience: 0}" EVAL, 5, { "patience", "1" } },
        { MODEL LOSS ", stop: {patience: 2, metric: acc}" EVAL, 5, { "'acc'", "accuracy" } },
        { MODEL "loss: mean_squared_error, target: x, stop: {patience: 2, metric: accuracy}" EVAL,
          5,
          { "mean_squared_error has no accuracy", "write `loss`" } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        leat_trainer_feed in = feed(rows[i].batches);
        fixture f;
        if (strstr(rows[i].text, "squared"))
            in.target = leat_shape_make(LEAT_F32, 1, (int64_t[]){ 3 });
        assert_int_equal(fixture_open(&f, rows[i].text, &in), LEAT_E_CONFIG);
        for (int k = 0; k < 2; k++)
            if (!strstr(f.err.message, rows[i].words[k]))
                fail_msg("'%s' is not in: %s", rows[i].words[k], f.err.message);
        fixture_close(&f);
    }
}

/* The state goes through its text; of another metric it begins anew, but for what was lowered; damaged text changes nothing but to a new state. */
TEST(the_state_survives_as_text)
{
    static const char *const damaged[] = {
        "",
        "x",
        "5\nbest accuracy",
        "5\nbest accuracy 0x1p-1 5 0 -1\n",
        "5\nbest accuracy nan 5 0 0\n",
        "5\nstop loss inf 5 0 0\n",
        "-2\n",
    };
    leat_decide d = { .best = { .on = true, .metric = LEAT_METRIC_ACCURACY },
                      .stop = { .on = true, .patience = 3 },
                      .at = 15 };
    leat_decide read = { .best = d.best, .stop = d.stop };
    char text[LEAT_DECIDE_TEXT], again[LEAT_DECIDE_TEXT];
    leat_patience_reset(&d.best);
    leat_patience_reset(&d.stop);
    leat_patience_take(&d.best, &(leat_metrics){ .samples = 1, .loss = 0.3, .accuracy = 1.0 / 3 },
                       10);
    leat_patience_take(&d.stop, &(leat_metrics){ .samples = 1, .loss = 0.3, .accuracy = 1.0 / 3 },
                       10);
    leat_patience_take(&d.stop, &(leat_metrics){ .samples = 1, .loss = 0.4, .accuracy = 1.0 / 3 },
                       15);
    leat_decide_text(&d, text);
    assert_true(leat_decide_read(&read, text));
    assert_true(read.best.best == 1.0 / 3 && read.stop.waited == 1 && read.stop.best_at == 10);
    leat_decide_text(&read, again);
    assert_string_equal(text, again);
    read.stop.metric = LEAT_METRIC_ACCURACY;
    assert_true(leat_decide_read(&read, text));
    assert_int_equal(read.stop.best_at, -1);
    /* a rate that was lowered stays lowered, whatever lowers it next */
    leat_patience_again(&d.stop);
    leat_decide_text(&d, text);
    assert_true(leat_decide_read(&read, text));
    assert_true(read.stop.best_at == -1 && read.stop.again == 1);
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        assert_false(leat_decide_read(&read, damaged[i]));
        assert_true(read.at == -1 && read.best.best_at == -1 && read.stop.best_at == -1);
    }
}

TEST(null_is_said)
{
    leat_train_decision out;
    leat_error err;
    assert_int_equal(leat_trainer_decide(NULL, &(leat_metrics){ 0 }, &out, &err), LEAT_E_ARGUMENT);
    assert_true(leat_trainer_learning_rate(NULL) <= 0);
}

/* The best weights that are kept: a better evaluation whose weights could not be is none, and the next one is compared with
 * that before. train.stop counts it all the same. */
TEST(what_is_not_kept_is_not_the_best)
{
    const leat_trainer_feed in = feed(5);
    leat_train_decision out;
    leat_error err;
    fixture f;
    fixture_must_open(&f, MODEL LOSS ", stop: {patience: 2}, checkpoint: {dir: x, best: loss}" EVAL,
                      &in);
    assert_true(decide(&f, 3, 0).better);
    out = decide(&f, 1, 0);
    assert_true(out.better && out.best == 1);
    assert_int_equal(leat_trainer_decide_unkept(f.trainer, &out, &err), LEAT_OK);
    assert_true(!out.better && !out.stop && out.best == 3);
    out = decide(&f, 2, 0);
    assert_true(out.better && !out.stop);
    out = decide(&f, 2, 0);
    assert_true(!out.better && out.stop);
    assert_int_equal(leat_trainer_decide_unkept(f.trainer, &out, &err), LEAT_OK);
    assert_true(out.best == 2);
    fixture_close(&f);
}
