/* SPDX-License-Identifier: MIT
 *
 * diagnose.h: the one place that decides what limits a job. A pure function of facts.h, so that every verdict
 * can be tested with a table of numbers.
 *
 * The slowest part limits a job, so the verdict compares rates. What happened in the gap between two
 * steps proves nothing, because any thread can be late when all cores are busy.
 *
 *     input-bound     the job has the rate of the loader alone, which is slower than the step alone; or
 *                     nothing overlaps (prefetch 0) and batches take part of the time; or batches come
 *                     unevenly
 *     transfer-bound  the same, and copies fill the time of the loader alone; or exposed copies explain
 *                     why the job is slower than the step alone
 *     compute-bound   it has the rate of the step alone, and there the device is busy ≥ 90 %
 *     launch-bound    the same, but the device waits for kernels to be launched
 *     sync-bound      the same, but the device waits while the host waits for results
 *     placement       the same, but the device waits for layers that run on other devices
 *     shared-cores    loader and step need the same cores
 *     warm-up         one-time costs are half of the configured job or more
 *     environment     none of these is certain, and other processes or a CPU limit took cores
 *     inconclusive    none of these is certain */
#ifndef LEAT_DIAGNOSE_H
#define LEAT_DIAGNOSE_H

#include "facts.h"

typedef struct leat_diagnosis {
    const char *name;     /* one of the above */
    char label[48];       /* the cause within it: "decode: latency-bound"; "": none */
    const char *severity; /* "high", "moderate", "low"; "none": nothing to fix */
    const char *also;     /* a second verdict whose part is within 5 %; "": none */
    char why[200];        /* for a sentence */
} leat_diagnosis;

void leat_diagnose(const leat_facts *facts, leat_diagnosis *out);

/* Which stage limits the loader, and how: "decode: serial". "": not known. */
void leat_diagnose_label(const leat_facts *facts, char label[48]);

/* Whether workers wait inside the loader's slowest stage instead of computing. */
bool leat_diagnose_waits(const leat_facts *facts);

#endif
