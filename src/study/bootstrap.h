/* SPDX-License-Identifier: MIT
 *
 * bootstrap.h: how far a figure would have been off if other rounds had been drawn. */
#ifndef LEAT_BOOTSTRAP_H
#define LEAT_BOOTSTRAP_H

#include <stddef.h>

enum { LEAT_BOOTSTRAP_MAX = 1000, LEAT_BOOTSTRAP_DRAWS = 2000 };

typedef struct leat_interval {
    double low, high;
} leat_interval;

/* A figure over a choice of rounds: n indices, each may stand there several times. */
typedef double leat_statistic(const void *arg, const size_t *rounds, size_t n);

/* Percentile bootstrap 95 % interval of a statistic over n rounds (1 … LEAT_BOOTSTRAP_MAX): 2000
 * draws of n rounds with replacement, the same draws in every call. With few rounds such intervals
 * come out a little narrow; with one the interval is the value. */
leat_interval leat_bootstrap_interval(leat_statistic *statistic, const void *arg, size_t n);

#endif
