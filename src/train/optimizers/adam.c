/* SPDX-License-Identifier: MIT
 *
 * adam: Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015, algorithm 1:
 *   g += weight_decay * w; m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g²
 *   w -= learning_rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon) */
#include "adam.h"

static const leat_option options[] = {
    LEAT_RATE_OPTION(leat_adam_options, learning_rate, "1e-3", 0, 1e6, "step size"),
    LEAT_ADAM_BETAS,
    LEAT_RATE_OPTION(leat_adam_options, weight_decay, "0", 0, 1e6,
                     "L2 penalty: this times the weight is added to its gradient"),
    LEAT_OPTION_END
};

static void update(const void *opts, const leat_update *u, float *weight, const float *grad,
                   float *const states[LEAT_OPTIMIZER_MAX_STATES], size_t n)
{
    const leat_adam_loop_rates rates = { u->learning_rate, u->weight_decay, 1 };
    leat_adam_loop(opts, u, &rates, weight, grad, states[0], states[1], n);
}

const leat_optimizer leat_optimizer_adam = {
    .kind = { "adam", "steps scaled by the recent size of each gradient", options },
    .options_size = sizeof(leat_adam_options),
    .n_states = 2,
    .flops = 14,
    .update = update,
};
