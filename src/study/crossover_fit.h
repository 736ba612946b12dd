/* SPDX-License-Identifier: MIT
 *
 * crossover_fit.h: from step times on two devices to the batch size at which they are equal. */
#ifndef LEAT_CROSSOVER_FIT_H
#define LEAT_CROSSOVER_FIT_H

#include "leat/crossover.h"

/* Step times in ms: of device d at the i-th batch size in round r, at ms[(d * n_sizes + i) * n_rounds + r]. */
typedef struct leat_crossover_times {
    const int64_t *batches; /* n_sizes (1 … LEAT_CROSSOVER_POINTS), growing */
    size_t n_sizes, n_rounds;
    const double *ms;
} leat_crossover_times;

/* Index of the device that is faster at the i-th size; -1: the interval of the ratio includes 1. */
int32_t leat_crossover_faster(const leat_crossover_times *times, size_t i);

/* Fills points, lines, crosses, crossover and faster_below of *out. A crossing needs a size at which one
 * device is faster beyond noise, and a larger one at which the other is. */
void leat_crossover_conclude(const leat_crossover_times *times, leat_crossover_result *out);

/* Steps that pay for a larger one-time cost, see leat_crossover_result. ms: medians of a step. */
double leat_crossover_steps_to_pay(const double one_time_ms[2], const double ms[2], int32_t faster);

#endif
