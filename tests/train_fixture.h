/* SPDX-License-Identifier: MIT
 *
 * train_fixture.h: what the trainer's tests share: trainers from a few lines of YAML, fed from
 * memory without a loader. */
#ifndef TRAIN_FIXTURE_H
#define TRAIN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "leat/leat.h"
#include "train/trainer.h"

typedef struct fixture {
    leat_config *config;
    leat_device *device;
    leat_trainer *trainer;
    leat_error err;
} fixture;

/* feed: input, target, batch_size; text: a whole config. */
static inline int fixture_open(fixture *f, const char *text, const leat_trainer_feed *feed)
{
    memset(f, 0, sizeof *f);
    int rc = leat_config_parse(text, "test.yaml", &f->config, &f->err);
    if (rc == LEAT_OK)
        rc = leat_trainer_open_device(f->config, &f->device, &f->err);
    if (rc == LEAT_OK)
        rc = leat_trainer_open_feed(f->config, feed, f->device, &f->trainer, &f->err);
    return rc;
}

static inline void fixture_close(fixture *f)
{
    leat_trainer_close(&f->trainer);
    leat_device_close(&f->device);
    leat_config_close(&f->config);
}

static inline void fixture_must_open(fixture *f, const char *text, const leat_trainer_feed *feed)
{
    if (fixture_open(f, text, feed) != LEAT_OK)
        fail_msg("%s\nin: %s", f->err.message, text);
}

/* A batch in memory: the sample's shape with `rows` in front. */
static inline leat_view batch_view(const leat_shape *sample, int64_t rows, void *data)
{
    leat_view view = { .shape = *sample, .data = data };
    view.shape.rank++;
    view.shape.dims[0] = rows;
    memcpy(&view.shape.dims[1], sample->dims, (size_t)sample->rank * sizeof sample->dims[0]);
    return view;
}

static inline float *random_floats(uint64_t seed, size_t n)
{
    leat_rng rng = leat_rng_make(seed, 0, 0, 99);
    float *values = malloc((n ? n : 1) * sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = leat_rng_range(&rng, -1, 1);
    return values;
}

static inline int64_t *random_labels(uint64_t seed, size_t n, uint32_t classes)
{
    leat_rng rng = leat_rng_make(seed, 1, 0, 99);
    int64_t *labels = malloc((n ? n : 1) * sizeof *labels);
    for (size_t i = 0; i < n; i++)
        labels[i] = leat_rng_below(&rng, classes);
    return labels;
}

/* One parameter in its plain layout; the caller frees it. */
static inline float *read_param(leat_trainer *trainer, int32_t layer, int32_t param)
{
    const leat_shape *shape = &trainer->model.layers[layer].params[param].shape;
    float *values = malloc((size_t)leat_shape_bytes(shape));
    assert_int_equal(trainer->backend->read(trainer->net, layer, param, values, NULL), LEAT_OK);
    return values;
}

/* A whole number per sample is its target. */
static inline leat_trainer_feed feed_of(leat_dtype dtype, int rank, const int64_t *dims,
                                        int64_t batch)
{
    return (leat_trainer_feed){ .input = leat_shape_make(dtype, rank, dims),
                                .target = leat_shape_make(LEAT_I64, 0, NULL),
                                .batch_size = batch,
                                .seed = 1 };
}

static inline void fixture_step(fixture *f, const leat_trainer_feed *feed, void *x, void *y,
                                int64_t rows, bool train)
{
    const leat_view xs = batch_view(&feed->input, rows, x);
    const leat_view ys = batch_view(&feed->target, rows, y);
    if (leat_trainer_step_views(f->trainer, &xs, &ys, rows, train, &f->err) < 0)
        fail_msg("%s", f->err.message);
}

static inline leat_metrics fixture_metrics(fixture *f)
{
    leat_metrics metrics;
    assert_int_equal(leat_trainer_metrics(f->trainer, &metrics, &f->err), LEAT_OK);
    return metrics;
}

/* Bit for bit. */
static inline bool fixture_same_weights(fixture *a, fixture *b)
{
    const leat_model *model = &a->trainer->model;
    bool same = true;
    for (int32_t i = 0; i < model->n_layers; i++)
        for (int32_t k = 0; k < model->layers[i].n_params; k++) {
            float *x = read_param(a->trainer, i, k), *y = read_param(b->trainer, i, k);
            same =
                same && !memcmp(x, y, (size_t)leat_shape_bytes(&model->layers[i].params[k].shape));
            free(x);
            free(y);
        }
    return same;
}

/* Trains a little on random images; the last batch is short. */
static inline void fixture_train_cnn(fixture *f, int threads, int64_t seed, int n)
{
    static const char small_cnn[] =
        "model: [conv2d: {filters: 8, kernel: 3, padding: same}, batch_norm, relu, max_pool: 2, "
        "conv2d: {filters: 20, kernel: 3}, relu, dropout: 0.3, flatten, dense: 33, relu, "
        "dense: 10], loss: softmax_cross_entropy, optimizer: adam";
    char text[512];
    const leat_trainer_feed feed = feed_of(LEAT_F32, 3, (int64_t[]){ 12, 12, 3 }, 16);
    snprintf(text, sizeof text, "train: {threads: %d, seed: %d, %s}", threads, (int)seed,
             small_cnn);
    fixture_must_open(f, text, &feed);
    for (int i = 0; i < n; i++) {
        float *x = random_floats((uint64_t)i, 16 * 12 * 12 * 3);
        int64_t *y = random_labels((uint64_t)i, 16, 10);
        fixture_step(f, &feed, x, y, i + 1 < n ? 16 : 5, true);
        free(x);
        free(y);
    }
}

#endif
