/* SPDX-License-Identifier: MIT
 *
 * nn_cpu_norm.c: batch_norm on the CPU. See nn_cpu.h. */
#include "nn_cpu.h"

/* --- batch_norm ------------------------------------------------------------------------------ */

enum { SCALE, SHIFT, MEAN, VARIANCE };

static leat_cpu_memory *value_of(leat_cpu_plan *plan, int32_t i, int32_t param)
{
    return &leat_cpu_param_at(plan->net, i, param)->value;
}

static void update_running(leat_cpu_plan *plan, int32_t i)
{
    const leat_batch_norm_options *o = leat_cpu_spec(plan, i)->options;
    const int64_t n = leat_cpu_spec(plan, i)->params[MEAN].shape.dims[0];
    for (int k = 0; k < 2; k++) {
        const float *batch = plan->layers[i].extra[k]->data;
        float *running = value_of(plan, i, MEAN + k)->data;
        for (int64_t c = 0; c < n; c++)
            running[c] = o->momentum * running[c] + (1 - o->momentum) * batch[c];
    }
}

/* A vector is an image of one pixel. */
static const leat_onednn_layout *norm_layout(leat_cpu_plan *plan, int32_t i)
{
    const leat_shape *in = &leat_cpu_spec(plan, i)->in;
    const leat_shape pixel = leat_shape_make(LEAT_F32, 3, (int64_t[]){ 1, 1, in->dims[0] });
    return in->rank == 3 ? plan->layers[i].in.layout : leat_cpu_plain(plan, &pixel, LEAT_F32);
}

static int norm_bind_forward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    leat_cpu_layer_state *state = &plan->layers[i];
    leat_onednn_prim *prim = state->forward;
    int rc;
    for (int k = 0; k < 2; k++) {
        state->extra[k] = plan->training
                              ? leat_cpu_memory_next(plan, value_of(plan, i, MEAN + k)->bytes)
                              : value_of(plan, i, MEAN + k);
        rc = leat_cpu_bind(plan, prim, k ? LEAT_DN_VARIANCE : LEAT_DN_MEAN, state->extra[k], err);
        if (rc < 0)
            return rc;
    }
    const leat_onednn_layout *signs = leat_onednn_wants(prim, LEAT_DN_WORKSPACE);
    if (signs)
        state->extra[2] = leat_cpu_memory_next(plan, leat_onednn_layout_bytes(signs));
    if ((rc = leat_cpu_bind(plan, prim, LEAT_DN_WORKSPACE, state->extra[2], err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_SRC, plan->at.memory, err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_SCALE, value_of(plan, i, SCALE), err)) < 0)
        return rc;
    return leat_cpu_bind(plan, prim, LEAT_DN_SHIFT, value_of(plan, i, SHIFT), err);
}

int leat_cpu_norm_forward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    const leat_batch_norm_options *o = leat_cpu_spec(plan, i)->options;
    leat_cpu_layer_state *state = &plan->layers[i];
    int rc = leat_cpu_want_floats(plan, i, err);
    const leat_onednn_layout *outer = plan->at.layout, *layout = norm_layout(plan, i);
    if (rc == LEAT_OK && !layout)
        rc = leat_cpu_no_memory(err, 0);
    for (int32_t k = 0; k < 4 && rc == LEAT_OK; k++)
        rc = leat_cpu_param_place(plan->net, i, k, NULL, err);
    if (rc < 0)
        return rc;
    state->relu_after = state->relu_backward = leat_cpu_relu_follows(plan, i);
    if ((rc = leat_onednn_batch_norm(plan->net->dn, o->epsilon, state->relu_after, plan->training,
                                     layout, &state->forward, err)) < 0 ||
        (rc = norm_bind_forward(plan, i, err)) < 0 ||
        (rc = leat_cpu_new_output(plan, state->forward, LEAT_DN_DST, &plan->at, err)) < 0)
        return rc;
    plan->at.layout = outer;
    rc = leat_cpu_push(plan, &plan->forward, state->forward, err);
    if (rc == LEAT_OK && plan->training)
        rc = leat_cpu_push_call(plan, &plan->forward, update_running, i, err);
    return rc;
}

int leat_cpu_norm_backward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    const leat_batch_norm_options *o = leat_cpu_spec(plan, i)->options;
    const leat_cpu_layer_state *state = &plan->layers[i];
    const leat_onednn_layout *outer = state->in.layout;
    leat_onednn_prim *prim;
    int rc = leat_onednn_batch_norm_backward(plan->net->dn, o->epsilon, state->relu_after,
                                             norm_layout(plan, i), state->forward, &prim, err);
    if (rc < 0 || (rc = leat_cpu_want_grad(plan, outer, err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_SRC, state->in.memory, err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_MEAN, state->extra[0], err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_VARIANCE, state->extra[1], err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_WORKSPACE, state->extra[2], err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_SCALE, value_of(plan, i, SCALE), err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_SHIFT, value_of(plan, i, SHIFT), err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_DIFF_SCALE,
                            &leat_cpu_param_at(plan->net, i, SCALE)->grad, err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_DIFF_SHIFT,
                            &leat_cpu_param_at(plan->net, i, SHIFT)->grad, err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_DIFF_DST, plan->grad.memory, err)) < 0 ||
        (rc = leat_cpu_new_grad(plan, prim, err)) < 0)
        return rc;
    plan->grad.layout = outer;
    return leat_cpu_push(plan, &plan->backward, prim, err);
}
