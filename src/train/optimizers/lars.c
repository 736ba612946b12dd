/* SPDX-License-Identifier: MIT
 *
 * lars: You, Gitman and Ginsburg, "Large Batch Training of Convolutional Networks", 2017:
 *   rate = learning_rate * trust * |w| / (|g| + weight_decay * |w|), norms of the whole parameter
 *   v = momentum * v + rate * (g + weight_decay * w); w -= v
 * Parameters of rank 0 and 1 (biases, scales), and those whose |w| or |g| is 0, use learning_rate itself. */
#include "train/optimizers.h"

static const leat_option options[] = {
    LEAT_RATE_OPTION(leat_lars_options, learning_rate, "1", 0, 1e6, "step size"),
    LEAT_GPU_OPTION(leat_lars_options, momentum, F32, "0.9", 0, 1,
                    "share of the last step added to the next"),
    LEAT_RATE_OPTION(leat_lars_options, weight_decay, "0", 0, 1e6,
                     "L2 penalty: this times the weight is added to its gradient"),
    LEAT_GPU_OPTION(leat_lars_options, trust, F32, "0.001", 0, 1e6,
                    "norm of a step divided by the norm of the parameter, at rate 1"),
    LEAT_OPTION_END
};

static double rate_of(const leat_lars_options *o, const leat_update *u)
{
    const double below = u->grad_norm + (double)u->weight_decay * u->weight_norm;
    if (u->rank < 2 || !(u->weight_norm > 0) || !(u->grad_norm > 0))
        return u->learning_rate;
    return u->learning_rate * (double)o->trust * u->weight_norm / below;
}

/* Blocks of fixed length, so that the compiler makes vector code of the inner loop. */
static void update(const void *opts, const leat_update *u, float *restrict weight,
                   const float *restrict grad, float *const states[LEAT_OPTIMIZER_MAX_STATES],
                   size_t n)
{
    const leat_lars_options *o = opts;
    float *restrict velocity = states[0];
    const float rate = (float)rate_of(o, u), decay = u->weight_decay, scale = u->grad_scale;
    const float momentum = o->momentum;
    for (size_t i = 0; i < n; i += 16)
        for (size_t j = 0; j < 16; j++) {
            const float g = grad[i + j] * scale + decay * weight[i + j];
            const float v = momentum * velocity[i + j] + rate * g;
            velocity[i + j] = v;
            weight[i + j] -= v;
        }
}

const leat_optimizer leat_optimizer_lars = {
    .kind = { "lars",
              "momentum, with steps scaled by the norm of each parameter (for large "
              "batches)",
              options },
    .options_size = sizeof(leat_lars_options),
    .n_states = 1,
    .flops = 10,
    .norms = true,
    .update = update,
};
