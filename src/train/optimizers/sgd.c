/* SPDX-License-Identifier: MIT
 *
 * sgd: stochastic gradient descent with momentum, as in PyTorch:
 *   g += weight_decay * w; v = momentum * v + g; w -= learning_rate * (nesterov ? g + momentum * v : v)
 * With `decoupled`, weight decay is no part of g: w -= learning_rate * weight_decay * w comes first
 * (Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019). */
#include "train/optimizers.h"

static const leat_option options[] = {
    LEAT_RATE_OPTION(leat_sgd_options, learning_rate, "0.01", 0, 1e6, "step size"),
    LEAT_GPU_OPTION(leat_sgd_options, momentum, F32, "0", 0, 1,
                    "share of the last step added to the next"),
    LEAT_RATE_OPTION(leat_sgd_options, weight_decay, "0", 0, 1e6,
                     "L2 penalty: this times the weight is added to its gradient"),
    LEAT_GPU_OPTION(leat_sgd_options, nesterov, BOOL, "false", 0, 1, "use Nesterov momentum"),
    LEAT_GPU_OPTION(leat_sgd_options, decoupled, BOOL, "false", 0, 1,
                    "weight decay shrinks the weight directly, not through the momentum"),
    LEAT_OPTION_END
};

/* Blocks of fixed length, so that the compiler makes vector code of the inner loop. */
static void update(const void *opts, const leat_update *u, float *restrict weight,
                   const float *restrict grad, float *const states[LEAT_OPTIMIZER_MAX_STATES],
                   size_t n)
{
    const leat_sgd_options o = *(const leat_sgd_options *)opts;
    float *restrict velocity = states[0];
    const float rate = (float)u->learning_rate, scale = u->grad_scale;
    const float decay = o.decoupled ? 0.0f : u->weight_decay;
    const float kept = o.decoupled ? 1.0f - rate * u->weight_decay : 1.0f;
    const float of_grad = o.nesterov ? rate : 0.0f;
    const float of_velocity = o.nesterov ? rate * o.momentum : rate;
    for (size_t i = 0; i < n; i += 16)
        for (size_t j = 0; j < 16; j++) {
            const float g = grad[i + j] * scale + decay * weight[i + j];
            const float v = o.momentum * velocity[i + j] + g;
            velocity[i + j] = v;
            weight[i + j] = kept * weight[i + j] - (of_grad * g + of_velocity * v);
        }
}

const leat_optimizer leat_optimizer_sgd = {
    .kind = { "sgd", "gradient descent, with optional momentum", options },
    .options_size = sizeof(leat_sgd_options),
    .n_states = 1,
    .flops = 6,
    .update = update,
};
