/* SPDX-License-Identifier: MIT
 *
 * train_run.h: a run of `leat train`: its steps, evaluation and saving after each epoch, and what it says of an epoch
 * and of the whole. */
#ifndef LEAT_TRAIN_RUN_H
#define LEAT_TRAIN_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "command.h"
#include "leat/leat.h"
#include "print/bad_list.h"
#include "print/json.h"
#include "print/progress.h"
#include "print/speed.h"
#include "print/summary.h"

typedef struct leat_train_run leat_train_run;
typedef struct leat_train_log leat_train_log;

/* --- when `leat train` writes checkpoints, and from which one it goes on --- */

typedef struct leat_train_checkpoint {
    const char *folder; /* NULL: no checkpoints are written */
    int lock;           /* the file .lock of the folder, open; 0: none */
    struct stat held;   /* the folder, when it was locked */
    int64_t every_steps, every_ns, n_kept;
    bool goes_on;  /* from a checkpoint */
    bool has_best; /* one that knows of best weights, in its own folder */
    bool masks;    /* set after opening: on_error may mask whole batches */
    /* While it runs. */
    bool due, failed;            /* failed: to write the last one */
    int64_t last_steps, last_ns; /* of the last one, or of the begin */
    int64_t ready_steps;         /* steps of this run up to its last update; 0: none yet */
    /* Results. */
    char path[LEAT_CHECKPOINT_PATH]; /* of the last one; "": none yet */
    struct stat last;                /* that file */
    int64_t saved_steps;             /* steps of this run that it includes */
} leat_train_checkpoint;

/* Makes the folder and holds it alone, and restores the trainer. from: a file; "": the newest one of the
 * folder; NULL: a new run starts, and a folder that has checkpoints of another run is refused. Says on
 * standard error what was found. found->path "": the run begins at its first batch. Returns LEAT_OK or an
 * error. writes false: another rank writes; only restores. */
int leat_train_checkpoint_open(leat_train_run *t, const char *from, bool writes,
                               leat_checkpoint_found *found, leat_error *err);

/* Before the trainer of ranks opens: under `micro_batches: auto` a run goes on with the number that it began with, so ranks
 * are checked against that one. from: as above; batch_size: of the plan. */
int leat_train_checkpoint_parts(leat_config *config, const char *from, int64_t batch_size,
                                leat_error *err);

/* When all else of a run that goes on has been checked: a checkpoint is written before the best weights that it knows of, so
 * if the run was killed between them, this saves them. */
int leat_train_checkpoint_known_best(leat_train_run *t, const leat_checkpoint_found *found,
                                     leat_error *err);

/* Whether the .lock in the folder is the one that is held. */
bool leat_train_checkpoint_held(const leat_train_checkpoint *keep);
/* Whoever writes into the folder asks before. A lock that was removed is taken again, if the folder is this run's. Returns
 * LEAT_OK, or LEAT_E_IO: the folder was moved or replaced, or another run holds it. */
int leat_train_checkpoint_ensure_held(leat_train_checkpoint *keep, leat_error *err);

/* Lets go of the folder. */
void leat_train_checkpoint_close(leat_train_checkpoint *keep);

/* After a step that `left` others follow in its epoch, or before the end of the run: writes a checkpoint after the last update
 * of the epoch, and if one is due and the weights are between two updates. A failure in the middle of a run is reported on
 * standard error, and the run goes on. */
void leat_train_checkpoint_step(leat_train_run *t, int64_t left);

/* After an evaluation that is the best so far: one that knows of it, so that a run that is killed before it has saved the best
 * weights saves them when it goes on. Not between two updates. */
void leat_train_checkpoint_before_best(leat_train_run *t);

/* At the end of a run: writes the last one, unless it is there already. The batches after the last update are not in it: a
 * run of more epochs makes them again, and adds their gradients to those of the next ones. */
int leat_train_checkpoint_end(leat_train_run *t, leat_error *err);

/* LEAT_E_ARGUMENT where --save would replace an input, a checkpoint or best weights of a run, or a file that leat did not write.
 * The file of --restore is often that of --save, and may be.
 * resume   NULL: none */
int leat_train_check_save(const leat_train_run *t, const leat_config *config, const char *save,
                          const char *resume, leat_error *err);

/* --- the folder of --log: log.jsonl (keys: docs/json.md), an event file for TensorBoard, and a sheet of the first batch ---
 *
 * A number of a line is also a scalar of the event file, with the tag "KIND/KEY". Both files are appended to,
 * and flushed at most once a second, after each epoch and before each checkpoint. If writing fails, logging stops
 * and the run goes on; leat_train_log_close() returns the error. */

/* Creates the folder and opens its files.
 * run      the line of kind "run"; the rest of it is added here; owned by the callee
 * step     steps before the run; what the folder has of later steps is void for readers
 * goes_on  the run continues another one, which must have the same parameters, records and batch size; otherwise a folder
 *          that has a log is refused, unless no step of its run was logged
 * out      NULL unless LEAT_OK
 * returns  LEAT_OK, LEAT_E_IO, LEAT_E_ARGUMENT (log.jsonl is something else, or of another run),
 *          LEAT_E_NOMEM */
int leat_train_log_open(leat_train_log **out, const char *folder, json_t *run, int64_t step,
                        bool goes_on, leat_error *err);

/* Adds a line; takes ownership of it. kind: "step" or "epoch". step: steps of the run so far. log NULL: only
 * frees the line. */
void leat_train_log_add(leat_train_log *log, const char *kind, int64_t step, json_t *line);

/* What was added so far survives a kill of the process. NULL: does nothing. */
void leat_train_log_flush(leat_train_log *log);

/* Draws the batch that a run over the plan begins with to batch.png and the event file. It is made by a loader
 * of its own, in host memory. Does nothing if the tensor holds no images, or if a map runs on a GPU. If writing fails, that
 * is told, and leat_train_log_close() returns the error.
 * returns  LEAT_OK, or what that loader or encoding failed with */
int leat_train_log_sheet(leat_train_log *log, const leat_plan *plan, int32_t tensor,
                         int64_t first_batch, leat_error *err);

/* Flushes, frees, sets *log to NULL. Takes NULL. Returns LEAT_OK, or the first error of writing. */
int leat_train_log_close(leat_train_log **log, leat_error *err);

/* Where an interval begins, whose rates the log and the progress line have: at the start of an epoch, after
 * leat_trainer_metrics(), or of a run. A run that goes on inside an epoch has the sums of that epoch up to there, which the
 * interval does not count. */
typedef struct leat_train_snapshot {
    int64_t at_ns, busy_ns, wait_ns, rows, samples;
    leat_metrics so_far; /* as leat_trainer_so_far() */
} leat_train_snapshot;

/* Some early steps with the device's own records (leat_trainer_record). */
typedef struct leat_train_record {
    leat_recorded result; /* n_steps 0 until steps were recorded */
    bool tried;
    int64_t steps, left; /* of the recording that is under way; 0: none */
} leat_train_record;

/* --- an epoch --- */

/* Results of an epoch. */
typedef struct leat_train_epoch {
    int64_t number, steps;
    double seconds;
    leat_metrics train, eval;
    bool has_eval, has_meter, steady;
    bool eval_stopped; /* by a signal, so that there is no has_eval */
    leat_meter meter;
    double rate; /* of learning, at its end */
    leat_train_decision decided;
} leat_train_epoch;

/* Owned by the caller. */
json_t *leat_train_epoch_json(const leat_train_run *t, const leat_train_epoch *e);
/* A row of a table on standard output, 80 columns wide, whose head comes with the first epoch; and what was decided. */
void leat_train_epoch_print(const leat_train_run *t, const leat_train_epoch *e);

/* --- how much longer the first epoch took than later ones, and in which parts --- */

/* Of an epoch, or means of several; seconds. */
typedef struct leat_train_epoch_time {
    double seconds, first_batch, wait, steps; /* wait: for all other batches */
    double core;                              /* the workers waited for one, between rows */
    double disk;                              /* bytes */
    double stages[LEAT_MAX_STAGES], samples[LEAT_MAX_STAGES];
} leat_train_epoch_time;

typedef struct leat_train_first {
    leat_loader_stats_info stats; /* at the beginning of the epoch, as the next two */
    int64_t busy_ns;
    double disk;
    int64_t wait_ns, batch_ns; /* waited for its batches; for the first one */
    leat_train_epoch_time first, later;
    int64_t n_later;
    double longest; /* of the later ones */
} leat_train_first;

/* --- the run --- */

struct leat_train_run {
    /* Set before. */
    leat_plan *plan, *eval_plan; /* eval_plan NULL: the config has no `eval` */
    leat_device *device;
    leat_trainer *trainer;
    leat_loader *loader;
    leat_ranks *ranks;          /* NULL: one process */
    int64_t epochs, steps_most; /* steps_most < 1: no limit */
    int64_t first;              /* batch of the run that it begins with */
    bool owes_evaluation;       /* of the epoch before that batch */
    bool finished;              /* before: no step is left to make */
    const char *save;           /* NULL: no weights are written */
    bool saves;                 /* --save was given, also of ranks that do not write */
    bool talks;                 /* a line per epoch on standard output */
    int32_t progress_when;      /* as leat_progress_init() takes it */
    leat_train_checkpoint keep;
    leat_train_log *log; /* NULL: none */
    int64_t log_every;   /* steps */
    leat_bad_list bad;
    json_t *list;         /* gets an object per epoch; NULL: nobody wants them */
    bool has_epoch;       /* one has ended */
    double best_accuracy; /* -1 */
    /* Results. */
    int64_t steps, best_epoch;
    bool diverged;    /* the loss was not finite */
    bool saved;       /* weights of this or an earlier epoch were saved */
    bool unsaved;     /* the last --save failed */
    bool kept;        /* the run can go on from a checkpoint of its end */
    bool has_results; /* also after an error: for --json */
    bool stopped;     /* by a signal, between two steps or in an evaluation */
    bool ended_early; /* by train.stop */
    leat_train_decision
        decided; /* by the last evaluation of a whole epoch, also of the run before a --resume */
    bool eval_stopped; /* the last epoch was not evaluated to the end */
    bool has_meter;
    leat_meter meter;             /* of the last epoch that was long enough */
    leat_speed_start start;       /* `creation` is set before */
    leat_ceiling ceiling;         /* of the device; measured after the run, if there is a meter */
    leat_loader_stats_info stats; /* at the end of the last step or evaluation */
    int64_t saved_steps;          /* steps of this run when the weights were saved */
    int64_t saved_update;         /* those up to their last update */
    /* While it runs. */
    int64_t epoch_steps, epoch_start_ns;
    leat_step_times *times;
    size_t n_times; /* in `times` already: of the first steps of the epoch */
    bool warm;      /* the warm-up is over */
    leat_train_record record;
    size_t
        unmeasured; /* first steps of the epoch that its meter leaves out, because they were recorded */
    bool eval_bad; /* already reported */
    leat_train_first first_epoch;
    bool is_cpu;           /* a step is done when its call returns */
    int64_t busy_ns;       /* in these calls */
    int64_t rows, samples; /* given to the trainers of all ranks; to this one, and not masked */
    leat_train_snapshot shown,
        logged; /* since the last drawing of the progress line; the last line of the log */
    leat_progress progress;
    leat_summary_watching watch;
};

/* Runs until the last epoch or step, or until leat_signals_caught(), and then saves the weights. */
int leat_train_run_all(leat_train_run *t, leat_error *err);

/* --- after an evaluation: keeps the best weights, lowers the learning rate, ends the run --- */

/* Takes in the evaluation of a whole epoch, and saves the weights if they are the best. */
int leat_train_decide(leat_train_run *t, leat_train_epoch *e, leat_error *err);
/* Saves the weights of an evaluation that is the best so far. Not while the folder has no checkpoint of the run: whose file it
 * is could not be told. After note_epoch(), so that the log has the epoch where the run is killed between the two. */
int leat_train_keep_best(leat_train_run *t, leat_train_epoch *e, leat_error *err);
/* A line about it, under the row of the epoch. */
void leat_train_decide_print(const leat_train_run *t, const leat_train_epoch *e);

/* --- a loss that is not finite: where it arose, and whether the data are the reason --- */

/* Fails at an epoch's loss that is not finite: later steps and weights would be useless. */
int leat_train_loss_check(leat_train_run *t, const leat_train_epoch *e, leat_error *err);
/* Returns rc, the error of a step on this batch. If it is about the loss, *err also says why, and which records were
 * in the batch. */
int leat_train_loss_explain(leat_train_run *t, int64_t batch, int64_t epoch, int rc,
                            leat_error *err);

/* --- the first epoch --- */

/* At the beginning of each epoch. */
void leat_train_first_begin(leat_train_run *t);
/* After each batch: the loop waited so long for it. */
void leat_train_first_wait(leat_train_run *t, int64_t ns);
/* At its end; time: of the epoch, s. */
void leat_train_first_end(leat_train_run *t, double time);
/* At the end of the run; nothing, or null, unless the first epoch was longer than each later one. */
void leat_train_first_print(const leat_train_run *t);
void leat_train_first_add(json_t *object, const leat_train_run *t);

/* --- at the end --- */

/* log: the folder of --log, or NULL. */
void leat_train_end_print(const leat_train_run *t, const char *config, const char *log,
                          double seconds);
/* Takes the list of epochs. resumed: the checkpoint that the run went on from; "": none. Owned by the caller. */
json_t *leat_train_end_json(leat_train_run *t, const leat_call *call, const char *resumed,
                            double seconds);

/* --- when a signal stopped it: the position, what was saved, the command that resumes, and what it does not
 * keep --- */

/* On standard error. */
void leat_train_stop_print(const leat_train_run *t, const leat_config *config,
                           const leat_call *call);

/* --- what `leat train` says of weights that it begins with --- */

/* Of train.weights: a line, and a table of the tensors that were not taken. Nothing, if nothing was loaded. */
void leat_train_weights_print(const leat_trainer *trainer);
/* Says on standard error if the weights of a file, which the run begins with, were trained on other classes, or in another
 * order, than the run's data have. restore: the file; NULL: train.weights has it. Returns LEAT_OK, LEAT_E_NOMEM. */
int leat_train_weights_classes(const leat_train_run *t, const leat_config *config,
                               const char *restore, leat_error *err);
/* Of the JSON of a run; null, if nothing was loaded. */
json_t *leat_train_weights_json(const leat_trainer *trainer);

/* --- `leat train --summary`: the layers of a model, their sizes and costs --- */

/* What the loaders of a run may take. Both are open during an evaluation; zeroed: there is none. */
typedef struct leat_train_loaders {
    leat_budget train, eval;
    int64_t batch_size; /* with --input: no loader is known; 0: they are */
} leat_train_loaders;

/* A table on standard output, and the memory of model and loaders. */
int leat_train_summary_print(const leat_trainer *trainer, const char *path,
                             const leat_train_loaders *loaders, leat_error *err);
/* Notes on standard error that loaders and model together want more memory than there is, if they do. */
void leat_train_summary_memory(const leat_trainer *trainer, const leat_train_loaders *loaders);
/* Owned by the caller; NULL after an error. */
json_t *leat_train_summary_json(const leat_trainer *trainer, const leat_train_loaders *loaders,
                                leat_error *err);

/* --- the processes of `leat train --ranks`: forked from the one that the user started, which is rank 0, or started by
 * mpirun or srun; rank 0 alone prints and writes --- */

typedef struct leat_train_ranks {
    leat_ranks *group; /* NULL: one process */
    int32_t rank, n;
    int32_t n_children; /* of rank 0, that it has not waited for */
    bool mpi;
    int error_fd; /* of ranks above 0: where errors go if rank 0 cannot say them */
} leat_train_ranks;

/* Values of --ranks: the words, and numbers from 1. */
enum {
    LEAT_TRAIN_RANKS_AUTO = LEAT_OPTION_CHOICE(0), /* 1 */
    LEAT_TRAIN_RANKS_MPI = LEAT_OPTION_CHOICE(1)
};

/* n, deadline, overlap: of the options. Forks n - 1 processes, and returns in all of them; or joins those of MPI. 1: does
 * nothing. Before threads are started and files are opened. */
int leat_train_ranks_start(leat_train_ranks *ranks, int64_t n, double deadline, int32_t overlap,
                           leat_error *err);
/* Sets engine.rank and engine.ranks; whole: as of one process, which a plan for evaluation is for. */
int leat_train_ranks_config(const leat_train_ranks *ranks, leat_config *config, bool whole,
                            leat_error *err);
/* All ranks begin at the same place, make as many steps, and evaluate the same. steps < 1: to the end. */
int leat_train_ranks_same_run(const leat_train_ranks *ranks, int rc, const leat_train_run *run,
                              int64_t steps, leat_error *err);
/* 1 in the process that says errors; it then has standard error. */
int leat_train_ranks_speaks(const leat_train_ranks *ranks);
/* Leaves; rank 0 waits for the others. After the trainer is closed. */
void leat_train_ranks_end(leat_train_ranks *ranks);

#endif
