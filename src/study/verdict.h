/* SPDX-License-Identifier: MIT
 *
 * verdict.h: turns figures of a comparison into words. */
#ifndef LEAT_VERDICT_H
#define LEAT_VERDICT_H

#include "facts.h"

/* With fewer rounds no difference between arms is claimed. */
enum { LEAT_VERDICT_MIN_ROUNDS = 5 };

/* Writes verdict and sentence of an arm whose figures are set. diagnose.h decides. */
void leat_verdict_arm(leat_compare_arm *arm, const leat_facts *facts);

/* Writes the sentence over all arms. A difference is claimed only when its interval excludes "no
 * difference" and there were enough rounds. */
void leat_verdict_summary(leat_compare_result *result);

#endif
