/* SPDX-License-Identifier: MIT
 *
 * train_measure.h: what a run of `leat train` measures of itself. Rates of a stretch, for the log and the progress
 * line, never wait for the device: what only a wait would tell is NaN. */
#ifndef LEAT_TRAIN_MEASURE_H
#define LEAT_TRAIN_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "leat/leat.h"

/* --- loss and rates of a stretch of training --- */

/* Counted by the loop. */
typedef struct leat_train_counts {
    leat_trainer *trainer;
    leat_loader *loader;
    bool is_cpu;     /* a step is done when its call returns */
    int64_t busy_ns; /* in these calls */
    int64_t samples; /* given to the trainer */
} leat_train_counts;

/* Where a stretch begins. */
typedef struct leat_train_mark {
    int64_t at_ns, busy_ns, wait_ns, samples;
    leat_metrics so_far; /* as leat_trainer_so_far() */
} leat_train_mark;

typedef struct leat_train_rate {
    int64_t samples;
    double loss, accuracy; /* means over the stretch; NaN on devices other than the CPU */
    double samples_per_s;
    double idle;       /* share of the time without a step; NaN likewise */
    double wait_share; /* share of the time in which the loop waited for a batch */
} leat_train_rate;

/* Begins a stretch now, at the start of an epoch: after leat_trainer_metrics(). */
void leat_train_rate_begin(const leat_train_counts *counts, leat_train_mark *mark);
/* Ends it and begins the next. */
leat_train_rate leat_train_rate_next(const leat_train_counts *counts, leat_train_mark *mark);

/* --- some early steps with the device's own records (leat_trainer_record); early, so that a library that
 * fails there costs little --- */

typedef struct leat_train_record {
    leat_recorded result; /* n_steps 0 until steps were recorded */
    bool tried;
    int64_t steps, left; /* of the recording that is under way; 0: none */
} leat_train_record;

/* Before the first step. */
void leat_train_record_init(leat_train_record *record);
/* After every step. made: steps of the run so far; left: steps that follow in this epoch. True: a recording ended with
 * this step, and the pause for it is part of the next one. */
bool leat_train_record_step(leat_train_record *record, leat_trainer *trainer, int64_t made,
                            int64_t left);

#endif
