/* SPDX-License-Identifier: MIT
 *
 * adam.h: what adam, adamw and muon share. */
#ifndef LEAT_ADAM_H
#define LEAT_ADAM_H

#include <math.h>

#include "train/losses.h"

typedef struct leat_adam_loop_rates {
    double learning_rate;
    float l2;   /* this times the weight is added to its gradient */
    float kept; /* the weight is multiplied by it first */
} leat_adam_loop_rates;

/* Blocks of fixed length, so that the compiler makes vector code of the inner loop. */
static inline void leat_adam_loop(const leat_adam_options *opts, const leat_update *u,
                                  const leat_adam_loop_rates *rates, float *restrict weight,
                                  const float *restrict grad, float *restrict mean,
                                  float *restrict square, size_t n)
{
    const leat_adam_options o = *opts;
    const double left1 = 1 - pow((double)o.beta1, (double)u->step);
    const double left2 = 1 - pow((double)o.beta2, (double)u->step);
    const float rate = (float)(rates->learning_rate / left1), l2 = rates->l2, kept = rates->kept;
    const float root = (float)(1 / sqrt(left2)), scale = u->grad_scale;
    for (size_t i = 0; i < n; i += 16)
        for (size_t j = i; j < i + 16; j++) {
            const float g = grad[j] * scale + l2 * weight[j];
            const float m = o.beta1 * mean[j] + (1 - o.beta1) * g;
            const float v = o.beta2 * square[j] + (1 - o.beta2) * (g * g);
            mean[j] = m;
            square[j] = v;
            weight[j] = kept * weight[j] - rate * m / (sqrtf(v) * root + o.epsilon);
        }
}

/* Rows of an option tables of structs that begin with leat_adam_options. */
#define LEAT_ADAM_ROW(field, initial, low, high, help)                                             \
    {                                                                                              \
#field, LEAT_OPTION_TYPE_F32, offsetof(leat_adam_options, field), initial, low, high,      \
            NULL, help                                                                             \
    }
#define LEAT_ADAM_BETAS                                                                            \
    LEAT_ADAM_ROW(beta1, "0.9", 0, 0.999999, "decay of the running mean"),                         \
        LEAT_ADAM_ROW(beta2, "0.999", 0, 0.999999, "decay of the running mean square"),            \
        LEAT_ADAM_ROW(epsilon, "1e-8", 1e-30, 1, "added to the divisor")

#endif
