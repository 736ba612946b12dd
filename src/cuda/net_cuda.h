/* SPDX-License-Identifier: MIT
 *
 * net_cuda.h: internals of training on a GPU. net_cuda.c fills leat_backend and runs steps, net_memory.c opens a net:
 * kernels, arenas and tables; net_plan.c compiles programs into calls, which net_make.c and net_make_layers.c
 * make; net_update.c adds the calls after the backward pass; net_loss_optimizer.c says what runs here; net_graph.c
 * records steps as CUDA graphs.
 *
 * DESIGN: a program is compiled for a number of rows into a list of calls: kernels of ours with their arguments,
 * and ops of the libraries (train_lib.h). A step is: ingest, which copies the batch into fixed memory and
 * writes the step's numbers (leat_train_step) to the device; the calls; in training the update. So everything but
 * ingest's arguments is the same in every step. The first step with full batches runs call by call, which loads
 * every kernel; later ones are one graph, whose first node gets new arguments before each launch. Short
 * batches run call by call.
 *
 * Nothing is allocated in a step, except when a number of rows comes for the first time. The host never waits:
 * sums stay on the device until they are asked for.
 *
 * Weights, gradients and states are arenas of floats on the device with the places of leat_model.params. The
 * libraries read packed copies where their layout or type differs, renewed after each update. Gradients
 * of convolutions come in the layout of those copies. A batch is one micro-batch: micro_batches do nothing here, so
 * weights are not the bits of the CPU. */
#ifndef LEAT_NET_CUDA_H
#define LEAT_NET_CUDA_H

#include "gpu.h"
#include "kernels/train_list.h"
#include "train/losses.h"
#include "train/optimizers.h"
#include "train/program.h"
#include "train_lib.h"

/* LEAT_NET_<name> for each kernel of train_list.h. */
typedef enum leat_net_kernel {
#undef LEAT_TRAIN_KERNEL
#undef LEAT_TRAIN_BLOCKS
#define LEAT_TRAIN_KERNEL(name, type, call)           LEAT_NET_##name,
#define LEAT_TRAIN_BLOCKS(name, type, n_phases, call) LEAT_NET_##name,
#include "kernels/train_list.h"
#undef LEAT_TRAIN_KERNEL
#undef LEAT_TRAIN_BLOCKS
    LEAT_N_NET_KERNELS
} leat_net_kernel;

/* One kernel launch or one op of the libraries. */
typedef struct leat_net_call {
    leat_net_kernel kernel;
    unsigned blocks[2];
    union {
        leat_train_args train;
        leat_train_update_args update;
        leat_train_ingest_args ingest;
        leat_train_running_args *running; /* owned by the call; a pointer, as it is large */
    } args;
    leat_gpu_lib_op *op; /* NULL: a kernel */
    leat_gpu_lib_args lib;
    bool shared;   /* another call owns the op */
    int32_t layer; /* for messages; -1: none */
} leat_net_call;

typedef struct leat_net_calls {
    leat_net_call *list;
    int32_t n, room;
} leat_net_calls;

/* A program compiled for a number of rows. */
typedef struct leat_net_plan {
    int64_t rows;      /* 0: none */
    bool own_norm;     /* all kernels of batch_norm are ours, so that masked rows may be left out */
    bool own_masks;    /* a mask of a sum's relu was written by a kernel of ours */
    int32_t n_forward; /* calls before those of LOSS */
    uint64_t last_use;
    leat_net_calls calls;
    /* While it is compiled: batch norms of the libraries whose running statistics no call renews yet; NULL: none. */
    leat_train_running_args *running;
    int32_t n_running;
} leat_net_plan;

/* EVEN: the variant of evaluation, which ends with no update; see leat_net_variant. */
enum { LEAT_NET_PLANS = 4, LEAT_NET_EVEN = 8, LEAT_NET_GRAPHS };

typedef struct leat_net_program {
    leat_program *program;
    int32_t skipped;      /* op 0 if ingest does the conversion; -1: none */
    int32_t input_tensor; /* that ingest writes */
    void *input;          /* its memory */
    bool padded;          /* its pixels have eight channels, zeros behind the model's own */
    leat_net_plan plans[LEAT_NET_PLANS];
} leat_net_program;

/* What the host issued. A graph is one launch of several kernels; a library's op counts as one kernel. */
typedef struct leat_net_issued {
    int64_t launches, kernels;
} leat_net_issued;

/* A recorded step. */
typedef struct leat_net_graph {
    cudaGraph_t graph; /* owns the node */
    cudaGraphExec_t exec;
    cudaGraphNode_t ingest;
    int64_t kernels;
    bool warm; /* the step has run call by call */
} leat_net_graph;

/* A table of ranges in device memory. */
typedef struct leat_net_ranges {
    leat_train_range *device;
    int32_t n;
} leat_net_ranges;

enum { LEAT_NET_BLOCKS = 64 }; /* pieces of device memory that a net owns */

struct leat_net {
    const leat_model *model;
    const leat_net_host *host;
    leat_gpu *gpu;
    leat_stream *own;    /* for reading and writing values */
    cudaStream_t stream; /* of the last step */
    cudaLibrary_t library;
    cudaKernel_t kernels[LEAT_N_NET_KERNELS];
    leat_gpu_lib *lib;
    leat_net_program train, even;           /* even: evaluation */
    leat_net_calls update[LEAT_NET_GRAPHS]; /* after the backward pass; index: leat_net_variant */
    leat_net_calls products;                /* of the optimizer muon; the updates share their ops */
    leat_net_graph graphs[LEAT_NET_GRAPHS];
    uint64_t uses;
    leat_net_issued issued; /* since the last step */
    bool packs_stale, no_graphs;
    char graph_failure[400]; /* of `graph: auto`; "": none */
    bool waits;              /* LEAT_GPU_SYNC: for each call, so that what fails is named */
    int64_t updates;
    int32_t loss, optimizer; /* the device's numbers for them */
    bool lib_norm;           /* a plan has a batch_norm of the libraries, which know no masks */

    /* device memory */
    void *blocks[LEAT_NET_BLOCKS];
    int32_t n_blocks;
    size_t device_bytes;
    float *arenas[LEAT_N_VALUES]; /* the average on demand */
    float *grads, *accumulated;
    char *memory; /* tensors of the program that runs */
    float *saved; /* statistics of train.program, 5 numbers per channel */
    size_t *saved_at;
    float *fixed; /* the same for one batch_norm in evaluation, or pixels of one layer_norm */
    double *partial;
    void *workspace;
    size_t workspace_bytes;
    leat_train_pack *packs, *device_packs;
    int32_t n_packs;
    float *squares[2], *product; /* of muon, for the largest matrix */
    uint8_t *copies, *grad_copies;
    leat_net_ranges pack_ranges, unpack_ranges, update_ranges;
    leat_train_step *step;
    leat_train_sums *sums;
    uint8_t *valid, *target;
    float *class_weights; /* NULL: all 1 */
    float *weights;       /* of the batch's rows; NULL: all 1 */
};

/* Floats that n take, so that what follows is aligned for the libraries. */
static inline int64_t leat_net_padded(int64_t n)
{
    return (n + 15) / 16 * 16;
}
/* Where tensor t of a program is, in device memory; NULL if t is -1 (none). */
static inline void *leat_net_address(const leat_net *net, const leat_net_program *p, int32_t t)
{
    return t == p->input_tensor ? p->input
           : t >= 0             ? net->memory + p->program->tensors[t].at
                                : NULL;
}
/* Makes the net's GPU the current device of the thread. */
static inline int leat_net_use(leat_net *net, leat_error *err)
{
    return leat_gpu_check(net->gpu, cudaSetDevice(net->gpu->number), "choosing the device", err);
}

/* --- net_loss_optimizer.c ---------------------------------------------------------------------- */

/* Sets loss and optimizer of the net, or says what does not run on a GPU. */
int leat_net_find_loss_optimizer(leat_net *net, leat_error *err);
/* Put the loss, and the options of loss and optimiser, where kernels read them. */
void leat_net_put_loss(const leat_net *net, leat_train_args *to);
void leat_net_put_optimizer(const leat_net *net, leat_train_update_args *to);

/* --- net_memory.c ------------------------------------------------------------------------------ */

/* Zeroed device memory that close frees; `what` is for the message. */
int leat_net_take(leat_net *net, size_t bytes, const char *what, void *out, leat_error *err);
/* Copies from host memory, which may go when this returns. */
int leat_net_put(leat_net *net, void *to, const void *from, size_t bytes, const char *what,
                 leat_error *err);
int leat_net_open_all(leat_net *net, leat_error *err);
void leat_net_close(leat_net *net);
const char *leat_net_kernel_name(leat_net_kernel kernel);
/* The pack of a parameter, NULL: it has none. */
const leat_train_pack *leat_net_pack_of(const leat_net *net, int32_t param);
/* The memory of these values of all parameters, made at its first use. */
int leat_net_arena(leat_net *net, leat_param_values which, float **out, leat_error *err);
/* Makes the shared workspace at least so large. */
int leat_net_workspace(leat_net *net, size_t bytes, leat_error *err);

/* --- net_plan.c -------------------------------------------------------------------------------- */

/* Appends a call with zeroed arguments; NULL and an error. */
leat_net_call *leat_net_add(leat_net_calls *calls, leat_net_kernel kernel, leat_error *err);
void leat_net_calls_close(leat_net_calls *calls);
/* Where relu(batch_norm + other) ends a residual block, NORM takes sum and relu, and NORM_GRAD the gradient of relu; a
 * convolution's gradient is added to the other one of its input. Before the program is placed. */
void leat_net_fuse(leat_program *program);
/* The plan for a number of rows, of which some may not count; a new one replaces the one unused for longest. */
int leat_net_plan_for(leat_net *net, leat_net_program *p, int64_t rows, bool masked,
                      leat_net_plan **out, leat_error *err);
unsigned leat_net_blocks(int64_t n);

/* --- net_make_layers.c ------------------------------------------------------------------------- */

/* Appends the call that renews the running statistics of plan->running. */
int leat_net_make_running(leat_net_plan *plan, leat_error *err);

/* --- net_make.c -------------------------------------------------------------------------------- */

/* Room that partial sums of a program need, in doubles, and that leat_net.fixed needs, in floats. */
void leat_net_make_sizes(const leat_net *net, const leat_program *p, size_t *partial,
                         size_t *fixed);

/* --- net_update.c ------------------------------------------------------------------------------ */

/* Index of the calls that end a training step: bit 0: first, bit 1: last, bit 2: with clipping. */
static inline int leat_net_variant(const leat_net_step *how)
{
    return (how->first ? 1 : 0) | (how->last ? 2 : 0) | (how->clip > 0 ? 4 : 0);
}
int leat_net_update_open(leat_net *net, leat_error *err);
/* The call that renews all packed copies. */
leat_net_call leat_net_pack_call(const leat_net *net);
/* weight is changed by other, see train_update.h. */
leat_net_call leat_net_arena_call(float *weight, float *other, size_t n, int32_t mode, float share);

/* --- net_graph.c ------------------------------------------------------------------------------- */

int leat_net_run(leat_net *net, const leat_net_call *call, cudaStream_t stream, leat_error *err);
/* A whole step: as a graph where that is possible. */
int leat_net_run_step(leat_net *net, leat_net_plan *plan, const leat_net_call *ingest, int variant,
                      cudaStream_t stream, leat_error *err);
void leat_net_graphs_close(leat_net *net);

/* how->phase: one of the two passes. */
int leat_net_part_run(leat_net *net, const leat_net_plan *plan, const leat_net_call *ingest,
                      const leat_net_step *how, cudaStream_t stream, leat_error *err);
/* What how->output and how->input_grad ask for, after the pass. */
int leat_net_part_give(leat_net *net, const leat_net_program *p, int64_t rows,
                       const leat_net_step *how, cudaStream_t stream, leat_error *err);

/* --- net_cuda.c -------------------------------------------------------------------------------- */

const leat_backend *leat_net_backend(const leat_net_host *host, leat_error *err);

#endif
