/* SPDX-License-Identifier: MIT
 *
 * net_cpu.c: training on the CPU: opens nets, and reads and writes their values. See net_cpu.h for the design. */
#include "net_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "train/ranks/exchange.h"

/* --- values ---------------------------------------------------------------------------------- */

static int cpu_sums(leat_net *net, bool anew, leat_net_sums *out, leat_error *err)
{
    (void)err;
    *out = net->sums;
    if (anew)
        net->sums = (leat_net_sums){ 0 };
    return LEAT_OK;
}

/* The memory of these values of all parameters, made at its first use. */
static int arena_of(leat_net *net, leat_param_values which, float **out, leat_error *err)
{
    if (!net->arenas[which])
        net->arenas[which] = leat_cpu_alloc(net->model->n_floats * sizeof(float), err);
    *out = net->arenas[which];
    return *out ? LEAT_OK : LEAT_E_NOMEM;
}

static const float *cpu_values(leat_net *net, int32_t layer, int32_t param, leat_param_values which)
{
    float *arena;
    return arena_of(net, which, &arena, NULL) == LEAT_OK
               ? arena + net->model->params[net->model->layers[layer].first_param + param].at
               : NULL;
}

static int cpu_read(leat_net *net, int32_t layer, int32_t param, leat_param_values which, float *to,
                    leat_error *err)
{
    const leat_model_param *p = &net->model->params[net->model->layers[layer].first_param + param];
    float *arena;
    const int rc = arena_of(net, which, &arena, err);
    if (rc == LEAT_OK)
        memcpy(to, arena + p->at, p->n * sizeof *to);
    return rc;
}

static int cpu_write(leat_net *net, int32_t layer, int32_t param, leat_param_values which,
                     const float *from, leat_error *err)
{
    const leat_model_param *p = &net->model->params[net->model->layers[layer].first_param + param];
    float *arena;
    const int rc = arena_of(net, which, &arena, err);
    if (rc < 0)
        return rc;
    memcpy(arena + p->at, from, p->n * sizeof *from);
    net->packs_stale = net->folds_stale = true;
    return LEAT_OK;
}

static int cpu_blend(leat_net *net, leat_param_values to, leat_param_values from, double share,
                     leat_error *err)
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
    net->packs_stale = net->folds_stale = true;
    return LEAT_OK;
}

static int cpu_swap(leat_net *net, leat_param_values a, leat_param_values b, leat_error *err)
{
    float *x, *y;
    int rc = arena_of(net, a, &x, err);
    if (rc < 0 || (rc = arena_of(net, b, &y, err)) < 0)
        return rc;
    net->arenas[a] = y;
    net->arenas[b] = x;
    net->packs_stale = net->folds_stale = true;
    return LEAT_OK;
}

/* Of a thread, and in training of a micro-batch where a step has several segments. */
static int32_t n_memories(const leat_net *net)
{
    const bool by_thread = net->by_thread || net->model->evaluates;
    return by_thread || net->n_own < net->team.n_threads ? net->team.n_threads : net->n_own;
}

/* Weights, states and the average stay as the model has them. */
static void cpu_memory(const leat_net *net, leat_train_memory *out)
{
    const leat_model *model = net->model;
    const int64_t n_threads = net->team.n_threads, float_bytes = sizeof(float);
    const int64_t n = n_memories(net);
    out->gradients = (int64_t)net->n_grad_floats * float_bytes * net->n_own;
    out->activations = 0;
    for (int64_t i = 0; i < n; i++)
        out->activations +=
            (int64_t)(i < n_threads ? net->memory_bytes : net->train.program->bytes);
    out->workspace = (int64_t)(LEAT_CPU_BUFFERS * net->scratch_floats + net->matrix_floats) *
                         float_bytes * n_threads +
                     (int64_t)net->dn_bytes * n_threads +
                     (int64_t)((model->evaluates ? 0 : model->n_trained_floats) +
                               (model->accumulate > 1 ? net->n_grad_floats : 0)) *
                         float_bytes;
    for (int32_t i = 0; i < net->n_packs; i++)
        out->workspace += (int64_t)leat_cpu_pack_bytes(net, &net->packs[i]);
    for (int32_t i = 0; i < net->train.program->n_saved; i++) {
        const int64_t n_channels = net->train.program->saved[i];
        out->workspace += n_channels * (model->n_micro * 3 + 1) * (int64_t)sizeof(double) +
                          6 * (int64_t)leat_cpu_wide((size_t)n_channels) * float_bytes;
    }
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
    for (int32_t i = 0; i < net->n_packs; i++)
        leat_cpu_pack_close(&net->packs[i]);
    for (int32_t i = 0; net->grad && i < net->model->n_params; i++)
        leat_dn_primitive_close(&net->grad[i].copy);
    for (int32_t i = 0; net->scratch && i < n_threads; i++) {
        free(net->scratch[i].dn);
        free(net->scratch[i].floats);
    }
    for (int32_t i = 0; net->memory && i < net->n_own + n_threads; i++)
        free(net->memory[i]);
    for (int32_t i = 0; net->grads && i < net->n_own; i++)
        free(net->grads[net->first + i]);
    for (int i = 0; i < LEAT_N_VALUES; i++)
        free(net->arenas[i]);
    leat_dn_close(&net->dn);
    leat_cpu_ranks_close(net);
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
    free(net->micro_sums);
    free(net->first_bad);
    free(net);
}

/* Below about 50 million operations per thread and step, synchronising costs more than sharing saves. */
static int32_t count_threads(const leat_model *model)
{
    const double parts = model->flops_per_sample * (double)model->batch_size / 50e6;
    const int32_t most = parts < 1 ? 1 : parts > 1024 ? 1024 : (int32_t)parts;
    const int32_t here = model->ranks ? model->ranks->here : 1; /* they share the cores */
    const int32_t n =
        model->threads > 0 ? model->threads : (leat_dn_threads(most) + here - 1) / here;
    int32_t first;
    const int32_t n_own = leat_ranks_part(model->ranks, model->n_micro, &first);
    return n < n_own ? n : n_own;
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
        s->sums = leat_cpu_alloc(((size_t)net->model->n_micro * 3 + 1) * n * sizeof(double), err);
        s->factors = leat_cpu_alloc(6 * leat_cpu_wide(n) * sizeof(float), err);
        if (!s->sums || !s->factors)
            return LEAT_E_NOMEM;
        s->inverse = s->sums + (size_t)net->model->n_micro * 3 * n;
    }
    return LEAT_OK;
}

static int draw_weights(leat_net *net, leat_error *err)
{
    const leat_model *model = net->model;
    float *arena;
    int rc = LEAT_OK;
    const int n_states = model->evaluates ? 0 : model->optimizer->n_states;
    for (int i = 0; i <= n_states && rc == LEAT_OK; i++)
        rc = arena_of(net, (leat_param_values)i, &arena, err);
    for (int32_t i = 0; i < model->n_params && rc == LEAT_OK; i++)
        leat_model_draw(model, model->params[i].layer, model->params[i].index,
                        net->arenas[LEAT_VALUES_WEIGHT] + model->params[i].at);
    return rc;
}

static bool is_dense(leat_prim prim)
{
    return prim == LEAT_PRIM_DENSE || prim == LEAT_PRIM_DENSE_GRAD_DATA ||
           prim == LEAT_PRIM_DENSE_GRAD_WEIGHTS;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* A buffer's share of the weights of a convolution with its batch_norm, which take all buffers together. */
static size_t fold_scratch(const leat_model *model, const leat_prim_op *op)
{
    if (op->norm < 0)
        return 0;
    return model->params[model->layers[op->layer].first_param].n / LEAT_CPU_BUFFERS + 1;
}

/* Floats of the largest sample, and of all rows where an op wants them as one matrix. */
static size_t program_scratch(const leat_cpu_program *p)
{
    size_t most = 0;
    for (int32_t i = 0; i < p->program->n_ops; i++) {
        const leat_prim_op *op = &p->program->ops[i];
        const int32_t used[] = { op->in[0], op->in[1], op->in[2], op->out[0] };
        most = larger(most, fold_scratch(p->program->model, op));
        for (int k = 0; k < 4; k++) {
            const size_t n = used[k] < 0 ? 0 : (size_t)p->program->tensors[used[k]].n;
            most = larger(most, n * (size_t)(is_dense(op->prim) ? p->most_rows : 1));
        }
    }
    return most;
}

/* Room for pieces of every tensor, and for what primitives want as a whole. */
static size_t scratch_floats(const leat_net *net)
{
    const size_t train = net->model->evaluates ? 0 : program_scratch(&net->train);
    const size_t most = larger(train, program_scratch(&net->even));
    return (larger(most, LEAT_CPU_PIECE) + 15) / 16 * 16;
}

static int open_memory(leat_net *net, leat_error *err)
{
    const int32_t n_threads = net->team.n_threads, n_micro = net->n_own;
    const size_t a = net->train.program->bytes;
    const int32_t n = n_memories(net);
    net->memory = calloc((size_t)(n_micro + n_threads), sizeof *net->memory);
    net->scratch = calloc((size_t)n_threads, sizeof *net->scratch);
    if (!net->memory || !net->scratch)
        return leat_cpu_no_memory(err, 0);
    for (int32_t i = 0; i < n; i++)
        if (!(net->memory[i] = leat_cpu_alloc(i < n_threads ? net->memory_bytes : a, err)))
            return LEAT_E_NOMEM;
    for (int32_t i = 0; i < n_threads; i++)
        if (!(net->scratch[i].floats =
                  leat_cpu_alloc(LEAT_CPU_BUFFERS * net->scratch_floats * sizeof(float), err)))
            return LEAT_E_NOMEM;
    return LEAT_OK;
}

/* Makes the plans of full batches. */
static int open_plans(leat_net *net, leat_error *err)
{
    const leat_model *model = net->model;
    leat_cpu_plan *even;
    int rc = LEAT_OK;
    if (model->evaluates)
        return leat_cpu_plan_for(net, &net->even, net->even.most_rows, &even, err);
    for (int32_t i = 0; i < model->n_micro && rc == LEAT_OK; i++) {
        int64_t first;
        leat_cpu_plan *plan;
        const int64_t rows = leat_model_micro(model, model->batch_size, i, &first);
        if (rows)
            rc = leat_cpu_plan_for(net, &net->train, rows, &plan, err);
    }
    return rc;
}

/* Plans everything, without allocating what is large, and refuses what does not fit in the machine. */
static int count_all(leat_net *net, leat_error *err)
{
    leat_train_memory memory = { 0 };
    net->by_thread = net->train.n_segments == 1;
    net->memory_bytes =
        larger(net->model->evaluates ? 0 : net->train.program->bytes, net->even.program->bytes);
    net->scratch_floats = scratch_floats(net);
    net->grad = calloc((size_t)net->model->n_params, sizeof *net->grad);
    if (!net->grad)
        return leat_cpu_no_memory(err, 0);
    net->counts = true;
    const int was = leat_dn_enter(net->dn), rc = open_plans(net, err);
    leat_dn_leave(net->dn, was);
    net->counts = false;
    if (rc < 0)
        return rc;
    if (!net->model->evaluates)
        leat_cpu_update_count(net);
    cpu_memory(net, &memory);
    leat_model_memory(net->model, &memory);
    const int fits = leat_model_fits(net->model, &memory, err);
    return fits < 0 ? fits : leat_dn_check_room((size_t)memory.total, err);
}

static int open_counted(leat_net *net, leat_error *err)
{
    const leat_model *model = net->model;
    const int64_t most = (model->batch_size + model->n_micro - 1) / model->n_micro;
    int rc = leat_dn_open(count_threads(model), &net->dn, err);
    if (rc < 0 ||
        (rc = leat_cpu_team_open(&net->team, count_threads(model), leat_cpu_step_work, net, err)) <
            0 ||
        (rc = leat_cpu_program_open(net, &net->train, true, most, err)) < 0 ||
        (rc = leat_cpu_program_open(net, &net->even, false, most, err)) < 0)
        return rc;
    return count_all(net, err);
}

static int open_all(leat_net *net, leat_error *err)
{
    int rc;
    if ((rc = open_memory(net, err)) < 0 || (rc = leat_cpu_plan_memory(net, err)) < 0 ||
        (rc = open_saved(net, err)) < 0 || (rc = draw_weights(net, err)) < 0)
        return rc;
    return net->model->evaluates ? LEAT_OK : leat_cpu_update_open(net, err);
}

/* A net that is planned and counted, with nothing large in memory. */
static int plan_net(const leat_model *model, leat_net **out, leat_error *err)
{
    leat_net *net = calloc(1, sizeof *net);
    *out = net;
    if (!net)
        return leat_cpu_no_memory(err, sizeof *net);
    net->model = model;
    net->n_own = leat_ranks_part(model->ranks, model->n_micro, &net->first);
    net->loops = leat_cpu_loops_get();
    const int rc = leat_dn_find(err);
    if (rc < 0)
        return rc;
    if (model->precision == LEAT_PRECISION_BF16 && !leat_dn_has_bf16())
        return leat_fail(err, LEAT_E_UNSUPPORTED,
                         "this CPU has no bfloat16 arithmetic: write precision: fp32");
    return open_counted(net, err);
}

static int cpu_open(const leat_model *model, leat_device *device, leat_net **out, leat_error *err)
{
    int rc = plan_net(model, out, err);
    (void)device;
    if (rc == LEAT_OK)
        rc = open_all(*out, err);
    if (rc < 0 && *out) {
        cpu_close(*out);
        *out = NULL;
    }
    return rc;
}

static int cpu_count(const leat_model *model, leat_train_memory *out, leat_error *err)
{
    leat_net *net;
    const int rc = plan_net(model, &net, err);
    *out = (leat_train_memory){ 0 };
    if (rc == LEAT_OK) {
        cpu_memory(net, out);
        leat_model_memory(model, out);
    }
    if (net)
        cpu_close(net);
    return rc;
}

const leat_backend leat_backend_cpu = {
    .kind = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .step = leat_cpu_step,
    .sums = cpu_sums,
    .read = cpu_read,
    .values = cpu_values,
    .write = cpu_write,
    .blend = cpu_blend,
    .swap = cpu_swap,
    .memory = cpu_memory,
    .count = cpu_count,
    .updates = cpu_updates,
    .set_updates = cpu_set_updates,
};
