/* SPDX-License-Identifier: MIT
 *
 * split_cut.c: makes models of parts of a model. See split.h. */
#include <stdlib.h>
#include <string.h>

#include "split.h"

const char *leat_split_device(const leat_model *model, int32_t i)
{
    return ((const leat_layer_common *)model->layers[i].options)->device.text;
}

bool leat_split_wanted(const leat_model *model)
{
    for (int32_t i = 0; i < model->n_layers; i++)
        if (*leat_split_device(model, i))
            return true;
    return false;
}

int32_t leat_split_end(const leat_model *model, int32_t first)
{
    int32_t i = first + 1;
    while (i < model->n_layers &&
           !strcmp(leat_split_device(model, i), leat_split_device(model, first)))
        i++;
    return i;
}

/* Only the layer right before a part gives it anything. */
static int check_edges(const leat_model *model, int32_t first, int32_t end, leat_error *err)
{
    for (int32_t i = first; i < end; i++)
        for (int32_t k = 0; k < model->layers[i].n_inputs; k++) {
            const int32_t from = model->layers[i].inputs[k];
            if (from < first - 1)
                return leat_fail(err, LEAT_E_CONFIG,
                                 "layer '%s' reads '%s', but the `device` changes in between, and "
                                 "only the last layer before such a change can be read behind it: "
                                 "give the layers from '%s' to '%s' one `device`",
                                 model->layers[i].name,
                                 from < 0 ? "input" : model->layers[from].name,
                                 model->layers[from + 1].name, model->layers[i].name);
        }
    return LEAT_OK;
}

int leat_split_cut(const leat_model *all, int32_t first, int32_t end, leat_model *sub,
                   leat_error *err)
{
    const size_t bytes = (size_t)all->n_layers * sizeof *all->layers;
    int rc = check_edges(all, first, end, err);
    if (rc < 0)
        return rc;
    *sub = *all;
    sub->first = first;
    sub->end = end;
    sub->params = NULL;
    sub->n_params = 0;
    sub->n_parameters = sub->n_frozen = 0;
    sub->n_floats = 0;
    sub->weighted = all->weighted && leat_model_ends(sub);
    sub->input = first > 0 ? all->layers[first - 1].out : all->input;
    sub->normalize.n = first > 0 ? 0 : all->normalize.n;
    if (!(sub->layers = malloc(bytes)))
        return leat_fail(err, LEAT_E_NOMEM, "train.model: %zu bytes", bytes);
    memcpy(sub->layers, all->layers, bytes);
    for (int32_t i = 0; i < all->n_layers; i++) {
        leat_model_layer *const l = &sub->layers[i];
        l->n_params = i >= first && i < end ? l->n_params : 0;
        l->first_param = sub->n_params;
        sub->n_params += l->n_params;
    }
    rc = leat_model_params(sub, err);
    for (int32_t i = 0; i < all->n_layers; i++)
        sub->layers[i].learns = all->layers[i].learns;
    sub->flops_per_sample = leat_model_flops(sub);
    for (int32_t i = 0; i < sub->n_params && rc == LEAT_OK; i++) {
        leat_model_param *const p = &sub->params[i];
        p->rate = all->params[all->layers[p->layer].first_param + p->index].rate;
        p->decays = all->params[all->layers[p->layer].first_param + p->index].decays;
    }
    return rc;
}
