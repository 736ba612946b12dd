/* SPDX-License-Identifier: MIT
 *
 * bootstrap.c: bootstrap intervals. The random draws depend only on their number, so a figure has the same
 * interval in every call. */
#include "bootstrap.h"

#include "leat/rng.h"
#include "median.h"

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

static double median_of(const void *arg, const size_t *rounds, size_t n)
{
    double picked[LEAT_BOOTSTRAP_MAX];
    for (size_t i = 0; i < n; i++)
        picked[i] = ((const double *)arg)[rounds[i]];
    return leat_median_of_real(picked, n);
}

leat_estimate leat_bootstrap_median(const double *values, size_t n)
{
    return leat_bootstrap_estimate(median_of, values, n);
}
