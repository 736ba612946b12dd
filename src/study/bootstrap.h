/* SPDX-License-Identifier: MIT
 *
 * bootstrap.h: confidence intervals of a figure, by resampling rounds with replacement. */
#ifndef LEAT_BOOTSTRAP_H
#define LEAT_BOOTSTRAP_H

#include <stddef.h>

#include "leat/study.h"

enum { LEAT_BOOTSTRAP_MAX = 1000, LEAT_BOOTSTRAP_DRAWS = 2000 };

/* Computes a figure from n rounds, given by index; an index may occur several times. */
typedef double leat_statistic(const void *arg, const size_t *rounds, size_t n);

/* The figure of all n rounds (at most LEAT_BOOTSTRAP_MAX) with its percentile bootstrap 95 % interval: 2000
 * draws of n rounds with replacement, the same draws in every call. With few rounds such intervals
 * are a little too narrow; with one round the interval is the value. Zeros if n is 0. */
leat_estimate leat_bootstrap_estimate(leat_statistic *statistic, const void *arg, size_t n);

/* The median of n values, one per round, with its interval. */
leat_estimate leat_bootstrap_median(const double *values, size_t n);

#endif
