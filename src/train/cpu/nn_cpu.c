/* SPDX-License-Identifier: MIT
 *
 * nn_cpu.c: steps of the CPU backend. See nn_cpu.h for the design. */
#include <stdlib.h>
#include <string.h>

#include "nn_cpu.h"

/* --- one lane's part of a step --------------------------------------------------------------- */

static int bind_all(leat_cpu_plan *plan, leat_error *err)
{
    for (size_t i = 0; i < plan->n_bindings; i++) {
        const leat_cpu_binding *b = &plan->bindings[i];
        const int rc = leat_onednn_bind(b->prim, b->arg, b->memory->data, err);
        if (rc < 0)
            return rc;
    }
    plan->generation = plan->lane->generation;
    return LEAT_OK;
}

static int bind_input(leat_cpu_plan *plan, leat_error *err)
{
    int rc = LEAT_OK;
    for (size_t i = 0; i < plan->n_bindings && rc == LEAT_OK; i++) {
        const leat_cpu_binding *b = &plan->bindings[i];
        if (b->memory == &plan->lane->input)
            rc = leat_onednn_bind(b->prim, b->arg, b->memory->data, err);
    }
    return rc;
}

/* The lane's rows of a view. */
static leat_view part_of(const leat_view *view, int64_t first, int64_t rows)
{
    leat_view part = *view;
    part.shape.dims[0] = 1;
    part.data = (char *)view->data + first * leat_shape_bytes(&part.shape);
    part.shape.dims[0] = rows;
    return part;
}

static void find_valid(leat_cpu_lane *lane, int64_t first, int64_t rows)
{
    const uint8_t *const valid = lane->net->job.batch->valid;
    lane->valid = valid ? valid + first : NULL;
    lane->n_valid = valid ? 0 : rows;
    for (int64_t i = 0; valid && i < rows; i++)
        lane->n_valid += lane->valid[i] != 0;
}

/* Everything that allocates memory, before the lanes depend on each other. */
static int prepare(leat_cpu_lane *lane, leat_error *err)
{
    const leat_cpu_job *job = &lane->net->job;
    int64_t first;
    const int64_t rows = leat_cpu_lane_rows(job, lane->index, &first);
    const int rc = leat_cpu_plan_for(lane, rows, job->train, &lane->plan, err);
    if (rc < 0)
        return rc;
    lane->plan->last_use = ++lane->uses;
    find_valid(lane, first, rows);
    lane->input.data = part_of(&job->batch->x, first, rows).data;
    return lane->plan->generation != lane->generation ? bind_all(lane->plan, err)
                                                      : bind_input(lane->plan, err);
}

/* Continues after an error, because other lanes wait at the meetings of this list. */
static void run_actions(leat_cpu_lane *lane, const leat_cpu_actions *list)
{
    for (size_t i = 0; i < list->n; i++) {
        const leat_cpu_action *action = &list->at[i];
        if (!action->prim)
            action->call(lane->plan, action->layer);
        else if (lane->rc == LEAT_OK)
            lane->rc = leat_onednn_run(action->prim, &lane->error);
    }
}

static void add_loss(leat_cpu_lane *lane)
{
    const leat_model *model = lane->net->model;
    const leat_cpu_job *job = &lane->net->job;
    int64_t first;
    const int64_t rows = leat_cpu_lane_rows(job, lane->index, &first);
    const leat_view y = part_of(&job->batch->y, first, rows);
    const leat_loss_rows here = {
        .logits = lane->plan->at.memory->data,
        .n = model->layers[model->n_layers - 1].out.dims[0],
        .rows = rows,
        .target = &y,
        .valid = lane->valid,
        .batch_rows = job->batch->n_valid,
        .grad = job->train ? lane->plan->logits_grad->data : NULL,
    };
    lane->sums.samples = (uint64_t)lane->n_valid;
    model->loss->eval(model->loss_options, &here, &lane->sums.loss, &lane->sums.right);
}

/* Adds the other lanes' gradients, in their order, to lane 0's, and updates, from weight `from` to
 * `to`. In short runs, so that a run is still in cache when it is used. */
static void update_range(leat_net *net, int32_t layer, int32_t param, size_t from, size_t to)
{
    const leat_optimizer *optimizer = net->model->optimizer;
    const leat_cpu_param *p = leat_cpu_param_at(net, layer, param);
    float *sum = leat_cpu_param_grad(&net->lanes[0], layer, param)->data;
    for (size_t end; from < to; from = end) {
        float *states[LEAT_OPTIMIZER_MAX_STATES] = { 0 };
        end = from + 1024 < to ? from + 1024 : to;
        for (int32_t i = 1; i < net->job.n_lanes; i++) {
            const float *grad = leat_cpu_param_grad(&net->lanes[i], layer, param)->data;
            for (size_t at = from; at < end; at += 16)
                for (size_t k = at; k < at + 16; k++)
                    sum[k] += grad[k];
        }
        for (int32_t i = 0; i < optimizer->n_states; i++)
            states[i] = (float *)p->states[i].data + from;
        optimizer->update(net->model->optimizer_options, net->steps, (float *)p->value.data + from,
                          sum + from, states, end - from);
    }
}

/* Each lane updates a range of every parameter. */
static void update(leat_cpu_lane *lane)
{
    leat_net *net = lane->net;
    for (int32_t i = 0; i < net->model->n_layers; i++)
        for (int32_t k = 0; k < net->model->layers[i].n_params; k++) {
            const size_t blocks = leat_cpu_param_at(net, i, k)->n / 16;
            const size_t n = (size_t)net->job.n_lanes, at = (size_t)lane->index;
            if (net->model->layers[i].params[k].trained)
                update_range(net, i, k, blocks * at / n * 16, blocks * (at + 1) / n * 16);
        }
}

/* Two fields, because a lane may fail again while another still reads the first. */
static bool all_prepared(const leat_net *net)
{
    for (int32_t i = 0; i < net->job.n_lanes; i++)
        if (net->lanes[i].prepared < 0)
            return false;
    return true;
}

static bool all_well(const leat_net *net)
{
    for (int32_t i = 0; i < net->job.n_lanes; i++)
        if (net->lanes[i].rc < 0)
            return false;
    return true;
}

void leat_cpu_lane_work(leat_cpu_lane *lane)
{
    leat_net *net = lane->net;
    lane->sums = (leat_net_sums){ 0 };
    lane->rc = lane->prepared = prepare(lane, &lane->error);
    leat_cpu_lane_meet(net);
    if (!all_prepared(net))
        return;
    run_actions(lane, &lane->plan->forward);
    add_loss(lane);
    if (!net->job.train)
        return;
    run_actions(lane, &lane->plan->backward);
    leat_cpu_lane_meet(net);
    if (all_well(net))
        update(lane);
}

/* --- steps ----------------------------------------------------------------------------------- */

static int cpu_step(leat_net *net, leat_stream *stream, const leat_net_rows *batch, bool train,
                    int64_t *busy_ns, leat_error *err)
{
    const leat_model *model = net->model;
    const int64_t rows = batch->rows;
    const leat_loss_rows targets = { .target = &batch->y, .valid = batch->valid, .rows = rows };
    (void)stream;
    *busy_ns = 0;
    const int rc = model->loss->check_targets(
        model->loss_options, &model->layers[model->n_layers - 1].out, &targets, err);
    if (rc < 0)
        return rc;
    net->steps += train;
    leat_cpu_lane_run(net, &(leat_cpu_job){ batch, rows, train,
                                            rows < net->n_lanes ? (int32_t)rows : net->n_lanes });
    for (int32_t i = 0; i < net->job.n_lanes; i++) {
        const leat_cpu_lane *lane = &net->lanes[i];
        if (lane->rc < 0)
            return leat_fail(err, lane->rc, "%s", lane->error.message);
    }
    for (int32_t i = 0; i < net->job.n_lanes; i++) {
        net->sums.samples += net->lanes[i].sums.samples;
        net->sums.loss += net->lanes[i].sums.loss;
        net->sums.right += net->lanes[i].sums.right;
    }
    return LEAT_OK;
}

static int cpu_sums(leat_net *net, bool anew, leat_net_sums *out, leat_error *err)
{
    (void)err;
    *out = net->sums;
    if (anew)
        net->sums = (leat_net_sums){ 0 };
    return LEAT_OK;
}

/* --- open, close ----------------------------------------------------------------------------- */

static void close_lane(leat_cpu_lane *lane, size_t n_params)
{
    for (int i = 0; i < LEAT_CPU_MAX_PLANS; i++)
        leat_cpu_plan_close(&lane->plans[i]);
    leat_onednn_close(&lane->dn);
    for (size_t i = 0; i < lane->n_shared; i++) {
        free(lane->shared[i]->data);
        free(lane->shared[i]);
    }
    free(lane->shared);
    for (size_t i = 0; lane->param_grads && i < n_params; i++)
        free(lane->param_grads[i].data);
    free(lane->param_grads);
    free(lane->grads[0].data);
    free(lane->grads[1].data);
    free(lane->scratch.data);
}

static void cpu_close(leat_net *net)
{
    const size_t n_params = (size_t)net->model->n_layers * LEAT_LAYER_MAX_PARAMS;
    leat_cpu_lane_stop(net);
    for (int32_t i = net->n_lanes - 1; i >= 0; i--)
        close_lane(&net->lanes[i], n_params);
    for (size_t i = 0; net->params && i < n_params; i++)
        leat_cpu_param_free(&net->params[i]);
    pthread_cond_destroy(&net->wake);
    pthread_mutex_destroy(&net->lock);
    free(net->lanes);
    free(net->params);
    free(net);
}

/* Below about 50 million operations per lane and step, synchronising costs more than sharing saves. */
static int32_t count_lanes(const leat_model *model)
{
    const double parts = model->flops_per_sample * (double)model->batch_size / 50e6;
    const int32_t most = parts < 1 ? 1 : parts > 1024 ? 1024 : (int32_t)parts;
    const int32_t n = model->threads > 0 ? model->threads : leat_onednn_threads(most);
    return n < model->batch_size ? n : (int32_t)model->batch_size;
}

/* Makes the plan of a full batch at open; lane 0's plan decides the layouts of the parameters. */
static int open_lane(leat_net *net, int32_t i, leat_error *err)
{
    leat_cpu_lane *lane = &net->lanes[i];
    const leat_cpu_job job = { .rows = net->model->batch_size, .n_lanes = net->n_lanes };
    int64_t first;
    int rc;
    lane->net = net;
    lane->index = i;
    lane->param_grads =
        calloc((size_t)net->model->n_layers * LEAT_LAYER_MAX_PARAMS, sizeof *lane->param_grads);
    if (!lane->param_grads)
        return leat_cpu_no_memory(err, 0);
    if ((rc = leat_onednn_open(&lane->dn, err)) < 0)
        return rc;
    leat_onednn_enter(lane->dn);
    rc = leat_cpu_plan_for(lane, leat_cpu_lane_rows(&job, i, &first), true, &lane->plan, err);
    leat_onednn_leave(lane->dn);
    return rc;
}

static int cpu_open(const leat_model *model, leat_device *device, leat_net **out, leat_error *err)
{
    int rc = LEAT_OK;
    leat_net *net = calloc(1, sizeof *net);
    (void)device;
    *out = NULL;
    if (!net)
        return leat_cpu_no_memory(err, sizeof *net);
    pthread_mutex_init(&net->lock, NULL);
    pthread_cond_init(&net->wake, NULL);
    net->model = model;
    net->params = calloc((size_t)model->n_layers * LEAT_LAYER_MAX_PARAMS, sizeof *net->params);
    net->lanes = calloc((size_t)count_lanes(model), sizeof *net->lanes);
    if (net->lanes)
        net->n_lanes = count_lanes(model);
    if (!net->params || !net->lanes)
        rc = leat_cpu_no_memory(err, 0);
    for (int32_t i = 0; i < net->n_lanes && rc == LEAT_OK; i++)
        rc = open_lane(net, i, err);
    if (rc == LEAT_OK)
        rc = leat_cpu_lane_start(net, err);
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
