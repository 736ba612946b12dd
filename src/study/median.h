/* SPDX-License-Identifier: MIT
 *
 * median.h: medians. The meter and all studies call it. */
#ifndef LEAT_MEDIAN_H
#define LEAT_MEDIAN_H

#include <stddef.h>
#include <stdint.h>

/* Sort values, smallest first. */
void leat_median_sort(int64_t *values, size_t n);
void leat_median_sort_real(double *values, size_t n);

/* Sort values and return their median, for an even n the mean of the two in the middle; 0 if n is 0. */
double leat_median_of(int64_t *values, size_t n);
double leat_median_of_real(double *values, size_t n);

#endif
