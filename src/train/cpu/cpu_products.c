/* SPDX-License-Identifier: MIT
 *
 * cpu_products.c: convolutions and dense layers on the CPU, forward and backward: products of oneDNN, biases and
 * activations here. prim.h has the contracts. */
#include <string.h>

#include "net_cpu.h"

/* --- convolution ----------------------------------------------------------------------------- */

enum { WEIGHT, BIAS };

static const leat_cpu_pack *packed(const leat_cpu_call *call)
{
    return leat_cpu_pack_find(call->net, call->layer->first_param, call->op->norm,
                              leat_dn_ops->conv_weights_layout(call->primitive));
}

static int conv(const leat_cpu_call *call)
{
    const leat_cpu_pack *pack = packed(call);
    const float *bias = pack->norm >= 0             ? pack->bias
                        : call->layer->n_params > 1 ? leat_cpu_weight(call, BIAS)
                                                    : NULL;
    const int rc = call->op->act == LEAT_ACT_relu ? leat_cpu_check_conv(call, pack, bias) : LEAT_OK;
    if (rc < 0)
        return rc;
    const leat_dn_conv_args args = {
        .src = call->in[0],
        .weights = pack->data,
        .bias = (void *)(uintptr_t)bias,
        .dst = call->out[0],
        .scratch = call->net->scratch[call->thread].dn,
    };
    return leat_dn_ops->conv_run(call->primitive, call->thread, &args, call->err);
}

static int conv_grad_data(const leat_cpu_call *call)
{
    const leat_dn_conv_args args = { .dst = call->in[0],
                                     .weights = packed(call)->data,
                                     .src = call->out[0],
                                     .scratch = call->net->scratch[call->thread].dn };
    return leat_dn_ops->conv_run(call->primitive, call->thread, &args, call->err);
}

/* Sums of in[0] over its pixels, unless the bias is frozen. */
static void bias_grad(const leat_cpu_call *call, size_t n_channels)
{
    const size_t pixels = (size_t)(call->in_spec[0]->n * call->rows) / n_channels;
    const size_t step = leat_cpu_piece(n_channels);
    float *sums = leat_cpu_gradient(call, BIAS);
    if (!sums)
        return;
    memset(sums, 0, n_channels * sizeof *sums);
    for (size_t p = 0; p < pixels; p += step) {
        const size_t here = pixels - p < step ? pixels - p : step;
        const float *dy =
            leat_cpu_floats(call->net, call->in[0], call->in_spec[0]->type, p * n_channels,
                            here * n_channels, leat_cpu_buffer(call, 0));
        call->net->loops->sum_channels(dy, sums, n_channels, here);
    }
}

static int conv_grad_weights(const leat_cpu_call *call)
{
    if (!call->primitive) { /* the weight is frozen */
        bias_grad(call, (size_t)call->layer->out.dims[2]);
        return LEAT_OK;
    }
    const leat_dn_conv_args args = {
        .dst = call->in[0],
        .src = call->in[1],
        .weights = leat_cpu_gradient(call, WEIGHT),
        .bias = leat_cpu_gradient(call, BIAS),
        .scratch = call->net->scratch[call->thread].dn,
    };
    return leat_dn_ops->conv_run(call->primitive, call->thread, &args, call->err);
}

/* --- dense ----------------------------------------------------------------------------------- */

/* A whole tensor of vectors as floats. */
static const float *whole(const leat_cpu_call *call, int k)
{
    return leat_cpu_floats(call->net, call->in[k], call->in_spec[k]->type, 0,
                           (size_t)(call->in_spec[k]->n * call->rows), leat_cpu_buffer(call, k));
}

/* Weights in bfloat16, which the call's product reads. */
static const void *half_weights(const leat_cpu_call *call)
{
    return leat_cpu_pack_find(call->net, call->layer->first_param, -1, NULL)->data;
}

static int run_product(const leat_cpu_call *call, const void *a, const void *b, float *c)
{
    return leat_dn_ops->product_run(call->primitive, call->thread, a, b, c,
                                    call->net->scratch[call->thread].dn, call->err);
}

static int dense(const leat_cpu_call *call)
{
    const int64_t n_in = call->layer->in.dims[0], n_out = call->layer->out.dims[0];
    const leat_prim_type type = call->out_spec[0]->type;
    const size_t n = (size_t)(n_out * call->rows);
    float *y = leat_cpu_floats_out(call->out[0], type, 0, leat_cpu_buffer(call, 2));
    const int rc = call->primitive
                       ? run_product(call, call->in[0], half_weights(call), y)
                       : leat_dn_ops->matmul(false, false, call->rows, n_out, n_in, whole(call, 0),
                                             leat_cpu_weight(call, WEIGHT), y, call->err);
    if (rc < 0)
        return rc;
    if (call->layer->n_params > 1)
        call->net->loops->add_channels(leat_cpu_weight(call, BIAS), y, (size_t)n_out,
                                       (size_t)call->rows);
    if (call->op->act != LEAT_ACT_NONE)
        call->net->loops->act(call->op->act, call->op->alpha, y, y, n);
    leat_cpu_put(call->net, call->out[0], type, 0, n, y);
    return LEAT_OK;
}

static int dense_grad_data(const leat_cpu_call *call)
{
    const int64_t n_in = call->layer->in.dims[0], n_out = call->layer->out.dims[0];
    const leat_prim_type type = call->out_spec[0]->type;
    float *dx = leat_cpu_floats_out(call->out[0], type, 0, leat_cpu_buffer(call, 2));
    const int rc = call->primitive
                       ? run_product(call, call->in[0], half_weights(call), dx)
                       : leat_dn_ops->matmul(false, true, call->rows, n_in, n_out, whole(call, 0),
                                             leat_cpu_weight(call, WEIGHT), dx, call->err);
    if (rc == LEAT_OK)
        leat_cpu_put(call->net, call->out[0], type, 0, (size_t)(n_in * call->rows), dx);
    return rc;
}

static int dense_grad_weights(const leat_cpu_call *call)
{
    const int64_t n_in = call->layer->in.dims[0], n_out = call->layer->out.dims[0];
    bias_grad(call, (size_t)n_out);
    if (!call->layer->params[WEIGHT].trained)
        return LEAT_OK;
    if (call->primitive)
        return run_product(call, call->in[1], call->in[0], leat_cpu_gradient(call, WEIGHT));
    return leat_dn_ops->matmul(true, false, n_in, n_out, call->rows, whole(call, 1), whole(call, 0),
                               leat_cpu_gradient(call, WEIGHT), call->err);
}

const leat_cpu_prim leat_cpu_prim_conv = { .run = conv };
const leat_cpu_prim leat_cpu_prim_conv_grad_data = { .run = conv_grad_data };
const leat_cpu_prim leat_cpu_prim_conv_grad_weights = { .run = conv_grad_weights };
const leat_cpu_prim leat_cpu_prim_dense = { .run = dense };
const leat_cpu_prim leat_cpu_prim_dense_grad_data = { .run = dense_grad_data };
const leat_cpu_prim leat_cpu_prim_dense_grad_weights = { .run = dense_grad_weights };
