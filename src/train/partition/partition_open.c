/* SPDX-License-Identifier: MIT
 *
 * partition_open.c: cuts a model whose layers run on several devices into nets, and opens them. All parts are
 * counted before the first is opened: one in host memory must fit beside the parts before it and all that
 * crosses. See partition.h for the design. */
#include <stdlib.h>
#include <string.h>

#include "formats/figure.h"
#include "leat/device.h"
#include "partition.h"

/* --- models of parts ------------------------------------------------------------------------- */

/* The device that layer i names, "": the run's. */
static const char *device_of(const leat_model *model, int32_t i)
{
    return ((const leat_layer_common *)model->layers[i].options)->device.text;
}

bool leat_partition_wanted(const leat_model *model)
{
    for (int32_t i = 0; i < model->n_layers; i++)
        if (*device_of(model, i))
            return true;
    return false;
}

/* The first layer behind `first` that begins another part. */
static int32_t end_of(const leat_model *model, int32_t first)
{
    int32_t i = first + 1;
    while (i < model->n_layers && !strcmp(device_of(model, i), device_of(model, first)))
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

/* Makes *sub the layers [first, end) of a model. They keep their indexes, and thereby their seeds. The caller frees
 * sub->layers and sub->params, also after an error. */
static int make_model(const leat_model *all, int32_t first, int32_t end, leat_model *sub,
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

/* --- places ---------------------------------------------------------------------------------- */

static int place_open(leat_net *net, leat_device *device, leat_error *err)
{
    leat_place *const p = &net->places[net->n_places++];
    leat_error why = { .code = LEAT_E_UNSUPPORTED };
    *p = (leat_place){ .device = device, .table = device->table };
    if (!(p->backend = leat_backend_for(device, &why)))
        return leat_fail(err, why.code, "%s", why.message);
    const int rc = p->table->host_memory ? LEAT_OK : p->table->stream_open(device, &p->own, err);
    p->stream = p->own;
    return rc;
}

/* The place of a device's name; "": the run's. */
static int find_place(leat_net *net, const char *name, const leat_place **out, leat_error *err)
{
    leat_device *device = NULL;
    int32_t i = 0;
    if (*name) {
        const int rc = leat_device_open(name, &device, err);
        if (rc < 0)
            return rc;
        while (i < net->n_places && strcmp(net->places[i].device->info.name, device->info.name))
            i++;
    }
    *out = &net->places[i];
    if (i == net->n_places)
        return place_open(net, device, err);
    leat_device_close(&device);
    return LEAT_OK;
}

/* --- parts ----------------------------------------------------------------------------------- */

static void plan_carries(const leat_net *net, int32_t i)
{
    leat_partition_part *const p = &net->parts[i];
    const leat_place *const run_on = net->places, *const before = i ? net->parts[i - 1].on : run_on;
    const int64_t rows = net->model->batch_size;
    const size_t in = (size_t)leat_shape_bytes(&p->model.input);
    const size_t target = (size_t)leat_shape_bytes(&net->model->target);
    leat_carry *const c = p->carries;
    c[LEAT_CARRY_X] = leat_carry_plan(before, p->on, in, rows, i > 0);
    p->gives_grad = leat_model_needs_gradient(net->model, p->model.first - 1);
    if (p->gives_grad)
        c[LEAT_CARRY_GRAD] = leat_carry_plan(p->on, before, in, rows, true);
    if (leat_model_ends(&p->model))
        c[LEAT_CARRY_Y] = leat_carry_plan(run_on, p->on, target, rows, false);
    if (p->model.weighted)
        c[LEAT_CARRY_WEIGHTS] = leat_carry_plan(run_on, p->on, sizeof(float), rows, false);
    c[LEAT_CARRY_VALID] = leat_carry_plan(run_on, p->on, 1, rows, false);
}

/* What the parts before, and all that crosses up to this part, leave of the host's memory. */
static void limit_memory(leat_net *net, leat_partition_part *p)
{
    const int64_t all = net->model->memory_limit;
    for (int k = 0; k < LEAT_CARRIES; k++)
        net->host_bytes += (int64_t)p->carries[k].bytes;
    p->model.memory_limit = 0;
    if (all == 0 || !p->on->table->host_memory)
        return;
    p->model.memory_limit = all > net->host_bytes ? all - net->host_bytes : 1;
    snprintf(p->memory_why, sizeof p->memory_why,
             "of %s less %s for other layers and crossings; %s",
             leat_figure_bytes((double)all).text, leat_figure_bytes((double)net->host_bytes).text,
             net->model->memory_why);
    if (net->host_bytes > 0)
        p->model.memory_why = p->memory_why;
}

/* Where a part computes, and what it takes; nothing large is allocated. */
static int part_plan(leat_net *net, int32_t first, leat_error *err)
{
    const leat_model *const model = net->model;
    const int32_t end = end_of(model, first), i = net->n_parts++;
    leat_partition_part *const p = &net->parts[i];
    leat_train_memory m;
    int rc = make_model(model, first, end, &p->model, err);
    if (rc == LEAT_OK && (rc = find_place(net, device_of(model, first), &p->on, err)) < 0) {
        const leat_node *const at = model->layers[first].device_at;
        leat_fail_in(err, rc, "layer '%s': ", model->layers[first].name);
        return at ? leat_node_fail_in(at, err, rc) : rc;
    }
    if (rc < 0)
        return rc;
    plan_carries(net, i);
    limit_memory(net, p);
    if (!p->on->table->host_memory || !p->on->backend->count)
        return LEAT_OK;
    if ((rc = p->on->backend->count(&p->model, &m, err)) < 0)
        return leat_fail_in(err, rc, "layers from '%s' on: ", model->layers[first].name);
    net->host_bytes += m.total;
    return LEAT_OK;
}

static int sum_memory(leat_net *net, const leat_partition_part *p, leat_error *err)
{
    leat_train_memory m;
    const int rc = leat_net_memory(&p->model, p->on->backend, p->net, &m, err);
    net->memory.gradients += m.gradients;
    net->memory.activations += m.activations;
    net->memory.workspace += m.workspace;
    for (int k = 0; k < LEAT_CARRIES; k++) {
        const leat_carry *const c = &p->carries[k];
        net->memory.workspace += (int64_t)c->bytes * (!!c->host + !!c->there + !!c->here);
    }
    return rc;
}

static int part_open(leat_net *net, leat_partition_part *p, leat_error *err)
{
    int rc = p->on->backend->open(&p->model, p->on->device, &p->net, err);
    if (rc < 0)
        return leat_fail_in(err, rc,
                            "layers from '%s' on: ", net->model->layers[p->model.first].name);
    for (int k = 0; k < LEAT_CARRIES && rc == LEAT_OK; k++)
        rc = leat_carry_open(&p->carries[k], err);
    for (int k = 0; k < 2 && rc == LEAT_OK; k++)
        rc = leat_partition_span_open(&p->work[k], p->on, err);
    return rc < 0 ? rc : sum_memory(net, p, err);
}

/* --- open, close ----------------------------------------------------------------------------- */

int leat_partition_wait(leat_net *net, leat_error *err)
{
    int rc = LEAT_OK;
    for (int32_t i = 0; i < net->n_places; i++) {
        const leat_place *const p = &net->places[i];
        const int waited =
            p->stream ? p->table->stream_sync(p->stream, rc < 0 ? NULL : err) : LEAT_OK;
        rc = rc < 0 ? rc : waited;
    }
    return rc;
}

void leat_partition_close(leat_net *net)
{
    leat_partition_wait(net, NULL);
    for (int32_t i = 0; i < net->n_parts; i++) {
        leat_partition_part *const p = &net->parts[i];
        if (p->net)
            p->on->backend->close(p->net);
        for (int k = 0; k < LEAT_CARRIES; k++)
            leat_carry_close(&p->carries[k]);
        for (int k = 0; k < 2; k++)
            leat_partition_span_close(&p->work[k]);
        free(p->model.layers);
        free(p->model.params);
    }
    for (int32_t i = 0; i < net->n_places; i++) {
        if (net->places[i].own)
            net->places[i].table->stream_close(net->places[i].own);
        if (i > 0)
            leat_device_close(&net->places[i].device);
    }
    free(net->parts);
    free(net->places);
    free(net);
}

static int open_all(leat_net *net, leat_device *device, leat_error *err)
{
    const leat_model *const model = net->model;
    const size_t most = (size_t)model->n_layers + 1;
    net->parts = calloc(most, sizeof *net->parts);
    net->places = calloc(most, sizeof *net->places);
    if (!net->parts || !net->places)
        return leat_fail(err, LEAT_E_NOMEM, "training: no memory for a plan");
    if (model->graph == LEAT_GRAPH_TRUE)
        return leat_fail(err, LEAT_E_UNSUPPORTED,
                         "train.graph: true needs a model on one device: leave it out, or the "
                         "`device` of layers");
    int rc = place_open(net, device, err);
    for (int32_t first = 0; first < model->n_layers && rc == LEAT_OK; first = end_of(model, first))
        rc = part_plan(net, first, err);
    for (int32_t i = 0; i < net->n_parts && rc == LEAT_OK; i++)
        rc = part_open(net, &net->parts[i], err);
    return rc;
}

int leat_partition_open(const leat_model *model, leat_device *device, leat_net **out,
                        leat_error *err)
{
    leat_net *const net = calloc(1, sizeof *net);
    *out = NULL;
    if (!net)
        return leat_fail(err, LEAT_E_NOMEM, "training: %zu bytes", sizeof *net);
    net->model = model;
    const int rc = open_all(net, device, err);
    if (rc < 0) {
        leat_partition_close(net);
        return rc;
    }
    *out = net;
    return LEAT_OK;
}
