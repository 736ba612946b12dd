/* SPDX-License-Identifier: MIT
 *
 * race.h: which of several arms is fastest, from as few rounds as that takes. */
#ifndef LEAT_RACE_H
#define LEAT_RACE_H

#include <stdbool.h>
#include <stddef.h>

#include "leat/study.h"

enum { LEAT_RACE_ARMS = 8, LEAT_RACE_ROUNDS = 16, LEAT_RACE_MIN_ROUNDS = 3 };

/* Samples per second by arm and round. Arm 0 is the one to beat. An arm that is out runs no more. */
typedef struct leat_race {
    size_t n_arms, n_rounds; /* rounds so far */
    double rates[LEAT_RACE_ARMS][LEAT_RACE_ROUNDS];
    size_t done[LEAT_RACE_ARMS]; /* rounds of an arm */
    bool out[LEAT_RACE_ARMS];
} leat_race;

/* Samples per second of an arm: median of its rounds and bootstrap interval; 0 without a round. */
leat_estimate leat_race_rate(const leat_race *race, size_t arm);
/* Rate of an arm over that of another, paired by round: median and bootstrap interval. */
leat_estimate leat_race_ratio(const leat_race *race, size_t arm, size_t base);

/* The arm with the highest median ratio to arm 0 of those that are not out. */
size_t leat_race_leader(const leat_race *race);

/* After a round: takes out the arms that cannot win. From the second round on, those that were slower than
 * the leader by a third in every round; from LEAT_RACE_MIN_ROUNDS on, those whose interval is below the
 * leader. Returns true when the race is over: one arm is left, or those left differ by less than 2 %. */
bool leat_race_settle(leat_race *race);

/* The winner: the leader, if one of these holds; else arm 0:
 * - it is faster than arm 0 by half in each of two or more rounds;
 * - after LEAT_RACE_MIN_ROUNDS the interval of its ratio to arm 0 begins above LARGE (race.c);
 * - after two more rounds that interval begins above 1, and the ratio is at least COUNTS (race.c). */
size_t leat_race_winner(const leat_race *race);

#endif
