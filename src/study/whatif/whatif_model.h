/* SPDX-License-Identifier: MIT
 *
 * whatif_model.h: the arithmetic of whatif.c: from measured rates to predicted ones, and to what would
 * keep a device busy. */
#ifndef LEAT_WHATIF_MODEL_H
#define LEAT_WHATIF_MODEL_H

#include <stddef.h>

#include "leat/plan.h"
#include "leat/whatif.h"

/* Rates of the loader alone that were measured, by numbers of threads. */
typedef struct leat_whatif_rates {
    size_t n;
    int32_t threads[LEAT_WHATIF_THREADS * 2];
    leat_estimate rates[LEAT_WHATIF_THREADS * 2];
    leat_estimate per_thread; /* rate added by one more thread on its own core */
    double per_core;          /* rate of a fully busy core */
} leat_whatif_rates;

/* LEAT_OK, or LEAT_E_UNSUPPORTED: the pipeline has a `cache`. */
int leat_whatif_check_cache(const leat_plan *plan, leat_error *err);

/* The rate with a number of threads: as measured, or in proportion to them. */
leat_estimate leat_whatif_rate(const leat_whatif_rates *rates, int32_t threads, int32_t *predicted);

/* Fills loader, predicted, idle, bound, threads_needed, cores_needed and bytes_per_s_needed of a row that has
 * threads, step and copy. */
void leat_whatif_fill(const leat_whatif_rates *rates, double bytes_per_sample,
                      leat_whatif_row *row);

/* Fills the sentence, about the device that needs most cores, from the rows. */
void leat_whatif_say(leat_whatif_result *out);

#endif
