/* SPDX-License-Identifier: MIT
 *
 * train_run.h: the steps of `leat train`, and evaluation and saving after each epoch. */
#ifndef LEAT_TRAIN_RUN_H
#define LEAT_TRAIN_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "leat/leat.h"
#include "print/bad_list.h"
#include "print/json.h"
#include "print/progress.h"
#include "print/speed.h"
#include "print/summary.h"
#include "signals.h"
#include "train_keep.h"
#include "train_log.h"
#include "train_rate.h"
#include "train_record.h"

typedef struct leat_train_run {
    /* Set before. */
    leat_plan *plan, *eval_plan; /* eval_plan NULL: the config has no `eval` */
    leat_device *device;
    leat_trainer *trainer;
    leat_loader *loader;
    int64_t epochs, steps_most; /* steps_most < 1: no limit */
    int64_t first;              /* batch of the run that it begins with */
    bool owes_evaluation;       /* of the epoch before that batch */
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

#endif
