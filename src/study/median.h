/* SPDX-License-Identifier: MIT
 *
 * median.h: the median of times. The meter and comparisons call it. */
#ifndef LEAT_MEDIAN_H
#define LEAT_MEDIAN_H

#include <stddef.h>
#include <stdint.h>

/* Sorts values, smallest first. */
void leat_median_sort(int64_t *values, size_t n);

/* Sorts values and returns their median, for an even n the mean of the two in the middle; 0 if n is 0. */
double leat_median_of(int64_t *values, size_t n);

#endif
