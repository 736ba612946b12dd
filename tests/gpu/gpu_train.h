/* SPDX-License-Identifier: MIT
 *
 * gpu_train.h: training on a GPU against training on the CPU: models, batches and comparisons, for gpu_check and
 * for the tests over the fake GPU. */
#ifndef GPU_TRAIN_H
#define GPU_TRAIN_H

#include "gpu_cases.h"
#include "train/trainer.h"

/* A model and its data, which are drawn. */
typedef struct gpu_model {
    const char *name, *text; /* text: inside of `train: {}` */
    leat_dtype dtype;
    int64_t dims[3]; /* of the input; the last two 0: a vector */
    int64_t batch;
    leat_dtype target;
    int64_t targets; /* values of a target; 0: a class of 4 */
} gpu_model;

/* Small ones, which together have every primitive, loss and optimiser of the GPU; the last has a NULL name. */
extern const gpu_model gpu_small_models[];
/* Some that train for a while: a dense net, a convolutional net, a residual net. */
extern const gpu_model gpu_whole_models[];

leat_trainer_feed gpu_feed(const gpu_model *model);

/* Rows in host memory. */
typedef struct gpu_batch {
    void *x, *y;
    float *weights; /* of each row, for models with train.sample_weight */
    uint8_t *valid; /* NULL: all count */
    int64_t rows, n_valid;
} gpu_batch;
gpu_batch gpu_batch_draw(const leat_trainer_feed *feed, uint64_t seed, int64_t rows, bool masked);
void gpu_batch_drop(gpu_batch *batch);

/* A trainer of its own config. */
typedef struct gpu_net {
    leat_config *config;
    leat_device *device; /* not owned */
    leat_trainer *trainer;
} gpu_net;
int gpu_net_open(gpu_net *net, leat_device *device, const char *text, const leat_trainer_feed *feed,
                 leat_error *err);
void gpu_net_close(gpu_net *net);
/* One step, waited for. On a device of its own memory the rows are copied, and gone afterwards. */
int gpu_net_step(gpu_net *net, const leat_trainer_feed *feed, const gpu_batch *batch, bool train,
                 leat_error *err);

/* The largest distances of two runs: of the loss of a step, and of a parameter at the end, as shares. */
typedef struct gpu_distance {
    double loss, weights;
    char where[80]; /* the parameter */
} gpu_distance;
/* Trains the model on the device and on the CPU, some batches short or masked, then evaluates. how, cpu_how:
 * more options of `train`, each with ", " behind it. */
int gpu_train_compare(leat_device *device, const gpu_model *model, const char *how,
                      const char *cpu_how, int steps, gpu_distance *out, leat_error *err);
/* What the CPU is to compute with where the GPU uses bfloat16: the same, or fp32 if this CPU has no bfloat16. */
const char *gpu_cpu_bf16(void);
/* Largest distance of the parameters of two trainers of one model. */
int gpu_weights_distance(leat_trainer *a, leat_trainer *b, gpu_distance *out, leat_error *err);

/* gpu_case_train.c, gpu_bench_train.c */
gpu_verdict gpu_case_train_layers(gpu_run *run);
gpu_verdict gpu_case_train_bf16(gpu_run *run);
gpu_verdict gpu_case_train_curves(gpu_run *run);
gpu_verdict gpu_case_train_graph(gpu_run *run);
gpu_verdict gpu_case_train_leaks(gpu_run *run);
gpu_verdict gpu_bench_train_small(gpu_run *run);
gpu_verdict gpu_bench_train_r224(gpu_run *run);
gpu_verdict gpu_bench_train_r32(gpu_run *run);
gpu_verdict gpu_bench_train_r32_fp32(gpu_run *run);

#endif
