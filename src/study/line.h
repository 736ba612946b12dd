/* SPDX-License-Identifier: MIT
 *
 * line.h: a line through times at several sizes, and where two lines cross. */
#ifndef LEAT_LINE_H
#define LEAT_LINE_H

#include <stddef.h>

/* y = alpha + beta * x */
typedef struct leat_line {
    double alpha, beta;
} leat_line;

/* Fits a line through n points (2 … 64) with y > 0. Errors count relative to y, so that small sizes decide
 * alpha and large ones beta. A point far off the others counts little (Huber weights). */
leat_line leat_line_fit(const double *x, const double *y, size_t n);

/* x where both are equal; NaN if they are parallel. */
double leat_line_crossing(leat_line a, leat_line b);

#endif
