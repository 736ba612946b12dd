/* SPDX-License-Identifier: MIT
 *
 * nn_cpu.c: the CPU backend's memory, plans, steps and parameters. See nn_cpu.h for the design. */
#include "nn_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "losses.h"

/* --- memory ---------------------------------------------------------------------------------- */

static int no_memory(leat_error *err, size_t bytes)
{
    return leat_fail(err, LEAT_E_NOMEM, "training: %zu bytes of memory", bytes);
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Zeroed, also in what layouts add to the elements. */
static int allocate(leat_cpu_memory *memory, leat_error *err)
{
    const size_t bytes = round_up(memory->bytes ? memory->bytes : 1, 64);
    free(memory->data);
    memory->allocated = 0;
    memory->data = aligned_alloc(64, bytes);
    if (!memory->data)
        return no_memory(err, bytes);
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
    leat_net *net = plan->net;
    if (plan->n_memories == net->n_shared) {
        leat_cpu_memory **shared =
            realloc(net->shared, (net->n_shared + 1) * sizeof(leat_cpu_memory *));
        if (!shared)
            return NULL;
        net->shared = shared;
        if (!(shared[net->n_shared] = calloc(1, sizeof **shared)))
            return NULL;
        net->n_shared++;
    }
    leat_cpu_memory *memory = net->shared[plan->n_memories++];
    want_bytes(memory, bytes);
    return memory;
}

leat_cpu_memory *leat_cpu_memory_grad(leat_cpu_plan *plan, const leat_cpu_memory *not_this,
                                      size_t bytes)
{
    leat_cpu_memory *memory = &plan->net->grads[not_this == &plan->net->grads[0]];
    want_bytes(memory, bytes);
    return memory;
}

/* Gives every memory that has become larger a new place; bound addresses are then out of date. */
static int allocate_all(leat_net *net, leat_error *err)
{
    leat_cpu_memory *single[] = { &net->grads[0], &net->grads[1], &net->scratch };
    bool moved = net->generation == 0;
    for (size_t i = 0; i < net->n_shared + 3; i++) {
        leat_cpu_memory *memory = i < 3 ? single[i] : net->shared[i - 3];
        if (memory->data && memory->bytes <= memory->allocated)
            continue;
        const int rc = allocate(memory, err);
        moved = true;
        if (rc < 0)
            return rc;
    }
    if (moved)
        net->generation++;
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
        return no_memory(err, leat_onednn_layout_bytes(layout));
    leat_cpu_binding *bindings = realloc(plan->bindings, (plan->n_bindings + 1) * sizeof *bindings);
    if (!bindings)
        return no_memory(err, sizeof *bindings);
    plan->bindings = bindings;
    bindings[plan->n_bindings++] = (leat_cpu_binding){ prim, arg, memory };
    return LEAT_OK;
}

static int append(leat_cpu_actions *list, leat_cpu_action action, leat_error *err)
{
    leat_cpu_action *at = realloc(list->at, (list->n + 1) * sizeof *at);
    if (!at)
        return no_memory(err, sizeof *at);
    list->at = at;
    at[list->n++] = action;
    return LEAT_OK;
}

int leat_cpu_push(leat_cpu_plan *plan, leat_cpu_actions *list, leat_onednn_prim *prim,
                  leat_error *err)
{
    const leat_onednn_layout *scratch = leat_onednn_wants(prim, LEAT_DN_SCRATCH);
    if (scratch)
        want_bytes(&plan->net->scratch, leat_onednn_layout_bytes(scratch));
    const int rc = leat_cpu_bind(plan, prim, LEAT_DN_SCRATCH, &plan->net->scratch, err);
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
    if (tensor->layout == layout)
        return LEAT_OK;
    if (!layout)
        return no_memory(err, 0);
    if (!to && !(to = leat_cpu_memory_next(plan, leat_onednn_layout_bytes(layout))))
        return no_memory(err, sizeof *to);
    if ((rc = leat_onednn_reorder(plan->net->dn, tensor->layout, layout, &prim, err)) < 0 ||
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
        return leat_onednn_dense_layout(plan->net->dn, dtype, 4,
                                        (int64_t[]){ plan->rows, d[2], d[0], d[1] },
                                        (int32_t[]){ 0, 2, 3, 1 });
    return leat_onednn_dense_layout(plan->net->dn, dtype, 2, (int64_t[]){ plan->rows, d[0] },
                                    (int32_t[]){ 0, 1 });
}

static int make_forward(leat_cpu_plan *plan, leat_error *err)
{
    const leat_model *model = plan->net->model;
    const leat_shape *in = &model->layers[0].in;
    int rc = LEAT_OK;
    plan->at = (leat_cpu_tensor){ .memory = &plan->net->input,
                                  .layout = leat_cpu_plain(plan, in, model->input.dtype),
                                  .kept = true,
                                  .bytes = model->input.dtype == LEAT_U8 };
    if (!plan->at.layout)
        return no_memory(err, 0);
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
    const leat_model *model = plan->net->model;
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

static void plan_close(leat_cpu_plan **out)
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

static int plan_open(leat_net *net, int64_t rows, bool training, leat_cpu_plan **out,
                     leat_error *err)
{
    int rc;
    leat_cpu_plan *plan = calloc(1, sizeof *plan);
    *out = NULL;
    if (!plan)
        return no_memory(err, sizeof *plan);
    plan->net = net;
    plan->rows = rows;
    plan->training = training;
    plan->layers = calloc((size_t)net->model->n_layers, sizeof *plan->layers);
    rc = plan->layers ? make_forward(plan, err) : no_memory(err, sizeof *plan->layers);
    if (rc == LEAT_OK && training)
        rc = make_backward(plan, err);
    if (rc == LEAT_OK)
        rc = allocate_all(net, err);
    if (rc < 0)
        plan_close(&plan);
    *out = plan;
    return rc;
}

/* The plan for a number of rows; a new one takes the place of the one longest unused. */
static int plan_for(leat_net *net, int64_t rows, bool training, leat_cpu_plan **out,
                    leat_error *err)
{
    leat_cpu_plan **oldest = &net->plans[0];
    for (int i = 0; i < LEAT_CPU_MAX_PLANS; i++) {
        leat_cpu_plan **plan = &net->plans[i];
        if (*plan && (*plan)->rows == rows && (*plan)->training == training) {
            *out = *plan;
            return LEAT_OK;
        }
        if (*oldest && (!*plan || (*plan)->last_use < (*oldest)->last_use))
            oldest = plan;
    }
    plan_close(oldest);
    const int rc = plan_open(net, rows, training, oldest, err);
    *out = *oldest;
    return rc;
}

/* --- parameters ------------------------------------------------------------------------------ */

leat_cpu_param *leat_cpu_param_at(leat_net *net, int32_t layer, int32_t param)
{
    return &net->params[(size_t)layer * LEAT_LAYER_MAX_PARAMS + (size_t)param];
}

/* Logical order as oneDNN has it, plain order as leat_param has it. */
static const leat_onednn_layout *plain_param(leat_net *net, const leat_shape *shape)
{
    const int64_t *d = shape->dims;
    switch (shape->rank) {
    case 4:
        return leat_onednn_dense_layout(net->dn, LEAT_F32, 4, (int64_t[]){ d[3], d[2], d[0], d[1] },
                                        (int32_t[]){ 2, 3, 1, 0 });
    case 2:
        return leat_onednn_dense_layout(net->dn, LEAT_F32, 2, (int64_t[]){ d[1], d[0] },
                                        (int32_t[]){ 1, 0 });
    default:
        return leat_onednn_dense_layout(net->dn, LEAT_F32, 1, d, (int32_t[]){ 0 });
    }
}

static int copy_param(leat_net *net, const leat_onednn_layout *from, void *source,
                      const leat_onednn_layout *to, void *target, leat_error *err)
{
    leat_onednn_prim *prim = NULL;
    leat_cpu_memory scratch = { 0 };
    int rc = leat_onednn_reorder(net->dn, from, to, &prim, err);
    if (rc < 0)
        return rc;
    if (leat_onednn_wants(prim, LEAT_DN_SCRATCH)) {
        scratch.bytes = leat_onednn_layout_bytes(leat_onednn_wants(prim, LEAT_DN_SCRATCH));
        rc = allocate(&scratch, err);
    }
    if (rc == LEAT_OK && (rc = leat_onednn_bind(prim, LEAT_DN_SRC, source, err)) == LEAT_OK &&
        (rc = leat_onednn_bind(prim, LEAT_DN_DST, target, err)) == LEAT_OK &&
        (rc = leat_onednn_bind(prim, LEAT_DN_SCRATCH, scratch.data, err)) == LEAT_OK)
        rc = leat_onednn_run(prim, err);
    leat_onednn_free(&prim);
    free(scratch.data);
    return rc;
}

static int cpu_read(leat_net *net, int32_t layer, int32_t param, float *to, leat_error *err)
{
    leat_cpu_param *p = leat_cpu_param_at(net, layer, param);
    leat_onednn_enter(net->dn);
    const int rc = copy_param(net, p->layout, p->value.data, p->plain, to, err);
    leat_onednn_leave(net->dn);
    return rc;
}

static int cpu_write(leat_net *net, int32_t layer, int32_t param, const float *from,
                     leat_error *err)
{
    leat_cpu_param *p = leat_cpu_param_at(net, layer, param);
    leat_onednn_enter(net->dn);
    const int rc =
        copy_param(net, p->plain, (void *)(uintptr_t)from, p->layout, p->value.data, err);
    leat_onednn_leave(net->dn);
    return rc;
}

static int draw(leat_net *net, int32_t layer, int32_t param, leat_error *err)
{
    leat_cpu_param *p = leat_cpu_param_at(net, layer, param);
    const int64_t bytes = leat_shape_bytes(&net->model->layers[layer].params[param].shape);
    float *values = malloc((size_t)bytes);
    if (!values)
        return no_memory(err, (size_t)bytes);
    leat_model_draw(net->model, layer, param, values);
    const int rc = copy_param(net, p->plain, values, p->layout, p->value.data, err);
    free(values);
    return rc;
}

int leat_cpu_param_place(leat_net *net, int32_t layer, int32_t param,
                         const leat_onednn_layout *layout, leat_error *err)
{
    leat_cpu_param *p = leat_cpu_param_at(net, layer, param);
    const leat_param *spec = &net->model->layers[layer].params[param];
    const int32_t n_states = spec->trained ? net->model->optimizer->n_states : 0;
    int rc;
    if (p->layout)
        return LEAT_OK;
    p->plain = plain_param(net, &spec->shape);
    p->layout = layout ? layout : p->plain;
    if (!p->layout || !p->plain)
        return no_memory(err, 0);
    p->value.bytes = round_up(leat_onednn_layout_bytes(p->layout), 64);
    p->n = p->value.bytes / sizeof(float);
    p->grad.bytes = p->value.bytes;
    if ((rc = allocate(&p->value, err)) < 0 ||
        (spec->trained && (rc = allocate(&p->grad, err)) < 0))
        return rc;
    for (int32_t i = 0; i < n_states; i++) {
        p->states[i].bytes = p->value.bytes;
        if ((rc = allocate(&p->states[i], err)) < 0)
            return rc;
    }
    return draw(net, layer, param, err);
}

/* --- running --------------------------------------------------------------------------------- */

static int bind_all(leat_cpu_plan *plan, leat_error *err)
{
    for (size_t i = 0; i < plan->n_bindings; i++) {
        const leat_cpu_binding *b = &plan->bindings[i];
        const int rc = leat_onednn_bind(b->prim, b->arg, b->memory->data, err);
        if (rc < 0)
            return rc;
    }
    plan->generation = plan->net->generation;
    return LEAT_OK;
}

static int bind_input(leat_cpu_plan *plan, leat_error *err)
{
    int rc = LEAT_OK;
    for (size_t i = 0; i < plan->n_bindings && rc == LEAT_OK; i++) {
        const leat_cpu_binding *b = &plan->bindings[i];
        if (b->memory == &plan->net->input)
            rc = leat_onednn_bind(b->prim, b->arg, b->memory->data, err);
    }
    return rc;
}

static int run_actions(leat_cpu_plan *plan, const leat_cpu_actions *list, leat_error *err)
{
    int rc = LEAT_OK;
    for (size_t i = 0; i < list->n && rc == LEAT_OK; i++) {
        if (list->at[i].prim)
            rc = leat_onednn_run(list->at[i].prim, err);
        else
            list->at[i].call(plan, list->at[i].layer);
    }
    return rc;
}

typedef struct update_job {
    leat_net *net;
    leat_cpu_param *param;
} update_job;

static void update_part(void *arg, int32_t part, int32_t n_parts)
{
    const update_job *job = arg;
    const leat_cpu_param *p = job->param;
    const size_t blocks = p->n / 16;
    const size_t from = blocks * (size_t)part / (size_t)n_parts * 16;
    const size_t to = blocks * ((size_t)part + 1) / (size_t)n_parts * 16;
    float *states[LEAT_OPTIMIZER_MAX_STATES] = { 0 };
    for (int32_t i = 0; i < job->net->model->optimizer->n_states; i++)
        states[i] = (float *)p->states[i].data + from;
    job->net->model->optimizer->update(job->net->model->optimizer_options, job->net->steps,
                                       (float *)p->value.data + from,
                                       (const float *)p->grad.data + from, states, to - from);
}

/* Small parameters are not worth the threads. */
static void update(leat_net *net)
{
    for (int32_t i = 0; i < net->model->n_layers; i++)
        for (int32_t k = 0; k < net->model->layers[i].n_params; k++) {
            update_job job = { net, leat_cpu_param_at(net, i, k) };
            if (!net->model->layers[i].params[k].trained)
                continue;
            if (job.param->n < 65536)
                update_part(&job, 0, 1);
            else
                leat_onednn_parallel(net->dn, update_part, &job);
        }
}

static void add_loss(leat_net *net, leat_cpu_plan *plan, const leat_view *y)
{
    const leat_model *model = net->model;
    model->loss->eval(model->loss_options, plan->at.memory->data,
                      model->layers[model->n_layers - 1].out.dims[0], y, plan->rows,
                      plan->training ? plan->logits_grad->data : NULL, &net->sums.loss,
                      &net->sums.right);
    net->sums.samples += (uint64_t)plan->rows;
}

static int run_step(leat_net *net, const leat_view *x, const leat_view *y, int64_t rows, bool train,
                    leat_error *err)
{
    leat_cpu_plan *plan;
    int rc = plan_for(net, rows, train, &plan, err);
    if (rc < 0)
        return rc;
    plan->last_use = ++net->uses;
    net->input.data = x->data;
    rc = plan->generation != net->generation ? bind_all(plan, err) : bind_input(plan, err);
    if (train)
        net->steps++;
    if (rc == LEAT_OK)
        rc = run_actions(plan, &plan->forward, err);
    if (rc < 0)
        return rc;
    add_loss(net, plan, y);
    if (train && (rc = run_actions(plan, &plan->backward, err)) == LEAT_OK)
        update(net);
    return rc;
}

static int cpu_step(leat_net *net, leat_stream *stream, const leat_view *x, const leat_view *y,
                    int64_t rows, bool train, int64_t *busy_ns, leat_error *err)
{
    const leat_model *model = net->model;
    (void)stream;
    *busy_ns = 0;
    int rc = model->loss->check_targets(model->loss_options,
                                        &model->layers[model->n_layers - 1].out, y, rows, err);
    if (rc < 0)
        return rc;
    leat_onednn_enter(net->dn);
    rc = run_step(net, x, y, rows, train, err);
    leat_onednn_leave(net->dn);
    return rc;
}

static int cpu_sums(leat_net *net, leat_net_sums *out, leat_error *err)
{
    (void)err;
    *out = net->sums;
    net->sums = (leat_net_sums){ 0 };
    return LEAT_OK;
}

/* --- open, close ----------------------------------------------------------------------------- */

static void free_param(leat_cpu_param *p)
{
    free(p->value.data);
    free(p->grad.data);
    for (int i = 0; i < LEAT_OPTIMIZER_MAX_STATES; i++)
        free(p->states[i].data);
}

static void cpu_close(leat_net *net)
{
    if (!net)
        return;
    for (int i = 0; i < LEAT_CPU_MAX_PLANS; i++)
        plan_close(&net->plans[i]);
    leat_onednn_close(&net->dn);
    for (int32_t i = 0; net->params && i < net->model->n_layers * LEAT_LAYER_MAX_PARAMS; i++)
        free_param(&net->params[i]);
    for (size_t i = 0; i < net->n_shared; i++) {
        free(net->shared[i]->data);
        free(net->shared[i]);
    }
    free(net->shared);
    free(net->grads[0].data);
    free(net->grads[1].data);
    free(net->scratch.data);
    free(net->params);
    free(net);
}

/* Below some 50 million operations per thread and step, meeting costs more than sharing saves. */
static int32_t most_threads(const leat_model *model)
{
    const double parts = model->flops_per_sample * (double)model->batch_size / 50e6;
    return parts < 1 ? 1 : parts > 1024 ? 1024 : (int32_t)parts;
}

/* Makes the plan of a full batch at once: it settles the layouts of the parameters. */
static int cpu_open(const leat_model *model, leat_device *device, leat_net **out, leat_error *err)
{
    int rc;
    leat_cpu_plan *plan;
    leat_net *net = calloc(1, sizeof *net);
    (void)device;
    *out = NULL;
    if (!net)
        return no_memory(err, sizeof *net);
    net->model = model;
    net->params = calloc((size_t)model->n_layers * LEAT_LAYER_MAX_PARAMS, sizeof *net->params);
    rc = net->params ? leat_onednn_open(model->threads, most_threads(model), &net->dn, err)
                     : no_memory(err, sizeof *net->params);
    if (rc == LEAT_OK) {
        leat_onednn_enter(net->dn);
        rc = plan_for(net, model->batch_size, true, &plan, err);
        leat_onednn_leave(net->dn);
    }
    if (rc < 0) {
        cpu_close(net);
        return rc;
    }
    *out = net;
    return LEAT_OK;
}

const leat_backend leat_backend_cpu = {
    .kind = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .step = cpu_step,
    .sums = cpu_sums,
    .read = cpu_read,
    .write = cpu_write,
};
