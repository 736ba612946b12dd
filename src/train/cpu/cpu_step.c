/* SPDX-License-Identifier: MIT
 *
 * cpu_step.c: one step on the CPU, and a thread's part of it. See net_cpu.h for the design. */
#include <stdlib.h>
#include <string.h>

#include "net_cpu.h"
#include "train/losses.h"
#include "train/ranks/exchange.h"

/* --- a thread's part of a step --------------------------------------------------------------- */

/* In training the model says how a batch is cut. Evaluation cuts at multiples of a fixed number of rows, because a
 * product of another number of rows may round differently: so the values of a row do not depend on the rows behind
 * its micro-batch. */
static int64_t micro_rows(const leat_net *net, int32_t micro, int64_t *first)
{
    const int64_t rows = net->job.batch->rows;
    const int64_t most = net->job.program->most_rows;
    if (net->job.how->train) {
        const leat_net_rows *const batch = net->job.batch;
        const int64_t n =
            leat_model_micro(net->model, batch->all_rows ? batch->all_rows : rows, micro, first);
        *first -= batch->first_row;
        return n;
    }
    *first = most * micro;
    return rows - *first < most ? rows - *first : most;
}

static leat_cpu_plan *plan_of(const leat_net *net, int64_t rows)
{
    leat_cpu_program *p = net->job.program;
    for (int i = 0; i < LEAT_CPU_MAX_PLANS; i++)
        if (p->plans[i].rows == rows)
            return &p->plans[i];
    return NULL;
}

static char *memory_of(const leat_net *net, int32_t micro, int32_t thread)
{
    return net->memory[net->job.how->train && !net->by_thread ? micro - net->first : thread];
}

static void *address(const leat_cpu_call *call, int32_t tensor)
{
    const leat_net *net = call->net;
    if (tensor == 0) {
        const leat_view *x = &net->job.batch->x;
        const size_t row = (size_t)leat_shape_bytes(&net->model->input);
        return (char *)x->data + (size_t)call->first_row * row;
    }
    return memory_of(net, call->micro, call->thread) +
           net->job.program->program->tensors[tensor].at;
}

static void set_op(leat_cpu_call *call, int32_t i)
{
    const leat_program *program = call->net->job.program->program;
    const leat_prim_op *op = &program->ops[i];
    call->op = op;
    call->layer = op->layer >= 0 ? &call->net->model->layers[op->layer] : NULL;
    call->primitive = call->plan->primitives[i];
    for (int k = 0; k < LEAT_PRIM_MAX_IN; k++) {
        call->in_spec[k] = op->in[k] >= 0 ? &program->tensors[op->in[k]] : NULL;
        call->in[k] = op->in[k] >= 0 ? address(call, op->in[k]) : NULL;
    }
    for (int k = 0; k < LEAT_PRIM_MAX_OUT; k++) {
        call->out_spec[k] = op->out[k] >= 0 ? &program->tensors[op->out[k]] : NULL;
        call->out[k] = op->out[k] >= 0 ? address(call, op->out[k]) : NULL;
    }
}

/* Copies a tensor to the caller's memory, if it is wanted. */
static void give(const leat_cpu_call *call, int32_t tensor, float *to)
{
    const int64_t n = call->net->job.program->program->tensors[tensor].n;
    if (to)
        memcpy(to + call->first_row * n, address(call, tensor),
               (size_t)(call->rows * n) * sizeof *to);
}

/* At the end of a pass: gives what the caller wants, and in evaluation sums the losses. */
static void finish_micro(const leat_cpu_call *call)
{
    const leat_program *program = call->net->job.program->program;
    const leat_net_step *how = call->net->job.how;
    if (how->phase != LEAT_NET_BACKWARD) {
        give(call, program->logits, how->logits);
        give(call, program->logits, how->output);
    }
    if (how->phase != LEAT_NET_FORWARD && program->input_grad >= 0)
        give(call, program->input_grad, how->input_grad);
    if (!how->train && leat_model_ends(call->net->model))
        leat_cpu_loss_sums(call, address(call, program->logits), NULL);
}

/* One segment of one micro-batch. */
static int run_micro(leat_net *net, int32_t micro, int32_t thread, leat_error *err)
{
    const leat_cpu_program *p = net->job.program;
    const leat_cpu_segment *now = &p->segments[net->segment];
    leat_cpu_call call = { .net = net, .micro = micro, .thread = thread, .err = err };
    const int32_t end = now->meets >= 0                     ? now->meets + 1
                        : net->segment + 1 == p->n_segments ? p->program->n_ops
                                                            : now[1].first;
    const bool met = net->segment > 0 && now[-1].meets == now->first;
    call.rows = micro_rows(net, micro, &call.first_row);
    if (call.rows == 0) {
        if (net->job.how->train && net->segment == 0)
            memset(net->grads[micro], 0, net->n_grad_floats * sizeof(float));
        if (net->job.overlaps && end > 1)
            leat_cpu_ranks_passed(net, thread, micro, now->meets >= 0 ? end - 2 : end - 1);
        return LEAT_OK;
    }
    call.valid = net->job.batch->valid ? net->job.batch->valid + call.first_row : NULL;
    call.n_valid = leat_net_count_valid(call.valid, call.rows);
    call.plan = plan_of(net, call.rows);
    if (net->segment == 0 && !net->job.inspect) {
        const int rc = leat_cpu_check_input(&call);
        if (rc < 0)
            return rc;
    }
    for (int32_t i = now->first; i < end; i++) {
        set_op(&call, i);
        const leat_cpu_prim *prim = leat_cpu_prims[call.op->prim];
        const bool second = i == now->first && met;
        const int rc = second ? prim->finish(&call) : prim->run(&call);
        if (rc < 0)
            return call.layer ? leat_fail_in(err, rc, "%s: ", call.layer->name) : rc;
        if (net->job.inspect)
            leat_cpu_inspect(&call, i);
        if (net->job.overlaps && i != now->meets)
            leat_cpu_ranks_passed(net, thread, micro, i);
    }
    if (now->meets < 0)
        finish_micro(&call);
    return LEAT_OK;
}

static void end_segment(void *owner)
{
    leat_net *net = owner;
    const leat_cpu_program *p = net->job.program;
    const int32_t meets = p->segments[net->segment].meets;
    if (meets < 0) {
        if (net->job.shared)
            leat_cpu_ranks_share(net, net->micro_sums, sizeof *net->micro_sums);
        return;
    }
    const leat_prim_op *op = &p->program->ops[meets];
    if (net->failed == LEAT_OK && (net->job.shared || leat_cpu_ranks_well(net)))
        leat_cpu_prims[op->prim]->combine(net, op);
    net->segment++;
}

static void renew_packs(leat_net *net, int32_t thread)
{
    leat_cpu_scratch *mine = &net->scratch[thread];
    for (int32_t i; (i = leat_cpu_team_claim(&net->team)) < net->n_packs;) {
        const leat_cpu_pack *pack = &net->packs[i];
        const float *from = net->arenas[LEAT_VALUES_WEIGHT] + net->model->params[pack->param].at;
        if (pack->norm >= 0 ? net->job.how->train : !net->packs_stale)
            continue;
        if (pack->norm >= 0) {
            leat_cpu_fold_weights(net, pack, mine->floats);
            from = mine->floats;
        }
        net->packs[i].largest = net->loops->largest(from, net->model->params[pack->param].n);
        if (!pack->copy)
            net->loops->bf16_of_floats(from, pack->data, net->model->params[pack->param].n);
        else if (mine->rc == LEAT_OK)
            mine->rc =
                leat_dn_ops->copy_run(pack->copy, thread, from, pack->data, mine->dn, &mine->error);
    }
    leat_cpu_team_meet(&net->team, NULL);
}

static bool updates(const leat_cpu_job *job)
{
    return job->how->train && job->how->phase != LEAT_NET_FORWARD;
}

void leat_cpu_step_work(void *owner, int32_t thread)
{
    leat_net *net = owner;
    leat_cpu_scratch *mine = &net->scratch[thread];
    const int was = leat_dn_enter(net->dn);
    mine->rc = LEAT_OK;
    mine->bad_gradient = SIZE_MAX;
    mine->bad_param = -1;
    /* Training does not read packs with a batch_norm, so only evaluation renews them. */
    if (net->packs_stale || (net->folds_stale && !net->job.how->train))
        renew_packs(net, thread);
    for (int32_t i = net->job.n_segments; i > 0; i--) {
        for (int32_t micro;
             (micro = net->job.first + leat_cpu_team_claim(&net->team)) < net->job.end;)
            if (mine->rc == LEAT_OK && net->failed == LEAT_OK)
                mine->rc = run_micro(net, micro, thread, &mine->error);
        leat_cpu_team_meet(&net->team, end_segment);
    }
    if (net->job.overlaps)
        leat_cpu_ranks_finish(net, thread);
    if (updates(&net->job) && !net->job.inspect && leat_cpu_ranks_well(net) && net->bad_norm < 0 &&
        leat_cpu_loss_is_finite(net))
        leat_cpu_update(net, thread);
    leat_dn_leave(net->dn, was);
}

/* --- steps ----------------------------------------------------------------------------------- */

/* Makes all allocations, before the threads begin. */
static int prepare(leat_net *net, leat_error *err)
{
    const leat_cpu_job *job = &net->job;
    leat_cpu_plan *plan;
    int64_t first;
    for (int32_t i = job->first; i < job->end; i++) {
        const int64_t rows = micro_rows(net, i, &first);
        const int rc = rows ? leat_cpu_plan_for(net, job->program, rows, &plan, err) : LEAT_OK;
        if (rc < 0)
            return rc;
    }
    return LEAT_OK;
}

static void add_sums(leat_net *net)
{
    for (int32_t i = 0; i < net->job.n_micro; i++) {
        net->sums.samples += net->micro_sums[i].samples;
        net->sums.loss += net->micro_sums[i].loss;
        net->sums.right += net->micro_sums[i].right;
    }
}

/* The number of micro-batches: of a training batch the model's, of another batch as many as fit the memory. */
static int32_t count_micro(const leat_net *net, const leat_cpu_program *p, int64_t rows, bool train)
{
    return train ? net->model->n_micro : (int32_t)((rows + p->most_rows - 1) / p->most_rows);
}

/* Whose micro-batches these are. The outputs that a caller wants are of all rows, so that each rank computes them alone. */
static void divide(const leat_net *net, leat_cpu_job *job)
{
    job->shared = net->model->ranks && (job->how->train || !job->how->logits);
    job->end = job->n_micro;
    if (job->shared)
        job->end = leat_ranks_part(net->model->ranks, job->n_micro, &job->first) + job->first;
}

static int grow_micro_sums(leat_net *net, int32_t n, leat_error *err)
{
    leat_net_sums *sums = realloc(net->micro_sums, (size_t)n * sizeof *sums);
    if (!sums)
        return leat_cpu_no_memory(err, (size_t)n * sizeof *sums);
    net->micro_sums = sums;
    memset(sums, 0, (size_t)n * sizeof *sums);
    return LEAT_OK;
}

static int32_t own_micro(const leat_net *net)
{
    return net->job.end > net->job.first ? net->job.end - net->job.first : 1;
}

int leat_cpu_step(leat_net *net, leat_stream *stream, const leat_net_rows *batch,
                  const leat_net_step *how, leat_step_times *times, leat_error *err)
{
    const leat_loss_rows targets = leat_loss_targets(batch);
    leat_cpu_program *program = how->train ? &net->train : &net->even;
    (void)stream;
    (void)times;
    int rc =
        leat_model_ends(net->model) ? leat_model_check_rows(net->model, &targets, err) : LEAT_OK;
    if (rc < 0 && !net->model->ranks)
        return rc;
    net->segment = how->phase == LEAT_NET_BACKWARD ? program->n_forward : 0;
    net->job = (leat_cpu_job){ .batch = batch,
                               .how = how,
                               .program = program,
                               .n_micro = count_micro(net, program, batch->rows, how->train),
                               .n_segments = how->phase == LEAT_NET_FORWARD
                                                 ? program->n_forward
                                                 : program->n_segments - net->segment };
    net->grad_scale = how->share;
    net->bad_norm = -1;
    net->failed = LEAT_OK;
    divide(net, &net->job);
    if (rc == LEAT_OK)
        rc = grow_micro_sums(net, net->job.n_micro, err);
    net->job.overlaps = net->overlap && net->job.shared && updates(&net->job);
    const int was = leat_dn_enter(net->dn);
    rc = rc == LEAT_OK ? prepare(net, err) : rc;
    leat_dn_leave(net->dn, was);
    if (net->job.shared)
        rc = leat_ranks_gather(net->model->ranks, rc, NULL, 0, err);
    if (rc < 0)
        return rc;
    if (net->job.overlaps)
        leat_cpu_ranks_begin(net);
    leat_cpu_team_run(&net->team, own_micro(net));
    net->folds_stale |=
        how->train; /* every training step moves running statistics, also one that fails */
    if (net->failed < 0 || leat_cpu_ranks_own_error(net) < 0)
        return leat_fail_as(err, &net->error);
    if (how->train && !leat_cpu_loss_is_finite(net)) {
        net->packs_stale = false;
        return leat_cpu_find_bad(net, err);
    }
    if (how->train && (rc = leat_cpu_check_update(net, err)) < 0)
        return rc;
    net->packs_stale = updates(&net->job) && how->last;
    net->folds_stale = how->train;
    net->updates += updates(&net->job) && how->last;
    add_sums(net);
    return LEAT_OK;
}
