/* SPDX-License-Identifier: MIT
 *
 * model_params.c: the parameters of a model: their places in one arena, names, initial values, and which
 * layers need gradients. model.c and backends call it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "layers.h"

const char *const leat_init_names[] = { "auto", "he", "glorot", "dirac", "whiten", NULL };

static bool has_trained(const leat_model_layer *l)
{
    for (int32_t k = 0; k < l->n_params; k++)
        if (l->params[k].trained)
            return true;
    return false;
}

/* Layers read only layers before them, so one pass is enough. */
static void find_learners(leat_model *model)
{
    for (int32_t i = 0; i < model->n_layers; i++) {
        leat_model_layer *l = &model->layers[i];
        l->learns = has_trained(l);
        for (int32_t k = 0; k < l->n_inputs; k++)
            l->learns = l->learns || (l->inputs[k] >= 0 && model->layers[l->inputs[k]].learns);
    }
}

/* Places the parameters that are trained, or those that are not. */
static void place_params(leat_model *model, bool trained)
{
    for (int32_t i = 0; i < model->n_layers; i++) {
        leat_model_layer *l = &model->layers[i];
        for (int32_t k = 0; k < l->n_params; k++) {
            const size_t n = (size_t)leat_shape_elements(&l->params[k].shape);
            if (l->params[k].trained != trained)
                continue;
            model->params[l->first_param + k] = (leat_model_param){ .spec = &l->params[k],
                                                                    .rate = 1,
                                                                    .decays = true,
                                                                    .layer = i,
                                                                    .index = k,
                                                                    .at = model->n_floats,
                                                                    .n = n };
            model->n_floats += (n + 15) / 16 * 16;
        }
    }
}

int leat_model_params(leat_model *model, leat_error *err)
{
    model->params = calloc((size_t)model->n_params + 1, sizeof *model->params);
    if (!model->params)
        return leat_fail(err, LEAT_E_NOMEM, "train.model: %d parameters", model->n_params);
    place_params(model, true);
    model->n_trained_floats = model->n_floats;
    place_params(model, false);
    for (int32_t i = 0; i < model->n_params; i++) {
        const leat_param *p = model->params[i].spec;
        model->n_parameters += p->trained ? (int64_t)model->params[i].n : 0;
        model->n_frozen += p->frozen && !p->statistic ? (int64_t)model->params[i].n : 0;
    }
    find_learners(model);
    return LEAT_OK;
}

bool leat_layer_is_fixed(const leat_model_layer *l)
{
    for (int32_t k = 0; k < l->n_params; k++)
        if (l->params[k].statistic && l->params[k].frozen)
            return true;
    return false;
}

bool leat_model_needs_gradient(const leat_model *model, int32_t i)
{
    return i >= 0 && model->layers[i].learns;
}

bool leat_model_passes_gradient(const leat_model *model, int32_t i)
{
    for (int32_t k = 0; k < model->layers[i].n_inputs; k++)
        if (leat_model_needs_gradient(model, model->layers[i].inputs[k]))
            return true;
    return false;
}

bool leat_model_takes_backward_data(const leat_model *model, int32_t i)
{
    const leat_model_layer *const l = &model->layers[i];
    bool learns = false;
    for (int32_t k = 0; k < l->n_params && l->params[0].shape.rank == 1; k++)
        learns |= l->params[k].trained;
    return learns || leat_model_passes_gradient(model, i);
}

void leat_model_param_name(const leat_model *model, int32_t layer, int32_t param, char *text,
                           size_t size)
{
    const leat_model_layer *l = &model->layers[layer];
    snprintf(text, size, "%s.%s", l->name, l->params[param].part);
}

int64_t leat_model_micro(const leat_model *model, int64_t rows, int32_t micro, int64_t *first)
{
    const int64_t n = model->n_micro;
    *first = rows * micro / n;
    return rows * (micro + 1) / n - *first;
}

/* --- initial values -------------------------------------------------------------------------- */

/* The only reader of layer i; NULL: none or several. */
static const leat_model_layer *reader_of(const leat_model *model, int32_t i, int32_t *at)
{
    const leat_model_layer *found = NULL;
    for (int32_t k = i + 1; k < model->n_layers; k++)
        for (int32_t m = 0; m < model->layers[k].n_inputs; m++)
            if (model->layers[k].inputs[m] == i) {
                if (found)
                    return NULL;
                found = &model->layers[k];
                *at = k;
            }
    return found;
}

/* An activation like relu makes the variance about half as large, so He's initial values make up for it. Layers in between
 * that do not mix channels do not matter. */
static bool relu_follows(const leat_model *model, int32_t layer)
{
    const leat_model_layer *next;
    while ((next = reader_of(model, layer, &layer))) {
        switch (next->layer->act) {
        case LEAT_ACT_relu:
        case LEAT_ACT_leaky_relu:
        case LEAT_ACT_gelu:
        case LEAT_ACT_silu:
            return true;
        default:
            if (next->layer != &leat_layer_batch_norm && next->layer != &leat_layer_dropout &&
                next->layer != &leat_layer_max_pool && next->layer != &leat_layer_avg_pool)
                return false;
        }
    }
    return false;
}

/* [height, width, in, out]: filter o < in has a 1 in the middle of channel o. */
static void draw_dirac(const leat_param *p, float *values)
{
    const int64_t *d = p->shape.dims;
    const int64_t n = d[2] < d[3] ? d[2] : d[3];
    for (int64_t o = 0; o < n; o++) {
        for (int64_t i = 0; i < d[0] * d[1] * d[2]; i++)
            values[i * d[3] + o] = 0;
        values[((d[0] / 2 * d[1] + d[1] / 2) * d[2] + o) * d[3] + o] = 1;
    }
}

void leat_model_draw(const leat_model *model, int32_t layer, int32_t param, float *values)
{
    const leat_param *p = &model->layers[layer].params[param];
    const int64_t n = leat_shape_elements(&p->shape);
    leat_rng rng = leat_rng_make(model->seed, (uint64_t)layer, 0, (uint32_t)param);
    const bool glorot =
        p->init == LEAT_INIT_GLOROT || (p->init == LEAT_INIT_AUTO && !relu_follows(model, layer));
    const int64_t fan = p->fan_in + (glorot ? p->fan_out : 0);
    const float bound = sqrtf(6.0f / (float)(fan > 0 ? fan : 1));
    for (int64_t i = 0; i < n; i++)
        values[i] = p->init == LEAT_INIT_ZERO  ? 0.0f
                    : p->init == LEAT_INIT_ONE ? 1.0f
                                               : leat_rng_range(&rng, -bound, bound);
    if (p->init == LEAT_INIT_DIRAC)
        draw_dirac(p, values);
}
