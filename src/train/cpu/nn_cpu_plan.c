/* SPDX-License-Identifier: MIT
 *
 * nn_cpu_plan.c: memory, and plans from a model. See nn_cpu.h for the design. */
#include <stdlib.h>
#include <string.h>

#include "nn_cpu.h"

/* --- memory ---------------------------------------------------------------------------------- */

int leat_cpu_no_memory(leat_error *err, size_t bytes)
{
    return leat_fail(err, LEAT_E_NOMEM,
                     "training: cannot allocate %zu bytes; make the model or the batch smaller",
                     bytes);
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Zeroed, also in what layouts add to the elements. */
int leat_cpu_memory_allocate(leat_cpu_memory *memory, leat_error *err)
{
    const size_t bytes = round_up(memory->bytes ? memory->bytes : 1, 64);
    free(memory->data);
    memory->allocated = 0;
    memory->data = aligned_alloc(64, bytes);
    if (!memory->data)
        return leat_cpu_no_memory(err, bytes);
    memset(memory->data, 0, bytes);
    memory->allocated = bytes;
    return LEAT_OK;
}

static void want_bytes(leat_cpu_memory *memory, size_t bytes)
{
    if (memory->bytes < bytes)
        memory->bytes = bytes;
}

leat_cpu_memory *leat_cpu_memory_next(leat_cpu_plan *plan, size_t bytes)
{
    leat_cpu_lane *lane = plan->lane;
    if (plan->n_memories == lane->n_shared) {
        leat_cpu_memory **shared =
            realloc(lane->shared, (lane->n_shared + 1) * sizeof(leat_cpu_memory *));
        if (!shared)
            return NULL;
        lane->shared = shared;
        if (!(shared[lane->n_shared] = calloc(1, sizeof **shared)))
            return NULL;
        lane->n_shared++;
    }
    leat_cpu_memory *memory = lane->shared[plan->n_memories++];
    want_bytes(memory, bytes);
    return memory;
}

leat_cpu_memory *leat_cpu_memory_grad(leat_cpu_plan *plan, const leat_cpu_memory *not_this,
                                      size_t bytes)
{
    leat_cpu_memory *memory = &plan->lane->grads[not_this == &plan->lane->grads[0]];
    want_bytes(memory, bytes);
    return memory;
}

/* Allocates memories that have grown; addresses bound before are then invalid. */
static int allocate_all(leat_cpu_lane *lane, leat_error *err)
{
    leat_cpu_memory *single[] = { &lane->grads[0], &lane->grads[1], &lane->scratch };
    bool moved = lane->generation == 0;
    for (size_t i = 0; i < lane->n_shared + 3; i++) {
        leat_cpu_memory *memory = i < 3 ? single[i] : lane->shared[i - 3];
        if (memory->data && memory->bytes <= memory->allocated)
            continue;
        const int rc = leat_cpu_memory_allocate(memory, err);
        moved = true;
        if (rc < 0)
            return rc;
    }
    if (moved)
        lane->generation++;
    return LEAT_OK;
}

/* --- making plans ---------------------------------------------------------------------------- */

int leat_cpu_bind(leat_cpu_plan *plan, leat_onednn_prim *prim, leat_onednn_arg arg,
                  leat_cpu_memory *memory, leat_error *err)
{
    const leat_onednn_layout *layout = leat_onednn_wants(prim, arg);
    if (!layout)
        return LEAT_OK;
    if (!memory)
        return leat_cpu_no_memory(err, leat_onednn_layout_bytes(layout));
    leat_cpu_binding *bindings = realloc(plan->bindings, (plan->n_bindings + 1) * sizeof *bindings);
    if (!bindings)
        return leat_cpu_no_memory(err, sizeof *bindings);
    plan->bindings = bindings;
    bindings[plan->n_bindings++] = (leat_cpu_binding){ prim, arg, memory };
    return LEAT_OK;
}

static int append(leat_cpu_actions *list, leat_cpu_action action, leat_error *err)
{
    leat_cpu_action *at = realloc(list->at, (list->n + 1) * sizeof *at);
    if (!at)
        return leat_cpu_no_memory(err, sizeof *at);
    list->at = at;
    at[list->n++] = action;
    return LEAT_OK;
}

int leat_cpu_push(leat_cpu_plan *plan, leat_cpu_actions *list, leat_onednn_prim *prim,
                  leat_error *err)
{
    const leat_onednn_layout *scratch = leat_onednn_wants(prim, LEAT_DN_SCRATCH);
    if (scratch)
        want_bytes(&plan->lane->scratch, leat_onednn_layout_bytes(scratch));
    const int rc = leat_cpu_bind(plan, prim, LEAT_DN_SCRATCH, &plan->lane->scratch, err);
    return rc < 0 ? rc : append(list, (leat_cpu_action){ .prim = prim }, err);
}

int leat_cpu_push_call(leat_cpu_plan *plan, leat_cpu_actions *list,
                       void (*call)(leat_cpu_plan *plan, int32_t layer), int32_t layer,
                       leat_error *err)
{
    (void)plan;
    return append(list, (leat_cpu_action){ .call = call, .layer = layer }, err);
}

int leat_cpu_want(leat_cpu_plan *plan, leat_cpu_actions *list, leat_cpu_tensor *tensor,
                  const leat_onednn_layout *layout, leat_cpu_memory *to, leat_error *err)
{
    leat_onednn_prim *prim;
    int rc;
    if (leat_onednn_layout_same(tensor->layout, layout))
        return LEAT_OK;
    if (!layout)
        return leat_cpu_no_memory(err, 0);
    if (!to && !(to = leat_cpu_memory_next(plan, leat_onednn_layout_bytes(layout))))
        return leat_cpu_no_memory(err, sizeof *to);
    if ((rc = leat_onednn_reorder(plan->lane->dn, tensor->layout, layout, &prim, err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_SRC, tensor->memory, err)) < 0 ||
        (rc = leat_cpu_bind(plan, prim, LEAT_DN_DST, to, err)) < 0 ||
        (rc = leat_cpu_push(plan, list, prim, err)) < 0)
        return rc;
    *tensor = (leat_cpu_tensor){ .layout = layout, .memory = to };
    return LEAT_OK;
}

const leat_onednn_layout *leat_cpu_plain(leat_cpu_plan *plan, const leat_shape *shape,
                                         leat_dtype dtype)
{
    const int64_t *d = shape->dims;
    if (shape->rank == 3)
        return leat_onednn_dense_layout(plan->lane->dn, dtype, 4,
                                        (int64_t[]){ plan->rows, d[2], d[0], d[1] },
                                        (int32_t[]){ 0, 2, 3, 1 });
    return leat_onednn_dense_layout(plan->lane->dn, dtype, 2, (int64_t[]){ plan->rows, d[0] },
                                    (int32_t[]){ 0, 1 });
}

static int make_forward(leat_cpu_plan *plan, leat_error *err)
{
    const leat_model *model = plan->lane->net->model;
    const leat_shape *in = &model->layers[0].in;
    int rc = LEAT_OK;
    plan->at = (leat_cpu_tensor){ .memory = &plan->lane->input,
                                  .layout = leat_cpu_plain(plan, in, model->input.dtype),
                                  .kept = true,
                                  .bytes = model->input.dtype == LEAT_U8 };
    if (!plan->at.layout)
        return leat_cpu_no_memory(err, 0);
    for (int32_t i = 0; i < model->n_layers && rc == LEAT_OK; i++) {
        leat_cpu_layer_state *state = &plan->layers[i];
        state->in = plan->at;
        const leat_cpu_layer *row = leat_cpu_layer_for(model->layers[i].layer);
        rc = row ? row->forward(plan, i, err)
                 : leat_fail(err, LEAT_E_UNSUPPORTED, "the CPU backend has no layer '%s'",
                             model->layers[i].layer->kind.name);
        state->out = plan->at;
    }
    if (rc < 0)
        return rc;
    return leat_cpu_want(plan, &plan->forward, &plan->at,
                         leat_cpu_plain(plan, &model->layers[model->n_layers - 1].out, LEAT_F32),
                         NULL, err);
}

static int make_backward(leat_cpu_plan *plan, leat_error *err)
{
    const leat_model *model = plan->lane->net->model;
    plan->grad = (leat_cpu_tensor){ .layout = plan->at.layout };
    plan->grad.memory = leat_cpu_memory_grad(plan, NULL, leat_onednn_layout_bytes(plan->at.layout));
    plan->logits_grad = plan->grad.memory;
    for (int32_t i = model->n_layers - 1; i >= 0; i--) {
        const leat_cpu_layer *row = leat_cpu_layer_for(model->layers[i].layer);
        const bool learns = model->layers[i].n_params > 0;
        if (!learns && !leat_model_needs_gradient(model, i))
            break;
        const int rc = row->backward ? row->backward(plan, i, err) : LEAT_OK;
        if (rc < 0)
            return rc;
    }
    return LEAT_OK;
}

void leat_cpu_plan_close(leat_cpu_plan **out)
{
    leat_cpu_plan *plan = *out;
    if (!plan)
        return;
    for (size_t i = 0; i < plan->forward.n; i++)
        leat_onednn_free(&plan->forward.at[i].prim);
    for (size_t i = 0; i < plan->backward.n; i++)
        leat_onednn_free(&plan->backward.at[i].prim);
    free(plan->forward.at);
    free(plan->backward.at);
    free(plan->bindings);
    free(plan->layers);
    free(plan);
    *out = NULL;
}

static int plan_open(leat_cpu_lane *lane, int64_t rows, bool training, leat_cpu_plan **out,
                     leat_error *err)
{
    int rc;
    leat_cpu_plan *plan = calloc(1, sizeof *plan);
    *out = NULL;
    if (!plan)
        return leat_cpu_no_memory(err, sizeof *plan);
    plan->lane = lane;
    plan->rows = rows;
    plan->training = training;
    plan->layers = calloc((size_t)lane->net->model->n_layers, sizeof *plan->layers);
    rc = plan->layers ? make_forward(plan, err) : leat_cpu_no_memory(err, sizeof *plan->layers);
    if (rc == LEAT_OK && training)
        rc = make_backward(plan, err);
    if (rc == LEAT_OK)
        rc = allocate_all(lane, err);
    if (rc < 0)
        leat_cpu_plan_close(&plan);
    *out = plan;
    return rc;
}

int leat_cpu_plan_for(leat_cpu_lane *lane, int64_t rows, bool training, leat_cpu_plan **out,
                      leat_error *err)
{
    leat_cpu_plan **oldest = &lane->plans[0];
    for (int i = 0; i < LEAT_CPU_MAX_PLANS; i++) {
        leat_cpu_plan **plan = &lane->plans[i];
        if (*plan && (*plan)->rows == rows && (*plan)->training == training) {
            *out = *plan;
            return LEAT_OK;
        }
        if (*oldest && (!*plan || (*plan)->last_use < (*oldest)->last_use))
            oldest = plan;
    }
    leat_cpu_plan_close(oldest);
    const int rc = plan_open(lane, rows, training, oldest, err);
    *out = *oldest;
    return rc;
}
