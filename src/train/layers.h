/* SPDX-License-Identifier: MIT
 *
 * layers.h: the list of layers and their options. Backends read the options. */
#ifndef LEAT_LAYERS_H
#define LEAT_LAYERS_H

#include "nn.h"
#include "train/layers/sliding.h"

/* X(name): leat_layer_<name> in src/train/layers/<name>.c; help and tests use this order. Activations follow:
 * LEAT_ACT_LIST has their rows. */
#define LEAT_LAYER_LIST(X)                                                                         \
    X(dense)                                                                                       \
    X(conv2d)                                                                                      \
    X(batch_norm)                                                                                  \
    X(layer_norm)                                                                                  \
    X(max_pool)                                                                                    \
    X(avg_pool)                                                                                    \
    X(global_avg_pool)                                                                             \
    X(flatten)                                                                                     \
    X(dropout)                                                                                     \
    X(softmax)                                                                                     \
    X(multiply)                                                                                    \
    X(add)                                                                                         \
    X(concat)

#define LEAT_LAYER_DECLARE(name)           extern const leat_layer leat_layer_##name;
#define LEAT_ACT_DECLARE(name, from, help) LEAT_LAYER_DECLARE(name)
LEAT_LAYER_LIST(LEAT_LAYER_DECLARE)
LEAT_ACT_LIST(LEAT_ACT_DECLARE)
#undef LEAT_ACT_DECLARE
#undef LEAT_LAYER_DECLARE

/* The last rows of every layer's table; `type` is its options struct. */
#define LEAT_LAYER_COMMON(type)                                                                    \
    LEAT_OPTION_NAMED("name", type, base.name, STRING, "", 0, 0,                                   \
                      "used in `from` of other layers and in files of weights; default: "          \
                      "INDEX.KIND"),                                                               \
        LEAT_OPTION_NAMED("from", type, base.from, NODE, "", 0, 0,                                 \
                          "name of the layer whose output it reads, or `input`; a list where a "   \
                          "layer takes several; default: the layer before"),                       \
        LEAT_OPTION_NAMED("device", type, base.device, STRING, "", 0, 0,                           \
                          "where it is computed, if not on `train.device`: cpu, cuda:N, "          \
                          "sim:NAME; `leat train --summary` counts what then crosses between "     \
                          "devices")

typedef struct leat_dense_options {
    leat_layer_common base;
    int64_t units;
    int32_t bias;
    int32_t init; /* leat_init - LEAT_INIT_AUTO */
    int32_t frozen;
} leat_dense_options;

typedef struct leat_conv2d_options {
    leat_layer_common base;
    int64_t filters, groups;
    leat_i64s kernel, stride, dilation;
    int64_t padding; /* pixels, or leat_padding_words */
    int32_t bias;
    int32_t init; /* leat_init - LEAT_INIT_AUTO */
    int32_t frozen;
} leat_conv2d_options;

/* max_pool and avg_pool */
typedef struct leat_pool_options {
    leat_layer_common base;
    leat_i64s size, stride;
    int64_t padding; /* pixels, or leat_padding_words */
} leat_pool_options;

typedef struct leat_dropout_options {
    leat_layer_common base;
    float rate;
} leat_dropout_options;

typedef struct leat_batch_norm_options {
    leat_layer_common base;
    float momentum, epsilon;
    int32_t scale, shift; /* learned ones */
    float scale_initial;
} leat_batch_norm_options;

typedef struct leat_layer_norm_options {
    leat_layer_common base;
    float epsilon;
} leat_layer_norm_options;

typedef struct leat_multiply_options {
    leat_layer_common base;
    float factor;
} leat_multiply_options;

/* Choices of an option: leat_init from AUTO on. */
extern const char *const leat_init_names[];
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
int leat_layer_same_shape(const void *options, const leat_shape *in, int32_t n, leat_shape *out,
                          leat_error *err);
extern const leat_option leat_layer_no_options[];
/* True if the activation's gradient is computed from its output, false: from its input. */
bool leat_act_from_output(leat_act act);
/* The slope of leaky_relu; 0 for other layers. */
float leat_layer_act_slope(const leat_model_layer *layer);

#endif
