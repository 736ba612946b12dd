/* SPDX-License-Identifier: MIT
 *
 * losses.h: the list of losses, their options, and helpers that they share. */
#ifndef LEAT_LOSSES_H
#define LEAT_LOSSES_H

#include "layers.h"

/* X(name): leat_loss_<name> in src/train/losses/<name>.c */
#define LEAT_LOSS_LIST(X)                                                                          \
    X(softmax_cross_entropy)                                                                       \
    X(binary_cross_entropy)                                                                        \
    X(mean_squared_error)

extern const leat_option leat_loss_no_options[]; /* nn_list.c: an empty table */

/* value_targets.c: one target per output of the model, of a type that is read as a number. loss: its name */
int leat_loss_check_values(const char *loss, const leat_shape *outputs, const leat_shape *target,
                           leat_error *err);

/* softmax_cross_entropy.c: the first of the largest of n values. */
int64_t leat_loss_largest(const float *x, int64_t n);

#define LEAT_LOSS_DECLARE(name) extern const leat_loss leat_loss_##name;
LEAT_LOSS_LIST(LEAT_LOSS_DECLARE)
#undef LEAT_LOSS_DECLARE
/* The options of losses, for backends. */
typedef struct leat_softmax_options {
    float label_smoothing;
    const leat_node *class_weights;
    float *weights; /* of n classes; NULL: all 1 [const after open] */
} leat_softmax_options;

typedef struct leat_binary_options {
    int32_t with_logits;
    float label_smoothing, positive_weight;
} leat_binary_options;

/* i-th element of a target of any type. */
static inline int64_t leat_target_i64(const leat_view *target, int64_t i)
{
    switch (target->shape.dtype) {
    case LEAT_U8:
        return ((const uint8_t *)target->data)[i];
    case LEAT_I32:
        return ((const int32_t *)target->data)[i];
    case LEAT_I64:
        return ((const int64_t *)target->data)[i];
    default:
        return (int64_t)((const float *)target->data)[i];
    }
}

/* True if row i is not masked. */
static inline bool leat_loss_counts(const leat_loss_rows *rows, int64_t i)
{
    return !rows->valid || rows->valid[i];
}

/* What the loss of row i is multiplied by. */
static inline float leat_loss_weight(const leat_loss_rows *rows, int64_t i)
{
    return rows->weights ? rows->weights[i] : 1.0f;
}

static inline float leat_target_f32(const leat_view *target, int64_t i)
{
    return target->shape.dtype == LEAT_F32 ? ((const float *)target->data)[i]
                                           : (float)leat_target_i64(target, i);
}

/* What leat_model_check_rows() looks at, where the batch is in host memory. */
static inline leat_loss_rows leat_loss_targets(const leat_net_rows *rows)
{
    return (leat_loss_rows){ .target = &rows->y,
                             .weights = (const float *)rows->weights.data,
                             .valid = rows->valid,
                             .first_row = rows->first_row,
                             .rows = rows->rows };
}

#endif
