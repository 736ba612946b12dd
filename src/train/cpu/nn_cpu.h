/* SPDX-License-Identifier: MIT
 *
 * nn_cpu.h: inside of the CPU backend: nn_cpu.c runs steps, nn_cpu_lane.c has the threads,
 * nn_cpu_plan.c owns memory and makes plans, nn_cpu_param.c keeps parameters, nn_cpu_layers.c and its
 * rows turn layers into actions.
 *
 * DESIGN: lanes. A batch is cut into ranges of rows, one per thread, and each thread takes its rows
 * the whole way alone: forward, loss, backward, in memory of its own, with oneDNN on one thread.
 * Threads meet only where the mathematics does: for the statistics of batch_norm, and before the
 * gradients are summed (in lane order, so that a run repeats itself bit for bit). So there is no
 * barrier per layer: a thread that loses its core to a pipeline worker for a while holds up the
 * others once per step and not once per layer, and who waits sleeps.
 *
 * A plan is one model for one number of rows of one lane, for training or evaluation: a list of
 * forward and a list of backward actions, each a oneDNN primitive or a function. Plans are made once
 * per number of rows (a full batch, a short last one) and share activations. oneDNN chooses
 * layouts; where neighbours disagree, a reorder stands between them. Parameters are kept in the
 * layout that the full batch's forward step wants, and change to the plain one only when read or
 * written. Activations keep their values for the backward pass, gradients alternate between two
 * buffers, elementwise layers work in place where nobody needs what they overwrite, and a relu is
 * done by the layer before it where that can. */
#ifndef LEAT_NN_CPU_H
#define LEAT_NN_CPU_H

#include <pthread.h>
#include <stdatomic.h>

#include "onednn.h"
#include "train/layers.h"

/* Memory whose size is known when all plans that use it are made. [const while plans run] */
typedef struct leat_cpu_memory {
    void *data;
    size_t bytes; /* wanted */
    size_t allocated;
} leat_cpu_memory;

typedef struct leat_cpu_tensor {
    const leat_onednn_layout *layout;
    leat_cpu_memory *memory;
    bool kept;  /* the backward pass of its maker reads the values: not to be overwritten */
    bool bytes; /* uint8, as the loader gave it */
} leat_cpu_tensor;

typedef struct leat_cpu_param {
    const leat_onednn_layout *layout; /* NULL until the first plan has chosen */
    const leat_onednn_layout *plain;
    size_t n; /* floats in memory, a multiple of 16; what is no element stays 0 */
    leat_cpu_memory value, states[LEAT_OPTIMIZER_MAX_STATES];
} leat_cpu_param;

typedef struct leat_cpu_plan leat_cpu_plan;
typedef struct leat_cpu_lane leat_cpu_lane;

typedef struct leat_cpu_action {
    leat_onednn_prim *prim; /* or, if NULL: */
    void (*call)(leat_cpu_plan *plan, int32_t layer);
    int32_t layer;
} leat_cpu_action;

typedef struct leat_cpu_actions {
    leat_cpu_action *at;
    size_t n;
} leat_cpu_actions;

typedef struct leat_cpu_binding {
    leat_onednn_prim *prim;
    leat_onednn_arg arg;
    leat_cpu_memory *memory;
} leat_cpu_binding;

/* What a layer keeps in a plan between making its forward and its backward actions. */
typedef struct leat_cpu_layer_state {
    leat_cpu_tensor in, out; /* as the forward actions use them */
    leat_onednn_prim *forward;
    leat_cpu_memory *extra[3]; /* the layer's own: statistics, workspace, mask */
    bool relu_after;           /* it also does the relu that follows */
    bool relu_backward;        /* … and its gradient */
    int64_t blocks, block;     /* batch_norm: see leat_onednn_layout_blocks() */
} leat_cpu_layer_state;

struct leat_cpu_plan {
    leat_cpu_lane *lane;
    int64_t rows;
    bool training;
    uint64_t last_use;
    uint64_t generation; /* of the addresses that are bound */
    leat_cpu_layer_state *layers;
    leat_cpu_actions forward, backward;
    leat_cpu_binding *bindings;
    size_t n_bindings, n_memories;
    leat_cpu_tensor at;   /* while making: output of the layer before; then: the logits */
    leat_cpu_tensor grad; /* while making: gradient of the layer's output */
    leat_cpu_memory *logits_grad;
};

enum { LEAT_CPU_MAX_PLANS = 6 };

/* One thread's part. [its thread during a step; the caller between steps] */
struct leat_cpu_lane {
    leat_net *net;
    int32_t index;
    leat_onednn *dn;
    leat_cpu_memory input; /* its rows of the batch's own memory, only read */
    leat_cpu_memory grads[2], scratch;
    leat_cpu_memory *param_grads; /* as net->params */
    leat_cpu_memory **shared;     /* the k-th memory of every plan */
    size_t n_shared;
    uint64_t generation;
    leat_cpu_plan *plans[LEAT_CPU_MAX_PLANS];
    leat_cpu_plan *plan; /* of this step; read by other lanes between two meetings */
    uint64_t uses;
    leat_net_sums sums;   /* of this step */
    const uint8_t *valid; /* its part of the batch's; NULL: all its rows count */
    int64_t n_valid;      /* of its rows; read by other lanes after a meeting */
    int prepared, rc;     /* codes of this step; both may be read by other lanes after a meeting */
    leat_error error;
    pthread_t thread; /* lane 0 is the caller */
    bool started;
};

/* What lanes do together. */
typedef struct leat_cpu_job {
    const leat_net_rows *batch; /* NULL while plans are made at open */
    int64_t rows;
    bool train;
    int32_t n_lanes; /* that have rows */
} leat_cpu_job;

struct leat_net {
    const leat_model *model;
    leat_cpu_param *params; /* [layer * LEAT_LAYER_MAX_PARAMS + param] */
    leat_cpu_lane *lanes;
    int32_t n_lanes;
    int64_t steps; /* training steps begun */
    leat_net_sums sums;
    leat_cpu_job job; /* [lock] changes with `jobs`, while no lane works */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_uint jobs;    /* begun; lanes wait for the next */
    atomic_uint meeting; /* number of the present meeting */
    atomic_int arrived;  /* at it */
    bool stop;           /* [lock] */
};

/* One row per layer: makes its actions. Both functions return LEAT_OK or an error. An activation is one row
 * here, with its function in `eltwise`. */
typedef struct leat_cpu_layer {
    const leat_layer *layer;
    /* From plan->at to plan->at. */
    int (*forward)(leat_cpu_plan *plan, int32_t i, leat_error *err);
    /* From plan->grad to plan->grad, where leat_model_needs_gradient(i); NULL: nothing to do. */
    int (*backward)(leat_cpu_plan *plan, int32_t i, leat_error *err);
    leat_onednn_eltwise eltwise; /* of an activation: its function */
    leat_onednn_pooling pooling; /* of a pooling layer */
} leat_cpu_layer;

const leat_cpu_layer *leat_cpu_layer_for(const leat_layer *layer);
/* The row of layer i of the plan. */
const leat_cpu_layer *leat_cpu_row(const leat_cpu_plan *plan, int32_t i);

/* --- parameters ------------------------------------------------------------------------------ */

leat_cpu_param *leat_cpu_param_at(leat_net *net, int32_t layer, int32_t param);
/* Decides a parameter's layout at its first use and draws its initial values. */
int leat_cpu_param_place(leat_cpu_lane *lane, int32_t layer, int32_t param,
                         const leat_onednn_layout *layout, leat_error *err);
/* A lane's gradient of it. */
leat_cpu_memory *leat_cpu_param_grad(leat_cpu_lane *lane, int32_t layer, int32_t param);

void leat_cpu_param_free(leat_cpu_param *param);
/* A parameter in its plain layout, as leat_backend has it. */
int leat_cpu_param_read(leat_net *net, int32_t layer, int32_t param, float *to, leat_error *err);
int leat_cpu_param_write(leat_net *net, int32_t layer, int32_t param, const float *from,
                         leat_error *err);

/* --- lanes ----------------------------------------------------------------------------------- */

/* Starts the threads of lanes 1 … n_lanes - 1, which run leat_cpu_lane_work() for every job. */
int leat_cpu_lane_start(leat_net *net, leat_error *err);
void leat_cpu_lane_stop(leat_net *net);
/* Runs a job on its lanes, with the caller as lane 0; returns when all are done. */
void leat_cpu_lane_run(leat_net *net, const leat_cpu_job *job);
/* Waits until all lanes of the job have arrived. */
void leat_cpu_lane_meet(leat_net *net);
/* nn_cpu.c: a lane's part of net->job. */
void leat_cpu_lane_work(leat_cpu_lane *lane);
/* Rows of the job that belong to a lane: from first to first + n. */
int64_t leat_cpu_lane_rows(const leat_cpu_job *job, int32_t lane, int64_t *first);

/* --- memory and plans ------------------------------------------------------------------------ */

/* LEAT_E_NOMEM with the size; 0: not known. */
int leat_cpu_no_memory(leat_error *err, size_t bytes);
/* Replaces the memory by zeroed memory of the wanted size. */
int leat_cpu_memory_allocate(leat_cpu_memory *memory, leat_error *err);

/* The plan for a number of rows; a new one replaces the one unused for longest. */
int leat_cpu_plan_for(leat_cpu_lane *lane, int64_t rows, bool training, leat_cpu_plan **out,
                      leat_error *err);
void leat_cpu_plan_close(leat_cpu_plan **plan);

/* The next memory of this plan; NULL: out of memory. */
leat_cpu_memory *leat_cpu_memory_next(leat_cpu_plan *plan, size_t bytes);
/* The gradient buffer other than `not_this`. */
leat_cpu_memory *leat_cpu_memory_grad(leat_cpu_plan *plan, const leat_cpu_memory *not_this,
                                      size_t bytes);

int leat_cpu_bind(leat_cpu_plan *plan, leat_onednn_prim *prim, leat_onednn_arg arg,
                  leat_cpu_memory *memory, leat_error *err);
/* Appends a primitive; binds its scratch memory. */
int leat_cpu_push(leat_cpu_plan *plan, leat_cpu_actions *list, leat_onednn_prim *prim,
                  leat_error *err);
int leat_cpu_push_call(leat_cpu_plan *plan, leat_cpu_actions *list,
                       void (*call)(leat_cpu_plan *plan, int32_t layer), int32_t layer,
                       leat_error *err);
/* *tensor in another layout: itself, or a reorder into `to` (NULL: new memory) and its result. */
int leat_cpu_want(leat_cpu_plan *plan, leat_cpu_actions *list, leat_cpu_tensor *tensor,
                  const leat_onednn_layout *layout, leat_cpu_memory *to, leat_error *err);

/* Plain layouts of `rows` samples of a shape: images with channels innermost, or vectors. */
const leat_onednn_layout *leat_cpu_plain(leat_cpu_plan *plan, const leat_shape *shape,
                                         leat_dtype dtype);

/* --- what nn_cpu_layers.c gives to layers ---------------------------------------------------- */

const leat_model_layer *leat_cpu_spec(const leat_cpu_plan *plan, int32_t i);
/* The sliding window over the plan's images, for oneDNN. */
leat_onednn_window leat_cpu_window(const leat_cpu_plan *plan, const leat_sliding *s,
                                   int64_t in_channels, int64_t out_channels);
/* A relu is next: this layer's primitive can do it. */
bool leat_cpu_relu_follows(const leat_cpu_plan *plan, int32_t i);
/* plan->at as float32, in the order it lies in; it becomes layer i's `in`. */
int leat_cpu_want_floats(leat_cpu_plan *plan, int32_t i, leat_error *err);
/* plan->grad in a layout, in the other gradient buffer where it has to move. */
int leat_cpu_want_grad(leat_cpu_plan *plan, const leat_onednn_layout *layout, leat_error *err);
/* New memory for what a primitive writes into `arg`. */
int leat_cpu_new_output(leat_cpu_plan *plan, leat_onednn_prim *prim, leat_onednn_arg arg,
                        leat_cpu_tensor *out, leat_error *err);
/* plan->grad becomes the primitive's DIFF_SRC, in the other gradient buffer. */
int leat_cpu_new_grad(leat_cpu_plan *plan, leat_onednn_prim *prim, leat_error *err);

/* --- the layers themselves ------------------------------------------------------------------- */

#define LEAT_CPU_LAYER_DECLARE(name)                                                               \
    int leat_cpu_##name##_forward(leat_cpu_plan *plan, int32_t i, leat_error *err);                \
    int leat_cpu_##name##_backward(leat_cpu_plan *plan, int32_t i, leat_error *err);
LEAT_CPU_LAYER_DECLARE(dense)
LEAT_CPU_LAYER_DECLARE(conv)
LEAT_CPU_LAYER_DECLARE(eltwise)
LEAT_CPU_LAYER_DECLARE(pool)
LEAT_CPU_LAYER_DECLARE(global_pool)
LEAT_CPU_LAYER_DECLARE(flatten)
LEAT_CPU_LAYER_DECLARE(dropout)
LEAT_CPU_LAYER_DECLARE(norm)
#undef LEAT_CPU_LAYER_DECLARE

#endif
