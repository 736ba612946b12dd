/* SPDX-License-Identifier: MIT
 *
 * rounds.h: alternating rounds: runs them, makes figures of them, and finds the fastest arm. All studies measure by
 * them. */
#ifndef LEAT_ROUNDS_H
#define LEAT_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leat/error.h"
#include "leat/study.h"

/* Runs cells (an arm, a part of a job, a variant) in alternating rounds.
 *
 * DESIGN: clock rates, page cache and other processes drift slowly. So each round runs every cell once, forwards in even
 * rounds and backwards in odd ones (ABBA), and cells are compared within rounds. */

typedef struct leat_alternate {
    int32_t n_cells, n_rounds; /* rounds: at most */
    /* Measures a cell once. LEAT_OK; LEAT_E_END: stop here, the round does not count; or an error, which ends all. */
    int (*run)(void *user, int32_t cell, int32_t round, leat_error *err);
    /* Called after each round with the number of rounds so far; true: that is enough. NULL: never. */
    bool (*enough)(void *user, int32_t n_rounds);
    void *user;
    /* Filled: */
    int32_t n_done;   /* whole rounds */
    int32_t cores;    /* CPUs that this process may use */
    double taken;     /* CPUs on average that other processes used meanwhile; 0: not known */
    double throttled; /* CPUs on average that a CPU limit stopped */
} leat_alternate;

/* Returns LEAT_OK or the error of a cell. */
int leat_rounds_run(leat_alternate *alternate, leat_error *err);

/* --- the figures of an arm, from its rounds --- */

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

/* --- which of several arms is fastest, from as few rounds as that takes --- */

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
