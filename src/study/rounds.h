/* SPDX-License-Identifier: MIT
 *
 * rounds.h: the figures of one arm from those of its rounds. */
#ifndef LEAT_ROUNDS_H
#define LEAT_ROUNDS_H

#include "leat/study.h"

/* Fills meter, idle, samples per second and speedup of an arm, with their intervals.
 * rounds  of the arm, n of them (1 … LEAT_BOOTSTRAP_MAX)
 * base    of the arm it is compared with, round by round */
void leat_rounds_conclude(const leat_meter *rounds, const leat_meter *base, size_t n,
                          leat_compare_arm *out);

#endif
