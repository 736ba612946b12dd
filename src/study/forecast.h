/* SPDX-License-Identifier: MIT
 *
 * forecast.h: predicts the step of a job from the capacities of its parts. Pure functions of facts.h. */
#ifndef LEAT_FORECAST_H
#define LEAT_FORECAST_H

#include "facts.h"

/* Times per step, ns; 0: not known, or no such part. */
typedef struct leat_forecast {
    double step;   /* C: the step alone */
    double queued; /* Cq: part of `step` in which the device computes */
    double sync;   /* part in which it idles because the host waits for a result */
    double placed; /* part in which it idles because layers run on other devices */
    double loader; /* L (with prefetch 0: L0 and the copy) */
    double copy;   /* X */
    double shared; /* CPU time of loader and step over the CPUs that are free for them */
    double
        uneven; /* with batches that come as unevenly as those of the loader alone; 0: not known */
    double predicted;
} leat_forecast;

/* Overlapped: max(step, loader, copy, shared, uneven), on the CPU also the time of both while they slow each other; otherwise
 * step + loader, which holds the copy. */
leat_forecast leat_forecast_of(const leat_facts *facts);

/* Divides the meter's time further by means of the capacities. */
void leat_forecast_shares(const leat_facts *facts, double shares[LEAT_N_SHARES]);

/* CPUs that loader and step may use, given what other processes take. At least 1. */
double leat_forecast_cores(const leat_facts *facts);

#endif
