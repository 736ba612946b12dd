/* SPDX-License-Identifier: MIT
 *
 * test_trainer_sim.c: on the simulated device the times of a trainer are what the device's arithmetic says. */
#include "fixtures/trained_rows.h"

#include <math.h>
#include <unistd.h>

#include "base/clock.h"

/* Slow enough that the host is always ahead: kernels of 1 ms. */
static const char on_sim[] = "train: {device: 'sim:{kernel_min_ns: 1000000, launch_ns: 1000}', %s "
                             "model: [dense: 16, relu, dense: 3], loss: softmax_cross_entropy}";

enum { KERNELS = 3 + 1 + 4 + 2 }; /* forward, loss, backward (no data gradient first), update */

TEST(times_on_sim_follow_the_arithmetic)
{
    trained_rows p;
    char text[512];
    leat_step_times t[64];
    leat_metrics metrics;
    snprintf(text, sizeof text, on_sim, "");
    trained_rows_open(&p, text, 2);
    assert_int_equal(leat_trainer_get_info(p.f.trainer)->simulated, 1);
    leat_loader *loader = trained_rows_loader(&p, 2);
    const size_t n = trained_rows_train(&p, loader, SIZE_MAX);
    assert_int_equal(n, 16);
    assert_int_equal(leat_trainer_times(p.f.trainer, t, 64), n);
    leat_loader_close(&loader);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(t[i].busy_ns, KERNELS * 1000000);
        assert_int_equal(t[i].launches, KERNELS);
        assert_int_equal(t[i].kernels, KERNELS);
        assert_int_equal(t[i].launch_ns, KERNELS * 1000);
        assert_in_range(t[i].copied_bytes, BATCH * (WIDTH * 4 + 8), 4096);
        assert_true(t[i].compute_end_ns - t[i].compute_start_ns >= t[i].busy_ns);
        assert_true(t[i].copy_end_ns > t[i].copy_start_ns && t[i].copy_start_ns >= t[i].ready_ns);
        assert_true(t[i].compute_start_ns >= t[i].copy_end_ns);
        assert_true(!i || t[i].compute_start_ns >= t[i - 1].compute_end_ns);
        assert_int_equal(t[i].rows, i % 8 == 7 ? ROWS % BATCH : BATCH);
    }
    assert_int_equal(leat_trainer_metrics(p.f.trainer, &metrics, &p.f.err), LEAT_OK);
    assert_int_equal(metrics.samples, 2 * ROWS);
    assert_true(isnan(metrics.loss) && isnan(metrics.accuracy));
    trained_rows_close(&p);
}

/* With prefetch the device never waits for the host; the last steps are still to come when the host
 * has enqueued them, unless it has to sync: then they never are. A host that got no core may be late, but not each time. */
TEST(the_host_runs_ahead_unless_told_to_sync)
{
    enum { TRIES = 50 };
    bool is_ahead = false;
    for (int i = 0; i < TRIES && !is_ahead; i++) {
        const bool sync = i == 0;
        trained_rows p;
        char text[512];
        leat_step_times t[8];
        snprintf(text, sizeof text, on_sim, sync ? "sync_every: 1," : "");
        trained_rows_open(&p, text, 4);
        leat_loader *loader = trained_rows_loader(&p, 1);
        assert_int_equal(trained_rows_train(&p, loader, 4), 4);
        const int64_t enqueued_ns = leat_clock_ns();
        assert_int_equal(leat_trainer_times(p.f.trainer, t, 8), 4);
        is_ahead = t[3].compute_end_ns > enqueued_ns;
        assert_true(!sync || !is_ahead);
        leat_loader_close(&loader);
        trained_rows_close(&p);
    }
    assert_true(is_ahead);
}

TEST(sim_evaluates_and_has_no_weights)
{
    static const char path[] = BUILD_DIR "/test_trainer_sim.safetensors";
    trained_rows p;
    char text[512];
    leat_metrics metrics;
    leat_step_times t[8];
    snprintf(text, sizeof text, on_sim, "");
    trained_rows_open(&p, text, 1);
    leat_loader *loader = trained_rows_loader(&p, 1);
    assert_int_equal(leat_trainer_evaluate(p.f.trainer, loader, &metrics, &p.f.err), LEAT_OK);
    assert_int_equal(metrics.samples, ROWS);
    assert_true(isnan(metrics.loss));
    assert_int_equal(leat_trainer_times(p.f.trainer, t, 8), 0);
    leat_loader_close(&loader);
    assert_int_equal(leat_trainer_save(p.f.trainer, path, &p.f.err), LEAT_E_UNSUPPORTED);
    assert_non_null(strstr(p.f.err.message, "simulated"));
    assert_int_not_equal(access(path, F_OK), 0);
    trained_rows_close(&p);
}

/* It is copied once. */
TEST(a_batch_on_sim_can_be_stepped_on_again)
{
    leat_step_times t[3];
    leat_batch *batch;
    trained_rows p;
    char text[512];
    snprintf(text, sizeof text, on_sim, "");
    trained_rows_open(&p, text, 2);
    leat_loader *loader = trained_rows_loader(&p, 1);
    assert_int_equal(leat_loader_next(loader, &batch, &p.f.err), LEAT_OK);
    assert_int_equal(leat_trainer_repeat(p.f.trainer, batch, 3, &p.f.err), LEAT_OK);
    assert_int_equal(leat_trainer_times(p.f.trainer, t, 3), 3);
    assert_true(t[0].copied_bytes > 0 && t[1].copied_bytes == 0 && t[2].copied_bytes == 0);
    assert_true(t[0].launches == KERNELS && t[2].launches == KERNELS);
    leat_loader_close(&loader);
    trained_rows_close(&p);
}

/* More steps than the host may be ahead, and batches that stay in host memory. */
TEST(many_steps_on_sim_without_a_copy)
{
    static leat_step_times t[400];
    trained_rows p;
    char text[512];
    snprintf(text, sizeof text, on_sim, "");
    char *slow = strstr(text, "kernel_min_ns: 1000000");
    memcpy(slow, "kernel_min_ns: 100    ", strlen("kernel_min_ns: 100    "));
    trained_rows_open(&p, text, 2);
    leat_loader *loader;
    const leat_loader_options in_host = { .epochs = 40 };
    assert_int_equal(leat_loader_open(p.plan, &in_host, &loader, &p.f.err), LEAT_OK);
    assert_int_equal(trained_rows_train(&p, loader, SIZE_MAX), 320);
    leat_loader_close(&loader);
    assert_int_equal(leat_trainer_times(p.f.trainer, t, 400), 320);
    for (int i = 0; i < 320; i++) {
        assert_true(t[i].copy_start_ns == 0 && t[i].copy_end_ns == 0);
        assert_true(t[i].busy_ns > 0 &&
                    t[i].busy_ns <= t[i].compute_end_ns - t[i].compute_start_ns);
    }
    trained_rows_close(&p);
}
