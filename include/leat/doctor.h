/* SPDX-License-Identifier: MIT
 *
 * doctor.h: what limits a training job, how much could be gained, and what to change. The parts of the job are
 * measured alone, so that the verdict and every prediction follow from their capacities. docs/measuring.md
 * defines all terms. */
#ifndef LEAT_DOCTOR_H
#define LEAT_DOCTOR_H

#include "leat/loader.h"
#include "leat/ranks.h"
#include "leat/study.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LEAT_DOCTOR_MAX_EVIDENCE    16
#define LEAT_DOCTOR_MAX_CAPACITIES  (LEAT_MAX_STAGES + 8)
#define LEAT_DOCTOR_MAX_ONE_TIME    8
#define LEAT_DOCTOR_MAX_SUGGESTIONS 8
#define LEAT_DOCTOR_MAX_SET         8
#define LEAT_DOCTOR_MAX_SETTING     800
#define LEAT_DOCTOR_MAX_VALUES      256

/* All zero is the default. */
typedef struct leat_doctor_options {
    int32_t
        rounds;    /* each measures every part once; 0 = 6, fewer if that takes half of `seconds` */
    int32_t steps; /* measured steps per round; 0 = about 0.3 s */
    const char *device; /* overrides train.device; NULL: as the config says */
    /* Above 0: the batches are for a program of the caller, whose step takes so long, and uses none of the loader's
     * cores. leat waits in its place; the config's `train` is not read, and may be missing. */
    double step_ms;
    /* A change is tried only while it can be expected to end in so much time since the start; 0 = 20. `verify` and a
     * training step of seconds take longer. With `no_trials` all ends in half of it, but two rounds are made. */
    double seconds;
    int32_t verify; /* 1: applies the first suggestion, and measures it */
    /* 1: tries no changes; those predicted from the verdict's own figures remain. */
    int32_t no_trials;
    /* 1: changes are tried even if the verdict is LEAT_VERDICT_ENVIRONMENT, in more rounds. For machines that are never
     * quiet. */
    int32_t anyway;
    /* Called while it runs, with what it does; may be NULL. */
    void (*progress)(void *user, int done, int total, const char *what);
    void *user;
} leat_doctor_options;

/* A measured number and what it means. */
typedef struct leat_doctor_evidence {
    char name[32];
    double value;
    char unit[12]; /* "ms", "share", "samples/s", … */
    char text[200];
} leat_doctor_evidence;

/* The rate of one part that runs alone. */
typedef struct leat_doctor_capacity {
    char name[64];
    leat_part part;
    leat_estimate samples_per_s;
    double step_ms; /* of as many samples as a step has */
} leat_doctor_capacity;

typedef struct leat_doctor_cost {
    const char *name; /* "open plan", "open device", "build model", … */
    double ms;
} leat_doctor_cost;

/* A change that gains less is not suggested. */
#define LEAT_DOCTOR_LEAST_GAIN 0.03

typedef struct leat_doctor_suggestion {
    char title[80];
    char why[400];
    char differs[32]; /* what else it changes: "the order is less random"; "": nothing */
    int32_t n_set;    /* 0: a change that no value of the config makes */
    /* "path=value", "path-" or "path+=value", as leat_config_set() takes them, in this order */
    char set[LEAT_DOCTOR_MAX_SET][LEAT_DOCTOR_MAX_SETTING];
    char not_tried[40]; /* why not: "it needs other files"; "": it was tried */
    double
        predicted_step_ms; /* from short runs with the change; not tried: from the capacities of the job */
    double predicted_samples_per_s;
    double gain;                /* samples/s: 0.25 is a quarter more */
    int32_t n_rounds;           /* in which it was tried; 0: it was not */
    double gain_low, gain_high; /* of the rounds in which it was tried; not tried: estimated */
    int32_t is_verified;
    char not_verified[160]; /* why --verify could not measure it; "": it did, or was not asked to */
    /* Measured alternately: the job with the change, and unchanged; the pair of runs whose gain is the median. */
    double verified_step_ms, before_step_ms, verified_gain;
    /* The prediction, scaled by how much the unchanged job's time has changed since. */
    double expected_step_ms;
    int32_t right;      /* verified_step_ms is within 15 % of expected_step_ms */
    double cores_taken; /* by other processes while it was verified; 0: not known */
} leat_doctor_suggestion;

typedef struct leat_doctor_result {
    char device[64];
    double given_step_ms; /* as in the options: a step was not measured; 0: it was */
    int32_t simulated;
    int32_t rounds, steps, warmup_steps;
    double batch;       /* samples per step, mean */
    int64_t batch_size; /* as configured; after bucket_by_length the largest */
    double uncached;    /* as in leat_compare_arm */
    leat_verdict verdict;
    /* With options.anyway and LEAT_VERDICT_ENVIRONMENT: what limits the job on this machine as it is, with the other
     * processes. Else NONE. */
    leat_verdict beside;
    char sentence[240]; /* what it means, in plain English; without numbers */
    int32_t n_evidence;
    leat_doctor_evidence evidence[LEAT_DOCTOR_MAX_EVIDENCE];
    int32_t n_capacities;
    leat_doctor_capacity capacities[LEAT_DOCTOR_MAX_CAPACITIES];
    double shares[LEAT_N_SHARES]; /* by leat_share, of the wall time of a step; sum 1 */
    double work
        [LEAT_N_WORKS]; /* by leat_worker_time, of the workers' time while the loader runs alone; sum 1; all 0: not known */
    int32_t no_prefetch; /* 1: `work` and stages are of LEAT_PART_FIRST_BATCH, not of _LOADER */
    leat_meter meter;    /* the job as it runs */
    leat_estimate samples_per_s;
    double measured_step_ms, predicted_step_ms;
    leat_part next_limit; /* the next bottleneck; LEAT_PART_NONE: none is known */
    double next_limit_step_ms;
    double probe; /* rise of the step time per time added to the device's work: 1 is critical, 0 has
                     slack; -1: not needed, or noise hides it */
    int32_t n_one_time;
    leat_doctor_cost one_time[LEAT_DOCTOR_MAX_ONE_TIME];
    /* With LEAT_VERDICT_WARM_UP: from this number of epochs on, one-time costs are less than half; else 0. */
    int64_t least_epochs;
    int32_t no_trials;      /* as in the options */
    int32_t n_tried;        /* changes whose values this config and device allow */
    int32_t n_no_memory;    /* changes left out as they do not fit in memory beside the job */
    int32_t n_not_filled;   /* the same, as their cache is not filled in 5 s */
    int32_t n_no_time;      /* the same, as options.seconds were over */
    int32_t n_without_gain; /* of n_tried, those that gain less than 3 % */
    /* Values as in `set`, with blanks between several. */
    char without_gain[LEAT_DOCTOR_MAX_SUGGESTIONS][LEAT_DOCTOR_MAX_VALUES];
    int32_t n_suggestions; /* of them, those that gain 3 % or more; best first */
    leat_doctor_suggestion suggestions[LEAT_DOCTOR_MAX_SUGGESTIONS];
    char note[1000]; /* leat_trainer_info.note, and the share of bad records; "": none */
    int32_t cores, threads;
    double cores_taken; /* by other processes; 0: not known */
    double throttled;   /* share of the time in which a CPU limit stopped this process */
    double seconds;     /* that all this took */
} leat_doctor_result;

/* Examines the job of a config: its parts alone, the whole, and the parts of promising variants.
 * options  NULL for defaults
 * out      filled; plain memory of the caller (large: not for small stacks)
 * returns  LEAT_OK or the first error
 * threads  one at a time, because they would disturb each other */
LEAT_API int leat_doctor(const leat_config *config, const leat_doctor_options *options,
                         leat_doctor_result *out, leat_error *err);

/* Sets the values of a change in the config that was examined, after leat_stage_name_value().
 * returns  LEAT_OK, LEAT_E_ARGUMENT, and as leat_config_set()
 * threads  a config is not shared between threads */
LEAT_API int leat_doctor_apply(const leat_doctor_suggestion *change, leat_config *config,
                               leat_error *err);

/* Whether a change likely gains: it was verified, or its range lies above 0, and that is not the range of fewer than three
 * rounds. A change that gains nothing passes three rounds once in eight times. Any thread. */
LEAT_API int32_t leat_doctor_is_sure(const leat_doctor_suggestion *change);

/* A guess from the shares of a run alone, without the capacities of its parts: one sentence that says so.
 * meter    NULL: the text is ""
 * on_host  the device is the CPU
 * Returns text. Any thread. */
LEAT_API char *leat_doctor_guess(const leat_meter *meter, int32_t on_host, char *text, size_t size);

/* What processes that train together wait for.
 * times    of n ranks, as leat_ranks_times() gives them
 * verdict  LEAT_VERDICT_STRAGGLER with the rank in `where`, LEAT_VERDICT_COMMUNICATION_BOUND, or LEAT_VERDICT_NONE; may be
 *          NULL
 * text     gets the figures in a sentence; "" without times
 * Returns text. Any thread. */
LEAT_API char *leat_doctor_ranks(const leat_ranks_time *times, int32_t n, leat_verdict *verdict,
                                 char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
