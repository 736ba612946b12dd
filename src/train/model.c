/* SPDX-License-Identifier: MIT
 *
 * model.c: makes a checked list of layers from the `model`, `loss` and `optimizer` nodes of a config. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/not_finite.h"
#include "losses.h"
#include "nn_kind.h"
#include "nn_text.h"
#include "preset.h"
#include "rules.h"

/* --- cost ------------------------------------------------------------------------------------ */

double leat_layer_bytes(const leat_shape *shape, int64_t rows)
{
    return 4.0 * (double)leat_shape_elements(shape) * (double)rows;
}

void leat_layer_cost_of(const leat_model_layer *l, int64_t rows, leat_layer_cost *cost)
{
    const double read = leat_layer_bytes(&l->in, rows);
    *cost = (leat_layer_cost){ 0 };
    if (l->layer->cost) {
        l->layer->cost(l->options, &l->in, &l->out, rows, cost);
    } else {
        cost->forward = (leat_cost){ read / 4, read + leat_layer_bytes(&l->out, rows) };
        cost->backward_data = cost->forward;
    }
    if (l->n_params > 0 && l->params[0].frozen)
        cost->backward_weights = (leat_cost){ 0 };
}

double leat_model_flops(const leat_model *model)
{
    const double batch = (double)(model->batch_size > 0 ? model->batch_size : 1);
    double flops = model->optimizer->flops * (double)model->n_parameters / batch;
    for (int32_t i = model->first; i < model->end; i++) {
        const leat_model_layer *l = &model->layers[i];
        leat_layer_cost cost;
        leat_layer_cost_of(l, 1, &cost);
        flops += cost.forward.flops + cost.backward_weights.flops;
        if (leat_model_takes_backward_data(model, i))
            flops += cost.backward_data.flops;
    }
    return flops;
}

/* --- layers ---------------------------------------------------------------------------------- */

static int count_params(leat_model *model, leat_model_layer *l, leat_error *err)
{
    l->first_param = model->n_params;
    if (l->layer->params)
        l->n_params = l->layer->params(l->options, &l->in, &l->out, l->params);
    model->n_params += l->n_params;
    for (int32_t i = 0; i < l->n_params; i++) {
        const int64_t bytes = leat_shape_bytes(&l->params[i].shape);
        if (bytes < 0 || bytes > INT64_C(1) << 40)
            return leat_fail(err, LEAT_E_CONFIG, "%s: its %s would be larger than 1 TiB",
                             l->layer->kind.name, l->params[i].part);
        l->params[i].trained = l->params[i].trained && !l->params[i].frozen;
    }
    return LEAT_OK;
}

/* Index of the layer of that name before the last one; -1: the input; -2: there is none. */
static int32_t find_layer(const leat_model *model, const char *name)
{
    if (!strcmp(name, "input"))
        return -1;
    for (int32_t i = model->n_layers - 2; i >= 0; i--)
        if (!strcmp(model->layers[i].name, name))
            return i;
    return -2;
}

static int add_input(leat_model *model, leat_model_layer *l, const leat_node *node, leat_error *err)
{
    const int32_t at = node->text ? find_layer(model, node->text) : -2;
    leat_nearest_word near = leat_nearest_init(node->text ? node->text : "");
    if (at >= -1 && l->n_inputs < LEAT_LAYER_MAX_INPUTS) {
        l->inputs[l->n_inputs++] = at;
        return LEAT_OK;
    }
    if (at >= -1)
        return leat_node_fail(node, err, LEAT_E_CONFIG, "from: a layer takes at most %d inputs",
                              LEAT_LAYER_MAX_INPUTS);
    leat_nearest_offer(&near, "input");
    for (int32_t i = 0; i + 1 < model->n_layers; i++)
        leat_nearest_offer(&near, model->layers[i].name);
    return leat_node_fail(
        node, err, LEAT_E_CONFIG,
        "from: no layer '%s' stands before this one%s%s%s; give layers names with `name: …`",
        node->text ? node->text : "", near.best ? "; did you mean '" : "",
        near.best ? near.best : "", near.best ? "'" : "");
}

/* Names the last layer. Files of weights find parameters by these names. */
static int name_layer(leat_model *model, leat_model_layer *l, const leat_node *node,
                      leat_error *err)
{
    const char *const own = ((const leat_layer_common *)l->options)->name.text;
    const size_t first = strcspn(own, ".");
    if ((first == 9 && !strncmp(own, "optimizer", 9)) ||
        (first == 7 && !strncmp(own, "average", 7)))
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "name: '%.63s' begins with '%.*s', as other values do in files of "
                              "checkpoints: take another name",
                              own, (int)first, own);
    if (strlen(own) >= sizeof l->name)
        return leat_node_fail(node, err, LEAT_E_CONFIG, "name: '%.20s…' has %zu bytes, at most %zu",
                              own, strlen(own), sizeof l->name - 1);
    if (*own)
        snprintf(l->name, sizeof l->name, "%s", own);
    else
        snprintf(l->name, sizeof l->name, "%d.%s", model->n_layers - 1, l->layer->kind.name);
    if (find_layer(model, l->name) == -1)
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "name: 'input' is the name of the batch: take another one");
    if (find_layer(model, l->name) >= 0)
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              *own ? "another layer is named '%s'"
                                   : "another layer is named '%s', as this one is without `name`",
                              l->name);
    return LEAT_OK;
}

/* Sets the inputs of the layer added last: those that `from` names, else the layer before it; -1 is the model's input. */
static int connect_inputs(leat_model *model, leat_model_layer *l, leat_error *err)
{
    const leat_node *from = ((const leat_layer_common *)l->options)->from;
    const int32_t i = model->n_layers - 1;
    int rc = LEAT_OK;
    if (leat_node_is_null(from)) {
        l->inputs[l->n_inputs++] = i - 1;
        return LEAT_OK;
    }
    if (from->kind == LEAT_NODE_SCALAR)
        rc = add_input(model, l, from, err);
    for (const leat_node *one = from->first; one && rc == LEAT_OK; one = one->next)
        rc = add_input(model, l, one, err);
    if (rc == LEAT_OK && l->n_inputs != 1 && !l->layer->merges)
        rc = leat_node_fail(from, err, LEAT_E_CONFIG, "%s reads one layer, not %d",
                            l->layer->kind.name, l->n_inputs);
    return rc;
}

static int shape_layer(leat_model *model, leat_model_layer *l, const leat_shape *input,
                       leat_error *err)
{
    leat_shape in[LEAT_LAYER_MAX_INPUTS];
    for (int32_t k = 0; k < l->n_inputs; k++)
        in[k] = l->inputs[k] < 0 ? *input : model->layers[l->inputs[k]].out;
    l->in = in[0];
    const int rc = l->layer->shape(l->options, in, l->n_inputs, &l->out, err);
    if (rc < 0)
        return rc;
    const int64_t bytes = leat_shape_bytes(&l->out);
    if (l->layer == &leat_layer_conv2d && l->inputs[0] >= 0 &&
        ((const leat_conv2d_options *)l->options)->init + LEAT_INIT_AUTO == LEAT_INIT_WHITEN)
        return leat_fail(err, LEAT_E_CONFIG,
                         "conv2d: init: whiten is for a layer that reads the model's input");
    if (bytes < 0 || bytes > INT64_C(1) << 40)
        return leat_fail(err, LEAT_E_CONFIG, "%s: its output would be larger than 1 TiB",
                         l->layer->kind.name);
    return count_params(model, l, err);
}

/* input: shape of the model's. */
static int read_layer(leat_model *model, const leat_node *node, const leat_shape *input,
                      leat_error *err)
{
    leat_model_layer *l = &model->layers[model->n_layers];
    const leat_node *options;
    size_t at;
    int rc = leat_nn_kind_find(node, "layer", leat_layer_kind, &at, &options, err);
    if (rc < 0)
        return rc;
    *l = (leat_model_layer){ .layer = leat_layer_at(at),
                             .device_at = leat_node_find(options, "device") };
    model->n_layers++;
    if (!strcmp(l->layer->kind.options->name, "name") && !leat_node_is_null(options) &&
        options->kind != LEAT_NODE_MAP)
        return leat_node_fail(options, err, LEAT_E_CONFIG, "layer '%s' takes no options",
                              l->layer->kind.name);
    if ((rc = leat_nn_kind_options(options, node, "layer", &l->layer->kind, l->layer->options_size,
                                   &l->options, err)) < 0 ||
        (rc = name_layer(model, l, node, err)) < 0 || (rc = connect_inputs(model, l, err)) < 0)
        return rc;
    rc = shape_layer(model, l, input, err);
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

static bool is_read(const leat_model *model, int32_t i)
{
    for (int32_t k = i + 1; k < model->n_layers; k++)
        for (int32_t n = 0; n < model->layers[k].n_inputs; n++)
            if (model->layers[k].inputs[n] == i)
                return true;
    return i == model->n_layers - 1;
}

/* A layer without a reader would learn nothing: usually a `from` is missing or names another layer. */
static int check_readers(const leat_model *model, const leat_node *list, leat_error *err)
{
    int32_t i = 0;
    for (const leat_node *node = list->first; node; node = node->next, i++)
        if (!is_read(model, i))
            return leat_node_fail(node, err, LEAT_E_CONFIG,
                                  "no layer reads the output of layer '%s': name it in the `from` "
                                  "of a later one, or leave it out",
                                  model->layers[i].name);
    return LEAT_OK;
}

static int read_layers(leat_model *model, const leat_model_nodes *nodes, leat_error *err)
{
    const leat_node *list = nodes->layers;
    int rc = leat_preset_expand(model, list, &list, err);
    const size_t n = rc == LEAT_OK ? leat_node_count(list) : 0;
    leat_shape input = { 0 };
    if (rc < 0)
        return rc;
    if (leat_node_is_null(list) || list->kind != LEAT_NODE_LIST || n == 0)
        return leat_node_fail(nodes->layers ? nodes->layers : nodes->owner, err, LEAT_E_CONFIG,
                              "train.model must be a list of layers, such as [flatten, dense: 10], "
                              "or a ready-made model, such as resnet18");
    if (n > 10000)
        return leat_node_fail(list, err, LEAT_E_CONFIG, "train.model: %zu layers, at most 10000",
                              n);
    if ((rc = first_shape(model, &input, err)) < 0)
        return rc < 0 ? leat_node_fail_in(nodes->owner, err, rc) : rc;
    model->layers = calloc(n, sizeof *model->layers);
    if (!model->layers)
        return leat_fail(err, LEAT_E_NOMEM, "train.model: %zu layers", n);
    for (const leat_node *node = list->first; node; node = node->next)
        if ((rc = read_layer(model, node, &input, err)) < 0)
            return rc;
    if ((rc = check_readers(model, list, err)) < 0)
        return rc;
    if ((nodes->frozen && (rc = leat_rules_freeze(model, nodes->owner, nodes->frozen, err)) < 0) ||
        (rc = leat_model_params(model, err)) < 0)
        return rc;
    if (model->n_parameters == 0)
        return leat_node_fail(
            list, err, LEAT_E_CONFIG,
            model->n_frozen ? "all of train.model is frozen: leave a layer to train"
                            : "train.model has nothing to learn: add a dense or conv2d layer");
    return LEAT_OK;
}

/* --- loss, optimiser ------------------------------------------------------------------------- */

/* A loss that includes the model's last layer, or needs it. */
static int check_end(const leat_model *model, const leat_node *node, leat_error *err)
{
    const leat_layer *last = model->layers[model->n_layers - 1].layer;
    if (last == &leat_layer_softmax && model->loss == &leat_loss_softmax_cross_entropy)
        return leat_node_fail(
            node, err, LEAT_E_CONFIG,
            "the model ends with softmax: leave it out, softmax_cross_entropy includes it");
    if (model->loss != &leat_loss_binary_cross_entropy)
        return LEAT_OK;
    const leat_binary_options *o = model->loss_options;
    if (o->with_logits && last == &leat_layer_sigmoid)
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "the model ends with sigmoid: leave it out, binary_cross_entropy "
                              "includes it, or write with_logits: false");
    if (!o->with_logits && last != &leat_layer_sigmoid && last != &leat_layer_softmax)
        return leat_node_fail(node, err, LEAT_E_CONFIG,
                              "with_logits: false needs a model that ends with sigmoid, and this "
                              "one ends with %s: leave out with_logits",
                              last->kind.name);
    return LEAT_OK;
}

/* A class where the loss takes one for these outputs, or values like them. */
static leat_shape any_target(const leat_model *model)
{
    const leat_shape *const outputs = &model->layers[model->n_layers - 1].out;
    const leat_shape class = leat_shape_make(LEAT_I64, 0, NULL);
    const bool takes_class =
        model->loss->classes && model->loss->classes(outputs) > 0 &&
        model->loss->check(model->loss_options, outputs, &class, model->n_classes, NULL) == LEAT_OK;
    return takes_class ? class : *outputs;
}

static int read_loss(leat_model *model, const leat_model_nodes *nodes, leat_error *err)
{
    const leat_node *options;
    size_t at;
    int rc;
    if (leat_node_is_null(nodes->loss))
        return leat_node_fail(nodes->owner, err, LEAT_E_CONFIG,
                              "train.loss is missing, such as: loss: softmax_cross_entropy");
    if ((rc = leat_nn_kind_find(nodes->loss, "loss", leat_loss_kind, &at, &options, err)) < 0)
        return rc;
    model->loss = leat_loss_at(at);
    rc = leat_nn_kind_options(options, nodes->loss, "loss", &model->loss->kind,
                              model->loss->options_size, &model->loss_options, err);
    if (rc < 0)
        return rc;
    if ((rc = check_end(model, nodes->loss, err)) < 0)
        return rc;
    if (model->any_target)
        model->target = any_target(model);
    rc = model->loss->check(model->loss_options, &model->layers[model->n_layers - 1].out,
                            &model->target, model->n_classes, err);
    if (rc == LEAT_OK && model->loss->open)
        rc = model->loss->open(model->loss_options, &model->layers[model->n_layers - 1].out, err);
    return rc < 0 ? leat_node_fail_in(nodes->loss, err, rc) : rc;
}

double leat_model_accuracy(const leat_model *model, double right, uint64_t samples)
{
    const double n = (double)leat_shape_elements(&model->layers[model->n_layers - 1].out);
    return samples && model->loss->accuracy ? nearbyint(right * n) / (n * (double)samples) : NAN;
}

int leat_model_check_rows(const leat_model *model, const leat_loss_rows *rows, leat_error *err)
{
    for (int64_t i = 0; rows->weights && i < rows->rows; i++)
        if (leat_loss_counts(rows, i) && !(rows->weights[i] >= 0 && isfinite(rows->weights[i])))
            return leat_not_finite(
                err, !isfinite(rows->weights[i]),
                leat_fail(err, LEAT_E_DATA,
                          "row %lld of the batch has the sample weight %g; weights are finite "
                          "numbers of 0 or more",
                          (long long)(rows->first_row + i), (double)rows->weights[i]));
    return model->loss->check_targets(model->loss_options, &model->layers[model->n_layers - 1].out,
                                      rows, err);
}

static int read_optimizer(leat_model *model, const leat_model_nodes *nodes, leat_error *err)
{
    const leat_node *options = NULL;
    size_t at = 0;
    int rc;
    if (nodes->optimizer && (rc = leat_nn_kind_find(nodes->optimizer, "optimizer",
                                                    leat_optimizer_kind, &at, &options, err)) < 0)
        return rc;
    model->optimizer = leat_optimizer_at(at);
    return leat_nn_kind_options(options, nodes->optimizer ? nodes->optimizer : nodes->owner,
                                "optimizer", &model->optimizer->kind,
                                model->optimizer->options_size, &model->optimizer_options, err);
}

int leat_model_init(leat_model *model, const leat_model_nodes *nodes, leat_error *err)
{
    int rc = read_layers(model, nodes, err);
    if (rc == LEAT_OK)
        rc = read_loss(model, nodes, err);
    if (rc == LEAT_OK)
        rc = read_optimizer(model, nodes, err);
    model->end = model->n_layers;
    if (rc == LEAT_OK)
        model->flops_per_sample = leat_model_flops(model);
    return rc;
}

void leat_model_fini(leat_model *model)
{
    for (int32_t i = 0; i < model->n_layers; i++)
        free(model->layers[i].options);
    free(model->layers);
    free(model->params);
    leat_config_close(&model->preset);
    if (model->loss && model->loss->close && model->loss_options)
        model->loss->close(model->loss_options);
    free(model->loss_options);
    free(model->optimizer_options);
    *model = (leat_model){ 0 };
}
