/* SPDX-License-Identifier: MIT
 *
 * test_cuda_train.c: training on the GPU backend over the fake GPU, with the libraries in plain C. Every primitive,
 * loss and optimiser gives what the CPU gives, with graphs and without, in any order of streams. */
#include <math.h>
#include <unistd.h>

#include "fixtures/cuda_fixture.h"
#include "fixtures/train_fixture.h"
#include "gpu/gpu_train.h"
#include "train/program.h"

static const cuda_fake_table *fake;

typedef gpu_model model;
typedef gpu_batch batch;

static void must_compare(const model *m, const char *how, const char *cpu_how, int steps,
                         double loss, double weights)
{
    gpu_distance d;
    leat_error err;
    leat_device *device = open_gpu();
    if (gpu_train_compare(device, m, how, cpu_how, steps, &d, &err) < 0)
        fail_msg("%s: %s", m->name, err.message);
    if (!(d.loss <= loss) || !(d.weights <= weights))
        fail_msg("%s: the loss is %g apart, %s is %g apart", m->name, d.loss, d.where, d.weights);
    leat_device_close(&device);
    check_fake(fake);
}

/* --- every primitive ------------------------------------------------------------------------------ */

/* One step of the GPU. */
static void step_on_gpu(fixture *f, const leat_trainer_feed *feed, const batch *b, bool train)
{
    gpu_net net = { .device = f->device, .trainer = f->trainer };
    if (gpu_net_step(&net, feed, b, train, &f->err) < 0)
        fail_msg("%s", f->err.message);
}

static void open_gpu_net(fixture *f, const model *m, const char *how, const leat_trainer_feed *feed)
{
    char text[2048];
    snprintf(text, sizeof text, "train: {device: cuda:0, %s%s}", how, m->text);
    fixture_must_open(f, text, feed);
}

static void every_primitive_as_on_the_cpu(void **state)
{
    (void)state;
    for (const model *m = gpu_small_models; m->name; m++) {
        fake->reset((uint64_t)(m - gpu_small_models));
        must_compare(m, "", "", 8, 2e-5, 2e-4);
    }
}

/* With the masks of dropout, which differ between the batches of an update. */
static void accumulated_batches_too(void **state)
{
    (void)state;
    for (const model *m = gpu_small_models; m->name; m++) {
        if (strstr(m->text, "accumulate"))
            continue; /* it does so in the other tests */
        fake->reset((uint64_t)(m - gpu_small_models));
        must_compare(m, "accumulate: 2, ", "accumulate: 2, ", 4, 2e-5, 2e-4);
    }
}

static void in_bfloat16_nearly_so(void **state)
{
    (void)state;
    for (const model *m = gpu_small_models; m->name; m++) {
        fake->reset((uint64_t)(m - gpu_small_models));
        must_compare(m, "precision: bf16, ", "precision: bf16, ", 2, 0.05, 0.1);
    }
}

/* So that a new primitive cannot be forgotten here. */
static void no_primitive_is_left_out(void **state)
{
    static const char *const names[] = {
#define NAME(name) #name,
        LEAT_PRIM_LIST(NAME)
#undef NAME
    };
    bool seen[LEAT_N_PRIMS] = { false };
    (void)state;
    for (const model *m = gpu_small_models; m->name; m++)
        for (int training = 0; training < 2; training++) {
            const leat_trainer_feed feed = gpu_feed(m);
            leat_program *p;
            fixture f;
            char text[2048];
            snprintf(text, sizeof text, "train: {%s}", m->text);
            fixture_must_open(&f, text, &feed);
            assert_int_equal(leat_program_open(&f.trainer->model, training, &p, NULL), LEAT_OK);
            for (int32_t k = 0; k < p->n_ops; k++)
                seen[p->ops[k].prim] = true;
            leat_program_close(&p);
            fixture_close(&f);
        }
    for (int i = 0; i < LEAT_N_PRIMS; i++)
        if (!seen[i])
            fail_msg("no model here has the primitive %s", names[i]);
}

/* --- whole models ---------------------------------------------------------------------------------- */

static void loss_curves_are_those_of_the_cpu(void **state)
{
    (void)state;
    for (const model *m = gpu_whole_models; m->name; m++) {
        fake->reset((uint64_t)(m - gpu_whole_models));
        must_compare(m, "graph: true, ", "", 20, 1e-3, 1e-2);
        assert_true(fake->graphs() >= 10);
    }
}

/* Bits do not depend on graphs, or on the order in which the device does things. */
static void graphs_change_no_bit(void **state)
{
    const model *const m = &gpu_whole_models[1];
    const leat_trainer_feed feed = gpu_feed(m);
    (void)state;
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
                batch b = gpu_batch_draw(&feed, (uint64_t)i, m->batch, i == 5);
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

/* The rows of a batch as views in the device's memory. */
static leat_net_rows rows_on_gpu(fixture *f, const leat_trainer_feed *feed, const batch *b)
{
    const leat_device_table *const t = f->device->table;
    leat_net_rows rows = { .x = batch_view(&feed->input, b->rows, b->x),
                           .y = batch_view(&feed->target, b->rows, b->y),
                           .rows = b->rows,
                           .n_valid = b->rows };
    leat_view *const views[] = { &rows.x, &rows.y };
    for (int k = 0; k < 2; k++) {
        const size_t bytes = (size_t)leat_shape_bytes(&views[k]->shape);
        void *const to = t->device_alloc(f->device, bytes);
        assert_int_equal(t->copy_to_device(f->trainer->stream, to, views[k]->data, bytes, false),
                         LEAT_OK);
        views[k]->data = to;
    }
    return rows;
}

/* A step's launches: one by one, and as a graph of as many kernels. */
static void launches_are_counted(void **state)
{
    const model *const m = &gpu_whole_models[1];
    const leat_trainer_feed feed = gpu_feed(m);
    int64_t kernels = 0;
    (void)state;
    for (int graph = 0; graph < 2; graph++) {
        fixture f;
        fake->reset((uint64_t)graph);
        open_gpu_net(&f, m, graph ? "graph: true, " : "graph: false, ", &feed);
        for (int i = 0; i < 4; i++) {
            batch b = gpu_batch_draw(&feed, (uint64_t)i, m->batch, false);
            leat_step_times times = { 0 };
            leat_net_rows rows = rows_on_gpu(&f, &feed, &b);
            const leat_net_step how = { .train = true, .first = true, .last = true, .share = 1 };
            assert_int_equal(f.trainer->backend->step(f.trainer->net, f.trainer->stream, &rows,
                                                      &how, &times, NULL),
                             LEAT_OK);
            assert_int_equal(leat_trainer_sync(f.trainer, NULL), LEAT_OK);
            f.device->table->device_free(f.device, rows.x.data);
            f.device->table->device_free(f.device, rows.y.data);
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
static int64_t evaluate_on_gpu(fixture *f, const leat_trainer_feed *feed, const batch *b,
                               float *logits)
{
    const leat_net_step how = { .logits = logits };
    leat_step_times times = { 0 };
    leat_net_rows rows = rows_on_gpu(f, feed, b);
    assert_int_equal(
        f->trainer->backend->step(f->trainer->net, f->trainer->stream, &rows, &how, &times, NULL),
        LEAT_OK);
    assert_int_equal(leat_trainer_sync(f->trainer, NULL), LEAT_OK);
    f->device->table->device_free(f->device, rows.x.data);
    f->device->table->device_free(f->device, rows.y.data);
    return times.launches;
}

/* Full batches are graphs, between steps of training and after other sizes took the place of their plan, and
 * give the same bits as call by call. */
static void evaluation_is_a_graph_too(void **state)
{
    const model *const m = &gpu_whole_models[1];
    const leat_trainer_feed feed = gpu_feed(m);
    enum { CALLS = 12 };
    static float logits[2][64 * 4];
    fixture f[2];
    (void)state;
    fake->reset(11);
    assert_true(m->batch <= 64);
    open_gpu_net(&f[0], m, "graph: false, ", &feed);
    open_gpu_net(&f[1], m, "graph: true, ", &feed);
    for (int i = 0; i < CALLS; i++) {
        const int64_t rows = i >= 4 && i < 9 ? i - 3 : m->batch; /* five short ones */
        batch b = gpu_batch_draw(&feed, (uint64_t)i, rows, false);
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

/* --- around steps ---------------------------------------------------------------------------------- */

/* Averages of weights use blend and swap between steps; whiten reads the first batch. */
static void averages_and_whitened_weights(void **state)
{
    static const model m = {
        .name = "averaged",
        .text = "average: {ema: {decay: 0.8, every: 2}}, model: [{conv2d: {filters: 12, kernel: 2, "
                "init: whiten, frozen: true}}, gelu, flatten, dense: 4], "
                "loss: softmax_cross_entropy, optimizer: {sgd: {learning_rate: 0.1}}",
        .dtype = LEAT_F32,
        .dims = { 5, 5, 3 },
        .batch = 16,
        .target = LEAT_I64,
    };
    (void)state;
    fake->reset(3);
    must_compare(&m, "", "", 10, 1e-4, 1e-3);
}

/* The device stands still while the host enqueues steps with averages between them: nothing is waited for, and
 * the weights are those of steps that were waited for one by one. */
static void steps_are_not_waited_for(void **state)
{
    const model *const m = &gpu_whole_models[1];
    const leat_trainer_feed feed = gpu_feed(m);
    enum { WARM = 3, STEPS = 6 };
    fixture f[2];
    batch b[STEPS];
    (void)state;
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
            f[k].device->table->device_free(f[k].device, rows[i].x.data);
            f[k].device->table->device_free(f[k].device, rows[i].y.data);
        }
    }
    assert_true(fixture_same_weights(&f[0], &f[1]));
    for (int i = 0; i < STEPS; i++)
        gpu_batch_drop(&b[i]);
    fixture_close(&f[0]);
    fixture_close(&f[1]);
    check_fake(fake);
}

/* What a checkpoint does: everything that a net holds goes into another and it trains on, bit for bit. */
static void values_move_to_another_net(void **state)
{
    const model *const m = &gpu_whole_models[1];
    const leat_trainer_feed feed = gpu_feed(m);
    fixture f[2];
    char text[2048];
    (void)state;
    fake->reset(4);
    snprintf(text, sizeof text, "train: {device: cuda:0, %s}", m->text);
    for (int k = 0; k < 2; k++)
        fixture_must_open(&f[k], text, &feed);
    for (int i = 0; i < 8; i++) {
        batch b = gpu_batch_draw(&feed, (uint64_t)i, m->batch, false);
        step_on_gpu(&f[0], &feed, &b, true);
        if (i >= 4)
            step_on_gpu(&f[1], &feed, &b, true);
        gpu_batch_drop(&b);
        if (i != 3)
            continue;
        const leat_model *const of_both = &f[0].trainer->model;
        const leat_backend *const backend = f[0].trainer->backend;
        for (int32_t p = 0; p < of_both->n_params; p++)
            for (int slot = 0; slot <= of_both->optimizer->n_states; slot++) {
                const leat_model_param *const of = &of_both->params[p];
                float *const values = malloc(of->n * sizeof *values);
                assert_int_equal(backend->read(f[0].trainer->net, of->layer, of->index,
                                               (leat_slot)slot, values, NULL),
                                 0);
                assert_int_equal(backend->write(f[1].trainer->net, of->layer, of->index,
                                                (leat_slot)slot, values, NULL),
                                 0);
                free(values);
            }
        backend->set_updates(f[1].trainer->net, backend->updates(f[0].trainer->net));
    }
    assert_true(fixture_same_weights(&f[0], &f[1]));
    fixture_close(&f[0]);
    fixture_close(&f[1]);
    check_fake(fake);
}

/* Logits of an evaluation, in parts of at most batch_size rows. */
static void logits_come_to_the_host(void **state)
{
    const model *const m = &gpu_whole_models[0];
    const leat_trainer_feed feed = gpu_feed(m);
    fixture gpu, cpu;
    enum { ROWS = 37 };
    static float logits[2][ROWS * 4];
    char text[1024];
    (void)state;
    fake->reset(5);
    open_gpu_net(&gpu, m, "", &feed);
    snprintf(text, sizeof text, "train: {%s}", m->text);
    fixture_must_open(&cpu, text, &feed);
    batch b = gpu_batch_draw(&feed, 1, ROWS, false);
    leat_net_rows rows = { .x = batch_view(&feed.input, ROWS, b.x),
                           .y = batch_view(&feed.target, ROWS, b.y),
                           .rows = ROWS,
                           .n_valid = ROWS };
    leat_net_step how = { .logits = logits[1] };
    leat_step_times times = { 0 };
    assert_int_equal(cpu.trainer->backend->step(cpu.trainer->net, NULL, &rows, &how, &times, NULL),
                     0);
    leat_view *const views[] = { &rows.x, &rows.y };
    const leat_device_table *const t = gpu.device->table;
    for (int k = 0; k < 2; k++) {
        const size_t bytes = (size_t)leat_shape_bytes(&views[k]->shape);
        void *const to = t->device_alloc(gpu.device, bytes);
        assert_int_equal(t->copy_to_device(gpu.trainer->stream, to, views[k]->data, bytes, false),
                         0);
        views[k]->data = to;
    }
    how.logits = logits[0];
    assert_int_equal(gpu.trainer->backend->step(gpu.trainer->net, gpu.trainer->stream, &rows, &how,
                                                &times, NULL),
                     0);
    assert_int_equal(leat_trainer_sync(gpu.trainer, NULL), LEAT_OK);
    for (int k = 0; k < 2; k++)
        t->device_free(gpu.device, views[k]->data);
    for (int i = 0; i < ROWS * 4; i++)
        assert_float_equal(logits[0][i], logits[1][i], 1e-5);
    gpu_batch_drop(&b);
    fixture_close(&gpu);
    fixture_close(&cpu);
    check_fake(fake);
}

static void impossible_targets_are_named(void **state)
{
    const model *const m = &gpu_whole_models[0];
    const leat_trainer_feed feed = gpu_feed(m);
    fixture gpu;
    leat_metrics metrics;
    (void)state;
    fake->reset(6);
    open_gpu_net(&gpu, m, "", &feed);
    batch b = gpu_batch_draw(&feed, 1, m->batch, false);
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
static void impossible_weights_are_named(void **state)
{
    static const float bad[] = { -1, NAN, INFINITY };
    (void)state;
    for (const model *m = gpu_small_models; m->name; m++)
        for (int i = 0; i < 3 && strstr(m->text, "sample_weight"); i++) {
            const leat_trainer_feed feed = gpu_feed(m);
            fixture gpu;
            leat_metrics metrics;
            fake->reset(6);
            open_gpu_net(&gpu, m, "", &feed);
            batch b = gpu_batch_draw(&feed, 1, m->batch, false);
            b.weights[5] = bad[i];
            step_on_gpu(&gpu, &feed, &b, true);
            assert_int_equal(leat_trainer_metrics(gpu.trainer, &metrics, &gpu.err), LEAT_E_DATA);
            assert_non_null(strstr(gpu.err.message, "row 5 of a batch has the sample weight "));
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
static void options_reach_the_libraries(void **state)
{
    static const char path[] = BUILD_DIR "/test_cuda_train.opened";
    static const char *const ways[] = { "measure", "heuristic" };
    const leat_trainer_feed feed = gpu_feed(&gpu_whole_models[0]);
    (void)state;
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

static void what_cannot_be_is_refused_at_open(void **state)
{
    const leat_trainer_feed feed = gpu_feed(&gpu_whole_models[0]);
    (void)state;
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
    batch b = gpu_batch_draw(feed, 1, feed->batch_size, false);
    const leat_device_table *const t = f.device ? f.device->table : NULL;
    leat_net_rows rows = { .x = batch_view(&feed->input, b.rows, b.x),
                           .y = batch_view(&feed->target, b.rows, b.y),
                           .rows = b.rows,
                           .n_valid = b.rows };
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
static void any_call_may_fail(void **state)
{
    static const int codes[] = { 2 /* memory */, 719 /* launch failure */ };
    static const char text[] = "train: {device: cuda:0, graph: true, clip: 1, model: [{conv2d: "
                               "{filters: 4, kernel: 3}}, batch_norm, relu, flatten, dense: 4], "
                               "loss: softmax_cross_entropy, optimizer: muon}";
    const leat_trainer_feed feed = feed_of(LEAT_U8, 3, (int64_t[]){ 5, 5, 2 }, 4);
    leat_error err;
    (void)state;
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

int main(void)
{
    fake = open_fake();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_primitive_as_on_the_cpu),
        cmocka_unit_test(accumulated_batches_too),
        cmocka_unit_test(in_bfloat16_nearly_so),
        cmocka_unit_test(no_primitive_is_left_out),
        cmocka_unit_test(loss_curves_are_those_of_the_cpu),
        cmocka_unit_test(graphs_change_no_bit),
        cmocka_unit_test(launches_are_counted),
        cmocka_unit_test(evaluation_is_a_graph_too),
        cmocka_unit_test(averages_and_whitened_weights),
        cmocka_unit_test(steps_are_not_waited_for),
        cmocka_unit_test(values_move_to_another_net),
        cmocka_unit_test(logits_come_to_the_host),
        cmocka_unit_test(impossible_targets_are_named),
        cmocka_unit_test(impossible_weights_are_named),
        cmocka_unit_test(options_reach_the_libraries),
        cmocka_unit_test(what_cannot_be_is_refused_at_open),
        cmocka_unit_test(any_call_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
