/* SPDX-License-Identifier: MIT */
#include "median.h"

#include <stdlib.h>

static int compare_ints(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compare_reals(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void leat_median_sort(int64_t *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_ints);
}

void leat_median_sort_real(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_reals);
}

double leat_median_of(int64_t *values, size_t n)
{
    if (!n)
        return 0;
    leat_median_sort(values, n);
    return ((double)values[(n - 1) / 2] + (double)values[n / 2]) / 2;
}

double leat_median_of_real(double *values, size_t n)
{
    if (!n)
        return 0;
    leat_median_sort_real(values, n);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}
