/* SPDX-License-Identifier: MIT
 *
 * verdict.h: figures into words. */
#ifndef LEAT_VERDICT_H
#define LEAT_VERDICT_H

#include "leat/study.h"

/* Pairs of runs without which no difference between arms is claimed. */
enum { LEAT_VERDICT_MIN_ROUNDS = 5 };

/* Writes verdict and sentence of an arm whose figures are set. It goes by slack: an arm runs at the
 * rate of what has none. Who filled a gap between two steps proves nothing, since on a machine whose
 * cores are all busy any of them may come late.
 *
 *     input-bound     its rate is that of the loader alone, which is slower than the step alone; or
 *                     nothing overlaps (prefetch 0) and batches take a part of the time; or batches come
 *                     unevenly
 *     transfer-bound  the same, and copies fill the time of the loader alone; or what the arm lacks of
 *                     the step's rate is exposed copies
 *     compute-bound   its rate is that of the step alone, and there the device is busy ≥ 90 %
 *     host-bound      the same, and there it is not: launches, host work, waiting for results
 *     shared-cores    the CPU is the device, and the arm is slower than loader and step alone
 *     environment     none of these is sure, and other processes took 10 % of the CPUs or more
 *     inconclusive    none of these is sure
 *
 * taken  share of the CPUs that other processes used meanwhile */
void leat_verdict_arm(leat_compare_arm *arm, double taken);

/* Writes the sentence over all arms. A difference is claimed only when its interval excludes "no
 * difference" and there were enough rounds. */
void leat_verdict_summary(leat_compare_result *result);

#endif
