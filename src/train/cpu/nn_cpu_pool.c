/* SPDX-License-Identifier: MIT
 *
 * nn_cpu_pool.c: pooling, and images as vectors, on the CPU. See nn_cpu.h. */
#include "nn_cpu.h"

/* --- pooling --------------------------------------------------------------------------------- */

static leat_onednn_pooling pooling_of(const leat_cpu_plan *plan, int32_t i)
{
    return leat_cpu_row(plan, i)->pooling;
}

/* global_avg_pool is one window over the whole image. */
static leat_onednn_window pool_window(const leat_cpu_plan *plan, int32_t i)
{
    const leat_model_layer *l = leat_cpu_spec(plan, i);
    const int64_t *in = l->in.dims;
    leat_sliding s = { { in[0], in[1] }, { 1, 1 }, { in[0], in[1] }, { 1, 1 }, { 0 }, { 0 } };
    if (l->layer != &leat_layer_global_avg_pool)
        (void)leat_pool_sliding(l->options, &l->in, l->layer->kind.name, &s, NULL);
    return leat_cpu_window(plan, &s, in[2], in[2]);
}

int leat_cpu_pool_forward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    const leat_onednn_window w = pool_window(plan, i);
    leat_cpu_layer_state *state = &plan->layers[i];
    int rc = leat_cpu_want_floats(plan, i, err);
    if (rc < 0 ||
        (rc = leat_onednn_pool(plan->lane->dn, &w, pooling_of(plan, i), plan->training,
                               plan->at.layout, &state->forward, err)) < 0 ||
        (rc = leat_cpu_bind(plan, state->forward, LEAT_DN_SRC, plan->at.memory, err)) < 0)
        return rc;
    const leat_onednn_layout *where = leat_onednn_wants(state->forward, LEAT_DN_WORKSPACE);
    if (where)
        state->extra[0] = leat_cpu_memory_next(plan, leat_onednn_layout_bytes(where));
    if ((rc = leat_cpu_bind(plan, state->forward, LEAT_DN_WORKSPACE, state->extra[0], err)) < 0 ||
        (rc = leat_cpu_new_output(plan, state->forward, LEAT_DN_DST, &plan->at, err)) < 0)
        return rc;
    return leat_cpu_push(plan, &plan->forward, state->forward, err);
}

int leat_cpu_pool_backward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    const leat_onednn_window w = pool_window(plan, i);
    const leat_cpu_layer_state *state = &plan->layers[i];
    leat_onednn_prim *prim;
    int rc = leat_onednn_pool_backward(plan->lane->dn, &w, pooling_of(plan, i), state->in.layout,
                                       state->forward, &prim, err);
    if (rc < 0 ||
        (rc = leat_cpu_want_grad(plan, leat_onednn_wants(prim, LEAT_DN_DIFF_DST), err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_DIFF_DST, plan->grad.memory, err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_WORKSPACE, state->extra[0], err)) < 0 ||
        (rc = leat_cpu_new_grad(plan, prim, err)) < 0)
        return rc;
    return leat_cpu_push(plan, &plan->backward, prim, err);
}

/* --- vectors of images ----------------------------------------------------------------------- */

/* An image with channels innermost already is the vector; only the layout changes. */
static int as_vector(leat_cpu_plan *plan, const leat_shape *image, const leat_shape *vector,
                     leat_error *err)
{
    const int rc = leat_cpu_want(plan, &plan->forward, &plan->at,
                                 leat_cpu_plain(plan, image, LEAT_F32), NULL, err);
    plan->at.layout = leat_cpu_plain(plan, vector, LEAT_F32);
    return rc < 0 ? rc : plan->at.layout ? LEAT_OK : leat_cpu_no_memory(err, 0);
}

static int grad_as_image(leat_cpu_plan *plan, const leat_shape *image, const leat_shape *vector,
                         leat_error *err)
{
    const int rc = leat_cpu_want_grad(plan, leat_cpu_plain(plan, vector, LEAT_F32), err);
    plan->grad.layout = leat_cpu_plain(plan, image, LEAT_F32);
    return rc < 0 ? rc : plan->grad.layout ? LEAT_OK : leat_cpu_no_memory(err, 0);
}

int leat_cpu_flatten_forward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    const leat_model_layer *l = leat_cpu_spec(plan, i);
    const int rc = leat_cpu_want_floats(plan, i, err);
    return rc < 0 ? rc : as_vector(plan, &l->in, &l->out, err);
}

int leat_cpu_flatten_backward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    return grad_as_image(plan, &leat_cpu_spec(plan, i)->in, &leat_cpu_spec(plan, i)->out, err);
}

static leat_shape one_pixel(const leat_cpu_plan *plan, int32_t i)
{
    return leat_shape_make(LEAT_F32, 3, (int64_t[]){ 1, 1, leat_cpu_spec(plan, i)->in.dims[2] });
}

int leat_cpu_global_pool_forward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    const leat_shape pixel = one_pixel(plan, i);
    const int rc = leat_cpu_pool_forward(plan, i, err);
    return rc < 0 ? rc : as_vector(plan, &pixel, &leat_cpu_spec(plan, i)->out, err);
}

int leat_cpu_global_pool_backward(leat_cpu_plan *plan, int32_t i, leat_error *err)
{
    const leat_shape pixel = one_pixel(plan, i);
    const int rc = grad_as_image(plan, &pixel, &leat_cpu_spec(plan, i)->out, err);
    return rc < 0 ? rc : leat_cpu_pool_backward(plan, i, err);
}
