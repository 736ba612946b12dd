/* SPDX-License-Identifier: MIT
 *
 * layers.h: the list of layers and their options. Backends read the options. */
#ifndef LEAT_LAYERS_H
#define LEAT_LAYERS_H

#include "nn.h"
#include "train/layers/sliding.h"

/* X(name): leat_layer_<name> in src/train/layers/<name>.c; help and tests use this order. */
#define LEAT_LAYER_LIST(X)                                                                         \
    X(dense)                                                                                       \
    X(conv2d)                                                                                      \
    X(relu)                                                                                        \
    X(sigmoid)                                                                                     \
    X(max_pool)                                                                                    \
    X(avg_pool)                                                                                    \
    X(global_avg_pool)                                                                             \
    X(flatten)                                                                                     \
    X(dropout)                                                                                     \
    X(batch_norm)

#define LEAT_LAYER_DECLARE(name) extern const leat_layer leat_layer_##name;
LEAT_LAYER_LIST(LEAT_LAYER_DECLARE)
#undef LEAT_LAYER_DECLARE

typedef struct leat_dense_options {
    int64_t units;
    int32_t bias;
} leat_dense_options;

typedef struct leat_conv2d_options {
    int64_t filters;
    leat_i64s kernel, stride;
    int32_t padding; /* leat_padding */
    int32_t bias;
} leat_conv2d_options;

/* max_pool and avg_pool */
typedef struct leat_pool_options {
    leat_i64s size, stride;
    int32_t padding; /* leat_padding */
} leat_pool_options;

typedef struct leat_dropout_options {
    float rate;
} leat_dropout_options;

typedef struct leat_batch_norm_options {
    float momentum, epsilon;
} leat_batch_norm_options;

/* Windows of layers whose shape() has accepted the input. */
int leat_conv2d_sliding(const leat_conv2d_options *o, const leat_shape *in, leat_sliding *out,
                        leat_error *err);
int leat_pool_sliding(const leat_pool_options *o, const leat_shape *in, const char *what,
                      leat_sliding *out, leat_error *err);

/* Shared by the pooling layers. */
int leat_pool_shape(const leat_pool_options *o, const leat_shape *in, const char *what,
                    leat_shape *out, leat_error *err);
extern const leat_option leat_pool_table[];
/* For layers that accept and keep any shape. */
int leat_layer_same_shape(const void *options, const leat_shape *in, leat_shape *out,
                          leat_error *err);
extern const leat_option leat_layer_no_options[];

#endif
