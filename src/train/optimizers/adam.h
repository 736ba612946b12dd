/* SPDX-License-Identifier: MIT
 *
 * adam.h: what adam, adamw and muon share. */
#ifndef LEAT_ADAM_H
#define LEAT_ADAM_H

#include <math.h>

#include "train/cpu/cpu_loops.h"
#include "train/optimizers.h"

typedef struct leat_adam_loop_rates {
    double learning_rate;
    float l2;   /* this times the weight is added to its gradient */
    float kept; /* the weight is multiplied by it first */
} leat_adam_loop_rates;

static inline void leat_adam_loop(const leat_adam_options *opts, const leat_update *u,
                                  const leat_adam_loop_rates *rates, float *weight,
                                  const float *grad, float *mean, float *square, size_t n)
{
    const double left1 = 1 - pow((double)opts->beta1, (double)u->step);
    const double left2 = 1 - pow((double)opts->beta2, (double)u->step);
    const leat_cpu_adam how = { .beta1 = opts->beta1,
                                .beta2 = opts->beta2,
                                .epsilon = opts->epsilon,
                                .rate = (float)(rates->learning_rate / left1),
                                .root = (float)(1 / sqrt(left2)),
                                .scale = u->grad_scale,
                                .l2 = rates->l2,
                                .kept = rates->kept };
    leat_cpu_loops_get()->adam(&how, weight, grad, mean, square, n);
}

/* Rows of option tables of structs that begin with leat_adam_options. */
#define LEAT_ADAM_ROW(field, initial, low, high, help)                                             \
    LEAT_GPU_OPTION(leat_adam_options, field, F32, initial, low, high, help)
#define LEAT_ADAM_BETAS                                                                            \
    LEAT_ADAM_ROW(beta1, "0.9", 0, 0.999999, "decay of the running mean"),                         \
        LEAT_ADAM_ROW(beta2, "0.999", 0, 0.999999, "decay of the running mean square"),            \
        LEAT_ADAM_ROW(epsilon, "1e-8", 1e-30, 1, "added to the divisor")

#endif
