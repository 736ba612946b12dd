/* SPDX-License-Identifier: MIT
 *
 * nn_cpu_maps.c: activations and dropout on the CPU: layers that map each value by itself. nn_cpu_plan.c calls
 * them through their rows. */
#include "nn_cpu.h"

/* --- activations --------------------------------------------------------------------------- */

static leat_onednn_eltwise eltwise_of(const leat_cpu_plan *plan, int32_t i)
{
    return leat_cpu_row(plan, i)->eltwise;
}

int leat_cpu_eltwise_forward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    leat_cpu_layer_state *state = &plan->layers[i];
    int rc;
    if (eltwise_of(plan, i) == LEAT_DN_RELU && i > 0 && plan->layers[i - 1].relu_after) {
        plan->at.kept = !plan->layers[i - 1].relu_backward;
        return LEAT_OK;
    }
    if ((rc = leat_cpu_want_floats(plan, i, err)) < 0 ||
        (rc = leat_onednn_elementwise(plan->lane->dn, eltwise_of(plan, i), plan->training,
                                      plan->at.layout, &state->forward, err)) < 0 ||
        (rc = leat_cpu_bind(plan, state->forward, LEAT_DN_SRC, plan->at.memory, err)) < 0)
        return rc;
    if (plan->at.kept)
        rc = leat_cpu_new_output(plan, state->forward, LEAT_DN_DST, &plan->at, err);
    else
        rc = leat_cpu_bind(plan, state->forward, LEAT_DN_DST, plan->at.memory, err);
    plan->at.kept = true;
    return rc < 0 ? rc : leat_cpu_push(plan, &plan->forward, state->forward, err);
}

int leat_cpu_eltwise_backward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    const leat_cpu_layer_state *state = &plan->layers[i];
    const leat_onednn_layout *layout = state->out.layout;
    leat_onednn_prim *prim, *forward = state->forward, *made = NULL;
    int rc;
    if (i > 0 && plan->layers[i - 1].relu_after && plan->layers[i - 1].relu_backward)
        return LEAT_OK;
    if (!forward) { /* the layer before it computes the relu; only the gradient is made here */
        if ((rc = leat_onednn_elementwise(plan->lane->dn, eltwise_of(plan, i), true, layout, &made,
                                          err)) < 0)
            return rc;
        forward = made;
    }
    rc = leat_onednn_elementwise_backward(plan->lane->dn, eltwise_of(plan, i), layout, forward,
                                          &prim, err);
    leat_onednn_free(&made);
    if (rc < 0 || (rc = leat_cpu_want_grad(plan, layout, err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_DST, state->out.memory, err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_DIFF_DST, plan->grad.memory, err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_DIFF_SRC, plan->grad.memory, err)) < 0)
        return rc;
    return leat_cpu_push(plan, &plan->backward, prim, err);
}

/* --- dropout --------------------------------------------------------------------------------- */

/* Eight values share one block of the generator, 16 bits each: counter = (block, layer, first row of
 * the lane, step). */
static void draw_mask(const leat_cpu_plan *plan, int32_t i, uint8_t *mask, size_t n)
{
    const leat_net *net = plan->lane->net;
    const leat_dropout_options *o = leat_cpu_spec(plan, i)->options;
    const uint32_t limit = (uint32_t)((double)o->rate * 65536.0 + 0.5);
    const uint32_t key[2] = { (uint32_t)net->model->seed, (uint32_t)(net->model->seed >> 32) };
    int64_t first;
    leat_cpu_lane_rows(&net->job, plan->lane->index, &first);
    for (size_t at = 0; at < n; at += 8) {
        const uint32_t counter[4] = { (uint32_t)(at / 8), 0x64726f70u ^ (uint32_t)i,
                                      (uint32_t)first, (uint32_t)net->steps };
        uint32_t words[4];
        leat_philox(key, counter, words);
        for (size_t j = 0; j < 8 && at + j < n; j++)
            mask[at + j] = (words[j / 2] >> 16 * (j & 1) & 0xffff) >= limit;
    }
}

static void apply_mask(const leat_cpu_plan *plan, int32_t i, const float *from, float *to, size_t n)
{
    const leat_dropout_options *o = leat_cpu_spec(plan, i)->options;
    const uint8_t *mask = plan->layers[i].extra[0]->data;
    const float scale = 1 / (1 - o->rate);
    for (size_t at = 0; at < n; at++)
        to[at] = mask[at] ? from[at] * scale : 0.0f;
}

static void dropout_run_forward(leat_cpu_plan *plan, int32_t i)
{
    const leat_cpu_layer_state *state = &plan->layers[i];
    const size_t n = leat_onednn_layout_bytes(state->out.layout) / sizeof(float);
    draw_mask(plan, i, state->extra[0]->data, n);
    apply_mask(plan, i, state->in.memory->data, state->out.memory->data, n);
}

static void dropout_run_backward(leat_cpu_plan *plan, int32_t i)
{
    const leat_cpu_layer_state *state = &plan->layers[i];
    float *grad = state->extra[1]->data;
    apply_mask(plan, i, grad, grad, leat_onednn_layout_bytes(state->out.layout) / sizeof(float));
}

int leat_cpu_dropout_forward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    leat_cpu_layer_state *state = &plan->layers[i];
    const int rc = leat_cpu_want_floats(plan, i, err);
    if (rc < 0 || !plan->training)
        return rc;
    const size_t bytes = leat_onednn_layout_bytes(plan->at.layout);
    state->extra[0] = leat_cpu_memory_next(plan, bytes / sizeof(float));
    if (plan->at.kept)
        plan->at = (leat_cpu_tensor){ .layout = plan->at.layout,
                                      .memory = leat_cpu_memory_next(plan, bytes) };
    if (!state->extra[0] || !plan->at.memory)
        return leat_cpu_no_memory(err, 0);
    return leat_cpu_push_call(plan, &plan->forward, dropout_run_forward, i, err);
}

int leat_cpu_dropout_backward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    const int rc = leat_cpu_want_grad(plan, plan->layers[i].out.layout, err);
    plan->layers[i].extra[1] = plan->grad.memory;
    return rc < 0 ? rc : leat_cpu_push_call(plan, &plan->backward, dropout_run_backward, i, err);
}
