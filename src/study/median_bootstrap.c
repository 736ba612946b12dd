/* SPDX-License-Identifier: MIT */
#include "median_bootstrap.h"

#include <stdlib.h>

#include "leat/rng.h"

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

leat_estimate leat_bootstrap_estimate(leat_statistic *statistic, const void *arg, size_t n)
{
    size_t rounds[LEAT_BOOTSTRAP_MAX];
    double values[LEAT_BOOTSTRAP_DRAWS];
    if (!n)
        return (leat_estimate){ 0, 0, 0 };
    for (size_t draw = 0; draw < LEAT_BOOTSTRAP_DRAWS; draw++) {
        leat_rng rng = leat_rng_make(1, draw, 0, 0);
        for (size_t i = 0; i < n; i++)
            rounds[i] = leat_rng_below(&rng, (uint32_t)n);
        values[draw] = statistic(arg, rounds, n);
    }
    leat_median_sort_real(values, LEAT_BOOTSTRAP_DRAWS);
    for (size_t i = 0; i < n; i++)
        rounds[i] = i;
    return (leat_estimate){ statistic(arg, rounds, n), values[LEAT_BOOTSTRAP_DRAWS / 40],
                            values[LEAT_BOOTSTRAP_DRAWS - 1 - LEAT_BOOTSTRAP_DRAWS / 40] };
}

double leat_bootstrap_median_of(const void *arg, const size_t *rounds, size_t n)
{
    double picked[LEAT_BOOTSTRAP_MAX];
    for (size_t i = 0; i < n; i++)
        picked[i] = ((const double *)arg)[rounds[i]];
    return leat_median_of_real(picked, n);
}

leat_estimate leat_bootstrap_median(const double *values, size_t n)
{
    return leat_bootstrap_estimate(leat_bootstrap_median_of, values, n);
}
