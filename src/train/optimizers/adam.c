/* SPDX-License-Identifier: MIT
 *
 * adam: Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 1:
 *   m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g²
 *   w -= learning_rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon) */
#include <math.h>

#include "train/losses.h"

static const leat_option options[] = {
    LEAT_RATE_OPTION(leat_adam_options, learning_rate, "1e-3", 0, 1e6, "step size"),
    LEAT_OPTION_F32(leat_adam_options, beta1, "0.9", 0, 0.999999, "decay of the running mean"),
    LEAT_OPTION_F32(leat_adam_options, beta2, "0.999", 0, 0.999999,
                    "decay of the running mean square"),
    LEAT_OPTION_F32(leat_adam_options, epsilon, "1e-8", 1e-30, 1, "added to the divisor"),
    LEAT_OPTION_END
};

/* Blocks of fixed length, so that the compiler makes vector code of the inner loop. */
static void update(const void *opts, const leat_update *u, float *restrict weight,
                   const float *restrict grad, float *const states[LEAT_OPTIMIZER_MAX_STATES],
                   size_t n)
{
    const leat_adam_options o = *(const leat_adam_options *)opts;
    float *restrict mean = states[0], *restrict square = states[1];
    const double left1 = 1 - pow((double)o.beta1, (double)u->step);
    const double left2 = 1 - pow((double)o.beta2, (double)u->step);
    const float rate = (float)(u->learning_rate / left1);
    const float root = (float)(1 / sqrt(left2)), scale = u->grad_scale;
    for (size_t i = 0; i < n; i += 16)
        for (size_t j = i; j < i + 16; j++) {
            const float g = grad[j] * scale;
            const float m = o.beta1 * mean[j] + (1 - o.beta1) * g;
            const float v = o.beta2 * square[j] + (1 - o.beta2) * (g * g);
            mean[j] = m;
            square[j] = v;
            weight[j] -= rate * m / (sqrtf(v) * root + o.epsilon);
        }
}

const leat_optimizer leat_optimizer_adam = {
    .kind = { "adam", "steps scaled by the recent size of each gradient", options },
    .options_size = sizeof(leat_adam_options),
    .n_states = 2,
    .flops = 12,
    .update = update,
};
