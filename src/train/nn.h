/* SPDX-License-Identifier: MIT
 *
 * nn.h: what a model is, apart from the device that runs it: layers, losses, optimisers, and the
 * table a training backend fills.
 *
 * DESIGN: a layer is pure description: options, output shape, parameters, cost, and the primitives that it
 * consists of (program.h). A model is a checked list of layers, each reading the outputs of layers before
 * it, with a loss and an optimiser. A backend runs the primitives of prim.h on its device. So one list says
 * what exists, a new layer of known primitives runs everywhere, and a simulated device needs no arithmetic.
 *
 * Tensors are as in include/leat/tensor.h: images are [height, width, channels], one sample's shape
 * has no batch dimension. */
#ifndef LEAT_NN_H
#define LEAT_NN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "activations.h"
#include "config/node.h"
#include "device/device_table.h"
#include "leat/train.h"

enum { LEAT_LAYER_MAX_PARAMS = 4, LEAT_LAYER_MAX_INPUTS = 8, LEAT_OPTIMIZER_MAX_STATES = 2 };

typedef struct leat_program leat_program;
struct leat_ranks;

/* Whether a step on a GPU is recorded once as a CUDA graph and replayed. AUTO: where that is possible. */
#define LEAT_GRAPH_LIST(X) X(AUTO, "auto") X(TRUE, "true") X(FALSE, "false")
typedef enum leat_graph {
#define LEAT_GRAPH_ENUM(name, text) LEAT_GRAPH_##name,
    LEAT_GRAPH_LIST(LEAT_GRAPH_ENUM)
#undef LEAT_GRAPH_ENUM
} leat_graph;

/* --- layers ---------------------------------------------------------------------------------- */

/* HE: uniform in ±sqrt(6 / fan_in). GLOROT: uniform in ±sqrt(6 / (fan_in + fan_out)). AUTO: HE where an
 * activation of the relu family follows (batch_norm, dropout and pooling may lie between), else GLOROT.
 * DIRAC: the first filters pass their input channel on, the others are drawn as HE. WHITEN: HE, until the
 * first batch replaces it (whiten.h). */
typedef enum leat_init {
    LEAT_INIT_ZERO,
    LEAT_INIT_ONE,
    LEAT_INIT_AUTO,
    LEAT_INIT_HE,
    LEAT_INIT_GLOROT,
    LEAT_INIT_DIRAC,
    LEAT_INIT_WHITEN
} leat_init;

/* A parameter in its plain layout, which is what files hold and initial values are drawn in. */
typedef struct leat_param {
    const char *part; /* "weight", "bias", …; its name in a file is LAYER.KIND.PART */
    /* Weight of conv2d: [kernel height, kernel width, in / groups, out]; dense: [in, out]. */
    leat_shape shape;
    leat_init init;
    int64_t fan_in, fan_out;
    bool trained; /* false: no optimiser touches it */
    bool
        frozen; /* kept as it is, by `train.frozen` or the layer's own `frozen`; then not trained */
    bool statistic; /* a running mean or variance; never trained */
    bool constant;  /* the option that has it learned is off: always what `init` says, 0 or 1 */
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

/* Activations that the op of a layer can compute with its own work. */
typedef enum leat_fuse { LEAT_FUSE_NONE, LEAT_FUSE_RELU, LEAT_FUSE_ALL } leat_fuse;

struct leat_export_onnx;

typedef struct leat_layer {
    leat_kind kind; /* name as written in configs, help, options */
    size_t options_size;
    bool merges;     /* it takes several inputs, `from: [a, b]`; others take one */
    leat_fuse fuse;  /* FUSE_ALL: its gradient op computes the activation's gradient too */
    leat_act act;    /* the activation that the layer is; NONE: none */
    bool normalizes; /* its output has mean 0 and variance 1, before its learned scale and shift */
    /* Output shape from the shapes of n inputs, one sample; also checks options against them.
     * Returns LEAT_OK or LEAT_E_CONFIG with what is expected and what to do. */
    int (*shape)(const void *options, const leat_shape *in, int32_t n, leat_shape *out,
                 leat_error *err);
    /* Fills the parameters, returns how many; NULL: none. */
    int32_t (*params)(const void *options, const leat_shape *in, const leat_shape *out,
                      leat_param params[LEAT_LAYER_MAX_PARAMS]);
    /* NULL: one operation per element of the input; inputs and output move once each way. */
    void (*cost)(const void *options, const leat_shape *in, const leat_shape *out, int64_t rows,
                 leat_layer_cost *cost);
    /* Append the primitives of layer i of the model to a program; see program.h. Out of memory sets program->failed. */
    void (*forward)(leat_program *program, int32_t i);
    void (*backward)(leat_program *program, int32_t i);
    /* Adds layer i to an ONNX graph; in: names of its inputs, NULL at the end; see export_onnx.h. NULL: it cannot. */
    void (*export_onnx)(struct leat_export_onnx *e, int32_t i, const char *const *in,
                        const char *out);
} leat_layer;

/* Bytes of `rows` samples as float32. */
double leat_layer_bytes(const leat_shape *shape, int64_t rows);

/* An option of a loss or an optimiser that the kernels of a GPU read, too. Training there refuses options without
 * that mark, so that a new one cannot be passed over in silence. */
#define LEAT_GPU_OPTION(struct_, field, type_, initial, low, high, help)                           \
    {                                                                                              \
#field, LEAT_OPTION_TYPE_##type_, offsetof(struct_, field), initial, low, high, NULL,      \
            help, LEAT_OPTION_ON_GPU                                                               \
    }

/* --- losses ---------------------------------------------------------------------------------- */

/* Outputs and targets of rows of a batch, for the loss. Host memory. */
typedef struct leat_loss_rows {
    const float *logits; /* [rows, n] */
    int64_t n, rows;
    int64_t first_row; /* rows of other ranks before these: for messages */
    const leat_view *target;
    const float *weights; /* of each row, a factor of its loss; NULL: all 1 */
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
    /* Reads what its options hold as nodes, after check(); close() frees it. Both may be NULL. */
    int (*open)(void *options, const leat_shape *logits, leat_error *err);
    void (*close)(void *options);
    /* The number of classes, if targets are class numbers. NULL: any number is a target. */
    int64_t (*classes)(const leat_shape *logits);
    /* LEAT_OK, or LEAT_E_DATA, which names the first row that counts and has an invalid target. Reads only
     * target, valid and rows. */
    int (*check_targets)(const void *options, const leat_shape *logits, const leat_loss_rows *rows,
                         leat_error *err);
    /* Adds the rows' losses to *loss_sum and right predictions to *right; writes into grad what these
     * rows give to d(mean loss)/d logits of the batch: zeros for those that do not count. Any thread. */
    void (*eval)(const void *options, const leat_loss_rows *rows, double *loss_sum, double *right);
    /* Makes probabilities of the n logits of a row, in place. NULL: outputs are plain values. */
    void (*probabilities)(const void *options, float *logits, int64_t n);
} leat_loss;

/* --- optimisers ------------------------------------------------------------------------------ */

/* Every optimiser's options begin with these. Updates read leat_update instead. */
typedef struct leat_rate_options {
    float learning_rate, weight_decay;
} leat_rate_options;

/* What one update of one parameter needs to know beside the optimiser's options. */
typedef struct leat_update {
    int64_t step;         /* from 1 */
    int32_t rank;         /* of the parameter's shape */
    double learning_rate; /* of this step and parameter: option × schedule × multiplier */
    float weight_decay;   /* of this parameter: the option, or 0 where it is excluded */
    float grad_scale; /* gradients are multiplied by it: clipping, accumulation; 1: as they are */
    double weight_norm, grad_norm; /* Euclidean, of the whole parameter; grad_norm after grad_scale.
                                      Set only for optimisers with `norms` */
} leat_update;

typedef struct leat_optimizer {
    leat_kind kind;
    size_t options_size;
    int32_t n_states; /* floats kept per weight, all 0 at the start */
    double flops;     /* per weight; its bytes are 4 * (3 + 2 * n_states) */
    bool norms;       /* it needs weight_norm and grad_norm */
    /* Updates n weights (a multiple of 16; memory 64-byte aligned). Any thread; ranges of one parameter may
     * be updated by different threads. */
    void (*update)(const void *options, const leat_update *u, float *weight, const float *grad,
                   float *const states[LEAT_OPTIMIZER_MAX_STATES], size_t n);
    /* Parameters of rank 2 and more, as a matrix [rows, columns] (all dims but the last are rows). NULL:
     * update() does all. scratch: matrix_scratch(rows, columns) floats. */
    void (*update_matrix)(const void *options, const leat_update *u, float *weight,
                          const float *grad, float *const states[LEAT_OPTIMIZER_MAX_STATES],
                          int64_t rows, int64_t columns, float *scratch);
    size_t (*matrix_scratch)(int64_t rows, int64_t columns);
} leat_optimizer;

/* --- what exists: nn_list.c ------------------------------------------------------------------ */

const leat_layer *leat_layer_at(size_t i); /* NULL past the end */
const leat_loss *leat_loss_at(size_t i);
const leat_optimizer *leat_optimizer_at(size_t i);

/* --- a model --------------------------------------------------------------------------------- */

/* Every layer's options begin with these; LEAT_LAYER_COMMON ends its option table. */
typedef struct leat_layer_common {
    leat_string name;      /* "": INDEX.KIND */
    const leat_node *from; /* names of the layers that it reads; NULL: the layer before */
    leat_string device;    /* "": the run's, see partition/partition.h */
} leat_layer_common;

typedef struct leat_model_layer {
    const leat_layer *layer; /* [const after open] */
    void *options;
    char name[64];              /* its own, or INDEX.KIND */
    const leat_node *device_at; /* its `device` in the config, while a trainer opens; NULL: none */
    bool learns; /* it, or a layer that it reads at any distance, has trained parameters */
    int32_t n_inputs;
    int32_t inputs[LEAT_LAYER_MAX_INPUTS]; /* indexes of layers; -1: the model's input */
    leat_shape in, out;                    /* of one sample, float32; `in` of the first input */
    int32_t n_params;
    int32_t first_param; /* in leat_model.params */
    leat_param params[LEAT_LAYER_MAX_PARAMS];
} leat_model_layer;

/* A parameter in the arena of all: float[leat_model.n_floats], in plain layouts. The trained ones come
 * first. Between parameters lie zeros. */
typedef struct leat_model_param {
    const leat_param *spec;
    float rate;           /* factor of the learning rate */
    bool decays;          /* weight decay applies */
    int32_t layer, index; /* params[index] of that layer */
    size_t at;            /* floats before it, a multiple of 16 */
    size_t n;             /* floats */
} leat_model_param;

/* `train.normalize`: value v of channel c of the model's input becomes v * scale[c % n] + shift[c % n], rounded after
 * each step, which are the bits of the op `normalize`. n 0: values stay as they are. */
enum { LEAT_MODEL_MAX_CHANNELS = 8 };
typedef struct leat_model_normalize {
    int32_t n;
    float scale[LEAT_MODEL_MAX_CHANNELS], shift[LEAT_MODEL_MAX_CHANNELS];
} leat_model_normalize;

/* [const after open] */
typedef struct leat_model {
    int32_t n_layers;
    leat_model_layer *layers;
    /* The layers [first, end) that a net of it computes: all, or a part of a model that partition_open.c makes. A part has
     * no parameters of other layers, and its input is the output of layer first - 1. */
    int32_t first, end;
    int32_t n_params;
    leat_model_param *params;
    size_t n_floats, n_trained_floats; /* multiples of 16 */
    const leat_loss *loss;
    void *loss_options;
    const leat_optimizer *optimizer;
    void *optimizer_options;
    leat_shape input, target;           /* of one sample, as the loader gives them */
    bool channels_first, channels_last; /* of the input, as far as it is known */
    leat_model_normalize normalize;     /* of the input */
    int64_t batch_size;
    int32_t n_classes; /* of the source; 0 = unknown */
    bool any_target;   /* target becomes what the loss takes */
    bool weighted;     /* every batch has leat_net_rows.weights */
    bool evaluates;    /* only: no step trains, and a backend may leave out what training takes */
    uint64_t seed;
    int32_t threads; /* of the CPU backend; 0: it decides */
    int32_t n_micro; /* the batch's rows are cut into; see micro_batches */
    struct leat_ranks *
        ranks; /* that train it together, see ranks/exchange.h; NULL: this process alone. Borrowed */
    int32_t accumulate; /* batches whose gradients are summed for one update */
    leat_precision precision;
    leat_graph graph;
    bool averaged; /* the run keeps an average of all parameters */
    /* Host memory that can be used, and why no more; 0: the device has memory of its own. Borrowed. */
    int64_t memory_limit;
    const char *memory_why;
    bool measure_plans;     /* on a GPU: choose cuDNN's plans by timing */
    const char *plan_cache; /* on a GPU: folder of plans between runs; "": none. Borrowed */
    int64_t n_parameters;   /* trained ones */
    int64_t n_frozen;       /* others, without running statistics */
    double flops_per_sample;
    leat_config *preset; /* the config that a ready-made model was written as; NULL: none */
} leat_model;

/* The parts of a config that make a model; nodes may be NULL (missing). */
typedef struct leat_model_nodes {
    const leat_node *owner; /* `train`: the place of errors about missing nodes */
    const leat_node *layers, *loss, *optimizer;
    const leat_strings *frozen; /* keys of rules.h; NULL: none */
} leat_model_nodes;

/* Fills *model, whose input, target, batch_size, n_classes, seed, threads, n_micro, accumulate and precision
 * are set, from a config. leat_model_fini() takes half-built ones. Returns LEAT_OK, LEAT_E_CONFIG with the
 * place and the shapes, LEAT_E_NOMEM. */
int leat_model_init(leat_model *model, const leat_model_nodes *nodes, leat_error *err);
void leat_model_fini(leat_model *model);

/* The cost of a layer for a batch of `rows`: its own, or the default. A frozen weight needs no gradient. */
void leat_layer_cost_of(const leat_model_layer *l, int64_t rows, leat_layer_cost *cost);
/* True if the layer is a batch_norm that uses and keeps its running statistics in training, too. */
bool leat_layer_is_fixed(const leat_model_layer *l);
/* Operations of forward, needed backward, and the update, per sample. */
double leat_model_flops(const leat_model *model);
/* Adds to *memory, whose last three parts a backend has set, the others, the total and the limit. */
void leat_model_memory(const leat_model *model, leat_train_memory *memory);
/* LEAT_OK, or LEAT_E_NOMEM if that total is above the limit: what needs how much, and what to lower. */
int leat_model_fits(const leat_model *model, const leat_train_memory *memory, leat_error *err);

/* Initial values of one parameter in its plain layout: a function of seed, layer and element. */
void leat_model_draw(const leat_model *model, int32_t layer, int32_t param, float *values);

/* "0.conv2d.weight" */
void leat_model_param_name(const leat_model *model, int32_t layer, int32_t param, char *text,
                           size_t size);

/* True where the output of layer i needs a gradient: it or a layer that it reads, at any distance, has
 * trained parameters. -1 is the model's input, which needs none. */
bool leat_model_needs_gradient(const leat_model *model, int32_t i);
/* True if the loss is computed by a net of it: it is no part, or the last one. */
static inline bool leat_model_ends(const leat_model *model)
{
    return model->end == model->n_layers;
}
/* True if layer i must compute a gradient for the layers that it reads. */
bool leat_model_passes_gradient(const leat_model *model, int32_t i);
/* True if the backward pass of layer i takes what its cost calls `backward_data`: it passes a gradient on, or it learns by the
 * same operation, as norms do. */
bool leat_model_takes_backward_data(const leat_model *model, int32_t i);
/* model_params.c: fills params, n_floats, n_trained_floats, n_parameters, n_frozen. */
int leat_model_params(leat_model *model, leat_error *err);
/* LEAT_OK, or LEAT_E_DATA naming the first row that counts whose target or weight is impossible. Of the rows only
 * target, weights, valid and rows are looked at; they are in host memory. */
int leat_model_check_rows(const leat_model *model, const leat_loss_rows *rows, leat_error *err);
/* The micro-batch's rows of a batch of `rows`: [*first, *first + returned). */
int64_t leat_model_micro(const leat_model *model, int64_t rows, int32_t micro, int64_t *first);

/* --- backends -------------------------------------------------------------------------------- */

typedef struct leat_net leat_net; /* a model on a device; each backend has its own */

/* Sums over samples since the last call. */
typedef struct leat_net_sums {
    uint64_t samples;
    double loss, right;
} leat_net_sums;

/* right / samples; NaN: the loss counts none, or there are no samples. Equal numbers of right values give equal accuracies,
 * though the sum of their shares of a row is rounded. */
double leat_model_accuracy(const leat_model *model, double right, uint64_t samples);

/* A batch in the device's memory. */
typedef struct leat_net_rows {
    leat_view x, y;       /* dims {rows, …} */
    leat_view weights;    /* float32, one per row; data NULL: all 1 */
    const uint8_t *valid; /* a byte per row, 0: it weighs nothing; NULL: all count */
    int64_t rows;         /* 1 … batch_size when training */
    int64_t n_valid;      /* of them that count; 1 or more when training; with ranks those of all */
    /* With ranks, of a training batch: */
    int64_t all_rows,
        first_row; /* rows of all ranks; those before the first one here. 0, 0: there are no others */
    const int64_t *micro_valid; /* rows of each micro-batch that count; NULL: see `valid` */
} leat_net_rows;

static inline int64_t leat_net_count_valid(const uint8_t *valid, int64_t rows)
{
    int64_t n = 0;
    for (int64_t i = 0; valid && i < rows; i++)
        n += valid[i] != 0;
    return valid ? n : rows;
}

/* What of a training step. A net without the loss makes a step in two calls; between them the nets after it make theirs. */
typedef enum leat_net_phase { LEAT_NET_WHOLE, LEAT_NET_FORWARD, LEAT_NET_BACKWARD } leat_net_phase;

/* A view of an image: it is mirrored, then pixel (y, x) is taken from (y + dy, x + dx); beyond the edge it reflects, so
 * -1 is 1. */
typedef struct leat_net_view {
    int32_t mirrored, dy, dx; /* dy, dx: less than the image's height, width */
} leat_net_view;

/* Pixel i of n, reflected at the edges. */
static inline int64_t leat_net_reflect(int64_t i, int64_t n)
{
    if (n == 1)
        return 0;
    return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
}

/* What a step does with them. */
typedef struct leat_net_step {
    bool train; /* false: forward only, as in evaluation */
    leat_net_phase phase;
    bool first; /* its gradient begins a new sum of gradients … */
    bool last;  /* … and the weights are updated by the sum. Both true: no accumulation */
    int64_t rows_before; /* room for rows of the batches before this one in that sum */
    float share;         /* the sum is multiplied by it before the update: 1 / batches in it */
    float clip;          /* largest Euclidean norm of the whole gradient; 0: no limit */
    double rate;         /* learning rate of this step, after the schedule */
    float *logits;       /* [rows, n], host memory, for the model's output; NULL: not wanted */
    const leat_net_view
        *view; /* of each image, in evaluation by a backend with `views`; NULL: as it is */
    /* Of a part of a model, memory of the device, [rows, n]; NULL: not wanted, and simulated devices use none. */
    float *output;            /* gets the output of its last layer, unless BACKWARD */
    const float *output_grad; /* BACKWARD: the gradient of that */
    float *input_grad;        /* gets the gradient of its input, unless FORWARD */
} leat_net_step;

/* Which values of a parameter: the weights, a state of the optimiser, the average (leat_backend.blend). */
typedef enum leat_param_values {
    LEAT_VALUES_WEIGHT,
    LEAT_VALUES_STATE, /* and LEAT_VALUES_STATE + 1 */
    LEAT_VALUES_AVERAGE = LEAT_VALUES_STATE + LEAT_OPTIMIZER_MAX_STATES,
    LEAT_N_VALUES
} leat_param_values;

typedef struct leat_backend {
    const char *kind; /* of the devices it runs on: leat_device_table.kind */
    bool views;       /* step() takes leat_net_step.view; false: whoever wants views makes images */
    int (*open)(const leat_model *model, leat_device *device, leat_net **out, leat_error *err);
    void (*close)(leat_net *net);
    /* One step over a batch. Rows that do not count give nothing to loss, sums, gradients and the
     * statistics of batch_norm: as if they were not there. Devices with host memory are done on return
     * (stream is NULL), others enqueue. Of *times, which the caller has zeroed, it sets what it knows of
     * busy_ns, launches, kernels and launch_ns. */
    int (*step)(leat_net *net, leat_stream *stream, const leat_net_rows *rows,
                const leat_net_step *how, leat_step_times *times, leat_error *err);
    /* Sums of the steps done (the caller has waited for them); `anew`: they start again from 0. */
    int (*sums)(leat_net *net, bool anew, leat_net_sums *out, leat_error *err);
    /* One parameter in its plain layout, host memory. The caller has waited for all steps. */
    int (*read)(leat_net *net, int32_t layer, int32_t param, leat_param_values which, float *to,
                leat_error *err);
    int (*write)(leat_net *net, int32_t layer, int32_t param, leat_param_values which,
                 const float *from, leat_error *err);
    /* Where the values of one lie in their plain layout, if they do so in host memory; NULL: they do not, or the device
     * does not tell (no function): read() copies them. Valid until they change; `swap` moves none of them. */
    const float *(*values)(leat_net *net, int32_t layer, int32_t param, leat_param_values which);
    /* All parameters, also those that are not trained: to += share * (from - to); share 1 copies. On
     * devices that enqueue, both follow the steps enqueued before. */
    int (*blend)(leat_net *net, leat_param_values to, leat_param_values from, double share,
                 leat_error *err);
    /* Exchanges two kinds of values of all parameters. */
    int (*swap)(leat_net *net, leat_param_values a, leat_param_values b, leat_error *err);
    /* Memory of a training step; NULL: the device does not tell. */
    void (*memory)(const leat_net *net, leat_train_memory *out);
    /* The same of a net that open() would make, without opening it: only `total` is needed. NULL: as above. */
    int (*count)(const leat_model *model, leat_train_memory *out, leat_error *err);
    /* Number of updates done; steps of dropout and of Adam count from it. */
    int64_t (*updates)(const leat_net *net);
    void (*set_updates)(leat_net *net, int64_t n);
    /* Why steps are launched call by call though `graph: auto` would record them; "": they are not. NULL: no graphs. */
    const char *(*graph_failure)(const leat_net *net);
} leat_backend;

extern const leat_backend leat_backend_cpu, leat_backend_sim;

/* train_summary.c: memory of a net's steps; where its backend does not tell, of those of training, by its program.
 * Returns LEAT_OK, LEAT_E_NOMEM. */
int leat_net_memory(const leat_model *model, const leat_backend *backend, const leat_net *net,
                    leat_train_memory *out, leat_error *err);

/* Functions of libleat for backends outside of it: a plugin does not link to libleat. */
typedef struct leat_net_host {
    size_t sizes; /* LEAT_NET_SIZES of libleat; another number: from another release */
    int (*program_open)(const leat_model *model, bool training, leat_program **out,
                        leat_error *err);
    int (*program_place)(leat_program *program, int64_t rows, leat_error *err);
    void (*program_close)(leat_program **program);
    void (*draw)(const leat_model *model, int32_t layer, int32_t param, float *values);
} leat_net_host;
#define LEAT_NET_SIZES                                                                             \
    (sizeof(leat_model) * 1000000 + sizeof(leat_backend) * 10000 + sizeof(leat_net_step) * 100 +   \
     sizeof(leat_step_times) * 10 + sizeof(leat_net_host))

/* The backend for a device, or NULL and an error. */
const leat_backend *leat_backend_for(const leat_device *device, leat_error *err);

#endif
