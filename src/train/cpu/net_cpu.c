/* SPDX-License-Identifier: MIT
 *
 * net_cpu.c: training on the CPU: opens nets and runs steps. See net_cpu.h for the design. */
#include "net_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

/* --- a thread's part of a step --------------------------------------------------------------- */

static int64_t shard_rows(const leat_net *net, int32_t shard, int64_t *first)
{
    const int64_t rows = net->job.batch->rows, n = net->job.n_shards;
    *first = rows * shard / n;
    return rows * (shard + 1) / n - *first;
}

static int64_t count_valid(const uint8_t *valid, int64_t rows)
{
    int64_t n = 0;
    for (int64_t i = 0; valid && i < rows; i++)
        n += valid[i] != 0;
    return valid ? n : rows;
}

static leat_cpu_plan *plan_of(const leat_net *net, int64_t rows)
{
    leat_cpu_program *p = net->job.program;
    for (int i = 0; i < LEAT_CPU_MAX_PLANS; i++)
        if (p->plans[i].rows == rows)
            return &p->plans[i];
    return NULL;
}

static char *memory_of(const leat_net *net, int32_t shard, int32_t thread)
{
    return net->memory[net->job.how->train && !net->by_thread ? shard : thread];
}

static void *address(const leat_cpu_call *call, int32_t tensor)
{
    const leat_net *net = call->net;
    if (tensor == 0) {
        const leat_view *x = &net->job.batch->x;
        const size_t row = (size_t)leat_shape_bytes(&net->model->input);
        return (char *)x->data + (size_t)call->first_row * row;
    }
    return memory_of(net, call->shard, call->thread) +
           net->job.program->program->tensors[tensor].at;
}

static void set_op(leat_cpu_call *call, int32_t i)
{
    const leat_program *program = call->net->job.program->program;
    const leat_prim_op *op = &program->ops[i];
    call->op = op;
    call->layer = op->layer >= 0 ? &call->net->model->layers[op->layer] : NULL;
    call->conv = call->plan->convs[i];
    for (int k = 0; k < LEAT_PRIM_MAX_IN; k++)
        if (op->in[k] >= 0) {
            call->in_spec[k] = &program->tensors[op->in[k]];
            call->in[k] = address(call, op->in[k]);
        }
    for (int k = 0; k < LEAT_PRIM_MAX_OUT; k++)
        if (op->out[k] >= 0) {
            call->out_spec[k] = &program->tensors[op->out[k]];
            call->out[k] = address(call, op->out[k]);
        }
}

/* Hands the model's output to who wants it, and in evaluation sums the losses. */
static void finish_shard(const leat_cpu_call *call)
{
    const leat_net *net = call->net;
    const leat_cpu_job *job = &net->job;
    const int64_t n = net->model->layers[net->model->n_layers - 1].out.dims[0];
    float *logits = address(call, job->program->program->logits);
    if (job->how->logits)
        memcpy(job->how->logits + call->first_row * n, logits,
               (size_t)(call->rows * n) * sizeof *logits);
    if (!job->how->train)
        leat_cpu_loss_sums(call, logits, NULL);
}

/* One segment of one shard. */
static int run_shard(leat_net *net, int32_t shard, int32_t thread, leat_error *err)
{
    const leat_cpu_program *p = net->job.program;
    const leat_cpu_segment *now = &p->segments[net->segment];
    leat_cpu_call call = { .net = net, .shard = shard, .thread = thread, .err = err };
    const int32_t end = now->meets >= 0 ? now->meets + 1 : p->program->n_ops;
    call.rows = shard_rows(net, shard, &call.first_row);
    if (call.rows == 0) {
        if (net->job.how->train && net->segment == 0)
            memset(net->grads[shard], 0, net->n_grad_floats * sizeof(float));
        return LEAT_OK;
    }
    call.valid = net->job.batch->valid ? net->job.batch->valid + call.first_row : NULL;
    call.n_valid = count_valid(call.valid, call.rows);
    call.plan = plan_of(net, call.rows);
    for (int32_t i = now->first; i < end; i++) {
        set_op(&call, i);
        const leat_cpu_prim *prim = &leat_cpu_prims[call.op->prim];
        const bool second = i == now->first && net->segment > 0;
        const int rc = second ? prim->finish(&call) : prim->run(&call);
        if (rc < 0)
            return call.layer ? leat_fail_in(err, rc, "%s: ", call.layer->name) : rc;
        if (net->job.inspect)
            leat_cpu_inspect(&call, i);
    }
    if (now->meets < 0)
        finish_shard(&call);
    return LEAT_OK;
}

static void end_segment(void *owner)
{
    leat_net *net = owner;
    const leat_cpu_program *p = net->job.program;
    const int32_t meets = p->segments[net->segment].meets;
    if (meets < 0)
        return;
    const leat_prim_op *op = &p->program->ops[meets];
    leat_cpu_prims[op->prim].combine(net, op);
    net->segment++;
}

static void renew_packs(leat_net *net, int32_t thread)
{
    leat_cpu_scratch *mine = &net->scratch[thread];
    for (int32_t i; (i = leat_cpu_team_claim(&net->team)) < net->n_packs;) {
        const leat_cpu_pack *pack = &net->packs[i];
        const float *from = net->slots[LEAT_SLOT_WEIGHT] + net->model->params[pack->param].at;
        if (mine->rc == LEAT_OK)
            mine->rc =
                leat_dn_copy_run(pack->copy, thread, from, pack->data, mine->dn, &mine->error);
    }
    leat_cpu_team_meet(&net->team, NULL);
}

static bool all_well(const leat_net *net)
{
    for (int32_t i = 0; i < net->team.n_at_work; i++)
        if (net->scratch[i].rc < 0)
            return false;
    return true;
}

static void work(void *owner, int32_t thread)
{
    leat_net *net = owner;
    leat_cpu_scratch *mine = &net->scratch[thread];
    const int was = leat_dn_enter(net->dn);
    mine->rc = LEAT_OK;
    if (net->packs_stale)
        renew_packs(net, thread);
    for (int32_t segment = 0; segment < net->job.program->n_segments; segment++) {
        for (int32_t shard; (shard = leat_cpu_team_claim(&net->team)) < net->job.n_shards;)
            if (mine->rc == LEAT_OK)
                mine->rc = run_shard(net, shard, thread, &mine->error);
        leat_cpu_team_meet(&net->team, end_segment);
    }
    if (net->job.how->train && !net->job.inspect && all_well(net) && leat_cpu_loss_is_finite(net))
        leat_cpu_update(net, thread);
    leat_dn_leave(net->dn, was);
}

/* --- steps ----------------------------------------------------------------------------------- */

/* Everything that allocates memory, before the threads begin. */
static int prepare(leat_net *net, leat_error *err)
{
    const leat_cpu_job *job = &net->job;
    leat_cpu_plan *plan;
    int64_t first;
    for (int32_t i = 0; i < job->n_shards; i++) {
        const int64_t rows = shard_rows(net, i, &first);
        const int rc = rows ? leat_cpu_plan_for(net, job->program, rows, &plan, err) : LEAT_OK;
        if (rc < 0)
            return rc;
    }
    return LEAT_OK;
}

static void add_sums(leat_net *net)
{
    for (int32_t i = 0; i < net->job.n_shards; i++) {
        net->sums.samples += net->shard_sums[i].samples;
        net->sums.loss += net->shard_sums[i].loss;
        net->sums.right += net->shard_sums[i].right;
    }
}

/* Shards of a training batch are the model's; of another as many as fit the memory. */
static int32_t count_shards(const leat_net *net, const leat_cpu_program *p, int64_t rows,
                            bool train)
{
    return train ? net->model->shards : (int32_t)((rows + p->most_rows - 1) / p->most_rows);
}

static int grow_shard_sums(leat_net *net, int32_t n, leat_error *err)
{
    leat_net_sums *sums = realloc(net->shard_sums, (size_t)n * sizeof *sums);
    if (!sums)
        return leat_cpu_no_memory(err, (size_t)n * sizeof *sums);
    net->shard_sums = sums;
    memset(sums, 0, (size_t)n * sizeof *sums);
    return LEAT_OK;
}

static int cpu_step(leat_net *net, leat_stream *stream, const leat_net_rows *batch,
                    const leat_net_step *how, int64_t *busy_ns, leat_error *err)
{
    const leat_model *model = net->model;
    const leat_loss_rows targets = { .target = &batch->y,
                                     .valid = batch->valid,
                                     .rows = batch->rows };
    leat_cpu_program *program = how->train ? &net->train : &net->even;
    (void)stream;
    *busy_ns = 0;
    int rc = model->loss->check_targets(model->loss_options,
                                        &model->layers[model->n_layers - 1].out, &targets, err);
    if (rc < 0)
        return rc;
    net->job = (leat_cpu_job){ batch, how, program,
                               count_shards(net, program, batch->rows, how->train), false };
    net->segment = 0;
    net->grad_scale = how->share;
    if ((rc = grow_shard_sums(net, net->job.n_shards, err)) < 0)
        return rc;
    const int was = leat_dn_enter(net->dn);
    rc = prepare(net, err);
    leat_dn_leave(net->dn, was);
    if (rc < 0)
        return rc;
    leat_cpu_team_run(&net->team, net->job.n_shards);
    for (int32_t i = 0; i < net->team.n_at_work; i++)
        if (net->scratch[i].rc < 0)
            return leat_fail(err, net->scratch[i].rc, "%s", net->scratch[i].error.message);
    if (how->train && !leat_cpu_loss_is_finite(net)) {
        net->packs_stale = false;
        return leat_cpu_find_bad(net, err);
    }
    net->packs_stale = how->train && how->last;
    net->updates += how->train && how->last;
    add_sums(net);
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

/* --- values ---------------------------------------------------------------------------------- */

/* The arena of a slot, made at its first use. */
static int arena_of(leat_net *net, leat_slot slot, float **out, leat_error *err)
{
    if (!net->slots[slot])
        net->slots[slot] = leat_cpu_alloc(net->model->n_floats * sizeof(float), err);
    *out = net->slots[slot];
    return *out ? LEAT_OK : LEAT_E_NOMEM;
}

static int cpu_read(leat_net *net, int32_t layer, int32_t param, leat_slot slot, float *to,
                    leat_error *err)
{
    const leat_model_param *p = &net->model->params[net->model->layers[layer].first_param + param];
    float *arena;
    const int rc = arena_of(net, slot, &arena, err);
    if (rc == LEAT_OK)
        memcpy(to, arena + p->at, p->n * sizeof *to);
    return rc;
}

static int cpu_write(leat_net *net, int32_t layer, int32_t param, leat_slot slot, const float *from,
                     leat_error *err)
{
    const leat_model_param *p = &net->model->params[net->model->layers[layer].first_param + param];
    float *arena;
    const int rc = arena_of(net, slot, &arena, err);
    if (rc < 0)
        return rc;
    memcpy(arena + p->at, from, p->n * sizeof *from);
    net->packs_stale = true;
    return LEAT_OK;
}

static int cpu_blend(leat_net *net, leat_slot to, leat_slot from, double share, leat_error *err)
{
    float *x, *y;
    int rc = arena_of(net, to, &x, err);
    if (rc < 0 || (rc = arena_of(net, from, &y, err)) < 0)
        return rc;
    const size_t n = net->model->n_floats;
    const float part = (float)share;
    if (share == 1)
        memcpy(x, y, n * sizeof *x);
    for (size_t i = 0; share != 1 && i < n; i++)
        x[i] += part * (y[i] - x[i]);
    net->packs_stale = true;
    return LEAT_OK;
}

static int cpu_swap(leat_net *net, leat_slot a, leat_slot b, leat_error *err)
{
    float *x, *y;
    int rc = arena_of(net, a, &x, err);
    if (rc < 0 || (rc = arena_of(net, b, &y, err)) < 0)
        return rc;
    net->slots[a] = y;
    net->slots[b] = x;
    net->packs_stale = true;
    return LEAT_OK;
}

/* Weights, states and the average stay as the model has them. */
static void cpu_memory(const leat_net *net, leat_train_memory *out)
{
    const leat_model *model = net->model;
    const int64_t n_threads = net->team.n_threads, float_bytes = sizeof(float);
    const int64_t n = net->by_thread || model->shards < n_threads ? n_threads : model->shards;
    out->gradients = (int64_t)net->n_grad_floats * float_bytes * model->shards;
    out->activations = 0;
    for (int64_t i = 0; i < n; i++)
        out->activations +=
            (int64_t)(i < n_threads ? net->memory_bytes : net->train.program->bytes);
    out->workspace =
        (int64_t)(LEAT_CPU_ROOMS * net->scratch_floats + net->matrix_floats) * float_bytes *
            n_threads +
        (int64_t)net->dn_bytes * n_threads +
        (int64_t)(model->n_trained_floats + (net->accumulated ? net->n_grad_floats : 0)) *
            float_bytes;
    for (int32_t i = 0; i < net->n_packs; i++)
        out->workspace += (int64_t)leat_dn_layout_bytes(net->packs[i].layout);
    for (int32_t i = 0; i < net->train.program->n_saved; i++)
        out->workspace +=
            net->saved[i].n_channels * (model->shards * 3 + 1) * 8 +
            6 * (int64_t)leat_cpu_wide((size_t)net->saved[i].n_channels) * float_bytes;
}

static int64_t cpu_updates(const leat_net *net)
{
    return net->updates;
}

static void cpu_set_updates(leat_net *net, int64_t n)
{
    net->updates = n;
}

/* --- open, close ----------------------------------------------------------------------------- */

static void close_saved(leat_net *net)
{
    for (int32_t i = 0; net->saved && net->train.program && i < net->train.program->n_saved; i++) {
        free(net->saved[i].sums);
        free(net->saved[i].factors);
    }
    free(net->saved);
}

static void cpu_close(leat_net *net)
{
    const int32_t n_threads = net->team.n_threads;
    leat_cpu_team_close(&net->team);
    close_saved(net);
    leat_cpu_program_close(&net->train);
    leat_cpu_program_close(&net->even);
    for (int32_t i = 0; i < net->n_packs; i++) {
        leat_dn_copy_close(&net->packs[i].copy);
        free(net->packs[i].data);
    }
    for (int32_t i = 0; net->grad && i < net->model->n_params; i++)
        leat_dn_copy_close(&net->grad[i].copy);
    for (int32_t i = 0; net->scratch && i < n_threads; i++) {
        free(net->scratch[i].dn);
        free(net->scratch[i].floats);
    }
    for (int32_t i = 0; net->memory && i < net->model->shards + n_threads; i++)
        free(net->memory[i]);
    for (int32_t i = 0; net->grads && i < net->model->shards; i++)
        free(net->grads[i]);
    for (int i = 0; i < LEAT_N_SLOTS; i++)
        free(net->slots[i]);
    leat_dn_close(&net->dn);
    free(net->packs);
    free(net->grad);
    free(net->scratch);
    free(net->memory);
    free(net->grads);
    free(net->gradient);
    free(net->accumulated);
    free(net->blocks);
    free(net->norms);
    free(net->matrix);
    free(net->shard_sums);
    free(net->first_bad);
    free(net);
}

/* Below about 50 million operations per thread and step, synchronising costs more than sharing saves. */
static int32_t count_threads(const leat_model *model)
{
    const double parts = model->flops_per_sample * (double)model->batch_size / 50e6;
    const int32_t most = parts < 1 ? 1 : parts > 1024 ? 1024 : (int32_t)parts;
    const int32_t n = model->threads > 0 ? model->threads : leat_dn_threads(most);
    return n < model->shards ? n : model->shards;
}

static int open_saved(leat_net *net, leat_error *err)
{
    const leat_program *p = net->train.program;
    net->saved = calloc((size_t)p->n_saved + 1, sizeof *net->saved);
    if (!net->saved)
        return leat_cpu_no_memory(err, 0);
    for (int32_t i = 0; i < p->n_saved; i++) {
        leat_cpu_saved *s = &net->saved[i];
        const size_t n = (size_t)p->saved[i];
        s->n_channels = p->saved[i];
        s->sums = leat_cpu_alloc(((size_t)net->model->shards * 3 + 1) * n * sizeof(double), err);
        s->factors = leat_cpu_alloc(6 * leat_cpu_wide(n) * sizeof(float), err);
        if (!s->sums || !s->factors)
            return LEAT_E_NOMEM;
        s->inverse = s->sums + (size_t)net->model->shards * 3 * n;
    }
    return LEAT_OK;
}

static int draw_weights(leat_net *net, leat_error *err)
{
    const leat_model *model = net->model;
    float *arena;
    int rc = LEAT_OK;
    for (int i = 0; i <= model->optimizer->n_states && rc == LEAT_OK; i++)
        rc = arena_of(net, (leat_slot)i, &arena, err);
    for (int32_t i = 0; i < model->n_params && rc == LEAT_OK; i++)
        leat_model_draw(model, model->params[i].layer, model->params[i].index,
                        net->slots[LEAT_SLOT_WEIGHT] + model->params[i].at);
    return rc;
}

static bool is_dense(leat_prim prim)
{
    return prim == LEAT_PRIM_DENSE || prim == LEAT_PRIM_DENSE_GRAD_DATA ||
           prim == LEAT_PRIM_DENSE_GRAD_WEIGHTS;
}

/* Floats of the largest sample, and of all rows where an op wants them as one matrix. */
static size_t program_scratch(const leat_cpu_program *p)
{
    size_t most = 0;
    for (int32_t i = 0; i < p->program->n_ops; i++) {
        const leat_prim_op *op = &p->program->ops[i];
        const int32_t used[] = { op->in[0], op->in[1], op->in[2], op->out[0] };
        for (int k = 0; k < 4; k++) {
            const size_t n = used[k] < 0 ? 0 : (size_t)p->program->tensors[used[k]].n;
            const size_t all = n * (size_t)(is_dense(op->prim) ? p->most_rows : 1);
            most = all > most ? all : most;
        }
    }
    return most;
}

/* Room for pieces of every tensor, and for what primitives want as a whole. */
static size_t scratch_floats(const leat_net *net)
{
    const size_t a = program_scratch(&net->train), b = program_scratch(&net->even);
    const size_t most = a > b ? a : b;
    return ((most > LEAT_CPU_PIECE ? most : LEAT_CPU_PIECE) + 15) / 16 * 16;
}

static int open_memory(leat_net *net, leat_error *err)
{
    const int32_t n_threads = net->team.n_threads, shards = net->model->shards;
    const size_t a = net->train.program->bytes, b = net->even.program->bytes;
    net->by_thread = net->train.n_segments == 1;
    net->memory_bytes = a > b ? a : b;
    net->scratch_floats = scratch_floats(net);
    const int32_t n = net->by_thread || shards < n_threads ? n_threads : shards;
    net->memory = calloc((size_t)(shards + n_threads), sizeof *net->memory);
    net->scratch = calloc((size_t)n_threads, sizeof *net->scratch);
    if (!net->memory || !net->scratch)
        return leat_cpu_no_memory(err, 0);
    for (int32_t i = 0; i < n; i++)
        if (!(net->memory[i] = leat_cpu_alloc(i < n_threads ? net->memory_bytes : a, err)))
            return LEAT_E_NOMEM;
    for (int32_t i = 0; i < n_threads; i++)
        if (!(net->scratch[i].floats =
                  leat_cpu_alloc(LEAT_CPU_ROOMS * net->scratch_floats * sizeof(float), err)))
            return LEAT_E_NOMEM;
    return LEAT_OK;
}

/* Makes the plans of full batches at open, so that a model too large fails here. */
static int open_plans(leat_net *net, leat_error *err)
{
    const leat_model *model = net->model;
    int rc = LEAT_OK;
    for (int32_t i = 0; i < model->shards && rc == LEAT_OK; i++) {
        int64_t first;
        leat_cpu_plan *plan;
        const int64_t rows = leat_model_shard(model, model->batch_size, i, &first);
        if (rows)
            rc = leat_cpu_plan_for(net, &net->train, rows, &plan, err);
    }
    return rc;
}

static int open_all(leat_net *net, leat_error *err)
{
    const leat_model *model = net->model;
    const int64_t most = (model->batch_size + model->shards - 1) / model->shards;
    int rc = leat_dn_open(count_threads(model), &net->dn, err);
    if (rc < 0 || (rc = leat_cpu_team_open(&net->team, count_threads(model), work, net, err)) < 0 ||
        (rc = leat_cpu_program_open(net, &net->train, true, most, err)) < 0 ||
        (rc = leat_cpu_program_open(net, &net->even, false, most, err)) < 0 ||
        (rc = open_memory(net, err)) < 0 || (rc = open_saved(net, err)) < 0 ||
        (rc = draw_weights(net, err)) < 0)
        return rc;
    net->grad = calloc((size_t)model->n_params, sizeof *net->grad);
    if (!net->grad)
        return leat_cpu_no_memory(err, 0);
    const int was = leat_dn_enter(net->dn);
    rc = open_plans(net, err);
    leat_dn_leave(net->dn, was);
    return rc < 0 ? rc : leat_cpu_update_open(net, err);
}

static int cpu_open(const leat_model *model, leat_device *device, leat_net **out, leat_error *err)
{
    leat_net *net = calloc(1, sizeof *net);
    (void)device;
    *out = NULL;
    if (!net)
        return leat_cpu_no_memory(err, sizeof *net);
    net->model = model;
    net->loops = leat_cpu_loops_get();
    const bool lacks = model->precision == LEAT_PRECISION_BF16 && !leat_dn_has_bf16();
    const int rc = lacks ? leat_fail(err, LEAT_E_UNSUPPORTED,
                                     "this CPU has no bfloat16 arithmetic: write precision: fp32")
                         : open_all(net, err);
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
    .blend = cpu_blend,
    .swap = cpu_swap,
    .memory = cpu_memory,
    .updates = cpu_updates,
    .set_updates = cpu_set_updates,
};
