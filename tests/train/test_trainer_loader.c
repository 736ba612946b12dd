/* SPDX-License-Identifier: MIT
 *
 * test_trainer_loader.c: the trainer behind a loader learns from rows and evaluates them. */
#include "fixtures/trained_rows.h"

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

static const char on_cpu[] = "train: {epochs: 30, model: [dense: 32, relu, dense: 3], loss: "
                             "softmax_cross_entropy, optimizer: {adam: {learning_rate: 0.02}}}";

static int at_zero(void *user)
{
    return (*(int *)user)-- == 0;
}

/* A plan that may be used for evaluation, where the number of rows is free. */
TEST(a_batch_of_another_plan_is_refused)
{
    static float wide[64 * (WIDTH + 1)];
    const struct {
        int width, size;
        leat_dtype type;
        const char *said;
    } others[] = {
        { WIDTH + 1, BATCH, LEAT_I64, "the batch's input is float32[32, 9]" },
        { WIDTH, BATCH, LEAT_I32, "the batch's target is int32[32]" },
        { WIDTH, BATCH + 1, LEAT_I64,
          "the batch has 33 rows, the trainer was opened for batches of 32" },
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        trained_rows p;
        leat_batch *batch;
        leat_metrics metrics;
        leat_loader *loader;
        char text[32];
        leat_builder *const builder = leat_builder_open();
        const leat_rows rows[] = {
            { "features", leat_shape_make(LEAT_F32, 1, (int64_t[]){ others[i].width }), wide },
            { "label", leat_shape_make(others[i].type, 0, NULL), ys },
        };
        trained_rows_open(&p, on_cpu, 2);
        memset(ys, 0, sizeof ys);
        leat_builder_rows(builder, 64, rows, 2);
        snprintf(text, sizeof text, "{size: %d}", others[i].size);
        leat_builder_stage(builder, "batch", text);
        leat_plan *other = plan_of_builder(builder);
        const leat_loader_options how = { .device = p.f.device, .epochs = 1 };
        assert_int_equal(leat_loader_open(other, &how, &loader, &p.f.err), 0);
        assert_int_equal(leat_loader_next(loader, &batch, &p.f.err), 0);
        assert_int_equal(leat_trainer_step(p.f.trainer, batch, &p.f.err), LEAT_E_ARGUMENT);
        assert_non_null(strstr(p.f.err.message, others[i].said));
        assert_int_equal(leat_trainer_batches(p.f.trainer), 0);
        if (others[i].size > BATCH)
            assert_int_equal(leat_trainer_evaluate(p.f.trainer, loader, &metrics, &p.f.err), 0);
        leat_loader_close(&loader);
        leat_plan_close(&other);
        trained_rows_close(&p);
    }
}

/* An evaluation that is stopped has the batches before, and does not disturb training. */
TEST(an_evaluation_can_be_stopped)
{
    trained_rows p;
    leat_metrics metrics;
    leat_batch *batch;
    int left = 3;
    trained_rows_open(&p, on_cpu, 2);
    leat_loader *loader = trained_rows_loader(&p, 1);
    assert_int_equal(trained_rows_train(&p, loader, 2), 2);
    leat_loader_close(&loader);
    loader = trained_rows_loader(&p, 1);
    assert_int_equal(
        leat_trainer_evaluate_until(p.f.trainer, loader, at_zero, &left, &metrics, &p.f.err),
        LEAT_E_CANCELED);
    assert_int_equal(left, -1);
    assert_int_equal(metrics.samples, 3 * BATCH);
    assert_int_equal(leat_loader_next(loader, &batch, &p.f.err), LEAT_OK); /* the fourth */
    assert_int_equal(leat_batch_get_info(batch)->number, 3);
    leat_batch_release(batch);
    left = -1; /* never */
    assert_int_equal(
        leat_trainer_evaluate_until(p.f.trainer, loader, at_zero, &left, &metrics, &p.f.err),
        LEAT_OK);
    assert_int_equal(metrics.samples, ROWS - 4 * BATCH);
    leat_loader_close(&loader);
    assert_int_equal(leat_trainer_metrics(p.f.trainer, &metrics, &p.f.err), LEAT_OK);
    assert_int_equal(metrics.samples, 2 * BATCH);
    trained_rows_close(&p);
}

/* Its loss would be that of the rows of one rank. */
TEST(a_share_of_each_batch_is_not_evaluated)
{
    trained_rows p;
    leat_metrics metrics;
    trained_rows_open(&p, on_cpu, 2);
    leat_plan_close(&p.plan);
    p.plan = trained_rows_plan_of_rank(2, false, 0, 2);
    leat_loader *loader = trained_rows_loader(&p, 1);
    assert_int_equal(leat_trainer_evaluate(p.f.trainer, loader, &metrics, &p.f.err),
                     LEAT_E_ARGUMENT);
    assert_non_null(strstr(p.f.err.message, "16 of 32 rows"));
    assert_int_equal(leat_trainer_check(p.f.trainer, p.plan, &p.f.err), LEAT_E_CONFIG);
    assert_non_null(strstr(p.f.err.message, "rank 0 of 2: write `engine: {}` in its part"));
    leat_loader_close(&loader); /* its batch was released */
    trained_rows_close(&p);
}

/* Where one rank gets no batch, the others give theirs back. Returns whether this one did. */
static bool evaluation_holds_nothing(leat_ranks *ranks, int rank)
{
    leat_batch *batch = NULL;
    leat_metrics metrics;
    trained_rows p = { .plan = trained_rows_plan_of_rank(0, false, rank, 2) };
    leat_plan *whole = trained_rows_plan(0, false);
    leat_loader *loader = NULL;
    bool good = leat_ranks_join(ranks, rank, &p.f.err) == LEAT_OK &&
                leat_config_parse("train: {micro_batches: 2, model: [dense: 3], loss: "
                                  "softmax_cross_entropy}",
                                  "test.yaml", &p.f.config, &p.f.err) == LEAT_OK &&
                leat_device_open("cpu", &p.f.device, &p.f.err) == LEAT_OK &&
                leat_trainer_open_ranks(p.f.config, p.plan, p.f.device, ranks, &p.f.trainer,
                                        &p.f.err) == LEAT_OK &&
                leat_loader_open(whole, NULL, &loader, &p.f.err) == LEAT_OK;
    if (rank > 0)
        leat_loader_cancel(loader);
    good =
        good && leat_trainer_evaluate(p.f.trainer, loader, &metrics, &p.f.err) == LEAT_E_CANCELED;
    if (rank == 0)
        good = good && leat_loader_next(loader, &batch, &p.f.err) == LEAT_OK;
    leat_batch_release(batch);
    leat_loader_close(&loader);
    leat_plan_close(&whole);
    trained_rows_close(&p);
    leat_ranks_close(&ranks);
    return good;
}

/* So that samples/s are those of the run. */
TEST(times_count_the_rows_of_all_ranks)
{
    trained_rows p = { .plan = trained_rows_plan_of_rank(2, false, 0, 2) };
    leat_ranks *ranks;
    leat_step_times times;
    assert_int_equal(leat_ranks_open_simulated(2, &ranks, &p.f.err), LEAT_OK);
    assert_int_equal(leat_config_parse("train: {micro_batches: 2, model: [dense: 3], loss: "
                                       "softmax_cross_entropy}",
                                       "test.yaml", &p.f.config, &p.f.err),
                     LEAT_OK);
    assert_int_equal(leat_trainer_open_device(p.f.config, &p.f.device, &p.f.err), LEAT_OK);
    if (leat_trainer_open_ranks(p.f.config, p.plan, p.f.device, ranks, &p.f.trainer, &p.f.err) < 0)
        fail_msg("%s", p.f.err.message);
    leat_loader *loader = trained_rows_loader(&p, 1);
    assert_int_equal(trained_rows_train(&p, loader, 1), 1);
    assert_int_equal(leat_trainer_times(p.f.trainer, &times, 1), 1);
    assert_int_equal(times.rows, BATCH);
    leat_loader_close(&loader);
    fixture_close(&p.f);
    leat_ranks_close(&ranks);
    leat_plan_close(&p.plan);
}

TEST(an_evaluation_that_fails_elsewhere_holds_no_batch)
{
    leat_ranks *ranks;
    leat_error err;
    int status;
    assert_int_equal(leat_ranks_open(2, &ranks, &err), LEAT_OK);
    const pid_t other = fork();
    const bool good = evaluation_holds_nothing(ranks, other == 0);
    if (other == 0)
        _exit(good ? 0 : 1);
    assert_true(good);
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
}

TEST(learns_from_a_loader)
{
    trained_rows p;
    leat_metrics metrics, evaluation;
    static leat_step_times times[1000];
    trained_rows_open(&p, on_cpu, 2);
    leat_loader *loader = trained_rows_loader(&p, 30);
    const size_t n = trained_rows_train(&p, loader, SIZE_MAX);
    leat_loader_close(&loader);
    assert_int_equal(n, 30 * 8); /* 7 full batches and one of 26 rows */
    loader = trained_rows_loader(&p, 1);
    assert_int_equal(leat_trainer_evaluate(p.f.trainer, loader, &evaluation, &p.f.err), LEAT_OK);
    leat_loader_close(&loader);
    assert_int_equal(evaluation.samples, ROWS);
    assert_true(evaluation.accuracy > 0.95);
    leat_metrics so_far, again;
    leat_trainer_so_far(p.f.trainer, &so_far);
    assert_int_equal(leat_trainer_metrics(p.f.trainer, &metrics, &p.f.err), LEAT_OK);
    assert_int_equal(metrics.samples, 30 * ROWS);           /* not mixed with the evaluation */
    assert_memory_equal(&so_far, &metrics, sizeof metrics); /* to look takes nothing away */
    leat_trainer_so_far(p.f.trainer, &so_far);
    assert_int_equal(so_far.samples, 0);
    assert_int_equal(leat_trainer_metrics(p.f.trainer, &again, &p.f.err), LEAT_OK);
    assert_int_equal(again.samples, 0);
    assert_true(metrics.loss > evaluation.loss);
    assert_int_equal(leat_trainer_times(p.f.trainer, times, 100), 100);
    assert_int_equal(leat_trainer_times(p.f.trainer, times + 100, 900), n - 100);
    assert_int_equal(leat_trainer_times(p.f.trainer, times, 1000), 0);
    for (size_t i = 0; i < n; i++) {
        const leat_step_times *t = &times[i];
        assert_true(t->asked_ns > 0 && t->ready_ns > 0 && t->copy_start_ns == 0);
        assert_true(t->compute_start_ns >= t->asked_ns && t->compute_end_ns > t->compute_start_ns);
        assert_true(t->compute_start_ns >= t->ready_ns);
        assert_int_equal(t->busy_ns, t->compute_end_ns - t->compute_start_ns);
        assert_int_equal(t->rows, i % 8 == 7 ? ROWS % BATCH : BATCH);
        if (i)
            assert_true(t->compute_start_ns >= times[i - 1].compute_end_ns);
    }
    trained_rows_close(&p);
}

/* The step alone: one batch, which is given back behind the last step. */
TEST(a_batch_can_be_stepped_on_again)
{
    static const char *const trains[] = {
        on_cpu, "train: {device: sim, model: [dense: 3], loss: softmax_cross_entropy}",
        "train: {device: sim, sync_every: 2, model: [dense: 3], loss: softmax_cross_entropy}"
    };
    for (size_t i = 0; i < sizeof trains / sizeof *trains; i++) {
        trained_rows p;
        leat_batch *batch;
        static leat_step_times times[200];
        trained_rows_open(&p, trains[i], 2);
        leat_loader *loader = trained_rows_loader(&p, 1);
        for (int64_t n = 0; n < 3; n++) { /* none, one, more than may be in flight */
            static const int64_t steps[] = { 0, 1, 100 };
            assert_int_equal(leat_loader_next(loader, &batch, &p.f.err), LEAT_OK);
            assert_int_equal(leat_trainer_repeat(p.f.trainer, batch, steps[n], &p.f.err), LEAT_OK);
            assert_int_equal(leat_trainer_times(p.f.trainer, times, 200), steps[n]);
        }
        assert_int_equal(leat_loader_next(loader, &batch, &p.f.err), LEAT_OK);
        assert_int_equal(leat_trainer_repeat(p.f.trainer, batch, -1, &p.f.err), LEAT_E_ARGUMENT);
        leat_meter meter;
        assert_int_equal(leat_meter_account(times, 1, 100, &meter), LEAT_OK);
        assert_true(meter.input_wait == 0 && meter.exposed_copy == 0 && meter.busy > 0);
        assert_int_equal(times[99].rows, BATCH);
        assert_int_equal(trained_rows_train(&p, loader, SIZE_MAX), 8 - 4); /* nothing is held */
        leat_loader_close(&loader);
        trained_rows_close(&p);
    }
}

/* Mean loss of n steps on the first batch. */
static double repeated_loss(trained_rows *p, int64_t n)
{
    leat_batch *batch;
    leat_metrics metrics;
    leat_loader *loader = trained_rows_loader(p, 1);
    assert_int_equal(leat_loader_next(loader, &batch, &p->f.err), LEAT_OK);
    if (leat_trainer_repeat(p->f.trainer, batch, n, &p->f.err) < 0)
        fail_msg("%s", p->f.err.message);
    assert_int_equal(leat_trainer_metrics(p->f.trainer, &metrics, &p->f.err), LEAT_OK);
    leat_loader_close(&loader);
    return metrics.loss;
}

/* Their rate is 0, so that no rate makes them diverge, as this one does within a few steps that train. */
TEST(repeated_steps_change_no_weight)
{
    static const char *const optimizers[] = {
        "sgd: {learning_rate: 1e6, momentum: 0.9", "adam: {learning_rate: 1e6",
        "adamw: {learning_rate: 1e6", "lars: {learning_rate: 1e6", "muon: {learning_rate: 1e6"
    };
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        trained_rows p;
        char train[200];
        snprintf(train, sizeof train,
                 "train: {model: [dense: 16, relu, dense: 3], loss: softmax_cross_entropy, "
                 "optimizer: {%s, weight_decay: 0.1}}}",
                 optimizers[i]);
        trained_rows_open(&p, train, 2);
        const double loss = repeated_loss(&p, 1);
        assert_true(fabs(repeated_loss(&p, 50) - loss) < 1e-9 * loss);
        leat_loader *loader = trained_rows_loader(&p, 1);
        assert_int_equal(trained_rows_train(&p, loader, 1), 1);
        leat_loader_close(&loader);
        assert_true(fabs(repeated_loss(&p, 1) - loss) > 1e-3 * loss);
        trained_rows_close(&p);
    }
}

TEST(tensors_are_found_by_name)
{
    static const struct {
        const char *train, *said;
    } cases[] = {
        { "train: {model: [dense: 3], loss: softmax_cross_entropy}", NULL },
        { "train: {input: features, model: [dense: 3], loss: softmax_cross_entropy}", NULL },
        { "train: {input: picture, model: [dense: 3], loss: softmax_cross_entropy}",
          "train.input: the pipeline gives no tensor 'picture'; it gives: features, label" },
        { "train: {target: class, model: [dense: 3], loss: softmax_cross_entropy}",
          "train.target: the pipeline gives no tensor 'class'; it gives: features, label" },
        { "train: {target: features, model: [dense: 3], loss: softmax_cross_entropy}", "float32" },
    };
    leat_plan *plan = trained_rows_plan(0, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = { 0 };
        assert_int_equal(leat_config_parse(cases[i].train, "t", &f.config, NULL), LEAT_OK);
        assert_int_equal(leat_trainer_open_device(f.config, &f.device, NULL), LEAT_OK);
        const int rc = leat_trainer_open(f.config, plan, f.device, &f.trainer, &f.err);
        assert_int_equal(rc, cases[i].said ? LEAT_E_CONFIG : LEAT_OK);
        if (cases[i].said && !strstr(f.err.message, cases[i].said))
            fail_msg("%s", f.err.message);
        fixture_close(&f);
    }
    leat_plan_close(&plan);
}

/* Images whose channels a map has put first are no images to layers, unless the first one takes any order. */
TEST(channels_first_are_refused)
{
    static const struct {
        const char *ops, *layers;
        int code;
    } cases[] = {
        { "[{layout: channels_first}]", "[{conv2d: {filters: 2, kernel: 1}}, flatten, dense: 3]",
          LEAT_E_CONFIG },
        { "[{normalize: {layout: channels_first}}]", "[batch_norm, flatten, dense: 3]",
          LEAT_E_CONFIG },
        { "[{layout: channels_first}, {layout: channels_last}]",
          "[{conv2d: {filters: 2, kernel: 1}}, flatten, dense: 3]", LEAT_OK },
        { "[{layout: channels_first}]", "[flatten, dense: 3]", LEAT_OK },
        { "[{layout: channels_first}, {reshape: [8]}]", "[dense: 3]", LEAT_OK },
        { "[{layout: channels_first}, {reshape: [2, 2, 2]}]", "[batch_norm, flatten, dense: 3]",
          LEAT_E_CONFIG },
    };
    const leat_rows rows[] = {
        { "image", leat_shape_make(LEAT_F32, 3, (int64_t[]){ 2, 2, 2 }), xs },
        { "label", leat_shape_make(LEAT_I64, 0, NULL), ys },
    };
    trained_rows_draw();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leat_builder *builder = leat_builder_open();
        char text[200];
        fixture f = { .config = NULL };
        leat_builder_rows(builder, ROWS, rows, 2);
        leat_builder_stage(builder, "map", cases[i].ops);
        leat_builder_stage(builder, "batch", "32");
        leat_plan *plan = plan_of_builder(builder);
        snprintf(text, sizeof text, "train: {model: %s, loss: softmax_cross_entropy}",
                 cases[i].layers);
        assert_int_equal(leat_config_parse(text, "test.yaml", &f.config, &f.err), LEAT_OK);
        assert_int_equal(leat_trainer_open_device(f.config, &f.device, &f.err), LEAT_OK);
        assert_int_equal(leat_trainer_open(f.config, plan, f.device, &f.trainer, &f.err),
                         cases[i].code);
        if (cases[i].code)
            assert_non_null(strstr(f.err.message, "puts the channels of 'image' first"));
        fixture_close(&f);
        leat_plan_close(&plan);
    }
}

static leat_plan *plan_of_floats(const char *const names[3])
{
    leat_builder *const builder = leat_builder_open();
    leat_rows rows[3];
    trained_rows_draw();
    for (int i = 0; i < 3; i++)
        rows[i] = (leat_rows){ names[i], leat_shape_make(LEAT_F32, 0, NULL), xs };
    leat_builder_rows(builder, ROWS, rows, 3);
    leat_builder_stage(builder, "batch", "32");
    return plan_of_builder(builder);
}

/* Tensors of one type can stand in another order: positions alone would take one for another. */
TEST(a_plan_of_evaluation_has_the_same_names)
{
    static const char *const orders[][3] = { { "x", "label", "w" }, { "x", "w", "label" },
                                             { "label", "x", "w" }, { "label", "w", "x" },
                                             { "w", "x", "label" }, { "w", "label", "x" },
                                             { "a", "label", "b" }, { "a", "b", "x" } };
    static const char train[] =
        "train: {input: x, sample_weight: w, model: [dense: 1], loss: mean_squared_error}";
    fixture f = { 0 };
    leat_plan *plan = plan_of_floats(orders[0]);
    if (leat_config_parse(train, "t", &f.config, &f.err) < 0 ||
        leat_trainer_open_device(f.config, &f.device, &f.err) < 0 ||
        leat_trainer_open(f.config, plan, f.device, &f.trainer, &f.err) < 0)
        fail_msg("%s", f.err.message);
    leat_plan_close(&plan);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        bool moved = false;
        for (int k = 0; k < 3; k++)
            for (int at = 0; at < 3; at++)
                moved |= at != k && !strcmp(orders[i][at], orders[0][k]);
        plan = plan_of_floats(orders[i]);
        const int rc = leat_trainer_check(f.trainer, plan, &f.err);
        if (rc != (moved ? LEAT_E_CONFIG : LEAT_OK) ||
            (moved && !strstr(f.err.message, "write the same tensors in the same order")))
            fail_msg("order %zu: %s", i, f.err.message);
        leat_plan_close(&plan);
    }
    fixture_close(&f);
}

TEST(a_wrong_label_gives_the_batch_back)
{
    trained_rows p;
    leat_batch *batch;
    trained_rows_open(&p, on_cpu, 0);
    leat_loader *loader = trained_rows_loader(&p, 1);
    ys[17] = 9;
    int rc = LEAT_OK;
    for (int i = 0; i < 8 && rc == LEAT_OK; i++) {
        assert_int_equal(leat_loader_next(loader, &batch, &p.f.err), LEAT_OK);
        rc = leat_trainer_step(p.f.trainer, batch, &p.f.err);
    }
    assert_int_equal(rc, LEAT_E_DATA);
    assert_non_null(strstr(p.f.err.message, "label 9"));
    rc = leat_loader_next(loader, &batch, &p.f.err); /* nothing is held */
    assert_true(rc == LEAT_OK || rc == LEAT_E_END);
    if (rc == LEAT_OK)
        leat_batch_release(batch);
    leat_loader_close(&loader);
    trained_rows_close(&p);
}

/* The CPU would read a batch of which the copy may not have come. */
TEST(a_batch_on_another_device_is_refused)
{
    trained_rows p;
    leat_device *sim;
    leat_loader *loader;
    leat_batch *batch;
    leat_metrics metrics;
    float out[BATCH * 3];
    trained_rows_open(&p, on_cpu, 2);
    assert_int_equal(leat_device_open("sim", &sim, &p.f.err), LEAT_OK);
    const leat_loader_options options = { .device = sim };
    assert_int_equal(leat_loader_open(p.plan, &options, &loader, &p.f.err), LEAT_OK);
    assert_int_equal(leat_loader_next(loader, &batch, &p.f.err), LEAT_OK);
    assert_int_equal(leat_trainer_predict(p.f.trainer, batch, out, &p.f.err), LEAT_E_ARGUMENT);
    assert_int_equal(leat_trainer_step(p.f.trainer, batch, &p.f.err), LEAT_E_ARGUMENT);
    assert_non_null(
        strstr(p.f.err.message, "the batch is in memory of sim, and the trainer is on cpu"));
    assert_int_equal(leat_trainer_evaluate(p.f.trainer, loader, &metrics, &p.f.err),
                     LEAT_E_ARGUMENT);
    assert_int_equal(leat_loader_next(loader, &batch, &p.f.err), LEAT_OK); /* nothing is held */
    leat_batch_release(batch);
    leat_loader_close(&loader);
    leat_device_close(&sim);
    trained_rows_close(&p);
}

/* Whatever is asked for, and whatever is in the batch. */
TEST(a_trainer_of_evaluation_makes_no_step)
{
    trained_rows p;
    leat_batch *batch;
    leat_metrics metrics;
    trained_rows_open(&p, on_cpu, 0);
    leat_trainer_close(&p.f.trainer);
    assert_int_equal(
        leat_trainer_open_evaluation(p.f.config, NULL, p.f.device, &p.f.trainer, &p.f.err),
        LEAT_E_ARGUMENT);
    assert_non_null(strstr(p.f.err.message, "leat_trainer_open_evaluation:"));
    assert_int_equal(
        leat_trainer_open_evaluation(p.f.config, p.plan, p.f.device, &p.f.trainer, &p.f.err),
        LEAT_OK);
    leat_loader *loader = trained_rows_loader(&p, 1);
    assert_int_equal(leat_trainer_evaluate(p.f.trainer, loader, &metrics, &p.f.err), LEAT_OK);
    assert_int_equal(metrics.samples, ROWS);
    leat_loader_close(&loader);
    loader = trained_rows_loader(&p, 1);
    for (int i = 0; i < ROWS; i++)
        ys[i] = 9; /* no class */
    for (int64_t n = -1; n < 3; n++) {
        assert_int_equal(leat_loader_next(loader, &batch, &p.f.err), LEAT_OK);
        assert_int_equal(n < 0 ? leat_trainer_step(p.f.trainer, batch, &p.f.err)
                               : leat_trainer_repeat(p.f.trainer, batch, n, &p.f.err),
                         LEAT_E_ARGUMENT);
        assert_non_null(strstr(p.f.err.message, "opened for evaluation"));
    }
    leat_loader_close(&loader); /* all batches were released */
    trained_rows_close(&p);
}
