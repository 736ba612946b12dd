/* SPDX-License-Identifier: MIT
 *
 * whatif_model.c: the arithmetic of leat_whatif(). whatif.c measures and calls it. */
#include "whatif_model.h"

#include <math.h>
#include <stdio.h>

static const double EVEN = 0.05;

leat_estimate leat_whatif_rate(const leat_whatif_rates *rates, int32_t threads, int32_t *predicted)
{
    *predicted = 0;
    for (size_t i = 0; i < rates->n; i++)
        if (rates->threads[i] == threads)
            return rates->rates[i];
    const leat_estimate one = rates->per_thread;
    *predicted = 1;
    return (leat_estimate){ one.value * threads, one.low * threads, one.high * threads };
}

static int32_t how_many(double rate, double each)
{
    const double n = ceil(rate / each - 1e-9);
    return n < 1 ? 1 : n < INT32_MAX ? (int32_t)n : INT32_MAX;
}

void leat_whatif_fill(const leat_whatif_rates *rates, double bytes_per_sample, leat_whatif_row *row)
{
    const double consumer = fmin(row->step, row->copy);
    row->loader = leat_whatif_rate(rates, row->threads, &row->predicted);
    const double of = row->loader.value / consumer;
    row->idle = of < 1 ? 1 - of : 0;
    const char *bound = fabs(of - 1) <= EVEN    ? "even"
                        : of < 1                ? "input"
                        : row->copy < row->step ? "copy"
                                                : "step";
    snprintf(row->bound, sizeof row->bound, "%s", bound);
    row->threads_needed = how_many(consumer, rates->per_thread.value);
    row->cores_needed = how_many(consumer, rates->per_core);
    row->bytes_per_s_needed = consumer * bytes_per_sample;
}
