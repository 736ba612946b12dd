/* SPDX-License-Identifier: MIT
 *
 * alternate.h: runs cells (an arm, a part of a job, a variant) in alternating rounds. All studies measure by it.
 *
 * DESIGN: clock rates, page cache and other processes drift slowly. So each round runs every cell once, forwards in even
 * rounds and backwards in odd ones (ABBA), and cells are compared within rounds. */
#ifndef LEAT_ALTERNATE_H
#define LEAT_ALTERNATE_H

#include <stdbool.h>
#include <stdint.h>

#include "leat/error.h"

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
int leat_alternate_run(leat_alternate *alternate, leat_error *err);

#endif
