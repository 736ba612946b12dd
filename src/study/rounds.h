/* SPDX-License-Identifier: MIT
 *
 * rounds.h: the figures of one arm from those of its rounds. */
#ifndef LEAT_ROUNDS_H
#define LEAT_ROUNDS_H

#include "leat/study.h"

/* Meters of an arm, one per round each: as configured; of the loader alone, where every copy is an
 * exposed one and nothing else is set but samples and wall time; of the step alone. */
typedef struct leat_rounds {
    const leat_meter *run, *loader, *step;
} leat_rounds;

/* Fills all figures of an arm, with their intervals.
 * rounds  of the arm, n of them (1 … LEAT_BOOTSTRAP_MAX)
 * base    runs of the arm it is compared with, round by round */
void leat_rounds_conclude(const leat_rounds *rounds, const leat_meter *base, size_t n,
                          leat_compare_arm *out);

#endif
