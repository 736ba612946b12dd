/* SPDX-License-Identifier: MIT
 *
 * rounds.h: combines the rounds of one arm into its figures. */
#ifndef LEAT_ROUNDS_H
#define LEAT_ROUNDS_H

#include <stdbool.h>

#include "leat/study.h"

/* Meters of an arm, one per round: as configured, of the loader alone, and of the step alone. Loader meters
 * have only samples, wall time and copy time; all copy time counts as exposed. */
typedef struct leat_rounds {
    const leat_meter *run, *loader, *step;
} leat_rounds;

/* Fills all figures of an arm, with their intervals.
 * rounds  of the arm, n of them (1 … LEAT_BOOTSTRAP_MAX)
 * base    runs of the arm that it is compared with, by round */
void leat_rounds_conclude(const leat_rounds *rounds, const leat_meter *base, size_t n,
                          leat_compare_arm *out);

/* Whether n rounds tell an arm from its base: the interval of its speed-up lies above 1.02, below 0.98, or is
 * at most 0.04 wide. For the base itself (run == base): the interval of its rate is at most 4 % wide. */
bool leat_rounds_settled(const leat_meter *run, const leat_meter *base, size_t n);

#endif
