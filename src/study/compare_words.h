/* SPDX-License-Identifier: MIT
 *
 * compare_words.h: a comparison in sentences: what limits each arm, and how the arms differ. */
#ifndef LEAT_COMPARE_WORDS_H
#define LEAT_COMPARE_WORDS_H

#include "facts.h"

/* With fewer rounds no difference between arms is claimed. */
enum { LEAT_COMPARE_WORDS_MIN_ROUNDS = 5 };

/* Writes verdict and sentence of an arm whose figures are set. diagnose.h decides. */
void leat_compare_words_arm(leat_compare_arm *arm, const leat_facts *facts);

/* Writes the sentence over all arms. A difference is claimed only when its interval excludes "no
 * difference" and there were enough rounds. */
void leat_compare_words_all(leat_compare_result *result);

#endif
