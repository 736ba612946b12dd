/* SPDX-License-Identifier: MIT
 *
 * prim.h: the primitives that layers consist of. A backend fills a table with one row per primitive; this is
 * the contract that every filling keeps.
 *
 * DESIGN: a tensor is rows of one sample each, dense, channels innermost: [rows, height, width, channels] or
 * [rows, n]. Its type is float32 or bfloat16 unless a contract says otherwise; all tensors of one primitive
 * have the same type unless it says otherwise. Weights, their gradients and statistics are float32. Sums
 * are taken in float32 or wider. `in` and `out` never overlap, except that a primitive whose row says "in place"
 * may be given out[0] = in[0]. Nothing else is read or written.
 *
 * C is the number of channels: the last dim. P is the number of elements of a sample divided by C. */
#ifndef LEAT_PRIM_H
#define LEAT_PRIM_H

#include "layers.h"

/* X(NAME, name, in place)
 *
 * A backend has a row leat_<backend>_prim_<name> for each. In place: out[0] may be in[0] (NORM_GRAD: unless the program is
 * `apart`).
 *
 * CONVERT            out[0] = in[0] in the type of out[0]. in[0]: uint8, float32 or bfloat16. Of tensor 0, the model's
 *                    input, `leat_model.normalize` comes first, in float32.
 * CONV               out[0] = act(conv(in[0], weight) + bias). `window`, `groups`, `dilation` as in layers.h.
 * CONV_GRAD_DATA     out[0] = gradient of CONV's in[0], from in[0] = gradient of the output before act. in[1]: a tensor that
 *                    is added; -1: none. Layers leave it at -1. A backend that can add it joins a SUM with the
 *                    gradient that only the SUM reads; out[0] may then be in[1].
 * CONV_GRAD_WEIGHTS  gradients of weight and bias, from in[0] = the same, in[1] = CONV's in[0].
 * DENSE, DENSE_GRAD_DATA, DENSE_GRAD_WEIGHTS   the same for in[0] [rows, n] × weight [n, units] + bias.
 * NORM               batch_norm in training: out[0] = act((in[0] - mean) / sqrt(variance + epsilon) * scale
 *                    + shift), statistics per channel over all rows that count of the whole batch. Stores
 *                    in `saved` what NORM_GRAD needs and updates the running statistics. in[1]: a tensor that
 *                    is added before act; -1: none. Layers leave it at -1. A backend that can add it joins a SUM
 *                    with its NORM: in[1] is then the other summand, and out[0] and act are the SUM's. out[1]: a byte per
 *                    value of out[0], 1 where relu let it pass; -1: not wanted. Layers leave it at -1.
 * NORM_FIXED         batch_norm in evaluation, and with frozen statistics: the same with the running ones.
 * NORM_GRAD          out[0] = gradient of NORM's in[0], from in[0] = gradient of NORM's out[0], in[1] =
 *                    NORM's in[0], in[2] = NORM's out[0]; gradients of scale and shift. Rows that do not
 *                    count get 0. Of a NORM with out[1], in[2] is that, and out[1] = in[0] where in[2] is 1, else 0: the
 *                    gradient of both summands.
 * NORM_FIXED_GRAD    out[0] = gradient of NORM_FIXED's in[0]; -1: not wanted; from in[0] = gradient of its output before
 *                    act, in[1] = its in[0]; -1: neither scale nor shift is trained; gradients of those that are.
 *                    `saved` is scratch memory.
 * LAYER_NORM, LAYER_NORM_GRAD   each pixel over its C values; inputs as NORM_GRAD's.
 * ACT                out[0] = act(in[0]).
 * ACT_GRAD           out[0] = in[0] × act'(in[1]); in[1] is ACT's out[0] or in[0], as LEAT_ACT_LIST says.
 * MAX_POOL           out[0], and out[1] = uint16 place of the maximum in its window, row by row; the first
 *                    of equal values.
 * MAX_POOL_GRAD      out[0] from in[0] = gradient of out[0], in[1] = out[1] of MAX_POOL.
 * AVG_POOL, AVG_POOL_GRAD   mean of the window's pixels inside the image.
 * DROPOUT            out[0] = in[0] × mask / (1 - alpha); the mask is a function of seed, update, layer, row of
 *                    all batches of the update and element, so the gradient is the same primitive.
 * SOFTMAX            out[0] = softmax over C of in[0].
 * SOFTMAX_GRAD       out[0] from in[0] = gradient of out[0], in[1] = out[0] of SOFTMAX.
 * SUM                out[0] = act(in[0] + in[1]).
 * SCALE              out[0] = alpha × in[0].
 * JOIN               channels [channel, channel + width) of out[0] = in[0]; the others stay.
 * PART               out[0] = channels [channel, channel + width) of in[0].
 * LOSS               out[0] = gradient of the batch's mean loss by in[0], the logits (float32), of the rows
 *                    that count; adds to the sums of losses and right predictions. In a part of a model that
 *                    has no loss, out[0] is what leat_net_step.output_grad has.
 */
#define LEAT_PRIM_LIST(X)                                                                          \
    X(CONVERT, convert, false)                                                                     \
    X(CONV, conv, false)                                                                           \
    X(CONV_GRAD_DATA, conv_grad_data, false)                                                       \
    X(CONV_GRAD_WEIGHTS, conv_grad_weights, false)                                                 \
    X(DENSE, dense, false)                                                                         \
    X(DENSE_GRAD_DATA, dense_grad_data, false)                                                     \
    X(DENSE_GRAD_WEIGHTS, dense_grad_weights, false)                                               \
    X(NORM, norm, false)                                                                           \
    X(NORM_FIXED, norm_fixed, true)                                                                \
    X(NORM_GRAD, norm_grad, true)                                                                  \
    X(NORM_FIXED_GRAD, norm_fixed_grad, true)                                                      \
    X(LAYER_NORM, layer_norm, false)                                                               \
    X(LAYER_NORM_GRAD, layer_norm_grad, true)                                                      \
    X(ACT, act, true)                                                                              \
    X(ACT_GRAD, act_grad, true)                                                                    \
    X(MAX_POOL, max_pool, false)                                                                   \
    X(MAX_POOL_GRAD, max_pool_grad, false)                                                         \
    X(AVG_POOL, avg_pool, false)                                                                   \
    X(AVG_POOL_GRAD, avg_pool_grad, false)                                                         \
    X(DROPOUT, dropout, true)                                                                      \
    X(SOFTMAX, softmax, true)                                                                      \
    X(SOFTMAX_GRAD, softmax_grad, true)                                                            \
    X(SUM, sum, true)                                                                              \
    X(SCALE, scale, true)                                                                          \
    X(JOIN, join, false)                                                                           \
    X(PART, part, false)                                                                           \
    X(LOSS, loss, false)

typedef enum leat_prim {
#define LEAT_PRIM_ENUM(NAME, name, in_place) LEAT_PRIM_##NAME,
    LEAT_PRIM_LIST(LEAT_PRIM_ENUM)
#undef LEAT_PRIM_ENUM
        LEAT_N_PRIMS
} leat_prim;

typedef enum leat_prim_type {
    LEAT_PRIM_F32,
    LEAT_PRIM_BF16,
    LEAT_PRIM_U8,
    LEAT_PRIM_U16
} leat_prim_type;
size_t leat_prim_type_bytes(leat_prim_type type);

enum { LEAT_PRIM_MAX_IN = 3, LEAT_PRIM_MAX_OUT = 2 };

/* One primitive of a program. [const after the program is made] */
typedef struct leat_prim_op {
    leat_prim prim;
    int32_t layer;                /* that it belongs to; -1: the loss, or the input's conversion */
    int32_t in[LEAT_PRIM_MAX_IN]; /* tensors of the program; -1: none */
    int32_t out[LEAT_PRIM_MAX_OUT]; /* the same */
    leat_act act;           /* of what CONV, DENSE, NORM, NORM_GRAD, SUM, ACT, ACT_GRAD say */
    float alpha;            /* of the activation, DROPOUT's rate, SCALE's factor */
    float epsilon;          /* LAYER_NORM, LAYER_NORM_GRAD: added to the variance */
    int32_t channel, width; /* JOIN, PART: first channel, and number of channels */
    int32_t saved;          /* NORM…, LAYER_NORM: which memory of the program; -1: none */
    int32_t norm;           /* CONV: the batch_norm that it computes, too, as NORM_FIXED; -1: none.
                               Set by backends that can */
    leat_sliding window;    /* CONV…, …POOL… */
} leat_prim_op;

#endif
