/* SPDX-License-Identifier: MIT
 *
 * train_run.h: a run of `leat train`: its steps, evaluation and saving after each epoch, and what it says of an epoch
 * and of the whole. */
#ifndef LEAT_TRAIN_RUN_H
#define LEAT_TRAIN_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "command.h"
#include "leat/leat.h"
#include "print/bad_list.h"
#include "print/json.h"
#include "print/progress.h"
#include "print/speed.h"
#include "print/summary.h"
#include "train_keep.h"
#include "train_log.h"
#include "train_measure.h"

/* --- an epoch --- */

/* Results of an epoch. */
typedef struct leat_train_epoch {
    int64_t number, steps;
    double seconds;
    leat_metrics train, eval;
    bool has_eval, has_meter, steady;
    bool eval_stopped; /* by a signal, so that there is no has_eval */
    leat_meter meter;
    double flops_per_sample; /* of the model */
    double rate;             /* of learning, at its end */
    leat_train_decision decided;
    const leat_trainer *trainer; /* has the classes of its evaluation; NULL: none */
    bool first;                  /* of the run: says which classes have no sample */
} leat_train_epoch;

/* Owned by the caller. */
json_t *leat_train_epoch_json(const leat_train_epoch *e);
/* A table on standard output, 80 columns wide: its head, and a row per epoch. */
void leat_train_epoch_head(bool has_eval, bool simulated);
void leat_train_epoch_print(const leat_train_epoch *e, int64_t n_epochs, bool simulated);

/* --- the run --- */

typedef struct leat_train_run {
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
    bool talks;                 /* a line per epoch on standard output */
    int32_t progress_when;      /* as leat_progress_init() takes it */
    leat_train_keep keep;
    leat_train_log *log; /* NULL: none */
    int64_t log_every;   /* steps */
    leat_bad_list bad;
    json_t *list;         /* gets an object per epoch */
    double best_accuracy; /* -1 */
    /* Results. */
    int64_t steps, best_epoch;
    bool diverged;               /* the loss was not finite */
    bool saved;                  /* weights of this or an earlier epoch were saved */
    bool stopped;                /* by a signal, between two steps or in an evaluation */
    bool ended_early;            /* by train.stop */
    leat_train_decision decided; /* by the last evaluation of a whole epoch */
    bool eval_stopped;           /* the last epoch was not evaluated to the end */
    bool has_meter;
    leat_meter meter;             /* of the last epoch that was long enough */
    leat_speed_start start;       /* `creation` is set before */
    leat_ceiling ceiling;         /* of the device; measured after the run, if there is a meter */
    leat_loader_stats_info stats; /* at the end of the last step or evaluation */
    int64_t saved_steps;          /* steps of this run that the saved weights include */
    /* While it runs. */
    int64_t epoch_steps, epoch_start_ns;
    leat_step_times *times;
    size_t n_times; /* in `times` already: of the first steps of the epoch */
    bool warm;      /* the warm-up is over */
    leat_train_record record;
    size_t
        unmeasured; /* first steps of the epoch that its meter leaves out, because they were recorded */
    bool eval_bad; /* already reported */
    leat_train_counts counts;
    leat_train_mark shown,
        logged; /* since the last drawing of the progress line; the last line of the log */
    leat_progress progress;
    leat_summary_watching watch;
} leat_train_run;

/* Runs until the last epoch or step, or until leat_signals_caught(), and then saves the weights. */
int leat_train_run_all(leat_train_run *t, leat_error *err);

/* --- after an evaluation: keeps the best weights, lowers the learning rate, ends the run --- */

/* Takes in the evaluation of a whole epoch, and saves the weights if they are the best. */
int leat_train_decide(leat_train_run *t, leat_train_epoch *e, leat_error *err);
/* A line about it, under the row of the epoch. */
void leat_train_decide_print(const leat_train_run *t, const leat_train_epoch *e);

/* At the end: which epoch was the best, and where its weights are. */
void leat_train_decide_end(const leat_train_run *t);
/* The same: adds `best`, null or an object. */
void leat_train_decide_add(json_t *object, const leat_train_run *t);

/* --- a loss that is not finite: where it arose, and whether the data are the reason --- */

/* Fails at an epoch's loss that is not finite: later steps and weights would be useless. */
int leat_train_loss_check(leat_train_run *t, const leat_train_epoch *e, leat_error *err);
/* Returns rc, the error of a step on this batch. If it is about the loss, *err also says why, and which records were
 * in the batch. */
int leat_train_loss_explain(leat_train_run *t, int64_t batch, int64_t epoch, int rc,
                            leat_error *err);

/* --- at the end --- */

/* log: the folder of --log, or NULL. */
void leat_train_end_print(const leat_train_run *t, const char *config, const char *log,
                          double seconds);
/* Takes the list of epochs. resumed: the checkpoint that the run went on from; "": none. Owned by the caller. */
json_t *leat_train_end_json(leat_train_run *t, const leat_call *call, const char *resumed,
                            double seconds);

/* --- when a signal stopped it: the position, what was saved, and the command that resumes --- */

/* On standard error. */
void leat_train_stop_print(const leat_train_run *t, const leat_call *call);
/* An object; null if the run was not stopped. Owned by the caller. */
json_t *leat_train_stop_json(const leat_train_run *t, const leat_call *call);

#endif
