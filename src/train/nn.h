/* SPDX-License-Identifier: MIT
 *
 * nn.h: what a model is, apart from the device that runs it: layers, losses, optimisers, and the
 * table a training backend fills.
 *
 * DESIGN: a layer is pure description: options, output shape, parameters, cost. A model is a checked
 * chain of layers with a loss and an optimiser. A backend turns a model into work on its device; it
 * has one row per layer of its own. So one list says what exists, and a simulated device needs no
 * arithmetic at all.
 *
 * Tensors are as in include/leat/tensor.h: images are [height, width, channels], one sample's shape
 * has no batch dimension, activations are float32. */
#ifndef LEAT_NN_H
#define LEAT_NN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/node.h"
#include "device/device_table.h"
#include "leat/train.h"

enum { LEAT_LAYER_MAX_PARAMS = 4, LEAT_OPTIMIZER_MAX_STATES = 2 };

/* --- layers ---------------------------------------------------------------------------------- */

typedef enum leat_init { LEAT_INIT_ZERO, LEAT_INIT_ONE, LEAT_INIT_WEIGHT } leat_init;

/* A parameter in its plain layout, which is what files hold and initial values are drawn in. */
typedef struct leat_param {
    const char *part; /* "weight", "bias", …; its name in a file is LAYER.KIND.PART */
    leat_shape shape; /* conv2d weight: [kernel height, kernel width, in, out]; dense: [in, out] */
    leat_init init;   /* WEIGHT: drawn, see leat_model_init() */
    int64_t fan_in, fan_out;
    bool trained; /* false: a running statistic, which no optimiser touches */
} leat_param;

/* Arithmetic and memory traffic of one kernel. */
typedef struct leat_cost {
    double flops, bytes;
} leat_cost;

/* Kernels of one layer for a whole batch; a kernel of 0 bytes is not launched. */
typedef struct leat_layer_cost {
    leat_cost forward;
    leat_cost backward_data;
    leat_cost backward_weights;
} leat_layer_cost;

typedef struct leat_layer {
    leat_kind kind; /* name as written in configs, help, options */
    size_t options_size;
    /* Output shape from the input's, one sample; also checks options against the shape.
     * Returns LEAT_OK or LEAT_E_CONFIG with what is expected and what to do. */
    int (*shape)(const void *options, const leat_shape *in, leat_shape *out, leat_error *err);
    /* Fills the parameters, returns how many; NULL: none. */
    int32_t (*params)(const void *options, const leat_shape *in, const leat_shape *out,
                      leat_param params[LEAT_LAYER_MAX_PARAMS]);
    /* NULL: one operation per element of the input; input and output move once each way. */
    void (*cost)(const void *options, const leat_shape *in, const leat_shape *out, int64_t rows,
                 leat_layer_cost *cost);
} leat_layer;

/* Bytes of `rows` samples as float32. */
double leat_layer_bytes(const leat_shape *shape, int64_t rows);
/* The layer's own cost, or the default. */
void leat_layer_cost_of(const leat_layer *layer, const void *options, const leat_shape *in,
                        const leat_shape *out, int64_t rows, leat_layer_cost *cost);

/* --- losses ---------------------------------------------------------------------------------- */

/* Rows of a batch that have come to the loss. Host memory. */
typedef struct leat_loss_rows {
    const float *logits; /* [rows, n] */
    int64_t n, rows;
    const leat_view *target;
    const uint8_t *valid; /* a byte per row, 0: it weighs nothing; NULL: all count */
    int64_t batch_rows;   /* that count in the whole batch, of which these may be a part */
    float *grad;          /* [rows, n]; NULL: not wanted */
} leat_loss_rows;

typedef struct leat_loss {
    leat_kind kind;
    size_t options_size;
    bool accuracy; /* it counts right predictions */
    /* Checks the model's output and the target's shape (one sample). n_classes: 0 = unknown. */
    int (*check)(const void *options, const leat_shape *logits, const leat_shape *target,
                 int32_t n_classes, leat_error *err);
    /* Of targets that are whole numbers: how many classes they may be. NULL: any number. */
    int64_t (*classes)(const leat_shape *logits);
    /* LEAT_OK, or LEAT_E_DATA naming the first row that counts whose target is impossible. Of the rows
     * only target, valid and rows are looked at. */
    int (*check_targets)(const void *options, const leat_shape *logits, const leat_loss_rows *rows,
                         leat_error *err);
    /* Adds the rows' losses to *loss_sum and right predictions to *right; writes into grad what these
     * rows give to d(mean loss)/d logits of the batch: zeros for those that do not count. Any thread. */
    void (*eval)(const void *options, const leat_loss_rows *rows, double *loss_sum, double *right);
} leat_loss;

/* --- optimisers ------------------------------------------------------------------------------ */

typedef struct leat_optimizer {
    leat_kind kind;
    size_t options_size;
    int32_t n_states; /* floats kept per weight, all 0 at the start */
    double flops;     /* per weight; its bytes are 4 * (3 + 2 * n_states) */
    /* Updates n weights (a multiple of 16; memory 64-byte aligned). step counts from 1. */
    void (*update)(const void *options, int64_t step, float *weight, const float *grad,
                   float *const states[LEAT_OPTIMIZER_MAX_STATES], size_t n);
} leat_optimizer;

/* --- what exists: nn_list.c ------------------------------------------------------------------ */

const leat_layer *leat_layer_at(size_t i); /* NULL past the end */
const leat_loss *leat_loss_at(size_t i);
const leat_optimizer *leat_optimizer_at(size_t i);

/* --- a model --------------------------------------------------------------------------------- */

typedef struct leat_model_layer {
    const leat_layer *layer;
    void *options;
    leat_shape in, out; /* of one sample, float32 */
    int32_t n_params;
    leat_param params[LEAT_LAYER_MAX_PARAMS];
} leat_model_layer;

/* [const after open] */
typedef struct leat_model {
    int32_t n_layers;
    leat_model_layer *layers;
    const leat_loss *loss;
    void *loss_options;
    const leat_optimizer *optimizer;
    void *optimizer_options;
    leat_shape input, target; /* of one sample, as the loader gives them */
    int64_t batch_size;
    int32_t n_classes; /* of the source; 0 = unknown */
    uint64_t seed;
    int32_t threads;      /* of the CPU backend; 0: it decides */
    int64_t n_parameters; /* trained ones */
    double flops_per_sample;
} leat_model;

/* The parts of a config that make a model; nodes may be NULL (missing). */
typedef struct leat_model_nodes {
    const leat_node *owner; /* `train`: blamed for what is missing */
    const leat_node *layers, *loss, *optimizer;
} leat_model_nodes;

/* Fills *model, whose input, target, batch_size, n_classes, seed and threads are set, from a
 * config. leat_model_fini() takes half-built ones.
 * Returns LEAT_OK, LEAT_E_CONFIG with the place and the shapes, LEAT_E_NOMEM. */
int leat_model_init(leat_model *model, const leat_model_nodes *nodes, leat_error *err);
void leat_model_fini(leat_model *model);

/* Initial values of one parameter in its plain layout. Weights are uniform in ±sqrt(6 / fan_in)
 * (He) where the next layer but batch_norm, dropout and pooling is a relu, and in
 * ±sqrt(6 / (fan_in + fan_out)) (Glorot) elsewhere; a function of seed, layer and element. */
void leat_model_draw(const leat_model *model, int32_t layer, int32_t param, float *values);

/* "0.conv2d.weight" */
void leat_model_param_name(const leat_model *model, int32_t layer, int32_t param, char *text,
                           size_t size);

/* True where a layer with trained parameters lies before layer i: then i owes it a gradient. */
bool leat_model_needs_gradient(const leat_model *model, int32_t i);

/* --- backends -------------------------------------------------------------------------------- */

typedef struct leat_net leat_net; /* a model on a device; each backend has its own */

/* Sums over samples since the last call. */
typedef struct leat_net_sums {
    uint64_t samples;
    double loss, right;
} leat_net_sums;

/* A batch in the device's memory. */
typedef struct leat_net_rows {
    leat_view x, y;       /* dims {rows, …} */
    const uint8_t *valid; /* a byte per row, 0: it weighs nothing; NULL: all count */
    int64_t rows;         /* 1 … batch_size when training */
    int64_t n_valid;      /* of them that count, at least 1 */
} leat_net_rows;

typedef struct leat_backend {
    const char *kind; /* of the devices it runs on: leat_device_table.kind */
    int (*open)(const leat_model *model, leat_device *device, leat_net **out, leat_error *err);
    void (*close)(leat_net *net);
    /* One step over a batch. Rows that do not count give nothing to loss, sums, gradients and the
     * statistics of batch_norm: as if they were not there. train: also backward and update. Devices
     * with host memory are done on return (stream is NULL), others enqueue. *busy_ns: device time of
     * the work, 0 = unknown. */
    int (*step)(leat_net *net, leat_stream *stream, const leat_net_rows *rows, bool train,
                int64_t *busy_ns, leat_error *err);
    /* Sums of the steps done (the caller has waited for them); `anew`: they start again from 0. */
    int (*sums)(leat_net *net, bool anew, leat_net_sums *out, leat_error *err);
    /* One parameter in its plain layout, host memory. */
    int (*read)(leat_net *net, int32_t layer, int32_t param, float *to, leat_error *err);
    int (*write)(leat_net *net, int32_t layer, int32_t param, const float *from, leat_error *err);
} leat_backend;

extern const leat_backend leat_backend_cpu, leat_backend_sim;

/* The backend for a device, NULL if there is none. */
const leat_backend *leat_backend_for(const leat_device *device);

#endif
