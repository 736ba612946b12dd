/* SPDX-License-Identifier: MIT
 *
 * doctor_fill.h: facts into the fields of a doctor's result. Pure functions. */
#ifndef LEAT_DOCTOR_FILL_H
#define LEAT_DOCTOR_FILL_H

#include "leat/doctor.h"
#include "study/verdict_rules.h"

/* Rates (samples/s) of the loader with prefetch (`ahead`) and with prefetch 0 (`alone`). value 0: not measured. */
typedef struct leat_doctor_loaders {
    leat_estimate ahead, alone;
} leat_doctor_loaders;

void leat_doctor_fill(const leat_facts *facts, const leat_verdict_found *diagnosis,
                      const leat_doctor_loaders *loaders, leat_doctor_result *out);
/* The cost of a first step or batch is its extra time over later ones. Returns the sum, ms. */
double leat_doctor_fill_costs(const leat_facts *facts, const leat_arm_once *once,
                              int32_t warmup_steps, leat_doctor_result *out);

/* How much of a time that was added to steps made runs longer, 0 … 1: the median of n pairs of runs, without it and
 * with it. All in ns per batch. -1: the pairs differ too much, or show what cannot be. */
enum { LEAT_DOCTOR_PROBE_MOST = 16 };
double leat_doctor_slope(const double *plain, const double *more, int n, double added);

#endif
