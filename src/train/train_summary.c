/* SPDX-License-Identifier: MIT
 *
 * train_summary.c: facts of a model: shapes, parameters, operations, memory. */
#include "program.h"
#include "trainer.h"

int leat_trainer_layer(const leat_trainer *trainer, int32_t i, leat_layer_info *out)
{
    if (!trainer || !out || i < 0 || i >= trainer->model.n_layers)
        return LEAT_E_END;
    const leat_model *model = &trainer->model;
    const leat_model_layer *l = &model->layers[i];
    leat_layer_cost cost;
    leat_layer_cost_of(l->layer, l->options, &l->in, &l->out, 1, &cost);
    *out = (leat_layer_info){ .name = l->name,
                              .kind = l->layer->kind.name,
                              .shape = l->out,
                              .forward_flops = cost.forward.flops,
                              .backward_flops = cost.backward_weights.flops };
    if (leat_model_passes_gradient(model, i))
        out->backward_flops += cost.backward_data.flops;
    for (int32_t k = 0; k < l->n_params; k++)
        if (l->params[k].trained)
            out->n_parameters += leat_shape_elements(&l->params[k].shape);
    return LEAT_OK;
}

int leat_trainer_memory(const leat_trainer *trainer, leat_train_memory *out, leat_error *err)
{
    if (!trainer || !out)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_trainer_memory: trainer and out must be given");
    const leat_model *model = &trainer->model;
    const int64_t n = model->shards;
    leat_program *program;
    int rc = leat_program_open(model, true, &program, err);
    if (rc == LEAT_OK)
        rc = leat_program_place(program, (model->batch_size + n - 1) / n, err);
    if (rc == LEAT_OK) {
        *out = (leat_train_memory){
            .weights = (int64_t)(model->n_floats * sizeof(float)),
            .states = (int64_t)(model->n_floats * sizeof(float)) * model->optimizer->n_states,
            .average = trainer->average.mode ? (int64_t)(model->n_floats * sizeof(float)) : 0,
            .gradients = (int64_t)(model->n_trained_floats * sizeof(float)) * n,
            .activations = (int64_t)program->bytes * n,
        };
        if (trainer->backend->memory)
            trainer->backend->memory(trainer->net, out);
    }
    leat_program_close(&program);
    return rc;
}
