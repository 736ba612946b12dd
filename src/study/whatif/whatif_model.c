/* SPDX-License-Identifier: MIT
 *
 * whatif_model.c: the arithmetic of leat_whatif(). whatif.c measures and calls it. */
#include "whatif_model.h"

#include <math.h>
#include <stdio.h>

#include "base/text.h"

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

void leat_whatif_say(leat_whatif_result *out)
{
    const leat_whatif_row *row = out->rows;
    for (int32_t i = 1; i < out->n_rows; i++)
        if (out->rows[i].cores_needed > row->cores_needed)
            row = &out->rows[i];
    const char *simulated = row->simulated ? " (simulated)" : "";
    if (row->cores_needed <= out->cores)
        leat_text(out->sentence, sizeof out->sentence,
                  "%d thread%s on %d of this machine's cores keep%s %s busy%s", row->threads_needed,
                  row->threads_needed == 1 ? "" : "s", row->cores_needed,
                  row->threads_needed == 1 ? "s" : "", row->device, simulated);
    else
        leat_text(
            out->sentence, sizeof out->sentence,
            "%s%s would need %d threads on %d cores like these to be busy all the time; predicted "
            "from %d cores",
            row->device, simulated, row->threads_needed, row->cores_needed, out->cores);
}
