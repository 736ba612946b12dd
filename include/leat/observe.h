/* SPDX-License-Identifier: MIT
 *
 * observe.h: the verdict of leat_doctor() for a training loop whose loader and step are not leat's. The caller takes
 * turns between three kinds of runs: the loop as it is (`whole`), its loader alone (`loader`: take batches and drop them),
 * and its step alone on one batch that is kept (`step`). python/leat_data/_doctor.py is an example. */
#ifndef LEAT_OBSERVE_H
#define LEAT_OBSERVE_H

#include "leat/doctor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Counters at one moment, ns. `own_ns` is CPU time of this process and its descendants; of those that have ended, if they
 * were waited for. `busy_ns` and `all_ns` are of the CPUs that this process may use, as the kernel counts them, in ticks
 * of 10 ms. */
typedef struct leat_usage {
    int32_t n_cpus;   /* of the affinity mask, as many as a CPU limit lets this process use */
    int32_t n_beyond; /* the others of the mask; 0: there is no such limit */
    int64_t at_ns;    /* CLOCK_MONOTONIC */
    int64_t own_ns;
    int64_t busy_ns, all_ns; /* all_ns 0: not known */
    int64_t throttled_ns; /* its control group was stopped by a CPU limit; 0: never, or not known */
} leat_usage;

/* Reads /proc. Any thread. */
LEAT_API void leat_usage_now(leat_usage *out);
/* CPUs on average that other processes used between two moments; 0: none, or not known. Any thread. */
LEAT_API double leat_usage_others(const leat_usage *from, const leat_usage *to);

/* One run: steps in a row, between two looks at the counters. */
typedef struct leat_observed_run {
    int64_t wall_ns;
    int64_t wait_ns; /* part of it in which `whole` waited for batches */
    int64_t steps;   /* or batches, 1 or more */
    double rows;     /* samples in them */
    leat_usage from, to;
    double
        all_rows; /* of all batches between the two looks, those that do not count included; 0: rows */
} leat_observed_run;

/* One run of each kind, one after the other, so that all see the same machine. */
typedef struct leat_observed_round {
    leat_observed_run whole, loader, step;
} leat_observed_round;

typedef struct leat_observed {
    int32_t on_host;  /* 1: the step computes on the CPUs that the loader uses too */
    int32_t overlaps; /* 1: batches are made during steps, by other threads or processes */
    int32_t workers;  /* of them; 0: the loop's own thread makes batches; -1: not known */
    int32_t n_rounds; /* 1 … 1000 */
    const leat_observed_round *rounds;
} leat_observed;

/* What limits such a loop.
 * out      filled as by leat_doctor(), but for what only leat's own loader and trainer can tell: no stages, suggestions,
 *          costs that are paid once, copies, nor probe. Where the step is not on the host, the device counts as busy
 *          during all of a step alone.
 * returns  LEAT_OK, LEAT_E_ARGUMENT (a run without steps, samples or time), LEAT_E_NOMEM
 * threads  any */
LEAT_API int leat_doctor_observed(const leat_observed *observed, leat_doctor_result *out,
                                  leat_error *err);

/* The step time, ns, if so many workers (1 or more) made batches during the steps: each as fast as one does now, all
 * together no faster than the cores allow; by the rule of predicted_step_ms. Where nothing overlaps now, no less is left than
 * what the loop takes beyond its waits, or beyond its loader. 0: it cannot be told. Any thread. */
LEAT_API double leat_observed_predict(const leat_observed *observed, int32_t workers);

#ifdef __cplusplus
}
#endif
#endif
