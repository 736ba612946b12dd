/* SPDX-License-Identifier: MIT
 *
 * nn_cpu.c: steps of the CPU backend. See nn_cpu.h for the design. */
#include <stdlib.h>

#include "nn_cpu.h"

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
    int rc = leat_cpu_plan_for(net, rows, train, &plan, err);
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

static void cpu_close(leat_net *net)
{
    if (!net)
        return;
    for (int i = 0; i < LEAT_CPU_MAX_PLANS; i++)
        leat_cpu_plan_close(&net->plans[i]);
    leat_onednn_close(&net->dn);
    for (int32_t i = 0; net->params && i < net->model->n_layers * LEAT_LAYER_MAX_PARAMS; i++)
        leat_cpu_param_free(&net->params[i]);
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
        return leat_cpu_no_memory(err, sizeof *net);
    net->model = model;
    net->params = calloc((size_t)model->n_layers * LEAT_LAYER_MAX_PARAMS, sizeof *net->params);
    rc = net->params ? leat_onednn_open(model->threads, most_threads(model), &net->dn, err)
                     : leat_cpu_no_memory(err, sizeof *net->params);
    if (rc == LEAT_OK) {
        leat_onednn_enter(net->dn);
        rc = leat_cpu_plan_for(net, model->batch_size, true, &plan, err);
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
    .read = leat_cpu_param_read,
    .write = leat_cpu_param_write,
};
