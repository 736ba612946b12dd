/* SPDX-License-Identifier: MIT
 *
 * study.h: experiments with loader and trainer. */
#ifndef LEAT_STUDY_H
#define LEAT_STUDY_H

#include "leat/config.h"
#include "leat/experiment.h"
#include "leat/meter.h"
#include "leat/verdict.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LEAT_COMPARE_MAX_ARMS 32

/* All zero is the default. */
typedef struct leat_compare_options {
    int32_t rounds; /* each runs every arm once, in ABBA order; 0 = 5 to 10: ends when every arm is
                       settled, see docs/measuring.md */
    int32_t steps;  /* measured steps per arm and round; 0 = chosen per arm for runs of about
                       0.3 s, within 20 … 20000 steps */
    int32_t warmup_ms;  /* time limit of an arm's warm-up, ms; 0: 3000 */
    const char *device; /* overrides train.device; NULL: as the config says */
    /* Called after every run with the number of runs done and in all; may be NULL. */
    void (*progress)(void *user, int done, int total);
    void *user;
} leat_compare_options;

/* A figure with its bootstrap 95 % interval over the rounds. */
typedef struct leat_estimate {
    double value, low, high;
} leat_estimate;

typedef struct leat_compare_arm {
    char name[256]; /* "pipeline.prefetch.batches=0" */
    char device[64];
    int32_t simulated;
    int32_t steps; /* measured per round */
    /* Before the first round: up to the first steady step, or all if never steady. */
    int32_t warmup_steps;
    double flops_per_sample; /* as leat_trainer_info */
    leat_meter meter;        /* all rounds together; times are medians over rounds */
    /* With bootstrap 95 % intervals over rounds. */
    leat_estimate idle;          /* 1 - meter.busy */
    leat_estimate samples_per_s; /* of the meter */
    /* Of samples/s against arm 0; the interval of a ratio draws the same rounds of both. */
    leat_estimate speedup;
    int32_t on_host;      /* 1: the device is the CPU that the workers use too */
    int32_t overlaps;     /* 0: prefetch is 0, so the next batch is made only after the step */
    leat_estimate loader; /* samples/s of the loader alone, copies to the device included */
    leat_estimate step;   /* samples/s of the step alone, on one batch that stays on the device */
    leat_estimate of_loader, of_step; /* samples/s of the arm divided by each of them */
    leat_estimate loader_of_step;     /* samples/s of the loader divided by those of the step */
    leat_recorded recorded;           /* of some steps after the rounds */
    leat_ceiling ceiling; /* of the device, after the rounds; arms with the same one share it */
    double copying;       /* share of the time in which copies ran, loader alone */
    double step_busy;     /* share of the time in which the device computed, step alone */
    /* Of a step alone: time of layers on other devices, and of copies from and to these, ns. */
    double placement_ns;
    /* Share of the samples that were not in the pipeline's `cache` before the first run: filling it takes too
     * long (30 s for leat_compare() and leat_doctor(), 5 s for leat_tune()), they do not fit, another process fills its
     * file, or, 1, it lies on the device and ends with each run. So runs make these as in a first epoch. 0: all were in
     * it, or there is no cache. */
    double uncached;
    leat_verdict verdict;
    char why[560];      /* the reason, with its numbers */
    char sentence[704]; /* the verdict and the reason */
} leat_compare_arm;

typedef struct leat_compare_result {
    int32_t n_arms, rounds;
    int32_t steps, warmup_steps; /* the largest of all arms */
    int32_t cores;               /* CPUs that this process may use */
    double cores_taken; /* average number used by other processes during the rounds; 0: not known */
    leat_compare_arm arms[LEAT_COMPARE_MAX_ARMS];
    char summary[768]; /* one sentence over all arms */
} leat_compare_result;

/* Runs loader and trainer of a config in several arms, interleaved in one process. An arm is one
 * combination of the varied values; arm 0 takes the first value of each, the last value changes
 * fastest. Plan, device and trainer of an arm are opened once and warmed up; then, in every round,
 * each arm runs once (even rounds forwards, odd ones backwards): a new loader from the first batch
 * on, some steps to settle, the measured steps. Each run comes with two short ones: the loader
 * alone and the step alone.
 * vary     n_vary texts "path=a,b,c", each value as leat_config_set() takes it; commas inside
 *          brackets, braces and quotes do not split; n_vary = 0: one arm
 * options  NULL for defaults
 * out      filled; plain memory of the caller (large: not for small stacks)
 * returns  LEAT_OK or the first error, with the name of its arm
 * threads  one comparison at a time, because they would disturb each other */
LEAT_API int leat_compare(const leat_config *config, const char *const *vary, size_t n_vary,
                          const leat_compare_options *options, leat_compare_result *out,
                          leat_error *err);

#ifdef __cplusplus
}
#endif
#endif
