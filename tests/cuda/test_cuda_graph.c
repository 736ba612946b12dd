/* SPDX-License-Identifier: MIT
 *
 * test_cuda_graph.c: steps and evaluations on the fake GPU as graphs: the same bits as call by call, fewer launches,
 * and a host that waits for nothing. */
#include "fixtures/cuda_train_fixture.h"

FAKE_GPU

/* Bits do not depend on graphs, or on the order in which the device does things. */
TEST(graphs_change_no_bit)
{
    const gpu_model *const m = &gpu_whole_models[1];
    const leat_trainer_feed feed = gpu_feed(m);
    fixture f[3];
    for (int k = 0; k < 3; k++) {
        char text[2048];
        fake->reset((uint64_t)k);
        snprintf(text, sizeof text, "train: {device: cuda:0, graph: %s, %s}",
                 k == 0 ? "false" : "true", m->text);
        for (int other = 0; other < 2; other++) {
            fixture now;
            fixture_must_open(&now, text, &feed);
            for (int i = 0; i < 9; i++) {
                gpu_batch b = gpu_batch_draw(&feed, (uint64_t)i, m->batch, i == 5);
                step_on_gpu(&now, &feed, &b, true);
                gpu_batch_drop(&b);
            }
            if (other == 0 && k == 0) {
                f[0] = now;
                continue;
            }
            assert_true(fixture_same_weights(&f[0], &now));
            fixture_close(&now);
        }
    }
    fixture_close(&f[0]);
    check_fake(fake);
}

/* A step's launches: one by one, and as a graph of as many kernels. */
TEST(launches_are_counted)
{
    const gpu_model *const m = &gpu_whole_models[1];
    const leat_trainer_feed feed = gpu_feed(m);
    int64_t kernels = 0;
    for (int graph = 0; graph < 2; graph++) {
        fixture f;
        fake->reset((uint64_t)graph);
        open_gpu_net(&f, m, graph ? "graph: true, " : "graph: false, ", &feed);
        for (int i = 0; i < 4; i++) {
            gpu_batch b = gpu_batch_draw(&feed, (uint64_t)i, m->batch, false);
            leat_step_times times = { 0 };
            leat_net_rows rows = rows_on_gpu(&f, &feed, &b);
            const leat_net_step how = { .train = true, .first = true, .last = true, .share = 1 };
            assert_int_equal(f.trainer->backend->step(f.trainer->net, f.trainer->stream, &rows,
                                                      &how, &times, NULL),
                             LEAT_OK);
            assert_int_equal(leat_trainer_sync(f.trainer, NULL), LEAT_OK);
            free_rows(&f, &rows);
            gpu_batch_drop(&b);
            if (!i) /* the first step also renews the packed copies */
                continue;
            kernels = kernels ? kernels : times.kernels;
            assert_int_equal(times.kernels, kernels);
            assert_int_equal(times.launches, graph ? 1 : kernels);
        }
        assert_true(kernels >= 10);
        fixture_close(&f);
    }
    check_fake(fake);
}

/* One evaluation of a batch; gives its launches. */
static int64_t evaluate_on_gpu(fixture *f, const leat_trainer_feed *feed, const gpu_batch *b,
                               float *logits)
{
    const leat_net_step how = { .logits = logits };
    leat_step_times times = { 0 };
    leat_net_rows rows = rows_on_gpu(f, feed, b);
    assert_int_equal(
        f->trainer->backend->step(f->trainer->net, f->trainer->stream, &rows, &how, &times, NULL),
        LEAT_OK);
    assert_int_equal(leat_trainer_sync(f->trainer, NULL), LEAT_OK);
    free_rows(f, &rows);
    return times.launches;
}

/* Full batches are graphs, between steps of training and after other sizes took the place of their plan, and
 * give the same bits as call by call. */
TEST(evaluation_is_a_graph_too)
{
    const gpu_model *const m = &gpu_whole_models[1];
    const leat_trainer_feed feed = gpu_feed(m);
    enum { CALLS = 12 };
    static float logits[2][64 * 4];
    fixture f[2];
    fake->reset(11);
    assert_true(m->batch <= 64);
    open_gpu_net(&f[0], m, "graph: false, ", &feed);
    open_gpu_net(&f[1], m, "graph: true, ", &feed);
    for (int i = 0; i < CALLS; i++) {
        const int64_t rows = i >= 4 && i < 9 ? i - 3 : m->batch; /* five short ones */
        gpu_batch b = gpu_batch_draw(&feed, (uint64_t)i, rows, false);
        int64_t launches[2];
        for (int k = 0; k < 2; k++) {
            memset(logits[k], 0, sizeof logits[k]);
            launches[k] = evaluate_on_gpu(&f[k], &feed, &b, logits[k]);
            if (i == 2)
                step_on_gpu(&f[k], &feed, &b, true);
        }
        assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
        const bool graph = rows == m->batch && i != 0 && i != 9; /* its plan is new */
        assert_true(graph ? launches[1] <= 2 && launches[0] > 5 : launches[1] == launches[0]);
        gpu_batch_drop(&b);
    }
    fixture_close(&f[0]);
    fixture_close(&f[1]);
    check_fake(fake);
}

/* The device stands still while the host enqueues steps with averages between them: nothing is waited for, and
 * the weights are those of steps that were waited for one by one. */
TEST(steps_are_not_waited_for)
{
    const gpu_model *const m = &gpu_whole_models[1];
    const leat_trainer_feed feed = gpu_feed(m);
    enum { WARM = 3, STEPS = 6 };
    fixture f[2];
    gpu_batch b[STEPS];
    fake->reset(9);
    for (int i = 0; i < STEPS; i++)
        b[i] = gpu_batch_draw(&feed, (uint64_t)i, m->batch, false);
    for (int k = 0; k < 2; k++) {
        leat_net_rows rows[STEPS];
        open_gpu_net(&f[k], m, "average: {lookahead: {every: 2, power: 0}}, ", &feed);
        for (int i = 0; i < STEPS; i++)
            rows[i] = rows_on_gpu(&f[k], &feed, &b[i]);
        for (int i = 0; i < STEPS; i++) {
            if (k && i == WARM)
                fake->pause(1);
            assert_int_equal(leat_trainer_step_rows(f[k].trainer, &rows[i], true, NULL), LEAT_OK);
            if (!k || i < WARM)
                assert_int_equal(leat_trainer_sync(f[k].trainer, NULL), LEAT_OK);
        }
        fake->pause(0);
        assert_int_equal(leat_trainer_sync(f[k].trainer, NULL), LEAT_OK);
        for (int i = 0; i < STEPS; i++) {
            free_rows(&f[k], &rows[i]);
        }
    }
    assert_true(fixture_same_weights(&f[0], &f[1]));
    for (int i = 0; i < STEPS; i++)
        gpu_batch_drop(&b[i]);
    fixture_close(&f[0]);
    fixture_close(&f[1]);
    check_fake(fake);
}
