/* SPDX-License-Identifier: MIT
 *
 * verdict_rules.h: decides what limits a job for doctor and compare. A pure function of facts.h, so that every verdict
 * can be tested with a table of numbers. Where less is known, others decide: device/watch.c from the shares of a watched
 * program, leat_doctor_guess() from those of one run.
 *
 * The slowest part limits a job, so the verdict compares rates. What happened in the gap between two
 * steps proves nothing, because any thread can be late when all cores are busy.
 *
 *     INPUT_BOUND     the job has the rate of the loader alone, which is slower than the step alone; or
 *                     nothing overlaps (prefetch 0) and batches take part of the time; or batches come
 *                     unevenly
 *     TRANSFER_BOUND  the same, and copies fill the time of the loader alone; or exposed copies explain
 *                     why the job is slower than the step alone
 *     COMPUTE_BOUND   it has the rate of the step alone, and there the device is busy ≥ 90 %
 *     LAUNCH_BOUND    the same, but the device waits for kernels to be launched
 *     SYNC_BOUND      the same, but the device waits while the host waits for results
 *     PLACEMENT       the same, but the device waits for layers that run on other devices
 *     SHARED_CORES    loader and step need the same cores
 *     STRAGGLER       of several processes one lets the others wait
 *     COMMUNICATION_BOUND  none does, and they wait for what they send each other
 *     WARM_UP         one-time costs are half of the configured job or more
 *     ENVIRONMENT     none of these is certain, and other processes or a CPU limit took cores
 *     INCONCLUSIVE    none of these is certain */
#ifndef LEAT_VERDICT_RULES_H
#define LEAT_VERDICT_RULES_H

#include "facts.h"
#include "leat/ranks.h"

typedef struct leat_verdict_found {
    leat_verdict verdict;
    char why[200]; /* for a sentence */
} leat_verdict_found;

void leat_verdict_decide(const leat_facts *facts, leat_verdict_found *out);

/* Of processes that train together: straggler, communication-bound or none of these (LEAT_VERDICT_NONE). */
void leat_verdict_of_ranks(const leat_ranks_time *times, int32_t n, leat_verdict_found *out);

/* Whether workers wait inside the loader's slowest stage instead of computing. */
bool leat_verdict_waits(const leat_facts *facts);

#endif
