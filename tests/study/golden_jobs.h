/* SPDX-License-Identifier: MIT
 *
 * golden_jobs.h: jobs whose limit is planted, and so known. One table; test_golden_jobs.c runs it.
 *
 * Not here, because nothing available expresses it: a kernel of one block with NVML at 100 % (needs a GPU; no
 * verdict uses NVML). "No CUPTI" is a matter of facts only: test_verdict_rules.c. A CPU that is faster than a GPU
 * is found by leat_crossover(): below the table in test_golden_jobs.c. */
#ifndef GOLDEN_JOBS_H
#define GOLDEN_JOBS_H

#include <stdbool.h>

#include "leat/doctor.h"

enum { GOLDEN_BATCH = 4, GOLDEN_RECORDS = 64 };

typedef struct golden_job {
    const char *name;
    const char *device, *engine, *ops, *prefetch, *train;
    int layers;     /* 0: 1 */
    const char *on; /* the device of a layer before the others; NULL: there is none */
    bool pictures;  /* decodes JPEG files */
    unsigned plants;
    bool uneven; /* 20 steps are too few: the benchmark's runs are as long as the doctor chooses */

    /* The truth. */
    const char *verdict;
    const char *label;      /* NULL: any */
    const char *also;       /* NULL: any; two verdicts of a tie may change places */
    leat_worker_time waits; /* what the loader's workers do for most of the time; 0: not planted */
    double busy_ms;         /* the device computes for so long per step; 0: not planted */
    const char *idle[2];    /* the shares that hold the time in which it does not */
    double idle_ms;         /* how much of it per step was planted there; 0: all */
    double step_ms;         /* a step takes at least this; 0: not planted */
    const char *
        advice; /* the first suggestion sets a value that begins with this, or one of those between |; NULL: any */
} golden_job;

extern const golden_job golden_jobs[];
extern const int golden_n_jobs;

#endif
