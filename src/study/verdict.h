/* SPDX-License-Identifier: MIT
 *
 * verdict.h: turns figures of a comparison into words. */
#ifndef LEAT_VERDICT_H
#define LEAT_VERDICT_H

#include "leat/study.h"

/* With fewer rounds no difference between arms is claimed. */
enum { LEAT_VERDICT_MIN_ROUNDS = 5 };

/* Writes verdict and sentence of an arm whose figures are set. The verdict compares rates: an arm runs at
 * the rate of the part that limits it. What happened in the gap between two steps proves nothing, because
 * any thread can be late when all cores are busy.
 *
 *     input-bound     its rate is that of the loader alone, which is slower than the step alone; or
 *                     nothing overlaps (prefetch 0) and batches take part of the time; or batches come
 *                     unevenly
 *     transfer-bound  the same, and copies fill the time of the loader alone; or exposed copies explain
 *                     why the arm is slower than the step alone
 *     compute-bound   its rate is that of the step alone, and there the device is busy ≥ 90 %
 *     host-bound      the same, but the device is less busy: launches, host work, waiting for results
 *     shared-cores    the device is the CPU, and the arm is slower than loader and step alone
 *     environment     none of these is certain, and other processes used 10 % of the CPUs or more
 *     inconclusive    none of these is certain
 *
 * taken  share of the CPUs used by other processes during the rounds */
void leat_verdict_arm(leat_compare_arm *arm, double taken);

/* Writes the sentence over all arms. A difference is claimed only when its interval excludes "no
 * difference" and there were enough rounds. */
void leat_verdict_summary(leat_compare_result *result);

#endif
