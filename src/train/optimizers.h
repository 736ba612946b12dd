/* SPDX-License-Identifier: MIT
 *
 * optimizers.h: the list of optimisers, and their options, for backends. */
#ifndef LEAT_OPTIMIZERS_H
#define LEAT_OPTIMIZERS_H

#include "nn.h"

/* X(name): leat_optimizer_<name> in src/train/optimizers/<name>.c */
#define LEAT_OPTIMIZER_LIST(X)                                                                     \
    X(sgd)                                                                                         \
    X(adam)                                                                                        \
    X(adamw)                                                                                       \
    X(lars)                                                                                        \
    X(muon)

#define LEAT_OPTIMIZER_DECLARE(name) extern const leat_optimizer leat_optimizer_##name;
LEAT_OPTIMIZER_LIST(LEAT_OPTIMIZER_DECLARE)
#undef LEAT_OPTIMIZER_DECLARE

/* A row of an optimiser's table for learning_rate or weight_decay of leat_rate_options, which its struct calls `base`. */
#define LEAT_RATE_OPTION(type, field, initial, low, high, help)                                    \
    {                                                                                              \
#field, LEAT_OPTION_TYPE_F32, offsetof(type, base.field), initial, low, high, NULL, help,  \
            LEAT_OPTION_ON_GPU                                                                     \
    }

typedef struct leat_sgd_options {
    leat_rate_options base;
    float momentum;
    int32_t nesterov, decoupled;
} leat_sgd_options;

typedef struct leat_adam_options {
    leat_rate_options base;
    float beta1, beta2, epsilon;
} leat_adam_options;

typedef struct leat_lars_options {
    leat_rate_options base;
    float momentum, trust;
} leat_lars_options;

typedef struct leat_muon_options {
    union {
        leat_rate_options base;
        leat_adam_options adam;
    };
    float momentum, vector_rate;
    int32_t nesterov;
    int64_t iterations;
} leat_muon_options;

#endif
