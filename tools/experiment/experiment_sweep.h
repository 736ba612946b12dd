/* SPDX-License-Identifier: MIT
 *
 * experiment_sweep.h: curves of simple work against its size. The experiments whose x is a size use it. */
#ifndef LEAT_EXPERIMENT_SWEEP_H
#define LEAT_EXPERIMENT_SWEEP_H

#include "experiment_rows.h"

/* What x stands for in the options of the work. */
typedef enum leat_sweep_x {
    LEAT_SWEEP_SIZE,
    LEAT_SWEEP_PARTS,
    LEAT_SWEEP_REPEATS,
    LEAT_SWEEP_ON_HOST,
} leat_sweep_x;

/* One curve on each device of some kinds. */
typedef struct leat_sweep_line {
    const char *name; /* the series is "DEVICE: NAME" */
    int32_t on;       /* LEAT_ON_* */
    const char *sim;  /* as in leat_experiment_part */
    leat_work_options work;
    leat_sweep_x x;
    const double *xs; /* ends with -1 */
    bool per_repeat;  /* y is the time of one repeat */
} leat_sweep_line;

/* Measures all lines (name NULL ends the list) on the devices of the run, and appends their series, y in ms.
 * A line that a device cannot run is left out, with a note. */
int leat_sweep_lines(leat_experiment_run *run, const leat_sweep_line *lines, const char *x_unit,
                     leat_error *err);

/* The series of that device and line; NULL: it was left out. */
const leat_series *leat_sweep_series(const leat_experiment_run *run, const char *device,
                                     const char *line);
/* Its point at x; NULL if there is none. */
const leat_point *leat_sweep_point(const leat_series *series, double x);

/* leat_experiment_ratio() of two points; all 0 if one is NULL. */
leat_estimate leat_sweep_ratio(const leat_point *a, const leat_point *b);

/* Adds a finding that tells from which x on `device`'s line is faster than the line of the CPU. */
void leat_sweep_say_crossing(leat_experiment_run *run, const char *what, const leat_series *device,
                             const leat_series *cpu);

#endif
