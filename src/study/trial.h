/* SPDX-License-Identifier: MIT
 *
 * trial.h: a variant of a job: the config with a few values set. doctor.c and suggest_try.c call
 * it, and run its arm. */
#ifndef LEAT_TRIAL_H
#define LEAT_TRIAL_H

#include "facts.h"
#include "leat/doctor.h"

typedef struct leat_trial {
    leat_arm arm;
    leat_compare_arm result;
    bool is_unfilled; /* opening it failed as its cache lacks too much */
} leat_trial;

typedef struct leat_trial_how {
    const leat_doctor_suggestion *change;
    int32_t rounds, steps;  /* rounds: at most; steps: of a run as configured */
    bool input_only;        /* only leat_arm_run_loader() is called: no trainer is opened */
    bool step_only;         /* only the step counts: a cache is not filled */
    const leat_arm *beside; /* open meanwhile, as the job is; NULL: none */
    int64_t fill_ns;        /* longest pass that fills a cache; 0: 5 s */
} leat_trial_how;

/* Opens the config of a job, whose arm stays open, with the values of a change. A cache is filled
 * by one pass over the data.
 * returns  LEAT_OK; LEAT_E_CONFIG, LEAT_E_UNSUPPORTED: the config cannot be changed so, or its cache lacks
 *          more than that of the job after 5 s; LEAT_E_NOMEM: it does not fit beside the job */
int leat_trial_open(leat_trial *trial, const leat_arm *job, const leat_trial_how *how,
                    leat_error *err);
/* Frees everything; accepts half-opened trials. */
void leat_trial_close(leat_trial *trial);

#endif
