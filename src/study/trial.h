/* SPDX-License-Identifier: MIT
 *
 * trial.h: a variant of a job: the config with a few values set, or stages inserted. Its parts are measured alone,
 * which predicts how fast the whole will be; the whole is run only to check that. doctor.c and suggest.c call it. */
#ifndef LEAT_TRIAL_H
#define LEAT_TRIAL_H

#include "facts.h"
#include "leat/doctor.h"

typedef struct leat_trial {
    leat_arm arm;
    leat_compare_arm result;
    int32_t rounds;   /* done */
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

/* Opens the config of a job, whose arm stays open, with the values or lines of a change. A cache is filled
 * by one pass over the data.
 * returns  LEAT_OK; LEAT_E_CONFIG, LEAT_E_UNSUPPORTED: the config cannot be changed so, or its cache lacks
 *          more than that of the job after 5 s; LEAT_E_NOMEM: it does not fit beside the job */
int leat_trial_open(leat_trial *trial, const leat_arm *job, const leat_trial_how *how,
                    leat_error *err);
/* Frees everything; accepts half-opened trials. */
void leat_trial_close(leat_trial *trial);

/* One round of the loader alone and the step alone. */
int leat_trial_round(leat_trial *trial, leat_error *err);
/* Facts of the parts, from all rounds. `base`: those of the job itself, for what is the same in both. */
void leat_trial_facts(leat_trial *trial, const leat_facts *base, leat_facts *out);

#endif
