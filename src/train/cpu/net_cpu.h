/* SPDX-License-Identifier: MIT
 *
 * net_cpu.h: internals of the CPU backend. net_cpu.c opens nets, cpu_step.c runs steps, cpu_team.c has the threads,
 * cpu_plan.c compiles programs, cpu_fold.c folds batch_norm into convolutions, cpu_prims.c, cpu_products.c,
 * cpu_norm.c and cpu_pool.c are the primitives, cpu_update.c sums gradients and updates weights.
 *
 * DESIGN: a training batch is cut into micro-batches of rows, whose number belongs to the model and not to the
 * machine. A thread takes a micro-batch and runs ops over it; its oneDNN work stays on that thread. The gradient
 * of the batch is a fixed tree of sums over the micro-batches, and the statistics of batch_norm are combined in micro-batch
 * order, so weights are the same bits for any number of threads. Threads meet only where a result needs all
 * micro-batches: at batch_norm and before gradients are summed. So there is no barrier per layer. A waiting thread
 * spins briefly, then sleeps.
 *
 * Weights, gradients and optimiser states are arenas of floats in the plain layouts of leat_param. Convolutions read
 * packed copies in the layout that oneDNN chose (in bfloat16 where the model computes in it), and dense layers in
 * bfloat16 plain ones, renewed when weights have changed. All other tensors have one layout: channels innermost.
 *
 * A program without batch_norm uses one memory per thread, others one per micro-batch: a micro-batch then waits in the
 * middle of its work while the thread works on another. */
#ifndef LEAT_NET_CPU_H
#define LEAT_NET_CPU_H

#include "cpu_loops.h"
#include "cpu_team.h"
#include "onednn.h"
#include "train/program.h"
#include "train/ranks/ranks_early.h"
#include "train/ranks/ranks_sum.h"

/* A program compiled for a number of rows of a micro-batch. */
typedef struct leat_cpu_plan {
    int64_t rows; /* 0: none */
    uint64_t last_use;
    leat_dn_primitive *
        *primitives; /* of each op; NULL: it is no convolution and no product in bfloat16 */
} leat_cpu_plan;

enum { LEAT_CPU_MAX_PLANS = 4 };

/* Ops from `first` on, until the threads meet in the middle of op `meets`, or (-1) the pass ends: the forward one
 * before LOSS in a part of a model without the loss, else all. */
typedef struct leat_cpu_segment {
    int32_t first, meets;
} leat_cpu_segment;

typedef struct leat_cpu_program {
    leat_program *program;
    leat_cpu_segment *segments;
    int32_t n_segments, n_forward; /* those before that LOSS; all where there is none */
    int64_t most_rows;             /* of a micro-batch */
    uint64_t uses;
    leat_cpu_plan plans[LEAT_CPU_MAX_PLANS];
} leat_cpu_program;

/* A packed copy of a convolution's weights, or a plain one of a dense layer's in bfloat16 (layout and copy NULL). */
typedef struct leat_cpu_pack {
    int32_t param;
    int32_t norm;         /* the layer of the batch_norm that they include; -1: none */
    float *factor, *bias; /* then, of each output channel; else NULL */
    const leat_dn_layout *layout;
    leat_dn_primitive *copy;
    void *data;    /* NULL until leat_cpu_plan_memory() */
    float largest; /* absolute value of the weights that it was made from */
} leat_cpu_pack;

/* Where the gradient of a trained parameter lies in the arenas of the micro-batches. */
typedef struct leat_cpu_grad {
    size_t at, n; /* floats, multiples of 16 */
    const leat_dn_layout *layout;
    leat_dn_primitive *copy; /* to the plain layout; NULL: it is plain */
} leat_cpu_grad;

/* A range of a trained parameter, at most one parameter long. */
typedef struct leat_cpu_block {
    int32_t param;
    size_t from, n;
} leat_cpu_block;

/* What NORM and NORM_GRAD share. */
typedef struct leat_cpu_saved {
    int64_t n_channels;
    /* [micro-batch][3 rows of n_channels]: origin, sum, squares; of gradients: -, sum, dot. */
    double *sums;
    double *inverse; /* 1 / sqrt(variance + epsilon) */
    /* Rows of leat_cpu_wide(n_channels): center, factor, addend of the forward pass; factor, factor_x, addend
     * of the backward pass. */
    float *factors;
} leat_cpu_saved;

/* One thread's scratch memory. */
typedef struct leat_cpu_scratch {
    char *dn; /* of oneDNN, dn_bytes */
    size_t dn_bytes;
    float *floats; /* leat_net.scratch_floats */
    int rc;        /* of this job */
    leat_error error;
    size_t bad_gradient; /* of this job: floats before a sum that is not finite; SIZE_MAX: none */
    int32_t bad_param;   /* of this job: parameter that its update made not finite; -1: none */
} leat_cpu_scratch;

/* What threads do together. */
typedef struct leat_cpu_job {
    const leat_net_rows *batch;
    const leat_net_step *how;
    leat_cpu_program *program;
    int32_t n_micro;
    int32_t first,
        end; /* micro-batches of this process; all where there are no ranks, or they do not share the job */
    bool shared;        /* all ranks do it together, … */
    bool overlaps;      /* … and exchange gradients meanwhile */
    int32_t n_segments; /* from leat_net.segment on */
    bool inspect;       /* the loss was not finite: look for the first op whose output is not */
} leat_cpu_job;

struct leat_net {
    const leat_model *model;
    const leat_cpu_loops *loops;
    leat_dn *dn;
    leat_cpu_team team;
    leat_cpu_scratch *scratch; /* of each thread */
    size_t scratch_floats, dn_bytes;
    leat_cpu_program train, even; /* even: evaluation */
    char **memory;                /* of each micro-batch, or of each thread */
    size_t memory_bytes;
    bool by_thread;               /* of `train`; evaluation always uses one memory per thread */
    float *arenas[LEAT_N_VALUES]; /* arenas as leat_model.params has it; the average on demand */
    float *gradient;              /* plain gradients of convolutions, the same places */
    float **grads;             /* of each micro-batch; with ranks NULL but for those of this one */
    int32_t first, n_own;      /* its micro-batches of training: all without ranks */
    leat_ranks_sum ranks_sum;  /* with ranks */
    leat_ranks_early *overlap; /* NULL: gradients are exchanged when all are there; else … */
    int32_t *ready;      /* … after each op of `train`, chunks whose gradients are there, … */
    atomic_int *passed;  /* … so many in each micro-batch of this rank, … */
    atomic_int summed;   /* … and those of which its micro-batches are summed, … */
    atomic_flag summing; /* … by a thread that has this */
    int failed;          /* of this step: the error that ranks agreed on … */
    leat_error error;    /* … and that */
    float *accumulated;  /* sum over several batches; NULL: no accumulation */
    size_t n_grad_floats;
    leat_cpu_grad *grad; /* of each parameter */
    leat_cpu_block *blocks;
    int32_t n_blocks;
    leat_cpu_pack *packs;
    int32_t n_packs;
    bool counts;                   /* while opening: plans allocate no packs and no scratch */
    bool packs_stale, folds_stale; /* packs; those with a batch_norm, which only evaluation reads */
    leat_cpu_saved *saved;         /* of train.program */
    double *norms;                 /* of each block: squares of gradient and of weight */
    float *matrix;                 /* scratch of update_matrix, matrix_floats for each thread */
    size_t matrix_floats;
    float grad_scale; /* of this update: the step's share, less where it is clipped */
    int64_t updates;
    leat_net_sums sums, *micro_sums;
    int32_t *first_bad; /* of each micro-batch: that op; the number of ops if there is none */
    int32_t
        bad_norm; /* layer of a batch_norm whose running statistics would not be finite; -1: none */
    leat_cpu_job job;
    int32_t segment; /* of the job, where all threads are */
};

/* One op over one micro-batch. */
typedef struct leat_cpu_call {
    leat_net *net;
    const leat_prim_op *op;
    const leat_model_layer *layer; /* NULL where op->layer is -1 */
    const leat_cpu_plan *plan;
    leat_dn_primitive *primitive;
    int32_t micro, thread;
    int64_t rows, first_row;
    const uint8_t *valid; /* of its rows; NULL: all count */
    int64_t n_valid;
    const leat_program_tensor *in_spec[LEAT_PRIM_MAX_IN], *out_spec[LEAT_PRIM_MAX_OUT];
    void *in[LEAT_PRIM_MAX_IN], *out[LEAT_PRIM_MAX_OUT];
    leat_error *err;
} leat_cpu_call;

/* A row of the table of primitives. Returns LEAT_OK or an error. */
typedef struct leat_cpu_prim {
    int (*run)(const leat_cpu_call *call);
    /* Of primitives that look at the whole batch: run() over all micro-batches, then combine() once, then finish()
     * over all micro-batches. */
    void (*combine)(leat_net *net, const leat_prim_op *op);
    int (*finish)(const leat_cpu_call *call);
} leat_cpu_prim;

/* Each row is in the file that has its functions. */
#define LEAT_CPU_PRIM_DECLARE(NAME, name, in_place) extern const leat_cpu_prim leat_cpu_prim_##name;
LEAT_PRIM_LIST(LEAT_CPU_PRIM_DECLARE)
#undef LEAT_CPU_PRIM_DECLARE
extern const leat_cpu_prim *const leat_cpu_prims[LEAT_N_PRIMS];

/* --- helpers of primitives ------------------------------------------------------------------- */

/* Pieces of at most LEAT_CPU_PIECE floats, or one pixel: of this many pixels. */
enum { LEAT_CPU_PIECE = 4096 };
static inline size_t leat_cpu_piece(size_t n_channels)
{
    return n_channels < LEAT_CPU_PIECE ? LEAT_CPU_PIECE / n_channels : 1;
}
/* n elements of a tensor from element `at` on as floats: in place, or converted into `to`. */
const float *leat_cpu_floats(const leat_net *net, const void *tensor, leat_prim_type type,
                             size_t at, size_t n, float *to);
/* leat_cpu_floats_out: where to write floats that belong at element `at`: in place, or in `to`. leat_cpu_put:
 * then converts them into the tensor, if they are in `to`. */
float *leat_cpu_floats_out(void *tensor, leat_prim_type type, size_t at, float *to);
void leat_cpu_put(const leat_net *net, void *tensor, leat_prim_type type, size_t at, size_t n,
                  const float *from);
/* The k-th buffer of LEAT_CPU_PIECE floats (or one pixel's) of a thread's scratch. */
enum { LEAT_CPU_BUFFERS = 6 };
float *leat_cpu_buffer(const leat_cpu_call *call, int k);
/* Values of parameter k of the op's layer, and the micro-batch's gradient of it; NULL: the layer has none, or it is frozen. */
float *leat_cpu_weight(const leat_cpu_call *call, int32_t k);
float *leat_cpu_gradient(const leat_cpu_call *call, int32_t k);

/* Adds the losses of the micro-batch's rows to its sums, and writes the gradient unless NULL. */
void leat_cpu_loss_sums(const leat_cpu_call *call, const float *logits, float *grad);

/* --- cpu_step.c ------------------------------------------------------------------------------ */

/* See leat_backend.step. */
int leat_cpu_step(leat_net *net, leat_stream *stream, const leat_net_rows *batch,
                  const leat_net_step *how, leat_step_times *times, leat_error *err);
/* A thread's part of leat_net.job; owner: the net. */
void leat_cpu_step_work(void *owner, int32_t thread);

/* --- cpu_plan.c ------------------------------------------------------------------------------ */

int leat_cpu_no_memory(leat_error *err, size_t bytes);
/* Zeroed memory at 64 bytes; NULL and an error. */
void *leat_cpu_alloc(size_t bytes, leat_error *err);
int leat_cpu_program_open(leat_net *net, leat_cpu_program *p, bool training, int64_t most_rows,
                          leat_error *err);
void leat_cpu_program_close(leat_cpu_program *p);
/* The plan for a number of rows; a new one replaces the one unused for longest. Not while threads work. */
int leat_cpu_plan_for(leat_net *net, leat_cpu_program *p, int64_t rows, leat_cpu_plan **out,
                      leat_error *err);
/* Memory for the packed copies and the threads' scratch of all plans made so far. */
int leat_cpu_plan_memory(leat_net *net, leat_error *err);
/* The packed copy of a parameter, with the batch_norm `norm` or -1, in a layout; NULL: none yet. */
leat_cpu_pack *leat_cpu_pack_find(const leat_net *net, int32_t param, int32_t norm,
                                  const leat_dn_layout *layout);
size_t leat_cpu_pack_bytes(const leat_net *net, const leat_cpu_pack *pack);
void leat_cpu_pack_close(leat_cpu_pack *pack);

/* --- cpu_fold.c ------------------------------------------------------------------------------ */

/* Makes batch_norms of a program for evaluation part of the convolutions before them. Before placing. */
void leat_cpu_fold(leat_program *program);
/* The weights of a convolution with its batch_norm, in the plain layout; and pack->bias. */
void leat_cpu_fold_weights(const leat_net *net, const leat_cpu_pack *pack, float *weights);

/* --- cpu_inspect.c --------------------------------------------------------------------------- */

/* Whether the losses of all micro-batches are finite numbers. */
bool leat_cpu_loss_is_finite(const leat_net *net);
/* Runs the job again to find out where the first value that is not finite comes from; weights do not change.
 * Returns LEAT_E_DATA, with the name of the layer. */
int leat_cpu_find_bad(leat_net *net, leat_error *err);
/* After op i of a micro-batch, while leat_cpu_find_bad() runs. */
void leat_cpu_inspect(const leat_cpu_call *call, int32_t i);
/* LEAT_OK, or LEAT_E_DATA where the micro-batch's rows of the model's input hold a value that is not finite. */
int leat_cpu_check_input(const leat_cpu_call *call);
/* The same where a sum of the call's convolution may not be finite, or the largest sums may be near that. The relu that
 * oneDNN computes with the convolution makes 0 of what is no number, so nobody would see it. */
int leat_cpu_check_conv(const leat_cpu_call *call, const leat_cpu_pack *pack, const float *bias);
/* After the job: LEAT_OK, or LEAT_E_DATA where statistics, gradients or updated values are not finite. */
int leat_cpu_check_update(const leat_net *net, leat_error *err);
/* Inside of the job, when all gradients are summed: whether these are finite. */
bool leat_cpu_gradients_are_finite(const leat_net *net);

/* --- cpu_ranks.c ----------------------------------------------------------------------------- */

/* The error of the first thread that failed, which goes to net->error. */
int leat_cpu_ranks_own_error(leat_net *net);
/* True where no thread, and no rank as far as is known, has failed. */
bool leat_cpu_ranks_well(const leat_net *net);
/* Inside of a shared job, between two meetings: all ranks give `bytes` for each of their micro-batches, and get those of
 * all in place. Agrees on errors. */
void leat_cpu_ranks_share(leat_net *net, void *all, size_t bytes);
/* A thread's part of the sum of all gradients. */
void leat_cpu_ranks_sum(leat_net *net, int32_t thread);
/* With an overlap: before the job; a thread is through with op i of a micro-batch; after the last segment, its part of what is
 * left to do until the gradients of all ranks are summed. */
void leat_cpu_ranks_begin(leat_net *net);
void leat_cpu_ranks_passed(leat_net *net, int32_t thread, int32_t micro, int32_t i);
void leat_cpu_ranks_finish(leat_net *net, int32_t thread);
/* The op after which the gradient of a parameter is there. */
int32_t leat_cpu_ranks_last_op(const leat_net *net, int32_t param);
int leat_cpu_ranks_open(leat_net *net, leat_error *err);
void leat_cpu_ranks_close(leat_net *net);

/* --- cpu_update.c ---------------------------------------------------------------------------- */

/* Places of gradients and sizes; after the full batch's plan is made. */
void leat_cpu_update_count(leat_net *net);
/* Memory of gradients, and the list of blocks. */
int leat_cpu_update_open(leat_net *net, leat_error *err);
/* A thread's part of summing gradients and updating weights. */
void leat_cpu_update(leat_net *net, int32_t thread);
/* to = sum over micro-batches first … first + n - 1 of floats [at, at + length); buffers: length floats per level. */
void leat_cpu_update_tree(const leat_net *net, int32_t first, int32_t n, size_t at, size_t length,
                          float *to, float *buffers);
/* The sum of floats [at, at + length) is there, or belongs there. */
float *leat_cpu_update_sum(const leat_net *net);
void leat_cpu_update_check(leat_net *net, int32_t thread, size_t at, size_t length);

#endif
