/* SPDX-License-Identifier: MIT
 *
 * split_open.c: cuts a model whose layers run on several devices into nets, and opens them. All parts are
 * counted before the first is opened: one in host memory must fit beside the parts before it and all that
 * crosses. See split.h for the design. */
#include <stdlib.h>
#include <string.h>

#include "formats/figure.h"
#include "leat/device.h"
#include "split.h"

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
    leat_split_part *const p = &net->parts[i];
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
static void limit_memory(leat_net *net, leat_split_part *p)
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
    const int32_t end = leat_split_end(model, first), i = net->n_parts++;
    leat_split_part *const p = &net->parts[i];
    leat_train_memory m;
    int rc = leat_split_cut(model, first, end, &p->model, err);
    if (rc == LEAT_OK && (rc = find_place(net, leat_split_device(model, first), &p->on, err)) < 0) {
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

static int sum_memory(leat_net *net, const leat_split_part *p, leat_error *err)
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

static int part_open(leat_net *net, leat_split_part *p, leat_error *err)
{
    int rc = p->on->backend->open(&p->model, p->on->device, &p->net, err);
    if (rc < 0)
        return leat_fail_in(err, rc,
                            "layers from '%s' on: ", net->model->layers[p->model.first].name);
    for (int k = 0; k < LEAT_CARRIES && rc == LEAT_OK; k++)
        rc = leat_carry_open(&p->carries[k], err);
    for (int k = 0; k < 2 && rc == LEAT_OK; k++)
        rc = leat_split_span_open(&p->work[k], p->on, err);
    return rc < 0 ? rc : sum_memory(net, p, err);
}

/* --- open, close ----------------------------------------------------------------------------- */

int leat_split_wait(leat_net *net, leat_error *err)
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

void leat_split_close(leat_net *net)
{
    leat_split_wait(net, NULL);
    for (int32_t i = 0; i < net->n_parts; i++) {
        leat_split_part *const p = &net->parts[i];
        if (p->net)
            p->on->backend->close(p->net);
        for (int k = 0; k < LEAT_CARRIES; k++)
            leat_carry_close(&p->carries[k]);
        for (int k = 0; k < 2; k++)
            leat_split_span_close(&p->work[k]);
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
    for (int32_t first = 0; first < model->n_layers && rc == LEAT_OK;
         first = leat_split_end(model, first))
        rc = part_plan(net, first, err);
    for (int32_t i = 0; i < net->n_parts && rc == LEAT_OK; i++)
        rc = part_open(net, &net->parts[i], err);
    return rc;
}

int leat_split_open(const leat_model *model, leat_device *device, leat_net **out, leat_error *err)
{
    leat_net *const net = calloc(1, sizeof *net);
    *out = NULL;
    if (!net)
        return leat_fail(err, LEAT_E_NOMEM, "training: %zu bytes", sizeof *net);
    net->model = model;
    const int rc = open_all(net, device, err);
    if (rc < 0) {
        leat_split_close(net);
        return rc;
    }
    *out = net;
    return LEAT_OK;
}
