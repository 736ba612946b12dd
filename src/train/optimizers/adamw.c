/* SPDX-License-Identifier: MIT
 *
 * adamw: Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019: adam, and before each step
 *   w -= learning_rate * weight_decay * w */
#include "adam.h"

static const leat_option options[] = {
    LEAT_RATE_OPTION(leat_adam_options, learning_rate, "1e-3", 0, 1e6, "step size"),
    LEAT_ADAM_BETAS,
    LEAT_RATE_OPTION(leat_adam_options, weight_decay, "0.01", 0, 1e6,
                     "each step subtracts this times the learning rate times the weight"),
    LEAT_OPTION_END
};

static void update(const void *opts, const leat_update *u, float *weight, const float *grad,
                   float *const states[LEAT_OPTIMIZER_MAX_STATES], size_t n)
{
    const leat_adam_loop_rates rates = { u->learning_rate, 0,
                                         1 - (float)(u->learning_rate * (double)u->weight_decay) };
    leat_adam_loop(opts, u, &rates, weight, grad, states[0], states[1], n);
}

const leat_optimizer leat_optimizer_adamw = {
    .kind = { "adamw", "adam with weight decay outside of the gradient", options },
    .options_size = sizeof(leat_adam_options),
    .n_states = 2,
    .flops = 14,
    .update = update,
};
