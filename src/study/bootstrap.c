/* SPDX-License-Identifier: MIT
 *
 * bootstrap.c: bootstrap intervals. The random draws depend only on their number, so a figure has the same
 * interval in every call. */
#include "bootstrap.h"

#include <stdlib.h>

#include "leat/rng.h"

static int compare_double(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

leat_interval leat_bootstrap_interval(leat_statistic *statistic, const void *arg, size_t n)
{
    size_t rounds[LEAT_BOOTSTRAP_MAX];
    double values[LEAT_BOOTSTRAP_DRAWS];
    for (size_t draw = 0; draw < LEAT_BOOTSTRAP_DRAWS; draw++) {
        leat_rng rng = leat_rng_make(1, draw, 0, 0);
        for (size_t i = 0; i < n; i++)
            rounds[i] = leat_rng_below(&rng, (uint32_t)n);
        values[draw] = statistic(arg, rounds, n);
    }
    qsort(values, LEAT_BOOTSTRAP_DRAWS, sizeof *values, compare_double);
    return (leat_interval){ values[LEAT_BOOTSTRAP_DRAWS / 40],
                            values[LEAT_BOOTSTRAP_DRAWS - 1 - LEAT_BOOTSTRAP_DRAWS / 40] };
}
