/* SPDX-License-Identifier: MIT
 *
 * checkpoint.h: saves and restores everything needed to continue a training run.
 *
 * A checkpoint is one safetensors file: weights, states of the optimiser and the average as tensors, and in
 * `__metadata__` the position of the loader, counts of steps and a description of the model. On the CPU a
 * resumed run continues bit for bit, with any number of threads. A checkpoint can also be loaded as
 * weights: leat_trainer_restore().
 *
 * A folder holds checkpoints of one run, step-000000120.safetensors and so on; the number is the count
 * of batches trained on. */
#ifndef LEAT_CHECKPOINT_H
#define LEAT_CHECKPOINT_H

#include "leat/train.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LEAT_CHECKPOINT_PATH = 1024 };

/* What a run goes on from. */
typedef struct leat_checkpoint_found {
    char path[LEAT_CHECKPOINT_PATH]; /* of the file; "": the folder has no checkpoint */
    leat_loader_state state;         /* for leat_loader_options.state */
    int64_t updates;                 /* of the weights, made so far */
    int32_t n_damaged;               /* newer checkpoints of the folder that are damaged */
    char damaged[512];               /* reason for the newest damaged one */
    char changed[1024]; /* settings that differ from the saved run's, with both values; "": none */
    /* 1: it stands at the end of an epoch whose evaluation was not finished, and evaluations decide something
     * (leat_trainer_decide()): evaluate before the next step. */
    int32_t owes_evaluation;
    int32_t ended; /* 1: train.stop has ended the run */
    double best;   /* of the evaluations before, as in leat_train_decision */
    int64_t best_batch;
    /* 1: the run that saved it kept best weights, by the same metric, of evaluations that measured the same. */
    int32_t kept_best;
    /* 1: evaluations measure something else than in the saved run (the loss, train.views, .target, .input, .normalize or
     * .sample_weight, or other content of `eval`: leat_plan_content()), so that decisions begin anew, as if there had been no
     * evaluation. */
    int32_t anew;
} leat_checkpoint_found;

/* True if the trainer is between two updates of its weights, so that a checkpoint can be written. Always
 * true after a step without train.accumulate. False before the first step of a model with `init: whiten`, which
 * takes weights from the first batch. */
LEAT_API int32_t leat_checkpoint_ready(const leat_trainer *trainer);

/* True if it is ready, and the `left` batches that follow, fewer than train.accumulate, make no update of their own: a
 * checkpoint written here has the last one. What these batches still change, statistics of batch_norm, and at the end of the
 * run weights by `average: lookahead`, only leat_trainer_save() after them has. */
LEAT_API int32_t leat_checkpoint_is_last(const leat_trainer *trainer, int64_t left);

/* Writes a checkpoint: the whole file appears or nothing.
 * state    of the loader, after the last batch trained on: leat_loader_get_state(). Of which plan is not looked at here, as
 *          plans can change during a run; leat_loader_open() does
 * returns  LEAT_OK; LEAT_E_BUSY: not ready, see above; LEAT_E_ARGUMENT: the state is none, or damaged; LEAT_E_IO;
 *          LEAT_E_NOMEM; LEAT_E_UNSUPPORTED on a simulated device */
LEAT_API int leat_checkpoint_write(leat_trainer *trainer, const leat_loader_state *state,
                                   const char *path, leat_error *err);

/* The same into a folder, which is created, under the name of its step; then deletes all but the `keep`
 * newest checkpoints of the folder up to this step (0: keeps all), also those of another run. Files of later steps stay, as
 * do checkpoints of another model, and files that leat did not write or that are no checkpoints.
 * `path`, unless NULL, gets the file's path. */
LEAT_API int leat_checkpoint_save(leat_trainer *trainer, const leat_loader_state *state,
                                  const char *folder, int64_t keep, char path[LEAT_CHECKPOINT_PATH],
                                  leat_error *err);

/* Restores a trainer from a checkpoint, or from the newest whole one of a folder. Damaged ones are passed
 * over and reported in *out. The trainer does not change unless LEAT_OK.
 * path     a file or a folder; a folder without checkpoints, or that does not exist: LEAT_OK, and
 *          out->path is ""
 * returns  LEAT_OK; LEAT_E_DATA: no checkpoint, cut short, damaged, or of another model, with what
 *          differs; LEAT_E_IO; LEAT_E_NOMEM; LEAT_E_UNSUPPORTED on a simulated device */
LEAT_API int leat_checkpoint_resume(leat_trainer *trainer, const char *path,
                                    leat_checkpoint_found *out, leat_error *err);

/* The step of the newest checkpoint in a folder, by its name.
 * step     -1: there is none, or no such folder
 * returns  LEAT_OK; LEAT_E_IO: the folder cannot be listed; LEAT_E_ARGUMENT, LEAT_E_NOMEM */
LEAT_API int leat_checkpoint_newest(const char *folder, int64_t *step, leat_error *err);

/* The name in that folder under which `leat train` keeps the weights of the best evaluation (leat_train_decision.better), as
 * leat_trainer_save() writes them. */
#define LEAT_CHECKPOINT_BEST "best.safetensors"

/* Whether that file is there, whole, and has the weights of the best evaluation so far. It can be of a later one: when a run
 * went on from an earlier checkpoint than its last one, until an evaluation is better.
 * returns  LEAT_OK; LEAT_E_DATA: damaged, or of another evaluation; LEAT_E_IO; LEAT_E_NOMEM; LEAT_E_ARGUMENT */
LEAT_API int leat_checkpoint_check_best(const leat_trainer *trainer, const char *folder,
                                        leat_error *err);

/* The rows of train.checkpoint (i = 0), for help and reference; NULL past the end. */
LEAT_API const leat_kind *leat_checkpoint_kind(size_t i);

#ifdef __cplusplus
}
#endif
#endif
