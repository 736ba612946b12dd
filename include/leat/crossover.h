/* SPDX-License-Identifier: MIT
 *
 * crossover.h: from which batch size on one device is faster than another. */
#ifndef LEAT_CROSSOVER_H
#define LEAT_CROSSOVER_H

#include "leat/study.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LEAT_CROSSOVER_POINTS = 8 };

/* All zero is the default. */
typedef struct leat_crossover_options {
    int32_t rounds;        /* each measures every batch on both devices once; 0 = 6; at least 3 */
    int32_t steps;         /* of a run; 0: as many as last 0.1 s */
    int64_t largest_batch; /* 0: the largest whose step takes at most 0.2 s, up to 4096 */
    /* Called after every run with the number of runs done and in all; may be NULL. */
    void (*progress)(void *user, int done, int total);
    void *user;
} leat_crossover_options;

typedef struct leat_crossover_point {
    int64_t batch;
    leat_estimate step_ms; /* of a step alone, on a batch that stays on the device */
} leat_crossover_point;

typedef struct leat_crossover_device {
    char name[64];
    int32_t simulated;
    int32_t n_points;
    leat_crossover_point points[LEAT_CROSSOVER_POINTS];
    /* The line step = alpha + beta * batch, over the points around the crossing, or over all. */
    leat_estimate alpha_ms, beta_ms_per_sample;
    double open_ms;       /* opening device and model, the first time in this process */
    double first_step_ms; /* the first step, from its call to its end */
    double one_time_ms;   /* open_ms, and what the first step takes longer than a later one */
    double launches;      /* per step, as leat_meter.launches; -1: not known */
    double launch_ms;     /* median time of the host for them */
} leat_crossover_device;

/* Who is faster at one batch size: as the lines say, and as measured afterwards. */
typedef struct leat_crossover_check {
    int64_t batch;
    int32_t predicted; /* index of the device */
    int32_t faster;    /* index of the device; -1: no difference beyond noise */
} leat_crossover_check;

typedef struct leat_crossover_result {
    leat_crossover_device devices[2];
    int64_t batch; /* of the config */
    /* 1: there is a batch size at which both take the same time. 0: one device is faster at all measured sizes, or at
     * some, or at none, and `crossover` is NaN. */
    int32_t crosses;
    leat_estimate crossover; /* high may be infinite: beyond all measured sizes */
    /* Index of the device that is faster below it; at crosses 0: at all measured sizes, or -1. */
    int32_t faster_below;
    /* Likewise at each of the points; -1: no difference beyond noise. */
    int32_t faster[LEAT_CROSSOVER_POINTS];
    int32_t faster_now; /* at the config's batch size; -1: no difference beyond noise */
    int32_t n_checks;   /* at half and at twice the crossover, where these sizes can be run */
    leat_crossover_check checks[2];
    /* Steps at the config's batch size after which the faster device has paid for its larger one-time
     * cost; 0: it has none; NaN: no device is faster there. */
    double steps_to_pay;
    char sentence[400];
} leat_crossover_result;

/* Measures the step alone on two devices at several batch sizes, in alternating rounds, and finds where
 * they are equally fast. Input and copies are not part of the step.
 * config   its pipeline has a stage `batch`; train.device is replaced
 * devices  two names, as leat_device_open() takes them
 * options  NULL for defaults
 * returns  LEAT_OK; LEAT_E_ARGUMENT; or the first error, with device and batch size
 * threads  one study at a time, because they would disturb each other */
LEAT_API int leat_crossover(const leat_config *config, const char *const devices[2],
                            const leat_crossover_options *options, leat_crossover_result *out,
                            leat_error *err);

#ifdef __cplusplus
}
#endif
#endif
