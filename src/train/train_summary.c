/* SPDX-License-Identifier: MIT
 *
 * train_summary.c: facts of a model: shapes, parameters, operations, memory. */
#include "formats/figure.h"
#include "program.h"
#include "trainer.h"

int leat_trainer_layer(const leat_trainer *trainer, int32_t i, leat_layer_info *out)
{
    if (!trainer || !out || i < 0 || i >= trainer->model.n_layers)
        return LEAT_E_END;
    const leat_model *model = &trainer->model;
    const leat_model_layer *l = &model->layers[i];
    const char *const own = ((const leat_layer_common *)l->options)->device.text;
    leat_layer_cost cost;
    leat_layer_cost_of(l, 1, &cost);
    *out = (leat_layer_info){ .name = l->name,
                              .kind = l->layer->kind.name,
                              .device = *own ? own : trainer->info.device,
                              .shape = l->out,
                              .forward_flops = cost.forward.flops,
                              .backward_flops = cost.backward_weights.flops };
    if (leat_model_takes_backward_data(model, i))
        out->backward_flops += cost.backward_data.flops;
    for (int32_t k = 0; k < l->n_params; k++)
        if (l->params[k].trained)
            out->n_parameters += leat_shape_elements(&l->params[k].shape);
        else if (l->params[k].frozen && !l->params[k].statistic)
            out->n_frozen += leat_shape_elements(&l->params[k].shape);
    return LEAT_OK;
}

void leat_model_memory(const leat_model *model, leat_train_memory *memory)
{
    memory->weights = (int64_t)(model->n_floats * sizeof(float));
    memory->states = model->evaluates ? 0 : memory->weights * model->optimizer->n_states;
    memory->average = model->averaged && !model->evaluates ? memory->weights : 0;
    memory->total = memory->weights + memory->states + memory->average + memory->gradients +
                    memory->activations + memory->workspace;
    memory->limit = model->memory_limit;
    snprintf(memory->limit_reason, sizeof memory->limit_reason, "%s",
             model->memory_limit ? model->memory_why : "");
}

/* What makes the largest part smaller. */
static const char *lower_text(const leat_train_memory *m, bool evaluates)
{
    const int64_t model = m->weights + m->states + m->average;
    if (evaluates && m->activations >= model)
        return "lower the size of its batches (such as eval.pipeline.batch.size)";
    if (m->activations >= m->gradients && m->activations >= model)
        return "lower pipeline.batch.size; train.accumulate makes one update of several batches";
    if (m->gradients > model)
        return "lower train.micro_batches, or make the model smaller";
    return "make the model smaller";
}

/* "there are 22.6 GB" */
static const char *left_text(int64_t limit, char text[48])
{
    if (limit > 1)
        snprintf(text, 48, "there are %s", leat_figure_bytes((double)limit).text);
    else
        snprintf(text, 48, "nothing is left");
    return text;
}

int leat_model_fits(const leat_model *model, const leat_train_memory *memory, leat_error *err)
{
    char left[48];
    if (memory->limit == 0 || memory->total <= memory->limit)
        return LEAT_OK;
    return leat_fail(
        err, LEAT_E_NOMEM,
        "%s needs %s of memory with batches of %lld, but %s (%s): weights, "
        "optimizer and average %s, gradients %s, activations %s, copies and scratch %s; %s",
        model->evaluates ? "evaluation" : "training", leat_figure_bytes((double)memory->total).text,
        (long long)model->batch_size, left_text(memory->limit, left), memory->limit_reason,
        leat_figure_bytes((double)(memory->weights + memory->states + memory->average)).text,
        leat_figure_bytes((double)memory->gradients).text,
        leat_figure_bytes((double)memory->activations).text,
        leat_figure_bytes((double)memory->workspace).text, lower_text(memory, model->evaluates));
}

/* Tensors of the program, without scratch. */
static int count_program(const leat_model *model, leat_train_memory *out, leat_error *err)
{
    const int64_t n = model->n_micro;
    leat_program *program;
    int rc = leat_program_open(model, !model->evaluates, &program, err);
    if (rc == LEAT_OK)
        rc = leat_program_place(program, (model->batch_size + n - 1) / n, err);
    if (rc == LEAT_OK) {
        out->gradients =
            model->evaluates ? 0 : (int64_t)(model->n_trained_floats * sizeof(float)) * n;
        out->activations = (int64_t)program->bytes * n;
    }
    leat_program_close(&program);
    return rc;
}

int leat_net_memory(const leat_model *model, const leat_backend *backend, const leat_net *net,
                    leat_train_memory *out, leat_error *err)
{
    int rc = LEAT_OK;
    leat_model taken = *model;
    taken.evaluates &= backend->memory != NULL; /* others take what training takes */
    *out = (leat_train_memory){ 0 };
    if (backend->memory)
        backend->memory(net, out);
    else
        rc = count_program(&taken, out, err);
    leat_model_memory(&taken, out);
    return rc;
}

int leat_trainer_memory(const leat_trainer *trainer, leat_train_memory *out, leat_error *err)
{
    if (!trainer || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_memory: trainer and out must be given");
    const int rc = leat_net_memory(&trainer->model, trainer->backend, trainer->net, out, err);
    out->metrics = trainer->metrics_bytes;
    out->total += out->metrics;
    return rc;
}
