/* SPDX-License-Identifier: MIT
 *
 * train.h: the built-in trainer: MLPs and CNNs, residual ones too, from the `train` part of a config. It uses
 * the pipeline only through the public headers, like any training loop.
 *
 * Images are [height, width, channels], float32 or uint8; uint8 is converted to float32 without
 * scaling (0 … 255). Targets of softmax_cross_entropy are class numbers from 0, or float32 weights of all
 * classes (one_hot, mixup). Masked rows (leat_batch_valid) have no weight: loss, metrics, gradients and the
 * statistics of batch_norm are those of the batch without them.
 *
 * On the CPU, oneDNN does convolutions and matrix products. A batch is cut into train.micro_batches parts, and a
 * thread computes whole parts. Threads synchronise for the statistics of batch_norm and for the sum of the
 * gradients, both in a fixed order. A waiting thread soon sleeps, so that the pipeline's workers can use
 * its core. The same seed, batches, micro_batches, CPU and oneDNN give the same weights, bit for bit, for any
 * number of threads.
 *
 * On a GPU, cuDNN and cuBLASLt do convolutions and matrix products. A step, also of evaluation, is only
 * enqueued, as one CUDA graph where that is possible, and the host never waits for it. Its weights are close
 * to the CPU's but not the same bits. */
#ifndef LEAT_TRAIN_H
#define LEAT_TRAIN_H

#include "leat/loader.h"
#include "leat/meter.h"
#include "leat/ranks.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_trainer leat_trainer;

typedef struct leat_trainer_info {
    const char *device;       /* from train.device, or the device given */
    int64_t n_parameters;     /* trained ones */
    int64_t n_frozen;         /* others, without running statistics */
    double flops_per_sample;  /* forward + backward + update of one sample, multiply-add = 2 */
    int64_t epochs;           /* train.epochs */
    int64_t n_outputs;        /* values that the model gives for a sample */
    int32_t simulated;        /* 1: no arithmetic is done, only time is modelled */
    const char *simulated_by; /* "device sim", "layer 'NAME' on device sim"; NULL: nothing is */
    leat_expect expect;       /* conditions on the target and weights: for leat_loader_options */
    int32_t input;            /* index of the tensor that the model reads */
    leat_precision precision; /* train.precision */
    const char *note; /* remarks that are no errors, clauses with "; " between them; NULL: none */
    /* Where layers name devices: how often values cross between devices in a training step, and their bytes, with a
     * full batch and no masked rows. */
    int64_t crossings, crossed_bytes;
    /* train.checkpoint, see leat/checkpoint.h; the trainer itself writes none. */
    const char *checkpoint_dir; /* NULL: none are wanted */
    int64_t checkpoint_steps, checkpoint_keep;
    double checkpoint_minutes;
    const char *checkpoint_best; /* metric by which the best weights are kept; NULL: they are not */
} leat_trainer_info;

/* X(name, text, field): what evaluations measure; configs have the text. Only the loss is better when it is lower. Those
 * from precision on are means over classes, see leat/score.h. */
#define LEAT_METRIC_LIST(X)                                                                        \
    X(LOSS, "loss", loss)                                                                          \
    X(ACCURACY, "accuracy", accuracy)                                                              \
    X(PRECISION, "precision", precision)                                                           \
    X(RECALL, "recall", recall)                                                                    \
    X(F1, "f1", f1)                                                                                \
    X(AUC, "auc", auc)

typedef enum leat_metric {
#define LEAT_METRIC_ENUM(name, text, field) LEAT_METRIC_##name,
    LEAT_METRIC_LIST(LEAT_METRIC_ENUM)
#undef LEAT_METRIC_ENUM
        LEAT_N_METRICS
} leat_metric;

typedef struct leat_metrics {
    uint64_t samples;
    double loss;     /* mean over samples, of weight × loss; NaN on a simulated device */
    double accuracy; /* share of correct predictions; NaN if the loss has none */
    /* Of an evaluation for which one of them was asked; else NaN. auc: only if it was itself. */
    double precision, recall, f1, auc;
} leat_metrics;

/* Builds the model of config's `train` part for the plan's tensors ("image", or the first tensor that is nothing
 * else, is the input, "label" the target; train.input / train.target name others; train.sample_weight names one of weights).
 * device   where to run; borrowed; leat_trainer_open_device() opens the one the config names
 * out      owned by the caller; close before the device
 * returns  LEAT_OK, LEAT_E_CONFIG with the place and the shapes, LEAT_E_UNSUPPORTED, LEAT_E_NOMEM (on the CPU
 *          also, before anything is allocated, when a step needs more than the process can use)
 * threads  a trainer is used by one thread at a time */
LEAT_API int leat_trainer_open(const leat_config *config, const leat_plan *plan,
                               leat_device *device, leat_trainer **out, leat_error *err);
/* The same, to evaluate and predict only: takes the memory of evaluation, on the CPU, however large the plan's batches are
 * for a training step. leat_trainer_step() and leat_trainer_repeat() return LEAT_E_ARGUMENT. */
LEAT_API int leat_trainer_open_evaluation(const leat_config *config, const leat_plan *plan,
                                          leat_device *device, leat_trainer **out, leat_error *err);
/* As leat_trainer_open(), to train together with other processes (leat/ranks.h), on the CPU. All of them call it, and
 * from then on every function that trains or evaluates, in the same order; an error of one is then the error of all.
 * Their weights are the same, and those of one process that trains alone, bit for bit.
 * plan     with `engine: {rank: …, ranks: …}` of this process. Plans of evaluation have neither: every rank reads their
 *          whole batches, and computes its part of the rows where no metric over classes is asked for. A part of the
 *          config without `engine` takes that of the top, so write `engine: {}` there
 * ranks    that this process has joined; borrowed; NULL: it trains alone
 * returns  also LEAT_E_CONFIG: the number of ranks does not divide train.micro_batches; LEAT_E_ARGUMENT: the plan is of
 *          another rank, or another rank has another model; LEAT_E_IO: a rank has ended */
LEAT_API int leat_trainer_open_ranks(const leat_config *config, const leat_plan *plan,
                                     leat_device *device, leat_ranks *ranks, leat_trainer **out,
                                     leat_error *err);
/* Checks that batches of another plan fit: the same input, target and weights at the same indexes, in every batch,
 * classes that are known as leat_loader_check() says, whole batches (engine.ranks 1), and an end of the pipeline.
 * Counts the outputs of the plan's samples that train.metrics keeps (leat_train_memory.metrics).
 * Names may differ, but none of them may stand at another index: it could be another tensor of the same type.
 * Call it before an evaluation makes its first batch. Returns LEAT_OK, LEAT_E_CONFIG, LEAT_E_DATA; LEAT_E_NOMEM: those
 * outputs are more than can be used beside the model */
LEAT_API int leat_trainer_check(leat_trainer *trainer, const leat_plan *plan, leat_error *err);
/* From now on checkpoints know the files of this plan (leat_plan_fingerprint()), so that leat_checkpoint_resume() tells others, as
 * "PART.files" in `changed`. Those of the plan that the trainer was opened for are known as "data". Of "eval" they also know
 * leat_plan_content(), as "eval.content": decisions begin anew where it is another one.
 * part     one word, such as "eval" for the plan of evaluations, on which decisions of the run depend
 * returns  LEAT_OK, LEAT_E_ARGUMENT, LEAT_E_NOMEM */
LEAT_API int leat_trainer_add_files(leat_trainer *trainer, const char *part, const leat_plan *plan,
                                    leat_error *err);
/* Finds the mistakes of `train`, and those of `eval` beside it, without a device and without allocating a model.
 * eval     the plan of the config's `eval` part; NULL: there is none
 * note     gets what leat_trainer_info.note would be; "": none; NULL if size is 0
 * size     bytes of note; 1000 are enough
 * returns  LEAT_OK; LEAT_E_CONFIG with the place; LEAT_E_DATA with a row, as leat_loader_check(). A device that is
 *          named rightly but not in this machine is no error
 * owner    keeps nothing
 * threads  any */
LEAT_API int leat_trainer_check_config(const leat_config *config, const leat_plan *plan,
                                       const leat_plan *eval, char *note, size_t size,
                                       leat_error *err);
/* Builds the model for samples of a shape, without data: to count its parameters, operations and memory. The target
 * is what the loss takes.
 * input       float32 or uint8, without unknown dims
 * batch_size  rows, 1 to 2^24
 * out         owned by the caller; close before the device, which is borrowed
 * returns     as leat_trainer_open()
 * threads     a trainer is used by one thread at a time */
LEAT_API int leat_trainer_open_shape(const leat_config *config, const leat_shape *input,
                                     int64_t batch_size, leat_device *device, leat_trainer **out,
                                     leat_error *err);
/* Opens the device that train.device names (default "cpu"). */
LEAT_API int leat_trainer_open_device(const leat_config *config, leat_device **out,
                                      leat_error *err);
/* Frees; before the device is closed. */
LEAT_API void leat_trainer_close(leat_trainer **trainer);
/* Size and device; valid until the trainer is closed. */
LEAT_API const leat_trainer_info *leat_trainer_get_info(const leat_trainer *trainer);
/* Why steps on a GPU are launched call by call though `train.graph: auto` would record them as CUDA graphs: the text of
 * the recording's error; "": they are not, or the device knows no graphs. Valid until the trainer is closed. */
LEAT_API const char *leat_trainer_graph_failure(const leat_trainer *trainer);

typedef struct leat_layer_info {
    const char *name, *kind;
    const char *device;                   /* that computes it */
    leat_shape shape;                     /* of its output for one sample */
    int64_t n_parameters;                 /* trained ones */
    int64_t n_frozen;                     /* others, without running statistics */
    double forward_flops, backward_flops; /* of one sample, multiply-add = 2 */
} leat_layer_info;

/* Bytes that a training step works on. */
typedef struct leat_train_memory {
    int64_t weights, states, average; /* states: of the optimiser */
    int64_t gradients;                /* of all micro-batches */
    int64_t activations;              /* and their gradients, of a full batch */
    /* Packed weights, sums, scratch of threads, what crosses between devices; without the scratch of devices that do
     * not tell. */
    int64_t workspace;
    int64_t metrics; /* outputs kept for AUC, of the largest plan that leat_trainer_check() took */
    int64_t total;   /* the sum of the above */
    /* What could be used when the trainer was opened, and the rule that gave it ("physical memory"); 0: a device has
     * memory of its own. On the CPU, a trainer that needs more is refused, and so are layers there that do. */
    int64_t limit;
    char limit_reason[200];
} leat_train_memory;

/* The i-th layer from 0. Returns LEAT_OK, or LEAT_E_END past the last. Its texts are valid until the trainer
 * is closed. */
LEAT_API int leat_trainer_layer(const leat_trainer *trainer, int32_t i, leat_layer_info *out);
/* Returns LEAT_OK, LEAT_E_ARGUMENT, LEAT_E_NOMEM. */
LEAT_API int leat_trainer_memory(const leat_trainer *trainer, leat_train_memory *out,
                                 leat_error *err);

/* One forward + backward + update. Owns the batch from now on, even when it fails, and releases it when
 * the device is done. On the CPU the step is done on return, and where layers name devices. On other devices it
 * is enqueued, and the host may be ahead by as many steps as the loader has batches, at most 64. A batch may be short.
 * returns  LEAT_OK; LEAT_E_DATA: a label out of range or an impossible weight, with its row, or (on the CPU) an
 *          input, a loss, a gradient or a statistic that is not a finite number, with the layer; weights did not
 *          change (running statistics of batch_norm may have), unless the message says that the update made them
 *          so: then load saved ones
 *          (not checked on a simulated device; on a GPU leat_trainer_metrics() reports an invalid label, and
 *          its row gives no gradient); LEAT_E_ARGUMENT: a batch of another plan, which does not fit or has more rows than
 *          batches of the trainer's, or on another device than the trainer; LEAT_E_DEVICE, LEAT_E_NOMEM
 * signals  on the CPU, a handler that may run in this thread during a step needs a stack of its own (sigaltstack() and
 *          SA_ONSTACK): oneDNN lets the stack pointer point into its buffers, and the frame would overwrite them */
LEAT_API int leat_trainer_step(leat_trainer *trainer, leat_batch *batch, leat_error *err);

/* Before the first step: the schedule of the learning rate begins at this batch of the run (from 0), as it does
 * after leat_checkpoint_resume(). The optimizer's state and its own count of updates begin anew.
 * returns  LEAT_OK; LEAT_E_ARGUMENT: batch < 0, or steps were made */
LEAT_API int leat_trainer_start_at(leat_trainer *trainer, int64_t batch, leat_error *err);

/* Before the first step: decides the weights of layers with `init: whiten` by all remaining batches of a loader, whose
 * plan leat_trainer_check() takes; masked rows are left out. Otherwise the first batch of training, which may be
 * augmented, decides them. Does nothing if no layer waits for that: leat_trainer_whitens() is 0.
 * returns  LEAT_OK; an error of the loader; LEAT_E_DATA: it has no images; LEAT_E_ARGUMENT: a batch of another plan, or on
 *          another device; LEAT_E_DEVICE, LEAT_E_NOMEM
 * owner    the loader stays the caller's */
LEAT_API int leat_trainer_whiten(leat_trainer *trainer, leat_loader *loader, leat_error *err);
/* 1: a layer with `init: whiten` has no weights yet, neither by images nor from a file. */
LEAT_API int32_t leat_trainer_whitens(const leat_trainer *trainer);

/* n steps on one batch that stays on the device, to measure them: as leat_trainer_step(), with times per step, but
 * their learning rate is 0. So they cost as much, and the loss does not diverge however many they are. A trainer that has
 * repeated is no longer for training: states of the optimizer and running statistics move, and after steps of training
 * lars, by its velocity, and `lookahead` still move weights. The batch is released after the last one.
 * n        0 or more; fewer: LEAT_E_ARGUMENT */
LEAT_API int leat_trainer_repeat(leat_trainer *trainer, leat_batch *batch, int64_t n,
                                 leat_error *err);

/* Waits for all enqueued steps and gives the mean loss and accuracy over the training samples since
 * the last call, each computed before its step's update; NaN if there were none. */
LEAT_API int leat_trainer_metrics(leat_trainer *trainer, leat_metrics *out, leat_error *err);
/* The same without resetting, where a run ends within an epoch: a checkpoint has the sums, and a resumed run goes on with
 * them: its mean of the epoch may differ in the last bits from that of a run that was not stopped. */
LEAT_API int leat_trainer_metrics_within(leat_trainer *trainer, leat_metrics *out, leat_error *err);

/* The same without resetting and without waiting, for progress reports. NaN on devices other than the CPU,
 * where it is not known without waiting. */
LEAT_API void leat_trainer_so_far(const leat_trainer *trainer, leat_metrics *out);

/* Times of finished steps in order, oldest first, each returned once; waits for enqueued steps.
 * Returns how many were written (≤ n). The last 65,536 steps are kept. */
LEAT_API size_t leat_trainer_times(leat_trainer *trainer, leat_step_times *out, size_t n);

/* Begins a recording, which leat_trainer_recorded() ends, and waits for all steps. For some tens of steps, because a
 * record takes 32 bytes for each kernel and launch. One at a time in a process.
 * returns  LEAT_OK; LEAT_E_UNSUPPORTED: the device keeps no records, or its library for them is missing: the message
 *          says why; LEAT_E_BUSY; LEAT_E_DEVICE */
LEAT_API int leat_trainer_record(leat_trainer *trainer, leat_error *err);
/* Ends the recording and waits for all steps. The first `settle` steps since its begin, 1 or more, are not measured.
 * out      if nothing was measured, n_steps is 0, and why says why */
LEAT_API void leat_trainer_recorded(leat_trainer *trainer, int64_t settle, leat_recorded *out);

/* Evaluates all remaining batches of a loader: forward only, dropout is off, batch_norm uses its
 * running statistics. The loader's plan must give the same tensors in the same order as the
 * plan the trainer was opened with, and whole batches (engine.ranks 1): LEAT_E_ARGUMENT. Does not change
 * leat_trainer_metrics() and times. */
LEAT_API int leat_trainer_evaluate(leat_trainer *trainer, leat_loader *loader, leat_metrics *out,
                                   leat_error *err);

/* The same, and calls stop(user) before each batch: if it is not 0, returns LEAT_E_CANCELED, and *out covers
 * the batches so far. stop: NULL: never stops */
LEAT_API int leat_trainer_evaluate_until(leat_trainer *trainer, leat_loader *loader,
                                         int (*stop)(void *user), void *user, leat_metrics *out,
                                         leat_error *err);

/* What an evaluation decides. */
typedef struct leat_train_decision {
    int32_t better;  /* 1: the best so far, by train.checkpoint.best: its weights should be kept */
    int32_t stop;    /* 1: train.stop says that the run should end */
    int32_t lowered; /* 1: schedule `plateau` lowered the learning rate from the next step on */
    double best;     /* the best evaluation's metric, if there is one: best_batch */
    int64_t best_batch; /* batches of the run before it; -1: none yet, or not wanted */
} leat_train_decision;

/* Takes in the evaluation after an epoch, for train.checkpoint.best, train.stop and the schedule `plateau`. A metric
 * that is not a finite number is never better. Checkpoints hold what it counts, so a resumed run decides as one that
 * was not stopped. On a simulated device nothing is decided, nor where batches have made no update yet
 * (train.accumulate).
 * metrics  of leat_trainer_evaluate(), after the last step of the epoch
 * returns  LEAT_OK, LEAT_E_ARGUMENT */
LEAT_API int leat_trainer_decide(leat_trainer *trainer, const leat_metrics *metrics,
                                 leat_train_decision *out, leat_error *err);
/* After a decision that was `better`, where its weights could not be kept: the evaluation before is the best one again,
 * for later ones and checkpoints. *out as leat_trainer_decide() gave it: better, best and best_batch are changed.
 * returns  LEAT_OK, LEAT_E_ARGUMENT */
LEAT_API int leat_trainer_decide_unkept(leat_trainer *trainer, leat_train_decision *out,
                                        leat_error *err);
/* The learning rate of the next update, after the schedule; 0 for NULL. */
LEAT_API double leat_trainer_learning_rate(const leat_trainer *trainer);

/* The model's outputs for a held batch: forward only, as in evaluation; waits for them. The batch stays held.
 * Does not change leat_trainer_metrics() and times. Targets are checked but have no other effect.
 * out      rows × n_outputs values: what the last layer gives
 * returns  LEAT_OK; LEAT_E_DATA: a label out of range; LEAT_E_ARGUMENT: a batch of another plan;
 *          LEAT_E_DEVICE; LEAT_E_NOMEM; LEAT_E_UNSUPPORTED on a simulated device */
LEAT_API int leat_trainer_predict(leat_trainer *trainer, leat_batch *batch, float *out,
                                  leat_error *err);

/* Converts outputs to probabilities in place, by the loss's function (softmax or sigmoid). Returns 1; 0 if
 * the loss has no probabilities: nothing changed. The one output of binary_cross_entropy becomes the
 * probability of class 1. */
LEAT_API int32_t leat_trainer_probabilities(const leat_trainer *trainer, float *outputs,
                                            int64_t rows);

/* Saves the weights as a safetensors file (written under another name, then renamed), and loads them. Names are
 * "LAYER.KIND.PART" ("0.conv2d.weight"); conv2d weights are [height, width, in, out], dense weights
 * [in, out], batch_norm has scale, shift and the running mean and variance. With `train.average:
 * ema` the average is saved. The optimiser's state is not; leat/checkpoint.h saves it. Loading also takes
 * checkpoints (the average of the weights with `ema`) and files of PyTorch, with its names and
 * layouts ("conv1.weight" [out, in, height, width], "bn1.running_mean"). It checks all names and shapes
 * before it changes anything, and the digest that saved files have.
 * returns  LEAT_OK, LEAT_E_IO, LEAT_E_DATA (not such a file, or of another model), LEAT_E_NOMEM,
 *          LEAT_E_UNSUPPORTED on a simulated device, which has no weights */
LEAT_API int leat_trainer_save(leat_trainer *trainer, const char *path, leat_error *err);
LEAT_API int leat_trainer_restore(leat_trainer *trainer, const char *path, leat_error *err);
/* Compares the names of n classes, in the order of their labels, with those of the data that the restored weights, or
 * those of train.weights where the last layer's were taken, were trained on. Saved weights and checkpoints keep them, if the source of the plan knows them; other files have none.
 * returns  LEAT_OK, also if there are none; LEAT_E_CONFIG with the first class that has two names */
LEAT_API int leat_trainer_check_classes(const leat_trainer *trainer, const char *const *names,
                                        int64_t n, leat_error *err);

/* X(name, text): what became of a tensor of train.weights. */
#define LEAT_LOADED_LIST(X)                                                                        \
    X(TAKEN, "taken")                 /* the model has the file's values */                        \
    X(SKIPPED, "skipped")             /* it fits, but `skip` names it */                           \
    X(UNFIT, "another shape or type") /* so the model has its initial values */                    \
    X(NEW, "not in the file")         /* the same */                                               \
    X(UNUSED, "not in the model")
typedef enum leat_loaded {
#define LEAT_LOADED_ENUM(name, text) LEAT_LOADED_##name,
    LEAT_LOADED_LIST(LEAT_LOADED_ENUM)
#undef LEAT_LOADED_ENUM
} leat_loaded;
/* The text of one; static storage. */
LEAT_API const char *leat_loaded_name(leat_loaded state);

/* One tensor, of the model or of the file. */
typedef struct leat_loaded_info {
    const char *name; /* in the file; of one that is not there, as it would be there */
    leat_loaded state;
    const char *model, *file; /* type and shape there, "F32 [10, 512]"; "": it is not there */
} leat_loaded_info;

/* Loads the weights of train.weights, now. Otherwise the first step, evaluation, prediction or save does. Nothing happens
 * where the config has none, on a simulated device, and after leat_trainer_restore() or leat_checkpoint_resume(). No
 * parameter changes unless LEAT_OK.
 * returns  LEAT_OK; LEAT_E_CONFIG: the file and the model differ in what no `skip` names; LEAT_E_DATA: a damaged file, or
 *          a value that is not a finite number; LEAT_E_IO; LEAT_E_NOMEM */
LEAT_API int leat_trainer_load(leat_trainer *trainer, leat_error *err);
/* The i-th tensor from 0 that was looked at: first those of the model. Returns LEAT_OK, or LEAT_E_END past the last, or if
 * nothing was loaded. Texts are valid until the trainer is closed. */
LEAT_API int leat_trainer_loaded(const leat_trainer *trainer, int32_t i, leat_loaded_info *out);

/* Writes the model with its weights as ONNX (opset 17), for other programs to run. Its input "input" is float32
 * [batch, height, width, channels] or [batch, n], as batches have it after the pipeline; "output" is what the
 * last layer gives.
 * returns  LEAT_OK, LEAT_E_IO, LEAT_E_DATA (2 GiB or more), LEAT_E_NOMEM, LEAT_E_UNSUPPORTED on a simulated
 *          device */
LEAT_API int leat_trainer_export_onnx(leat_trainer *trainer, const char *path, leat_error *err);

/* Layers, losses, optimisers, schedules, averages and the rows of `train` itself (i = 0), for help and
 * reference; NULL past the end. Static storage. */
LEAT_API const leat_kind *leat_layer_kind(size_t i);
LEAT_API const leat_kind *leat_loss_kind(size_t i);
LEAT_API const leat_kind *leat_optimizer_kind(size_t i);
LEAT_API const leat_kind *leat_schedule_kind(size_t i);
LEAT_API const leat_kind *leat_preset_kind(size_t i); /* ready-made models */
LEAT_API const leat_kind *leat_average_kind(size_t i);
LEAT_API const leat_kind *leat_train_kind(size_t i);
LEAT_API const leat_kind *leat_normalize_kind(size_t i); /* train.normalize (i = 0) */
LEAT_API const leat_kind *leat_cuda_kind(size_t i);      /* train.cuda (i = 0) */
LEAT_API const leat_kind *leat_weights_kind(size_t i);   /* train.weights (i = 0) */
LEAT_API const leat_kind *leat_stop_kind(size_t i);      /* train.stop (i = 0) */

#ifdef __cplusplus
}
#endif
#endif
