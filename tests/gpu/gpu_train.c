/* SPDX-License-Identifier: MIT
 *
 * gpu_train.c: models, batches and comparisons of gpu_train.h. */
#include "gpu_train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leat/leat.h"
#include "train/cpu/onednn.h"

#define SGD ", loss: softmax_cross_entropy, optimizer: {sgd: {learning_rate: 0.1}}"

/* The rows of a batch: their number, the types of input and target, the size of a target that is no class, and the
 * shape of the input. */
#define ROWS(n, x, y, n_y, ...) x, { __VA_ARGS__ }, n, y, n_y

const gpu_model gpu_small_models[] = {
    { "dense", "model: [dense: 9, relu, dense: 4]" SGD, ROWS(8, LEAT_F32, LEAT_I64, 0, 7) },
    { "sigmoid_tanh",
      "model: [{dense: {units: 33, bias: false}}, sigmoid, dense: 17, tanh, dense: 4]" SGD,
      ROWS(6, LEAT_U8, LEAT_I32, 0, 20) },
    { "conv",
      "model: [{conv2d: {filters: 5, kernel: 3, padding: same}}, relu, flatten, dense: 4]" SGD,
      ROWS(5, LEAT_F32, LEAT_U8, 0, 5, 6, 3) },
    { "conv_uneven", /* no zeros on one side, one row or column of them on the other */
      "model: [{conv2d: {filters: 8, kernel: 3, stride: 2, padding: same}}, relu, {conv2d: "
      "{filters: 8, kernel: [1, 3], stride: [1, 2], padding: same, bias: false}}, flatten, dense: "
      "4]" SGD,
      ROWS(5, LEAT_F32, LEAT_I64, 0, 8, 8, 3) },
    { "conv_groups",
      "normalize: {mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}, model: [{conv2d: "
      "{filters: 6, kernel: [3, 2], stride: [2, 1], padding: 1}}, leaky_relu, {conv2d: {filters: "
      "8, kernel: 2, groups: 2, dilation: 2, bias: false}}, gelu, flatten, dense: 4]" SGD,
      ROWS(4, LEAT_U8, LEAT_I64, 0, 9, 8, 3) },
    { "norm_pool",
      "normalize: {mean: 0.1, std: 0.5}, model: [{conv2d: {filters: 16, kernel: 3}}, batch_norm, "
      "relu, {max_pool: {size: 3, stride: 2, padding: same}}, {conv2d: {filters: 9, kernel: 1}}, "
      "batch_norm, silu, {avg_pool: {size: 2, padding: same}}, flatten, dense: 4]" SGD,
      ROWS(6, LEAT_F32, LEAT_I64, 0, 8, 7, 3) },
    { "layer_norm_softmax",
      "model: [dense: 24, batch_norm, gelu, layer_norm, dense: 12, softmax, batch_norm, dense: "
      "4]" SGD,
      ROWS(9, LEAT_F32, LEAT_I64, 0, 10) },
    { "frozen_norm",
      "frozen: [b, mean, '*.conv2d.bias', f.weight], model: [{conv2d: {filters: 16, kernel: 3}}, "
      "{batch_norm: {name: b}}, relu, {conv2d: {filters: 9, kernel: 1}}, batch_norm, silu, "
      "flatten, layer_norm, {dense: {name: f, units: 6}}, {batch_norm: {name: g}}, gelu, dense: "
      "4]" SGD,
      ROWS(6, LEAT_F32, LEAT_I64, 0, 8, 7, 3) },
    { "multiply",
      "model: [{conv2d: {filters: 8, kernel: 3, padding: same}}, layer_norm, {multiply: 0.5}, "
      "relu, global_avg_pool, dense: 4]" SGD,
      ROWS(5, LEAT_F32, LEAT_I64, 0, 6, 6, 2) },
    { "residual_concat",
      "model: [{conv2d: {filters: 8, kernel: 3, padding: same, name: a}}, batch_norm, {relu: "
      "{name: b}}, {conv2d: {filters: 8, kernel: 3, padding: same}}, {batch_norm: {name: c}}, "
      "{add: {from: [c, b], name: d}}, {relu: {name: e}}, {concat: {from: [e, a], name: f}}, "
      "global_avg_pool, dense: 4]" SGD,
      ROWS(6, LEAT_F32, LEAT_I64, 0, 6, 5, 3) },
    { "dropout", "model: [dense: 30, relu, {dropout: 0.4}, dense: 4]" SGD,
      ROWS(8, LEAT_F32, LEAT_I64, 0, 13) },
    { "binary_logits", "model: [dense: 8, relu, dense: 3], loss: binary_cross_entropy",
      ROWS(7, LEAT_F32, LEAT_F32, 3, 6) },
    { "binary",
      "model: [dense: 8, relu, dense: 3, sigmoid], loss: {binary_cross_entropy: {with_logits: "
      "false}}, optimizer: {adam: {learning_rate: 0.01}}",
      ROWS(7, LEAT_F32, LEAT_F32, 3, 6) },
    { "nesterov",
      "model: [dense: 4], loss: softmax_cross_entropy, optimizer: {sgd: {learning_rate: 0.1, "
      "momentum: 0.9, nesterov: true, weight_decay: 0.01}}",
      ROWS(12, LEAT_F32, LEAT_I64, 0, 40) },
    { "smoothing_decoupled",
      "model: [dense: 4], loss: {softmax_cross_entropy: {label_smoothing: 0.2, class_weights: [1, "
      "2, 0.5, 3]}}, optimizer: {sgd: {learning_rate: 0.1, momentum: 0.9, weight_decay: 0.1, "
      "decoupled: true}}",
      ROWS(12, LEAT_F32, LEAT_I64, 0, 9) },
    { "lars",
      "model: [dense: 50, relu, dense: 4], loss: softmax_cross_entropy, optimizer: {lars: "
      "{learning_rate: 1, trust: 0.1, momentum: 0.5, weight_decay: 0.01}}",
      ROWS(12, LEAT_F32, LEAT_I64, 0, 90) },
    { "muon",
      "accumulate: 2, clip: 1, model: [{conv2d: {filters: 40, kernel: 3}}, relu, flatten, dense: "
      "9, relu, dense: 4], loss: softmax_cross_entropy, optimizer: {muon: {learning_rate: 0.02, "
      "weight_decay: 0.1, vector_rate: 0.1}}",
      ROWS(16, LEAT_F32, LEAT_I64, 0, 6, 6, 3) },
    { "muon_plain",
      "model: [dense: 23, relu, dense: 3], loss: mean_squared_error, optimizer: {muon: "
      "{learning_rate: 0.01, nesterov: false, iterations: 3}}, multipliers: {0.dense.weight: 0.5}",
      ROWS(32, LEAT_F32, LEAT_F32, 3, 5) },
    { "squared_adamw",
      "clip: 0.5, model: [dense: 7, relu, dense: 3], loss: mean_squared_error, optimizer: {adamw: "
      "{learning_rate: 0.02, weight_decay: 0.1}}",
      ROWS(8, LEAT_F32, LEAT_F32, 3, 5) },
    { "binary_smoothed",
      "model: [dense: 3], loss: {binary_cross_entropy: {label_smoothing: 0.1, positive_weight: "
      "2}}, optimizer: {adam: {learning_rate: 0.02, weight_decay: 0.1}}",
      ROWS(8, LEAT_F32, LEAT_F32, 3, 5) },
    { "sample_weight",
      "sample_weight: w, model: [{conv2d: {filters: 5, kernel: 3}}, batch_norm, relu, flatten, "
      "dense: 4], loss: {softmax_cross_entropy: {label_smoothing: 0.2, class_weights: [1, 2, 0.5, "
      "3]}}, optimizer: {sgd: {learning_rate: 0.1, momentum: 0.9}}",
      ROWS(12, LEAT_F32, LEAT_I64, 0, 6, 5, 3) },
    { "sample_weight_binary",
      "sample_weight: w, model: [dense: 8, relu, dense: 3], loss: binary_cross_entropy",
      ROWS(7, LEAT_F32, LEAT_F32, 3, 6) },
    { "sample_weight_squared",
      "sample_weight: w, accumulate: 3, model: [dense: 7, relu, dense: 3], loss: "
      "mean_squared_error",
      ROWS(8, LEAT_F32, LEAT_F32, 3, 5) },
    { "clip_accumulate",
      "clip: 0.1, accumulate: 3, model: [dense: 16, relu, dense: 4], loss: softmax_cross_entropy, "
      "optimizer: {adam: {learning_rate: 0.01}}",
      ROWS(12, LEAT_F32, LEAT_I64, 0, 11) },
    { 0 },
};

const gpu_model gpu_whole_models[] = {
    { "mlp",
      "model: [dense: 32, relu, dense: 32, relu, dense: 4], loss: softmax_cross_entropy, "
      "optimizer: {adam: {learning_rate: 0.01}}",
      ROWS(16, LEAT_F32, LEAT_I64, 0, 12) },
    { "cnn",
      "model: [{conv2d: {filters: 8, kernel: 3, padding: same}}, batch_norm, relu, {max_pool: 2}, "
      "{conv2d: {filters: 12, kernel: 3}}, batch_norm, relu, {dropout: 0.2}, flatten, dense: 4], "
      "loss: softmax_cross_entropy, optimizer: {sgd: {learning_rate: 0.05, momentum: 0.9}}",
      ROWS(12, LEAT_U8, LEAT_I64, 0, 8, 8, 3) },
    { "residual",
      "model: [{conv2d: {filters: 8, kernel: 3, padding: same, bias: false}}, batch_norm, {relu: "
      "{name: a}}, {conv2d: {filters: 8, kernel: 3, padding: same, bias: false}}, batch_norm, "
      "relu, {conv2d: {filters: 8, kernel: 3, padding: same, bias: false}}, {batch_norm: {name: "
      "b}}, {add: {from: [b, a]}}, relu, global_avg_pool, dense: 4], loss: softmax_cross_entropy, "
      "optimizer: {sgd: {learning_rate: 0.05, momentum: 0.9}}",
      ROWS(10, LEAT_F32, LEAT_I64, 0, 7, 7, 3) },
    { 0 },
};

/* --- data --------------------------------------------------------------------------------------- */

leat_trainer_feed gpu_feed(const gpu_model *m)
{
    return (leat_trainer_feed){ .input = leat_shape_make(m->dtype, m->dims[1] ? 3 : 1, m->dims),
                                .target =
                                    leat_shape_make(m->target, m->targets ? 1 : 0, &m->targets),
                                .batch_size = m->batch,
                                .seed = 1 };
}

/* Floats from -1 to 1, bytes from 2 to 6, classes from 0 to 3, float targets from 0 to 1. */
static void draw_value(leat_rng *rng, leat_dtype dtype, bool target, void *to, size_t i)
{
    const float x = leat_rng_range(rng, -1, 1);
    const uint32_t label = leat_rng_below(rng, 4);
    if (dtype == LEAT_F32)
        ((float *)to)[i] = target ? fabsf(x) : x;
    else if (dtype == LEAT_U8)
        ((uint8_t *)to)[i] = (uint8_t)(target ? label : label + 2);
    else if (dtype == LEAT_I32)
        ((int32_t *)to)[i] = (int32_t)label;
    else
        ((int64_t *)to)[i] = label;
}

gpu_batch gpu_batch_draw(const leat_trainer_feed *feed, uint64_t seed, int64_t rows, bool masked)
{
    gpu_batch b = { .rows = rows, .n_valid = rows };
    leat_rng rng = leat_rng_make(seed, 0, 0, 99);
    const size_t x = (size_t)(leat_shape_elements(&feed->input) * rows);
    const size_t y = (size_t)(leat_shape_elements(&feed->target) * rows);
    b.x = malloc(x * 8);
    b.y = malloc(y * 8);
    for (size_t i = 0; i < x; i++)
        draw_value(&rng, feed->input.dtype, false, b.x, i);
    for (size_t i = 0; i < y; i++)
        draw_value(&rng, feed->target.dtype, true, b.y, i);
    b.weights = malloc((size_t)rows * sizeof *b.weights);
    for (int64_t i = 0; i < rows; i++)
        b.weights[i] = i % 4 ? 2 * leat_rng_f32(&rng) : 0;
    if (!masked)
        return b;
    b.valid = malloc((size_t)rows);
    b.n_valid = 0;
    for (int64_t i = 0; i < rows; i++)
        b.n_valid += b.valid[i] = i % 3 != 0;
    return b;
}

void gpu_batch_drop(gpu_batch *b)
{
    free(b->x);
    free(b->y);
    free(b->weights);
    free(b->valid);
}

/* --- trainers ------------------------------------------------------------------------------------ */

int gpu_net_open(gpu_net *net, leat_device *device, const char *text, const leat_trainer_feed *feed,
                 leat_error *err)
{
    *net = (gpu_net){ .device = device };
    const int rc = leat_config_parse(text, "model.yaml", &net->config, err);
    return rc < 0 ? rc : leat_trainer_open_feed(net->config, feed, device, &net->trainer, err);
}

void gpu_net_close(gpu_net *net)
{
    leat_trainer_close(&net->trainer);
    leat_config_close(&net->config);
}

static leat_view view_of(const leat_shape *sample, int64_t rows, void *data)
{
    leat_view view = { .shape = *sample, .data = data };
    view.shape.rank++;
    view.shape.dims[0] = rows;
    memcpy(&view.shape.dims[1], sample->dims, (size_t)sample->rank * sizeof sample->dims[0]);
    return view;
}

enum { N_PARTS = 4 };

static int to_device(gpu_net *net, void *data[N_PARTS], const size_t bytes[N_PARTS])
{
    const leat_device_table *const t = net->device->table;
    for (int k = 0; k < N_PARTS; k++) {
        void *const to = data[k] ? t->device_alloc(net->device, bytes[k]) : NULL;
        const int rc =
            to ? t->copy_to_device(net->trainer->stream, to, data[k], bytes[k], false) : LEAT_OK;
        if ((data[k] && !to) || rc < 0)
            return LEAT_E_DEVICE;
        data[k] = to;
    }
    return LEAT_OK;
}

int gpu_net_step(gpu_net *net, const leat_trainer_feed *feed, const gpu_batch *b, bool train,
                 leat_error *err)
{
    const leat_device_table *const t = net->device->table;
    void *data[N_PARTS] = { b->x, b->y, b->valid,
                            net->trainer->model.weighted ? b->weights : NULL };
    const leat_shape weight = { LEAT_F32, 0, { 0 } };
    leat_net_rows rows = { .x = view_of(&feed->input, b->rows, b->x),
                           .y = view_of(&feed->target, b->rows, b->y),
                           .weights = view_of(&weight, b->rows, NULL),
                           .rows = b->rows,
                           .n_valid = b->n_valid };
    const size_t bytes[N_PARTS] = { (size_t)leat_shape_bytes(&rows.x.shape),
                                    (size_t)leat_shape_bytes(&rows.y.shape), (size_t)b->rows,
                                    (size_t)b->rows * sizeof *b->weights };
    if (!t->host_memory && to_device(net, data, bytes) < 0)
        return leat_fail(err, LEAT_E_DEVICE, "a batch could not be copied");
    rows.x.data = data[0];
    rows.y.data = data[1];
    rows.valid = data[2];
    rows.weights.data = data[3];
    int rc = leat_trainer_step_rows(net->trainer, &rows, train, err);
    if (!t->host_memory && rc == LEAT_OK)
        rc = t->stream_sync(net->trainer->stream, err);
    for (int k = 0; k < N_PARTS && !t->host_memory; k++)
        if (data[k])
            t->device_free(net->device, data[k]);
    return rc;
}

/* --- comparing ----------------------------------------------------------------------------------- */

/* Euclidean distance over the length of the second, or over that of values of 0.001: a bias before a
 * batch_norm has a gradient of rounding errors alone. In bfloat16 those are larger. */
static double distance(const float *x, const float *y, size_t n, double least)
{
    double apart = 0, length = 0;
    for (size_t i = 0; i < n; i++) {
        apart += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
        length += (double)y[i] * (double)y[i];
    }
    return sqrt(apart) / (sqrt(length) + least * sqrt((double)n));
}

int gpu_weights_distance(leat_trainer *a, leat_trainer *b, gpu_distance *out, leat_error *err)
{
    const leat_model *const m = &b->model;
    const double least = a->model.precision == LEAT_PRECISION_FP32 ? 1e-3 : 0.05;
    int rc = LEAT_OK;
    for (int32_t i = 0; i < m->n_params && rc == LEAT_OK; i++) {
        const leat_model_param *const p = &m->params[i];
        float *const values = malloc(2 * p->n * sizeof *values);
        rc = a->backend->read(a->net, p->layer, p->index, LEAT_VALUES_WEIGHT, values, err);
        if (rc == LEAT_OK)
            rc = b->backend->read(b->net, p->layer, p->index, LEAT_VALUES_WEIGHT, values + p->n,
                                  err);
        const double apart = rc == LEAT_OK ? distance(values, values + p->n, p->n, least) : 0;
        if (!(apart <= out->weights)) {
            out->weights = apart;
            snprintf(out->where, sizeof out->where, "%s.%s", m->layers[p->layer].name,
                     p->spec->part);
        }
        free(values);
    }
    return rc;
}

static int compare_losses(gpu_net nets[2], gpu_distance *out, leat_error *err)
{
    leat_metrics m[2];
    int rc = LEAT_OK;
    for (int k = 0; k < 2 && rc == LEAT_OK; k++)
        rc = leat_trainer_metrics(nets[k].trainer, &m[k], err);
    if (rc < 0)
        return rc;
    if (m[0].samples != m[1].samples)
        return leat_fail(err, LEAT_E_DATA, "%llu samples on the GPU, %llu on the CPU",
                         (unsigned long long)m[0].samples, (unsigned long long)m[1].samples);
    const double apart = fabs(m[0].loss - m[1].loss) / (fabs(m[1].loss) + 0.1);
    if (!(apart <= out->loss))
        out->loss = apart;
    return LEAT_OK;
}

static int step_both(gpu_net nets[2], const leat_trainer_feed *feed, const gpu_batch *b, bool train,
                     gpu_distance *out, leat_error *err)
{
    int rc = LEAT_OK;
    for (int k = 0; k < 2 && rc == LEAT_OK; k++)
        rc = gpu_net_step(&nets[k], feed, b, train, err);
    return rc < 0 ? rc : compare_losses(nets, out, err);
}

const char *gpu_cpu_bf16(void)
{
    return leat_dn_has_bf16() ? "precision: bf16, " : "";
}

int gpu_train_compare(leat_device *device, const gpu_model *m, const char *how, const char *cpu_how,
                      int steps, gpu_distance *out, leat_error *err)
{
    const leat_trainer_feed feed = gpu_feed(m);
    gpu_net nets[2] = { { 0 } };
    leat_device *cpu;
    char text[2048];
    *out = (gpu_distance){ 0 };
    int rc = leat_device_open("cpu", &cpu, err);
    for (int k = 0; k < 2 && rc == LEAT_OK; k++) {
        snprintf(text, sizeof text, "train: {micro_batches: 1, %s%s}", k ? cpu_how : how, m->text);
        rc = gpu_net_open(&nets[k], k ? cpu : device, text, &feed, err);
    }
    for (int i = 0; i <= steps && rc == LEAT_OK; i++) {
        const int64_t rows = i == steps ? 2 * m->batch + 1 : i % 7 == 4 ? m->batch - 3 : m->batch;
        gpu_batch b = gpu_batch_draw(&feed, (uint64_t)i, rows, i % 5 == 3 || i == steps);
        rc = step_both(nets, &feed, &b, i < steps, out, err);
        gpu_batch_drop(&b);
    }
    if (rc == LEAT_OK)
        rc = gpu_weights_distance(nets[0].trainer, nets[1].trainer, out, err);
    gpu_net_close(&nets[0]);
    gpu_net_close(&nets[1]);
    leat_device_close(&cpu);
    return rc;
}
