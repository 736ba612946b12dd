/* SPDX-License-Identifier: MIT
 *
 * test_cuda_train.c: training on the GPU backend over the fake GPU, with the libraries in plain C. Every primitive,
 * loss and optimiser gives what the CPU gives, with graphs and without, in any order of streams. */
#include <math.h>

#include "fixtures/cuda_fixture.h"
#include "fixtures/train_fixture.h"
#include "train/program.h"

static const cuda_fake_table *fake;

/* --- a model on both devices --------------------------------------------------------------------- */

/* What a step is fed with. */
typedef struct batch {
    void *x, *y;
    uint8_t *valid; /* NULL: all count */
    int64_t rows, n_valid;
} batch;

static size_t elements(const leat_shape *shape)
{
    return (size_t)leat_shape_elements(shape);
}

static batch draw(const leat_trainer_feed *feed, uint64_t seed, int64_t rows, bool masked)
{
    const size_t n = elements(&feed->input) * (size_t)rows;
    batch b = { .rows = rows, .n_valid = rows };
    float *const x = random_floats(seed, n);
    b.x = x;
    if (feed->input.dtype == LEAT_U8) {
        uint8_t *const bytes = malloc(n);
        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t)(x[i] * 2 + 4);
        free(x);
        b.x = bytes;
    }
    b.y = feed->target.dtype == LEAT_F32
              ? (void *)random_floats(seed + 1000, elements(&feed->target) * (size_t)rows)
              : random_labels(seed, (size_t)rows, 4);
    for (size_t i = 0; feed->target.dtype == LEAT_F32 && i < elements(&feed->target) * (size_t)rows;
         i++)
        ((float *)b.y)[i] = fabsf(((float *)b.y)[i]);
    if (!masked)
        return b;
    b.valid = calloc(1, (size_t)rows);
    b.n_valid = 0;
    for (int64_t i = 0; i < rows; i++)
        b.n_valid += b.valid[i] = i % 3 != 0;
    return b;
}

static void drop(batch *b)
{
    free(b->x);
    free(b->y);
    free(b->valid);
}

static leat_net_rows rows_of(const leat_trainer_feed *feed, const batch *b)
{
    return (leat_net_rows){ .x = batch_view(&feed->input, b->rows, b->x),
                            .y = batch_view(&feed->target, b->rows, b->y),
                            .valid = b->valid,
                            .rows = b->rows,
                            .n_valid = b->n_valid };
}

static void *to_device(leat_trainer *t, const void *from, size_t bytes)
{
    void *const to = t->device->table->device_alloc(t->device, bytes);
    assert_non_null(to);
    assert_int_equal(t->device->table->copy_to_device(t->stream, to, from, bytes, false), LEAT_OK);
    return to;
}

static void step_on_cpu(fixture *f, const leat_trainer_feed *feed, const batch *b, bool train)
{
    const leat_net_rows rows = rows_of(feed, b);
    if (leat_trainer_step_rows(f->trainer, &rows, train, &f->err) < 0)
        fail_msg("%s", f->err.message);
}

/* The batch's memory is overwritten and freed as soon as the step is done. */
static void step_on_gpu(fixture *f, const leat_trainer_feed *feed, const batch *b, bool train)
{
    leat_trainer *const t = f->trainer;
    const leat_device_table *const table = t->device->table;
    leat_net_rows rows = rows_of(feed, b);
    const size_t x_bytes = (size_t)leat_shape_bytes(&rows.x.shape);
    rows.x.data = to_device(t, b->x, x_bytes);
    rows.y.data = to_device(t, b->y, (size_t)leat_shape_bytes(&rows.y.shape));
    rows.valid = b->valid ? to_device(t, b->valid, (size_t)b->rows) : NULL;
    if (leat_trainer_step_rows(t, &rows, train, &f->err) < 0)
        fail_msg("%s", f->err.message);
    assert_int_equal(table->stream_sync(t->stream, NULL), LEAT_OK);
    table->device_free(t->device, rows.x.data);
    table->device_free(t->device, rows.y.data);
    if (rows.valid)
        table->device_free(t->device, (void *)(uintptr_t)rows.valid);
}

/* --- comparing ------------------------------------------------------------------------------------ */

/* Euclidean distance of two parameters over the length of the second, or of `least` for each value: the bias
 * before a batch_norm has a gradient of rounding errors alone. */
static double distance(fixture *a, fixture *b, int32_t layer, int32_t param, double least)
{
    const size_t n = elements(&a->trainer->model.layers[layer].params[param].shape);
    float *const x = read_param(a->trainer, layer, param), *const y =
                                                               read_param(b->trainer, layer, param);
    double apart = 0, length = 0;
    for (size_t i = 0; i < n; i++) {
        apart += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
        length += (double)y[i] * (double)y[i];
    }
    free(x);
    free(y);
    return sqrt(apart) / (sqrt(length) + least * sqrt((double)n));
}

static void must_be_near(fixture *gpu, fixture *cpu, double most, const char *model)
{
    const leat_model *const m = &cpu->trainer->model;
    for (int32_t i = 0; i < m->n_layers; i++)
        for (int32_t k = 0; k < m->layers[i].n_params; k++) {
            const double apart = distance(gpu, cpu, i, k, most < 1e-2 ? 1e-3 : 0.05);
            if (!(apart <= most))
                fail_msg("%s: %s.%s is %g apart", model, m->layers[i].name,
                         m->layers[i].params[k].part, apart);
        }
}

static void must_agree(const leat_metrics *gpu, const leat_metrics *cpu, double most,
                       const char *model, int step)
{
    assert_int_equal(gpu->samples, cpu->samples);
    if (!(fabs(gpu->loss - cpu->loss) <= most * (fabs(cpu->loss) + 0.1)))
        fail_msg("%s: step %d: loss %.9g on the GPU, %.9g on the CPU", model, step, gpu->loss,
                 cpu->loss);
    if (most < 1e-3 && !isnan(cpu->accuracy) && fabs(gpu->accuracy - cpu->accuracy) > 1e-9)
        fail_msg("%s: step %d: accuracy %g on the GPU, %g on the CPU", model, step, gpu->accuracy,
                 cpu->accuracy);
}

typedef struct model {
    const char *text; /* inside of `train: {}` */
    leat_dtype dtype;
    int64_t dims[3]; /* of the input; the last two 0: a vector */
    int64_t batch;
    leat_dtype target;
    int64_t targets; /* values of a target; 0: a class */
} model;

static leat_trainer_feed feed_for(const model *m)
{
    leat_trainer_feed feed = feed_of(m->dtype, m->dims[1] ? 3 : 1, m->dims, m->batch);
    feed.target = leat_shape_make(m->target, m->targets ? 1 : 0, &m->targets);
    return feed;
}

static void open_both(const model *m, const char *how, const char *cpu_how,
                      const leat_trainer_feed *feed, fixture *gpu, fixture *cpu)
{
    char text[2048];
    snprintf(text, sizeof text, "train: {device: cuda:0, %s%s}", how, m->text);
    fixture_must_open(gpu, text, feed);
    snprintf(text, sizeof text, "train: {device: cpu, micro_shards: 1, %s%s}", cpu_how, m->text);
    fixture_must_open(cpu, text, feed);
}

/* Trains both for n steps; some batches are short or masked. */
static void compare(const model *m, const char *how, const char *cpu_how, int n, double curve,
                    double weights)
{
    const leat_trainer_feed feed = feed_for(m);
    fixture gpu, cpu;
    open_both(m, how, cpu_how, &feed, &gpu, &cpu);
    for (int i = 0; i < n; i++) {
        const bool is_short = i % 7 == 4;
        batch b = draw(&feed, (uint64_t)i, is_short ? m->batch - 3 : m->batch, i % 5 == 3);
        step_on_gpu(&gpu, &feed, &b, true);
        step_on_cpu(&cpu, &feed, &b, true);
        const leat_metrics x = fixture_metrics(&gpu), y = fixture_metrics(&cpu);
        must_agree(&x, &y, curve, m->text, i);
        drop(&b);
    }
    must_be_near(&gpu, &cpu, weights, m->text);
    batch b = draw(&feed, 77, 2 * m->batch + 1, true);
    step_on_gpu(&gpu, &feed, &b, false);
    step_on_cpu(&cpu, &feed, &b, false);
    const leat_metrics x = fixture_metrics(&gpu), y = fixture_metrics(&cpu);
    must_agree(&x, &y, curve * 10, m->text, -1);
    drop(&b);
    fixture_close(&gpu);
    fixture_close(&cpu);
    check_fake(fake);
}

/* --- every primitive ------------------------------------------------------------------------------ */

#define SGD ", loss: softmax_cross_entropy, optimizer: {sgd: {learning_rate: 0.1}}"

static const model small_models[] = {
    { "model: [dense: 9, relu, dense: 4]" SGD, LEAT_F32, { 7 }, 8, LEAT_I64, 0 },
    { "model: [{dense: {units: 33, bias: false}}, sigmoid, dense: 17, tanh, dense: 4]" SGD,
      LEAT_U8,
      { 20 },
      6,
      LEAT_I32,
      0 },
    { "model: [{conv2d: {filters: 5, kernel: 3, padding: same}}, relu, flatten, dense: 4]" SGD,
      LEAT_F32,
      { 5, 6, 3 },
      5,
      LEAT_U8,
      0 },
    { "model: [{conv2d: {filters: 6, kernel: [3, 2], stride: [2, 1], padding: 1}}, leaky_relu, "
      "{conv2d: {filters: 8, kernel: 2, groups: 2, dilation: 2, bias: false}}, gelu, flatten, "
      "dense: 4]" SGD,
      LEAT_U8,
      { 9, 8, 3 },
      4,
      LEAT_I64,
      0 },
    { "model: [{conv2d: {filters: 16, kernel: 3}}, batch_norm, relu, {max_pool: {size: 3, stride: "
      "2, padding: same}}, {conv2d: {filters: 9, kernel: 1}}, batch_norm, silu, {avg_pool: {size: "
      "2, padding: same}}, flatten, dense: 4]" SGD,
      LEAT_F32,
      { 8, 7, 3 },
      6,
      LEAT_I64,
      0 },
    { "model: [dense: 24, batch_norm, gelu, layer_norm, dense: 12, softmax, batch_norm, dense: "
      "4]" SGD,
      LEAT_F32,
      { 10 },
      9,
      LEAT_I64,
      0 },
    { "model: [{conv2d: {filters: 8, kernel: 3, padding: same}}, layer_norm, {multiply: 0.5}, "
      "relu, global_avg_pool, dense: 4]" SGD,
      LEAT_F32,
      { 6, 6, 2 },
      5,
      LEAT_I64,
      0 },
    { "model: [{conv2d: {filters: 8, kernel: 3, padding: same, name: a}}, batch_norm, "
      "{relu: {name: b}}, {conv2d: {filters: 8, kernel: 3, padding: same}}, {batch_norm: {name: "
      "c}}, {add: {from: [c, b], name: d}}, {relu: {name: e}}, {concat: {from: [e, a], name: f}}, "
      "global_avg_pool, dense: 4]" SGD,
      LEAT_F32,
      { 6, 5, 3 },
      6,
      LEAT_I64,
      0 },
    { "model: [dense: 30, relu, {dropout: 0.4}, dense: 4]" SGD, LEAT_F32, { 13 }, 8, LEAT_I64, 0 },
    { "model: [dense: 8, relu, dense: 3], loss: binary_cross_entropy",
      LEAT_F32,
      { 6 },
      7,
      LEAT_F32,
      3 },
    { "model: [dense: 8, relu, dense: 3, sigmoid], loss: {binary_cross_entropy: {with_logits: "
      "false}}, optimizer: {adam: {learning_rate: 0.01}}",
      LEAT_F32,
      { 6 },
      7,
      LEAT_F32,
      3 },
    { "model: [dense: 4], loss: softmax_cross_entropy, optimizer: {sgd: {learning_rate: 0.1, "
      "momentum: 0.9, nesterov: true, weight_decay: 0.01}}",
      LEAT_F32,
      { 40 },
      12,
      LEAT_I64,
      0 },
    { "model: [dense: 4], loss: {softmax_cross_entropy: {label_smoothing: 0.2, class_weights: [1, "
      "2, "
      "0.5, 3]}}, optimizer: {sgd: {learning_rate: 0.1, momentum: 0.9, weight_decay: 0.1, "
      "decoupled: "
      "true}}",
      LEAT_F32,
      { 9 },
      12,
      LEAT_I64,
      0 },
    { "model: [dense: 50, relu, dense: 4], loss: softmax_cross_entropy, optimizer: {lars: "
      "{learning_rate: 1, trust: 0.1, momentum: 0.5, weight_decay: 0.01}}",
      LEAT_F32,
      { 90 },
      12,
      LEAT_I64,
      0 },
    { "clip: 0.5, model: [dense: 7, relu, dense: 3], loss: mean_squared_error, optimizer: {adamw: "
      "{learning_rate: 0.02, weight_decay: 0.1}}",
      LEAT_F32,
      { 5 },
      8,
      LEAT_F32,
      3 },
    { "model: [dense: 3], loss: {binary_cross_entropy: {label_smoothing: 0.1, positive_weight: "
      "2}}, "
      "optimizer: {adam: {learning_rate: 0.02, weight_decay: 0.1}}",
      LEAT_F32,
      { 5 },
      8,
      LEAT_F32,
      3 },
    { "clip: 0.1, accumulate: 3, model: [dense: 16, relu, dense: 4], loss: softmax_cross_entropy, "
      "optimizer: {adam: {learning_rate: 0.01}}",
      LEAT_F32,
      { 11 },
      12,
      LEAT_I64,
      0 },
};
enum { N_SMALL = sizeof small_models / sizeof *small_models };

static void every_primitive_as_on_the_cpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SMALL; i++) {
        fake->reset(i);
        compare(&small_models[i], "", "", 8, 2e-5, 2e-4);
    }
}

static void in_bfloat16_nearly_so(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SMALL; i++) {
        fake->reset(i);
        compare(&small_models[i], "precision: bf16, ", "precision: bf16, ", 2, 0.05, 0.1);
    }
}

/* So that a new primitive cannot be forgotten here. */
static void no_primitive_is_left_out(void **state)
{
    bool seen[LEAT_N_PRIMS] = { false };
    (void)state;
    for (size_t i = 0; i < N_SMALL; i++)
        for (int training = 0; training < 2; training++) {
            const leat_trainer_feed feed = feed_for(&small_models[i]);
            leat_program *p;
            fixture f;
            char text[2048];
            snprintf(text, sizeof text, "train: {%s}", small_models[i].text);
            fixture_must_open(&f, text, &feed);
            assert_int_equal(leat_program_open(&f.trainer->model, training, &p, NULL), LEAT_OK);
            for (int32_t k = 0; k < p->n_ops; k++)
                seen[p->ops[k].prim] = true;
            leat_program_close(&p);
            fixture_close(&f);
        }
    for (int i = 0; i < LEAT_N_PRIMS; i++)
        if (!seen[i])
            fail_msg("no model here has the primitive %s", leat_prim_name((leat_prim)i));
}

/* --- whole models ---------------------------------------------------------------------------------- */

static const model whole_models[] = {
    { "model: [dense: 32, relu, dense: 32, relu, dense: 4], loss: softmax_cross_entropy, "
      "optimizer: {adam: {learning_rate: 0.01}}",
      LEAT_F32,
      { 12 },
      16,
      LEAT_I64,
      0 },
    { "model: [{conv2d: {filters: 8, kernel: 3, padding: same}}, batch_norm, relu, {max_pool: 2}, "
      "{conv2d: {filters: 12, kernel: 3}}, batch_norm, relu, {dropout: 0.2}, flatten, dense: 4], "
      "loss: softmax_cross_entropy, optimizer: {sgd: {learning_rate: 0.05, momentum: 0.9}}",
      LEAT_U8,
      { 8, 8, 3 },
      12,
      LEAT_I64,
      0 },
    { "model: [{conv2d: {filters: 8, kernel: 3, padding: same, bias: false}}, batch_norm, "
      "{relu: {name: a}}, {conv2d: {filters: 8, kernel: 3, padding: same, bias: false}}, "
      "batch_norm, relu, {conv2d: {filters: 8, kernel: 3, padding: same, bias: false}}, "
      "{batch_norm: {name: b}}, {add: {from: [b, a]}}, relu, global_avg_pool, dense: 4], "
      "loss: softmax_cross_entropy, optimizer: {sgd: {learning_rate: 0.05, momentum: 0.9}}",
      LEAT_F32,
      { 7, 7, 3 },
      10,
      LEAT_I64,
      0 },
};

static void loss_curves_are_those_of_the_cpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof whole_models / sizeof *whole_models; i++) {
        fake->reset(i);
        compare(&whole_models[i], "graph: true, ", "", 20, 1e-3, 1e-2);
        assert_true(fake->graphs() >= 10);
    }
}

/* Bits do not depend on graphs, or on the order in which the device does things. */
static void graphs_change_no_bit(void **state)
{
    const model *const m = &whole_models[1];
    const leat_trainer_feed feed = feed_for(m);
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
                batch b = draw(&feed, (uint64_t)i, m->batch, i == 5);
                step_on_gpu(&now, &feed, &b, true);
                drop(&b);
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

/* --- around steps ---------------------------------------------------------------------------------- */

/* Averages of weights use blend and swap between steps; whiten reads the first batch. */
static void averages_and_whitened_weights(void **state)
{
    static const model m = { "average: {ema: {decay: 0.8, every: 2}}, model: [{conv2d: {filters: "
                             "12, kernel: 2, init: whiten, "
                             "frozen: true}}, gelu, flatten, dense: 4]" SGD,
                             LEAT_F32,
                             { 5, 5, 3 },
                             16,
                             LEAT_I64,
                             0 };
    (void)state;
    fake->reset(3);
    compare(&m, "", "", 10, 1e-4, 1e-3);
}

/* What a checkpoint does: everything that a net holds goes into another and it trains on, bit for bit. */
static void values_move_to_another_net(void **state)
{
    const model *const m = &whole_models[1];
    const leat_trainer_feed feed = feed_for(m);
    fixture f[2];
    char text[2048];
    (void)state;
    fake->reset(4);
    snprintf(text, sizeof text, "train: {device: cuda:0, %s}", m->text);
    for (int k = 0; k < 2; k++)
        fixture_must_open(&f[k], text, &feed);
    for (int i = 0; i < 8; i++) {
        batch b = draw(&feed, (uint64_t)i, m->batch, false);
        step_on_gpu(&f[0], &feed, &b, true);
        if (i >= 4)
            step_on_gpu(&f[1], &feed, &b, true);
        drop(&b);
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
    const model *const m = &whole_models[0];
    const leat_trainer_feed feed = feed_for(m);
    fixture gpu, cpu;
    (void)state;
    fake->reset(5);
    open_both(m, "", "", &feed, &gpu, &cpu);
    enum { ROWS = 37 };
    batch b = draw(&feed, 1, ROWS, false);
    float logits[2][ROWS * 4] = { { 0 } };
    for (int k = 0; k < 2; k++) {
        leat_trainer *const t = k ? cpu.trainer : gpu.trainer;
        leat_net_rows rows = rows_of(&feed, &b);
        const leat_net_step how = { .logits = logits[k] };
        int64_t busy;
        if (k == 0) {
            rows.x.data = to_device(t, b.x, (size_t)leat_shape_bytes(&rows.x.shape));
            rows.y.data = to_device(t, b.y, (size_t)leat_shape_bytes(&rows.y.shape));
        }
        assert_int_equal(t->backend->step(t->net, t->stream, &rows, &how, &busy, NULL), LEAT_OK);
        assert_int_equal(leat_trainer_sync(t, NULL), LEAT_OK);
        if (k == 0) {
            t->device->table->device_free(t->device, rows.x.data);
            t->device->table->device_free(t->device, rows.y.data);
        }
    }
    for (int i = 0; i < ROWS * 4; i++)
        assert_float_equal(logits[0][i], logits[1][i], 1e-5);
    drop(&b);
    fixture_close(&gpu);
    fixture_close(&cpu);
    check_fake(fake);
}

static void impossible_targets_are_named(void **state)
{
    const model *const m = &whole_models[0];
    const leat_trainer_feed feed = feed_for(m);
    fixture gpu, cpu;
    leat_metrics metrics;
    (void)state;
    fake->reset(6);
    open_both(m, "", "", &feed, &gpu, &cpu);
    batch b = draw(&feed, 1, m->batch, false);
    ((int64_t *)b.y)[5] = 4;
    step_on_gpu(&gpu, &feed, &b, true);
    assert_int_equal(leat_trainer_metrics(gpu.trainer, &metrics, &gpu.err), LEAT_E_DATA);
    assert_non_null(strstr(gpu.err.message, "row 5 of a batch has a target of 4"));
    assert_int_equal(leat_trainer_metrics(gpu.trainer, &metrics, &gpu.err), LEAT_OK);
    drop(&b);
    fixture_close(&gpu);
    fixture_close(&cpu);
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

static void what_cannot_be_is_refused_at_open(void **state)
{
    const leat_trainer_feed feed = feed_for(&whole_models[0]);
    (void)state;
    fake->reset(7);
    refuse("model: [dense: 4], loss: softmax_cross_entropy, optimizer: muon", &feed,
           "optimizer 'muon' does not run on a GPU yet");
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
    batch b = draw(feed, 1, feed->batch_size, false);
    const leat_device_table *const t = f.device ? f.device->table : NULL;
    leat_net_rows rows = rows_of(feed, &b);
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
    for (int i = 0; i < 4 && rc == LEAT_OK; i++)
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
    drop(&b);
    *err = f.err;
    return rc;
}

/* Whatever call fails: an error with a message, nothing left behind, no wrong use after it. */
static void any_call_may_fail(void **state)
{
    static const int codes[] = { 2 /* memory */, 719 /* launch failure */ };
    static const char text[] = "train: {device: cuda:0, graph: true, clip: 1, model: [{conv2d: "
                               "{filters: 4, kernel: 3}}, batch_norm, relu, flatten, dense: 4], "
                               "loss: softmax_cross_entropy}";
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
        cmocka_unit_test(in_bfloat16_nearly_so),
        cmocka_unit_test(no_primitive_is_left_out),
        cmocka_unit_test(loss_curves_are_those_of_the_cpu),
        cmocka_unit_test(graphs_change_no_bit),
        cmocka_unit_test(averages_and_whitened_weights),
        cmocka_unit_test(values_move_to_another_net),
        cmocka_unit_test(logits_come_to_the_host),
        cmocka_unit_test(impossible_targets_are_named),
        cmocka_unit_test(what_cannot_be_is_refused_at_open),
        cmocka_unit_test(any_call_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
