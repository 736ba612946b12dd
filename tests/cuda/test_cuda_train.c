/* SPDX-License-Identifier: MIT
 *
 * test_cuda_train.c: training on the GPU backend over the fake GPU, with the libraries in plain C. Every primitive,
 * loss and optimiser gives what the CPU gives, in any order of streams; weights and logits go to and fro. */
#include "fixtures/cuda_train_fixture.h"
#include "train/program.h"
#include "train/views.h"

FAKE_GPU

static void must_compare(const gpu_model *m, const char *how, const char *cpu_how, int steps,
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

TEST(every_primitive_as_on_the_cpu)
{
    for (const gpu_model *m = gpu_small_models; m->name; m++) {
        fake->reset((uint64_t)(m - gpu_small_models));
        must_compare(m, "", "", 8, 2e-5, 2e-4);
    }
}

/* With the masks of dropout, which differ between the batches of an update. */
TEST(accumulated_batches_too)
{
    for (const gpu_model *m = gpu_small_models; m->name; m++) {
        if (strstr(m->text, "accumulate"))
            continue; /* it does so in the other tests */
        fake->reset((uint64_t)(m - gpu_small_models));
        must_compare(m, "accumulate: 2, ", "accumulate: 2, ", 4, 2e-5, 2e-4);
    }
}

TEST(in_bfloat16_nearly_so)
{
    for (const gpu_model *m = gpu_small_models; m->name; m++) {
        fake->reset((uint64_t)(m - gpu_small_models));
        must_compare(m, "precision: bf16, ", gpu_cpu_bf16(), 2, 0.05, 0.1);
    }
}

/* So that a new primitive cannot be forgotten here. */
TEST(no_primitive_is_left_out)
{
    static const char *const names[] = {
#define NAME(NAME_, name, in_place) #name,
        LEAT_PRIM_LIST(NAME)
#undef NAME
    };
    bool seen[LEAT_N_PRIMS] = { false };
    for (const gpu_model *m = gpu_small_models; m->name; m++)
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

/* What the host issues for a step of a residual block that ends with this activation. */
static int64_t kernels_of_block(int channels, const char *act)
{
    char text[512];
    snprintf(
        text, sizeof text,
        "model: [{conv2d: {filters: %d, kernel: 3, padding: same, name: a}}, {conv2d: {filters: "
        "%d, kernel: 3, padding: same}}, {batch_norm: {name: b}}, {add: {from: [b, a]}}, %s, "
        "global_avg_pool, dense: 4], loss: softmax_cross_entropy, optimizer: sgd",
        channels, channels, act);
    const gpu_model m = { "block", text, LEAT_F32, { 6, 5, 3 }, 6, LEAT_I64, 0 };
    const leat_trainer_feed feed = gpu_feed(&m);
    const leat_net_step how = {
        .train = true, .first = true, .last = true, .share = 1, .rate = 0.1
    };
    leat_step_times times = { 0 };
    fixture f;
    open_gpu_net(&f, &m, "graph: false, ", &feed);
    gpu_batch b = gpu_batch_draw(&feed, 1, m.batch, false);
    leat_net_rows rows = rows_on_gpu(&f, &feed, &b);
    if (f.trainer->backend->step(f.trainer->net, f.trainer->stream, &rows, &how, &times, &f.err) <
        0)
        fail_msg("%s", f.err.message);
    assert_int_equal(leat_trainer_sync(f.trainer, &f.err), LEAT_OK);
    free_rows(&f, &rows);
    gpu_batch_drop(&b);
    fixture_close(&f);
    return times.kernels;
}

/* The end of a residual block is one op of the library where that has batch_norm, there and back; kernels of ours write
 * and read a mask between two. Other activations than relu are kernels of their own, there and back. */
TEST(norm_sum_and_relu_are_one_op)
{
    fake->reset(1);
    assert_int_equal(kernels_of_block(8, "leaky_relu") - kernels_of_block(8, "relu"), 3);
    assert_int_equal(kernels_of_block(6, "leaky_relu") - kernels_of_block(6, "relu"), 0);
    check_fake(fake);
}

/* --- whole models ---------------------------------------------------------------------------------- */

TEST(loss_curves_are_those_of_the_cpu)
{
    for (const gpu_model *m = gpu_whole_models; m->name; m++) {
        fake->reset((uint64_t)(m - gpu_whole_models));
        must_compare(m, "graph: true, ", "", 20, 1e-3, 1e-2);
        assert_true(fake->graphs() >= 10);
    }
}

/* Averages of weights use blend and swap between steps; whiten reads the first batch. */
TEST(averages_and_whitened_weights)
{
    static const gpu_model m = {
        .name = "averaged",
        .text = "average: {ema: {decay: 0.8, every: 2}}, model: [{conv2d: {filters: 12, kernel: 2, "
                "init: whiten, frozen: true}}, gelu, flatten, dense: 4], "
                "loss: softmax_cross_entropy, optimizer: {sgd: {learning_rate: 0.1}}",
        .dtype = LEAT_F32,
        .dims = { 5, 5, 3 },
        .batch = 16,
        .target = LEAT_I64,
    };
    fake->reset(3);
    must_compare(&m, "", "", 10, 1e-4, 1e-3);
}

/* --- around steps ---------------------------------------------------------------------------------- */

/* What a checkpoint does: everything that a net holds goes into another and it trains on, bit for bit. */
TEST(values_move_to_another_net)
{
    const gpu_model *const m = &gpu_whole_models[1];
    const leat_trainer_feed feed = gpu_feed(m);
    fixture f[2];
    char text[2048];
    fake->reset(4);
    snprintf(text, sizeof text, "train: {device: cuda:0, %s}", m->text);
    for (int k = 0; k < 2; k++)
        fixture_must_open(&f[k], text, &feed);
    for (int i = 0; i < 8; i++) {
        gpu_batch b = gpu_batch_draw(&feed, (uint64_t)i, m->batch, false);
        step_on_gpu(&f[0], &feed, &b, true);
        if (i >= 4)
            step_on_gpu(&f[1], &feed, &b, true);
        gpu_batch_drop(&b);
        if (i != 3)
            continue;
        const leat_model *const of_both = &f[0].trainer->model;
        const leat_backend *const backend = f[0].trainer->backend;
        for (int32_t p = 0; p < of_both->n_params; p++)
            for (int which = 0; which <= of_both->optimizer->n_states; which++) {
                const leat_model_param *const of = &of_both->params[p];
                float *const values = malloc(of->n * sizeof *values);
                assert_int_equal(backend->read(f[0].trainer->net, of->layer, of->index,
                                               (leat_param_values)which, values, NULL),
                                 0);
                assert_int_equal(backend->write(f[1].trainer->net, of->layer, of->index,
                                                (leat_param_values)which, values, NULL),
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
TEST(logits_come_to_the_host)
{
    const gpu_model *const m = &gpu_whole_models[0];
    const leat_trainer_feed feed = gpu_feed(m);
    fixture gpu, cpu;
    enum { ROWS = 37 };
    static float logits[2][ROWS * 4];
    char text[1024];
    fake->reset(5);
    open_gpu_net(&gpu, m, "", &feed);
    snprintf(text, sizeof text, "train: {%s}", m->text);
    fixture_must_open(&cpu, text, &feed);
    gpu_batch b = gpu_batch_draw(&feed, 1, ROWS, false);
    leat_net_rows rows = rows_on_host(&feed, &b);
    leat_net_step how = { .logits = logits[1] };
    leat_step_times times = { 0 };
    assert_int_equal(cpu.trainer->backend->step(cpu.trainer->net, NULL, &rows, &how, &times, NULL),
                     0);
    rows = rows_on_gpu(&gpu, &feed, &b);
    how.logits = logits[0];
    assert_int_equal(gpu.trainer->backend->step(gpu.trainer->net, gpu.trainer->stream, &rows, &how,
                                                &times, NULL),
                     0);
    assert_int_equal(leat_trainer_sync(gpu.trainer, NULL), LEAT_OK);
    free_rows(&gpu, &rows);
    for (int i = 0; i < ROWS * 4; i++)
        assert_float_equal(logits[0][i], logits[1][i], 1e-5);
    gpu_batch_drop(&b);
    fixture_close(&gpu);
    fixture_close(&cpu);
    check_fake(fake);
}

/* Outputs averaged over views, and their loss, of more rows than a batch of training has: the GPU takes each view of the
 * batch that it has, the CPU makes six images. */
static void must_see_the_same(const gpu_model *m, const char *how, double allowed)
{
    enum { ROWS = 37, MOST = 16 };
    const leat_trainer_feed feed = gpu_feed(m);
    static float out[2][ROWS * MOST];
    leat_net_sums sums[2] = { { 0 }, { 0 } };
    fixture gpu, cpu;
    char text[1200];
    snprintf(text, sizeof text, "views: mirror_shift, %s", how);
    open_gpu_net(&gpu, m, text, &feed);
    snprintf(text, sizeof text, "train: {views: mirror_shift, %s}", m->text);
    fixture_must_open(&cpu, text, &feed);
    assert_in_range(cpu.trainer->info.n_outputs, 1, MOST);
    gpu_batch b = gpu_batch_draw(&feed, 1, ROWS, false);
    leat_net_rows rows = rows_on_host(&feed, &b);
    assert_int_equal(leat_views_evaluate(cpu.trainer, &rows, out[1], &sums[1], &cpu.err), LEAT_OK);
    rows = rows_on_gpu(&gpu, &feed, &b);
    assert_int_equal(leat_views_evaluate(gpu.trainer, &rows, out[0], &sums[0], &gpu.err), LEAT_OK);
    free_rows(&gpu, &rows);
    for (int64_t i = 0; i < ROWS * cpu.trainer->info.n_outputs; i++)
        assert_float_equal(out[0][i], out[1][i], allowed);
    assert_int_equal(sums[0].samples, ROWS);
    assert_float_equal(sums[0].loss, sums[1].loss, allowed * ROWS);
    gpu_batch_drop(&b);
    fixture_close(&gpu);
    fixture_close(&cpu);
    check_fake(fake);
}

TEST(images_are_seen_in_views)
{
    for (const gpu_model *m = gpu_whole_models; m->name; m++) {
        if (!m->dims[2])
            continue;
        fake->reset(7);
        must_see_the_same(m, "", 1e-5);
        must_see_the_same(m, "precision: bf16, ", 0.05); /* its pixels have eight channels */
    }
}

/* Fewer rows can be divided into more chunks: 323 rows of this many channels are 19, but 320 are 20. */
TEST(sums_of_short_batches_have_room)
{
    static const gpu_model m = {
        .name = "wide",
        .text = "model: [batch_norm, dense: 4], loss: softmax_cross_entropy, optimizer: sgd",
        .dtype = LEAT_F32,
        .dims = { 6656 },
        .batch = 323,
        .target = LEAT_I64,
    };
    const leat_trainer_feed feed = gpu_feed(&m);
    fixture f;
    fake->reset(6);
    open_gpu_net(&f, &m, "", &feed);
    gpu_batch b = gpu_batch_draw(&feed, 1, 320, false);
    step_on_gpu(&f, &feed, &b, true);
    gpu_batch_drop(&b);
    fixture_close(&f);
    check_fake(fake);
}
