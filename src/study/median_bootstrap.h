/* SPDX-License-Identifier: MIT
 *
 * median_bootstrap.h: medians, and confidence intervals of figures, by resampling rounds with replacement. The meter and
 * all studies call it. */
#ifndef LEAT_MEDIAN_BOOTSTRAP_H
#define LEAT_MEDIAN_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

#include "leat/study.h"

/* Sort values, smallest first. */
void leat_median_sort(int64_t *values, size_t n);
void leat_median_sort_real(double *values, size_t n);

/* Sort values and return their median, for an even n the mean of the two in the middle; 0 if n is 0. */
double leat_median_of(int64_t *values, size_t n);
double leat_median_of_real(double *values, size_t n);

enum { LEAT_BOOTSTRAP_MAX = 1000, LEAT_BOOTSTRAP_DRAWS = 2000 };

/* Computes a figure from n rounds, given by index; an index may occur several times. */
typedef double leat_statistic(const void *arg, const size_t *rounds, size_t n);

/* The figure of all n rounds (at most LEAT_BOOTSTRAP_MAX) with its percentile bootstrap 95 % interval: 2000
 * draws of n rounds with replacement, the same draws in every call. With few rounds such intervals
 * are a little too narrow; with one round the interval is the value. Zeros if n is 0. */
leat_estimate leat_bootstrap_estimate(leat_statistic *statistic, const void *arg, size_t n);

/* The median as such a figure: `values` are doubles, one per round. With its interval, of all n values. */
double leat_bootstrap_median_of(const void *values, const size_t *rounds, size_t n);
leat_estimate leat_bootstrap_median(const double *values, size_t n);

#endif
