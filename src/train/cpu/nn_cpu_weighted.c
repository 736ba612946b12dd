/* SPDX-License-Identifier: MIT
 *
 * nn_cpu_weighted.c: conv2d and dense on the CPU. See nn_cpu.h. */
#include "nn_cpu.h"

/* --- conv2d and dense ------------------------------------------------------------------------ */

enum { WEIGHT, BIAS };

static leat_onednn_window conv_window(const leat_cpu_plan *plan, int32_t i)
{
    const leat_model_layer *l = leat_cpu_spec(plan, i);
    leat_sliding s = { 0 };
    (void)leat_conv2d_sliding(l->options, &l->in, &s, NULL);
    return leat_cpu_window(plan, &s, l->in.dims[2], l->out.dims[2]);
}

/* Arguments of a forward primitive with weights, and its place in the list. */
static int place_weighted(leat_cpu_plan *plan, int32_t i, leat_onednn_prim *prim, leat_error *err)
{
    leat_cpu_layer_state *state = &plan->layers[i];
    leat_cpu_param *weight = leat_cpu_param_at(plan->lane->net, i, WEIGHT);
    leat_cpu_param *bias = leat_cpu_param_at(plan->lane->net, i, BIAS);
    leat_cpu_tensor weights;
    int rc =
        leat_cpu_param_place(plan->lane, i, WEIGHT, leat_onednn_wants(prim, LEAT_DN_WEIGHTS), err);
    if (rc == LEAT_OK && leat_cpu_spec(plan, i)->n_params > 1)
        rc = leat_cpu_param_place(plan->lane, i, BIAS, NULL, err);
    weights = (leat_cpu_tensor){ .layout = weight->layout, .memory = &weight->value };
    if (rc < 0 ||
        (rc = leat_cpu_want(plan, &plan->forward, &plan->at, leat_onednn_wants(prim, LEAT_DN_SRC),
                            NULL, err)) < 0 ||
        (rc = leat_cpu_want(plan, &plan->forward, &weights,
                            leat_onednn_wants(prim, LEAT_DN_WEIGHTS), NULL, err)) < 0)
        return rc;
    state->in = plan->at;
    if ((rc = leat_cpu_bind(plan, prim, LEAT_DN_SRC, plan->at.memory, err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_WEIGHTS, weights.memory, err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_BIAS, &bias->value, err)) < 0 ||
        (rc = leat_cpu_new_output(plan, prim, LEAT_DN_DST, &plan->at, err)) < 0)
        return rc;
    return leat_cpu_push(plan, &plan->forward, prim, err);
}

/* Gradients of weights and bias, from the input that the forward primitive used. */
static int place_weights_grad(leat_cpu_plan *plan, int32_t i, leat_onednn_prim *prim,
                              leat_error *err)
{
    leat_cpu_param *weight = leat_cpu_param_at(plan->lane->net, i, WEIGHT);
    const leat_onednn_layout *wanted = leat_onednn_wants(prim, LEAT_DN_DIFF_WEIGHTS);
    leat_cpu_tensor in = plan->layers[i].in;
    leat_cpu_tensor grad = { .layout = wanted,
                             .memory = leat_cpu_param_grad(plan->lane, i, WEIGHT) };
    int rc;
    if (!leat_onednn_layout_same(wanted, weight->layout))
        grad.memory = leat_cpu_memory_next(plan, leat_onednn_layout_bytes(wanted));
    if ((rc = leat_cpu_want(plan, &plan->backward, &in, leat_onednn_wants(prim, LEAT_DN_SRC), NULL,
                            err)) < 0 ||
        (rc = leat_cpu_want_grad(plan, leat_onednn_wants(prim, LEAT_DN_DIFF_DST), err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_SRC, in.memory, err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_DIFF_DST, plan->grad.memory, err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_DIFF_WEIGHTS, grad.memory, err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_DIFF_BIAS, leat_cpu_param_grad(plan->lane, i, BIAS),
                            err)) < 0 ||
        (rc = leat_cpu_push(plan, &plan->backward, prim, err)) < 0)
        return rc;
    return leat_cpu_want(plan, &plan->backward, &grad, weight->layout,
                         leat_cpu_param_grad(plan->lane, i, WEIGHT), err);
}

static int place_data_grad(leat_cpu_plan *plan, int32_t i, leat_onednn_prim *prim, leat_error *err)
{
    leat_cpu_param *weight = leat_cpu_param_at(plan->lane->net, i, WEIGHT);
    leat_cpu_tensor weights = { .layout = weight->layout, .memory = &weight->value };
    int rc;
    if ((rc = leat_cpu_want(plan, &plan->backward, &weights,
                            leat_onednn_wants(prim, LEAT_DN_WEIGHTS), NULL, err)) < 0 ||
        (rc = leat_cpu_want_grad(plan, leat_onednn_wants(prim, LEAT_DN_DIFF_DST), err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_DIFF_DST, plan->grad.memory, err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_WEIGHTS, weights.memory, err)) < 0 ||
        (rc = leat_cpu_new_grad(plan, prim, err)) < 0)
        return rc;
    return leat_cpu_push(plan, &plan->backward, prim, err);
}

int leat_cpu_conv_forward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    const leat_conv2d_options *o = leat_cpu_spec(plan, i)->options;
    const leat_onednn_window w = conv_window(plan, i);
    leat_cpu_layer_state *state = &plan->layers[i];
    state->relu_after = leat_cpu_relu_follows(plan, i);
    const int rc = leat_onednn_conv(plan->lane->dn, &w, o->bias, state->relu_after, plan->training,
                                    NULL, NULL, &state->forward, err);
    return rc < 0 ? rc : place_weighted(plan, i, state->forward, err);
}

int leat_cpu_conv_backward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    const leat_conv2d_options *o = leat_cpu_spec(plan, i)->options;
    const leat_onednn_window w = conv_window(plan, i);
    leat_onednn_prim *forward = plan->layers[i].forward, *prim;
    int rc =
        leat_onednn_conv_backward_weights(plan->lane->dn, &w, o->bias, NULL, forward, &prim, err);
    if (rc < 0 || (rc = place_weights_grad(plan, i, prim, err)) < 0 ||
        !leat_model_needs_gradient(plan->lane->net->model, i))
        return rc;
    rc = leat_onednn_conv_backward_data(plan->lane->dn, &w, forward, &prim, err);
    return rc < 0 ? rc : place_data_grad(plan, i, prim, err);
}

int leat_cpu_dense_forward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    const leat_model_layer *l = leat_cpu_spec(plan, i);
    const leat_dense_options *o = l->options;
    leat_cpu_layer_state *state = &plan->layers[i];
    state->relu_after = leat_cpu_relu_follows(plan, i);
    const int rc = leat_onednn_dense(plan->lane->dn, plan->rows, l->in.dims[0], o->units, o->bias,
                                     state->relu_after, plan->training, NULL, &state->forward, err);
    return rc < 0 ? rc : place_weighted(plan, i, state->forward, err);
}

int leat_cpu_dense_backward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    const leat_model_layer *l = leat_cpu_spec(plan, i);
    const leat_dense_options *o = l->options;
    leat_onednn_prim *forward = plan->layers[i].forward, *prim;
    int rc = leat_onednn_dense_backward_weights(plan->lane->dn, plan->rows, l->in.dims[0], o->units,
                                                o->bias, forward, &prim, err);
    if (rc < 0 || (rc = place_weights_grad(plan, i, prim, err)) < 0 ||
        !leat_model_needs_gradient(plan->lane->net->model, i))
        return rc;
    rc = leat_onednn_dense_backward_data(plan->lane->dn, plan->rows, l->in.dims[0], o->units,
                                         forward, &prim, err);
    return rc < 0 ? rc : place_data_grad(plan, i, prim, err);
}
