/* SPDX-License-Identifier: MIT
 *
 * model.c: makes a checked chain of layers from the `model`, `loss` and `optimizer` nodes of a config. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "losses.h"
#include "nn_text.h"

/* --- cost ------------------------------------------------------------------------------------ */

double leat_layer_bytes(const leat_shape *shape, int64_t rows)
{
    return 4.0 * (double)leat_shape_elements(shape) * (double)rows;
}

void leat_layer_cost_of(const leat_layer *layer, const void *options, const leat_shape *in,
                        const leat_shape *out, int64_t rows, leat_layer_cost *cost)
{
    *cost = (leat_layer_cost){ 0 };
    if (layer->cost) {
        layer->cost(options, in, out, rows, cost);
        return;
    }
    const double read = leat_layer_bytes(in, rows);
    cost->forward = (leat_cost){ read / 4, read + leat_layer_bytes(out, rows) };
    cost->backward_data = cost->forward;
}

/* Operations of forward, needed backward, and the update, per sample. */
static double flops_per_sample(const leat_model *model)
{
    const double batch = (double)(model->batch_size > 0 ? model->batch_size : 1);
    double flops = model->optimizer->flops * (double)model->n_parameters / batch;
    for (int32_t i = 0; i < model->n_layers; i++) {
        const leat_model_layer *l = &model->layers[i];
        leat_layer_cost cost;
        leat_layer_cost_of(l->layer, l->options, &l->in, &l->out, 1, &cost);
        flops += cost.forward.flops + cost.backward_weights.flops;
        if (leat_model_needs_gradient(model, i))
            flops += cost.backward_data.flops;
    }
    return flops;
}

/* --- names ----------------------------------------------------------------------------------- */

typedef const leat_kind *kind_fn(size_t i);

static int unknown(const leat_node *node, const char *what, const char *name, kind_fn *kind,
                   leat_error *err)
{
    leat_nearest_word near = leat_nearest_init(name);
    leat_words known = { .length = 0 };
    for (size_t i = 0; kind(i); i++) {
        leat_nearest_offer(&near, kind(i)->name);
        leat_nearest_add_word(&known, kind(i)->name);
    }
    if (!strcmp(name, "softmax"))
        return leat_node_fail(
            node, err, LEAT_E_CONFIG,
            "there is no %s 'softmax': leave it out, the loss softmax_cross_entropy includes it",
            what);
    return leat_node_fail(node, err, LEAT_E_CONFIG, "no %s '%s'%s%s%s (there are: %s)", what, name,
                          near.best ? "; did you mean '" : "", near.best ? near.best : "",
                          near.best ? "'" : "", known.text);
}

static int find_kind(const leat_node *node, const char *what, kind_fn *kind, size_t *at,
                     const leat_node **options, leat_error *err)
{
    const char *name;
    const int rc = leat_node_named(node, what, &name, options, err);
    if (rc < 0)
        return rc;
    for (*at = 0; kind(*at); ++*at)
        if (!strcmp(kind(*at)->name, name))
            return LEAT_OK;
    return unknown(node, what, name, kind, err);
}

/* Memory for an options struct, filled; size 0 is allowed. */
static int read_options(const leat_node *node, const leat_node *owner, const char *what,
                        const leat_kind *kind, size_t size, void **out, leat_error *err)
{
    char whole[96];
    *out = calloc(1, size ? size : 1);
    if (!*out)
        return leat_fail(err, LEAT_E_NOMEM, "%s '%s': %zu bytes", what, kind->name, size);
    snprintf(whole, sizeof whole, "%s '%s'", what, kind->name);
    return leat_node_options(node, owner, whole, kind->options, *out, err);
}

/* --- layers ---------------------------------------------------------------------------------- */

static int count_params(leat_model *model, leat_model_layer *l, leat_error *err)
{
    if (l->layer->params)
        l->n_params = l->layer->params(l->options, &l->in, &l->out, l->params);
    for (int32_t i = 0; i < l->n_params; i++) {
        const int64_t bytes = leat_shape_bytes(&l->params[i].shape);
        if (bytes < 0 || bytes > INT64_C(1) << 40)
            return leat_fail(err, LEAT_E_CONFIG, "%s: its %s would be larger than 1 TiB",
                             l->layer->kind.name, l->params[i].part);
        model->n_parameters += l->params[i].trained ? bytes / 4 : 0;
    }
    return LEAT_OK;
}

/* in: shape of the layer before, or the model's input. */
static int read_layer(leat_model *model, const leat_node *node, const leat_shape *in,
                      leat_error *err)
{
    leat_model_layer *l = &model->layers[model->n_layers];
    const leat_node *options;
    size_t at;
    int rc = find_kind(node, "layer", leat_layer_kind, &at, &options, err);
    if (rc < 0)
        return rc;
    *l = (leat_model_layer){ .layer = leat_layer_at(at), .in = *in };
    model->n_layers++;
    rc = read_options(options, node, "layer", &l->layer->kind, l->layer->options_size, &l->options,
                      err);
    if (rc < 0)
        return rc;
    if ((rc = l->layer->shape(l->options, &l->in, &l->out, err)) == LEAT_OK) {
        const int64_t bytes = leat_shape_bytes(&l->out);
        if (bytes < 0 || bytes > INT64_C(1) << 40)
            rc = leat_fail(err, LEAT_E_CONFIG, "%s: its output would be larger than 1 TiB",
                           l->layer->kind.name);
    }
    if (rc == LEAT_OK)
        rc = count_params(model, l, err);
    return rc < 0 ? leat_node_fail_in(node, err, rc) : rc;
}

/* Images and vectors keep their shape; everything else becomes a vector. */
static int first_shape(const leat_model *model, leat_shape *out, leat_error *err)
{
    char text[160];
    const int64_t n = leat_shape_elements(&model->input);
    if (n < 1)
        return leat_fail(err, LEAT_E_CONFIG, "train: the input %s is empty or of unknown shape",
                         leat_shape_text(&model->input, text, sizeof text));
    if (model->input.dtype != LEAT_F32 && model->input.dtype != LEAT_U8)
        return leat_fail(err, LEAT_E_CONFIG,
                         "train: the input is %s; models compute on float32 (uint8 is converted): "
                         "add the op cast to the pipeline",
                         leat_shape_text(&model->input, text, sizeof text));
    *out = model->input.rank == 3 ? model->input : leat_shape_make(LEAT_F32, 1, &n);
    out->dtype = LEAT_F32;
    return LEAT_OK;
}

static int read_layers(leat_model *model, const leat_model_nodes *nodes, leat_error *err)
{
    const size_t n = leat_node_count(nodes->layers);
    leat_shape in = { 0 };
    int rc;
    if (leat_node_is_null(nodes->layers) || nodes->layers->kind != LEAT_NODE_LIST || n == 0)
        return leat_node_fail(nodes->layers ? nodes->layers : nodes->owner, err, LEAT_E_CONFIG,
                              "train.model must be a list of layers, such as [flatten, dense: 10]");
    if (n > 10000)
        return leat_node_fail(nodes->layers, err, LEAT_E_CONFIG,
                              "train.model: %zu layers, at most 10000", n);
    if ((rc = first_shape(model, &in, err)) < 0)
        return rc < 0 ? leat_node_fail_in(nodes->owner, err, rc) : rc;
    model->layers = calloc(n, sizeof *model->layers);
    if (!model->layers)
        return leat_fail(err, LEAT_E_NOMEM, "train.model: %zu layers", n);
    for (const leat_node *node = nodes->layers->first; node; node = node->next) {
        if ((rc = read_layer(model, node, &in, err)) < 0)
            return rc;
        in = model->layers[model->n_layers - 1].out;
    }
    if (model->n_parameters == 0)
        return leat_node_fail(nodes->layers, err, LEAT_E_CONFIG,
                              "train.model has nothing to learn: add a dense or conv2d layer");
    return LEAT_OK;
}

/* --- loss, optimiser ------------------------------------------------------------------------- */

static int read_loss(leat_model *model, const leat_model_nodes *nodes, leat_error *err)
{
    const leat_node *options;
    size_t at;
    int rc;
    if (leat_node_is_null(nodes->loss))
        return leat_node_fail(nodes->owner, err, LEAT_E_CONFIG,
                              "train.loss is missing, such as: loss: softmax_cross_entropy");
    if ((rc = find_kind(nodes->loss, "loss", leat_loss_kind, &at, &options, err)) < 0)
        return rc;
    model->loss = leat_loss_at(at);
    rc = read_options(options, nodes->loss, "loss", &model->loss->kind, model->loss->options_size,
                      &model->loss_options, err);
    if (rc < 0)
        return rc;
    rc = model->loss->check(model->loss_options, &model->layers[model->n_layers - 1].out,
                            &model->target, model->n_classes, err);
    return rc < 0 ? leat_node_fail_in(nodes->loss, err, rc) : rc;
}

static int read_optimizer(leat_model *model, const leat_model_nodes *nodes, leat_error *err)
{
    const leat_node *options = NULL;
    size_t at = 0;
    int rc;
    if (nodes->optimizer && (rc = find_kind(nodes->optimizer, "optimizer", leat_optimizer_kind, &at,
                                            &options, err)) < 0)
        return rc;
    model->optimizer = leat_optimizer_at(at);
    return read_options(options, nodes->optimizer ? nodes->optimizer : nodes->owner, "optimizer",
                        &model->optimizer->kind, model->optimizer->options_size,
                        &model->optimizer_options, err);
}

int leat_model_init(leat_model *model, const leat_model_nodes *nodes, leat_error *err)
{
    int rc = read_layers(model, nodes, err);
    if (rc == LEAT_OK)
        rc = read_loss(model, nodes, err);
    if (rc == LEAT_OK)
        rc = read_optimizer(model, nodes, err);
    if (rc == LEAT_OK)
        model->flops_per_sample = flops_per_sample(model);
    return rc;
}

void leat_model_fini(leat_model *model)
{
    for (int32_t i = 0; i < model->n_layers; i++)
        free(model->layers[i].options);
    free(model->layers);
    free(model->loss_options);
    free(model->optimizer_options);
    *model = (leat_model){ 0 };
}

/* --- parameters ------------------------------------------------------------------------------ */

bool leat_model_needs_gradient(const leat_model *model, int32_t i)
{
    while (--i >= 0)
        for (int32_t k = 0; k < model->layers[i].n_params; k++)
            if (model->layers[i].params[k].trained)
                return true;
    return false;
}

void leat_model_param_name(const leat_model *model, int32_t layer, int32_t param, char *text,
                           size_t size)
{
    const leat_model_layer *l = &model->layers[layer];
    snprintf(text, size, "%d.%s.%s", layer, l->layer->kind.name, l->params[param].part);
}

/* A relu makes half of the values 0. Layers in between that keep zeros do not matter. */
static bool relu_follows(const leat_model *model, int32_t layer)
{
    for (int32_t i = layer + 1; i < model->n_layers; i++) {
        const leat_layer *next = model->layers[i].layer;
        if (next == &leat_layer_relu)
            return true;
        if (next != &leat_layer_batch_norm && next != &leat_layer_dropout &&
            next != &leat_layer_max_pool && next != &leat_layer_avg_pool)
            return false;
    }
    return false;
}

void leat_model_draw(const leat_model *model, int32_t layer, int32_t param, float *values)
{
    const leat_param *p = &model->layers[layer].params[param];
    const int64_t n = leat_shape_elements(&p->shape);
    leat_rng rng = leat_rng_make(model->seed, (uint64_t)layer, 0, (uint32_t)param);
    const int64_t fan = p->fan_in + (relu_follows(model, layer) ? 0 : p->fan_out);
    const float bound = sqrtf(6.0f / (float)(fan > 0 ? fan : 1));
    for (int64_t i = 0; i < n; i++)
        values[i] = p->init == LEAT_INIT_WEIGHT ? leat_rng_range(&rng, -bound, bound)
                    : p->init == LEAT_INIT_ONE  ? 1.0f
                                                : 0.0f;
}
