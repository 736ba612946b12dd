/* SPDX-License-Identifier: MIT
 *
 * test_cuda_train_errors.c: what training on the fake GPU refuses and names: impossible data and options, what does not
 * fit, and any call of the device that fails. */
#include <math.h>
#include <unistd.h>

#include "fixtures/cuda_train_fixture.h"

FAKE_GPU

TEST(impossible_targets_are_named)
{
    const gpu_model *const m = &gpu_whole_models[0];
    const leat_trainer_feed feed = gpu_feed(m);
    fixture gpu;
    leat_metrics metrics;
    fake->reset(6);
    open_gpu_net(&gpu, m, "", &feed);
    gpu_batch b = gpu_batch_draw(&feed, 1, m->batch, false);
    ((int64_t *)b.y)[5] = 4;
    step_on_gpu(&gpu, &feed, &b, true);
    assert_int_equal(leat_trainer_metrics(gpu.trainer, &metrics, &gpu.err), LEAT_E_DATA);
    assert_non_null(strstr(gpu.err.message, "row 5 of a batch has a target of 4"));
    assert_int_equal(leat_trainer_metrics(gpu.trainer, &metrics, &gpu.err), LEAT_OK);
    gpu_batch_drop(&b);
    fixture_close(&gpu);
    check_fake(fake);
}

/* The row gives no gradient, and not a NaN either. */
TEST(impossible_weights_are_named)
{
    static const float bad[] = { -1, NAN, INFINITY };
    for (const gpu_model *m = gpu_small_models; m->name; m++)
        for (int i = 0; i < 3 && strstr(m->text, "sample_weight"); i++) {
            const leat_trainer_feed feed = gpu_feed(m);
            fixture gpu;
            leat_metrics metrics;
            fake->reset(6);
            open_gpu_net(&gpu, m, "", &feed);
            gpu_batch b = gpu_batch_draw(&feed, 1, m->batch, false);
            b.weights[5] = bad[i];
            step_on_gpu(&gpu, &feed, &b, true);
            assert_int_equal(leat_trainer_metrics(gpu.trainer, &metrics, &gpu.err), LEAT_E_DATA);
            assert_non_null(strstr(gpu.err.message, "row 5 of a batch has the sample weight "));
            assert_int_equal(gpu.err.not_finite, i > 0);
            b.weights[5] = 1;
            step_on_gpu(&gpu, &feed, &b, true);
            assert_int_equal(leat_trainer_metrics(gpu.trainer, &metrics, &gpu.err), LEAT_OK);
            assert_true(isfinite(metrics.loss));
            gpu_batch_drop(&b);
            fixture_close(&gpu);
        }
    check_fake(fake);
}

static void refuse(const char *text, const leat_trainer_feed *feed, const char *word)
{
    fixture f;
    char full[1024];
    snprintf(full, sizeof full, "train: {device: cuda:0, %s}", text);
    assert_true(fixture_open(&f, full, feed) < 0);
    if (!strstr(f.err.message, word))
        fail_msg("'%s' does not say '%s'", f.err.message, word);
    fixture_close(&f);
    check_fake(fake);
}

/* The stand-in writes how it was opened to the file that is named as the cache. */
TEST(options_reach_the_libraries)
{
    static const char path[] = BUILD_DIR "/test_cuda_train_errors.opened";
    static const char *const ways[] = { "measure", "heuristic" };
    const leat_trainer_feed feed = gpu_feed(&gpu_whole_models[0]);
    for (int i = 0; i < 2; i++) {
        char how[256], text[32] = "";
        fixture f;
        fake->reset(7);
        snprintf(how, sizeof how, "cuda: {plans: %s, plan_cache: '%s'}, ", ways[i], path);
        open_gpu_net(&f, &gpu_whole_models[0], how, &feed);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        assert_non_null(fgets(text, sizeof text, file));
        assert_string_equal(text, ways[i]);
        fclose(file);
        unlink(path);
        fixture_close(&f);
        open_gpu_net(&f, &gpu_whole_models[0], "", &feed); /* none: nothing is written */
        assert_int_not_equal(access(path, F_OK), 0);
        fixture_close(&f);
        check_fake(fake);
    }
    refuse("model: [dense: 4], loss: softmax_cross_entropy, cuda: {plans: guess}", &feed,
           "measure");
}

TEST(what_cannot_be_is_refused_at_open)
{
    const leat_trainer_feed feed = gpu_feed(&gpu_whole_models[0]);
    fake->reset(7);
    setenv("LEAT_FAKE_NO_TRAIN_LIB", "1", 1);
    refuse("model: [dense: 4], loss: softmax_cross_entropy", &feed, "library is hidden");
    unsetenv("LEAT_FAKE_NO_TRAIN_LIB");
    fake->set_memory(1 << 16);
    refuse("model: [dense: 4096, dense: 4], loss: softmax_cross_entropy", &feed,
           "of device memory for");
    fake->reset(7);
}

/* One run of a few steps; the first error. */
static int try_steps(const leat_trainer_feed *feed, const char *text, leat_error *err)
{
    fixture f;
    int rc = fixture_open(&f, text, feed);
    gpu_batch b = gpu_batch_draw(feed, 1, feed->batch_size, false);
    const leat_device_table *const t = f.device ? f.device->table : NULL;
    leat_net_rows rows = rows_on_host(feed, &b);
    void *memory[2] = { NULL, NULL };
    for (int k = 0; k < 2 && rc == LEAT_OK; k++) {
        leat_view *const view = k ? &rows.y : &rows.x;
        const size_t bytes = (size_t)leat_shape_bytes(&view->shape);
        memory[k] = t->device_alloc(f.device, bytes);
        rc = memory[k] ? t->copy_to_device(f.trainer->stream, memory[k], view->data, bytes, false)
                       : LEAT_E_NOMEM;
        view->data = memory[k];
        if (rc < 0)
            snprintf(f.err.message, sizeof f.err.message, "the test's own copy");
    }
    for (int i = 0; i < 6 && rc == LEAT_OK; i++)
        rc = leat_trainer_step_rows(f.trainer, &rows, i < 3, &f.err);
    leat_metrics metrics;
    if (rc == LEAT_OK)
        rc = leat_trainer_metrics(f.trainer, &metrics, &f.err);
    if (f.trainer)
        leat_trainer_sync(f.trainer, NULL);
    for (int k = 0; k < 2; k++)
        if (memory[k])
            t->device_free(f.device, memory[k]);
    fixture_close(&f);
    gpu_batch_drop(&b);
    *err = f.err;
    return rc;
}

/* Whatever call fails: an error with a message, nothing left behind, no wrong use after it. */
static void fail_everywhere(const char *text)
{
    static const int codes[] = { 2 /* memory */, 719 /* launch failure */ };
    const leat_trainer_feed feed = feed_of(LEAT_U8, 3, (int64_t[]){ 5, 5, 2 }, 4);
    leat_error err;
    fake->reset(8);
    check(try_steps(&feed, text, &err), &err);
    check_fake(fake);
    const int64_t calls = (int64_t)fake->calls();
    for (int k = 0; k < 2; k++)
        for (int64_t n = k; n < calls; n += 3) {
            fake->reset((uint64_t)n);
            fake->fail_at(n, codes[k]);
            err.message[0] = 0;
            const int rc = try_steps(&feed, text, &err);
            char live[128];
            const bool bad = fake->violation() || fake->live(live, sizeof live);
            if (bad || (rc < 0 && !err.message[0]))
                fail_msg("call %d answers %d (then %d: '%s'): %s %s", (int)n, codes[k], rc,
                         err.message, fake->violation() ? fake->violation() : "not freed:", live);
        }
    fake->reset(8);
}

TEST(any_call_may_fail)
{
    fail_everywhere(
        "train: {device: cuda:0, graph: true, clip: 1, model: [{conv2d: {filters: 4, kernel: 3}}, "
        "batch_norm, relu, flatten, dense: 4], loss: softmax_cross_entropy, optimizer: muon}");
}

TEST(or_where_layers_are_on_the_cpu)
{
    fail_everywhere("train: {device: cuda:0, model: [{conv2d: {filters: 4, kernel: 3}}, "
                    "{batch_norm: {device: cpu}}, relu, flatten, {dense: {units: 4, device: "
                    "cpu}}], loss: softmax_cross_entropy, optimizer: adam}");
}

/* A fault of the device shows at the next wait: with one after each call, it names who caused it. */
TEST(the_call_at_fault_is_named)
{
    static const char text[] = "train: {device: cuda:0, model: [{conv2d: {filters: 4, kernel: 3, "
                               "name: first}}, {tanh: {name: second}}, flatten, {dense: {units: 4, "
                               "name: third}}], loss: softmax_cross_entropy, optimizer: sgd}";
    static const char *const wanted[] = {
        "first: conv 3x3 ",     "first: conv_grad_weights 3x3 ",  "second: kernel leat_train_each",
        "third: dense of 4 x ", "step: kernel leat_train_ingest", "step: kernel leat_train_update"
    };
    enum { WANTED = sizeof wanted / sizeof *wanted };
    const leat_trainer_feed feed = feed_of(LEAT_U8, 3, (int64_t[]){ 5, 5, 2 }, 4);
    bool seen[WANTED] = { false };
    leat_error err;
    setenv("LEAT_GPU_SYNC", "1", 1);
    fake->reset(9);
    check(try_steps(&feed, text, &err), &err);
    assert_int_equal(fake->graphs(), 0);
    const int64_t calls = (int64_t)fake->calls();
    for (int64_t n = 0; n < calls; n++) {
        fake->reset((uint64_t)n);
        fake->fail_at(n, 719);
        err.message[0] = 0;
        if (try_steps(&feed, text, &err) == LEAT_OK)
            continue;
        for (int i = 0; i < WANTED; i++)
            seen[i] |= strncmp(err.message, wanted[i], strlen(wanted[i])) == 0 &&
                       strstr(err.message, "planted failure");
    }
    unsetenv("LEAT_GPU_SYNC");
    fake->reset(9);
    for (int i = 0; i < WANTED; i++)
        if (!seen[i])
            fail_msg("no failure was said to be of '%s'", wanted[i]);
}

/* Calls that fail while a step is recorded, but not otherwise: training goes on, and says why it is slower. */
TEST(a_graph_that_fails_is_told)
{
    enum { CALLS = 200 };
    const gpu_model *const m = &gpu_whole_models[1];
    const leat_trainer_feed feed = gpu_feed(m);
    int told[2] = { 0, 0 };
    for (int n = 0; n < 2 * CALLS; n++) {
        const bool must = n >= CALLS; /* graph: true */
        fixture f;
        fake->reset(3);
        open_gpu_net(&f, m, must ? "graph: true, " : "graph: auto, ", &feed);
        gpu_batch b = gpu_batch_draw(&feed, 1, m->batch, false);
        step_on_gpu(&f, &feed, &b, true);
        assert_string_equal(leat_trainer_graph_failure(f.trainer), "");
        leat_net_rows rows = rows_on_gpu(&f, &feed, &b);
        fake->fail_at(n % CALLS, 900 /* unsupported while recording */);
        f.err.message[0] = 0;
        const int rc = leat_trainer_step_rows(f.trainer, &rows, true, &f.err);
        const char *const why = leat_trainer_graph_failure(f.trainer);
        if (must || *why) {
            assert_true(*why ? rc == LEAT_OK : true);
            told[must] += must ? rc < 0 && *f.err.message && !*why : strstr(why, "planted") != NULL;
        }
        leat_trainer_sync(f.trainer, NULL);
        free_rows(&f, &rows);
        gpu_batch_drop(&b);
        fixture_close(&f);
    }
    assert_true(told[0] >= 10 && told[1] >= told[0]);
    fake->reset(8);
}
