/* SPDX-License-Identifier: MIT
 *
 * verdict.h: figures into words. */
#ifndef LEAT_VERDICT_H
#define LEAT_VERDICT_H

#include "leat/study.h"

/* Pairs of runs without which no difference between arms is claimed. */
enum { LEAT_VERDICT_MIN_ROUNDS = 5 };

/* Writes verdict and sentence of an arm whose figures are set. The verdict is that of the largest
 * share of idle time which is large enough to count:
 *
 *     input-bound      input wait ≥ 5 % (moderate) or ≥ 20 % (high)
 *     transfer-bound   exposed copy ≥ 3 % (moderate) or ≥ 15 % (high)
 *     other            launch, host work and synchronisation ≥ 10 %, or nothing of all this
 *     compute-bound    the device is busy ≥ 90 % and none of the above
 *     inconclusive     the 95 % interval of idle is wider than the share that would decide */
void leat_verdict_arm(leat_compare_arm *arm);

/* Writes the sentence over all arms. A difference is claimed only when its interval excludes "no
 * difference" and there were enough rounds. */
void leat_verdict_summary(leat_compare_result *result);

#endif
