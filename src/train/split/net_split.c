/* SPDX-License-Identifier: MIT
 *
 * net_split.c: cuts a model whose layers run on several devices into nets, and makes steps of them. It fills leat_backend
 * as a device does, so the trainer knows nothing of it. See split.h for the design. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "leat/device.h"
#include "split.h"

struct leat_net {
    const leat_model *model;
    leat_split_part *parts;
    leat_place *places; /* the first is the run's device */
    int32_t n_parts, n_places;
    uint64_t step;
    leat_step_times times; /* of the step */
};

/* --- steps ----------------------------------------------------------------------------------- */

/* pass: index in work. */
static int run(leat_net *net, leat_split_part *p, int pass, const leat_net_step *how,
               leat_error *err)
{
    leat_step_times t = { 0 };
    leat_span *const s = &p->work[pass];
    const int64_t from_ns = leat_clock_ns();
    int rc = leat_span_begin(s, err);
    if (rc == LEAT_OK)
        rc = p->on->backend->step(p->net, p->on->stream, &p->rows, how, &t, err);
    if (rc == LEAT_OK)
        rc = leat_span_end(s, net->step, err);
    if (t.busy_ns > 0)
        s->ns = t.busy_ns;
    net->times.launches += t.launches;
    net->times.kernels += t.kernels;
    net->times.launch_ns += t.launch_ns || !p->on->stream ? t.launch_ns : leat_clock_ns() - from_ns;
    return rc;
}

static leat_view view_of(const leat_shape *sample, int64_t rows, const void *data)
{
    leat_view view = { .shape = *sample };
    view.shape.rank = sample->rank + 1;
    view.shape.dims[0] = rows;
    memcpy(&view.shape.dims[1], sample->dims, (size_t)sample->rank * sizeof sample->dims[0]);
    memcpy(&view.data, &data, sizeof data);
    return view;
}

/* Sets what a part reads. x: the output of the part before, or the batch's input; then its own. */
static int bring(leat_net *net, leat_split_part *p, const leat_net_rows *rows, const void **x,
                 leat_error *err)
{
    const bool ends = leat_model_ends(&p->model);
    const void *y = ends ? rows->y.data : NULL, *weights = ends ? rows->weights.data : NULL;
    const void *valid = rows->valid;
    const void **const data[LEAT_CARRIES] = { [LEAT_CARRY_X] = x,
                                              [LEAT_CARRY_Y] = &y,
                                              [LEAT_CARRY_WEIGHTS] = &weights,
                                              [LEAT_CARRY_VALID] = &valid };
    int rc = LEAT_OK;
    for (int k = 0; k < LEAT_CARRIES && rc == LEAT_OK; k++)
        if (data[k])
            rc = leat_carry_run(&p->carries[k], net->step, data[k], rows->rows, &net->times, err);
    p->rows = *rows;
    p->rows.x = view_of(&p->model.input, rows->rows, *x);
    p->rows.y = view_of(&net->model->target, rows->rows, y);
    p->rows.valid = valid;
    memcpy(&p->rows.weights.data, &weights, sizeof weights);
    return rc;
}

static float *wanted_grad(const leat_split_part *p)
{
    return p->gives_grad ? leat_carry_source(&p->carries[LEAT_CARRY_GRAD]) : NULL;
}

static int forward(leat_net *net, const leat_net_rows *rows, const leat_net_step *how,
                   leat_error *err)
{
    const void *x = rows->x.data;
    int rc = LEAT_OK;
    for (int32_t i = 0; i < net->n_parts && rc == LEAT_OK; i++) {
        leat_split_part *const p = &net->parts[i];
        const bool last = i + 1 == net->n_parts;
        leat_net_step mine = *how;
        mine.phase = last || !how->train ? LEAT_NET_WHOLE : LEAT_NET_FORWARD;
        mine.logits = last ? how->logits : NULL;
        mine.output = last ? NULL : leat_carry_source(&p[1].carries[LEAT_CARRY_X]);
        mine.input_grad = last && how->train ? wanted_grad(p) : NULL;
        if ((rc = bring(net, p, rows, &x, err)) == LEAT_OK)
            rc = run(net, p, 0, &mine, err);
        x = mine.output;
    }
    return rc;
}

static int backward(leat_net *net, leat_split_part *p, const leat_net_step *how, leat_error *err)
{
    leat_carry *const c = &p[1].carries[LEAT_CARRY_GRAD];
    const void *grad = wanted_grad(&p[1]);
    leat_net_step mine = *how;
    const int rc = leat_carry_run(c, net->step, &grad, p->rows.rows, &net->times, err);
    mine.phase = LEAT_NET_BACKWARD;
    mine.output_grad = grad;
    mine.input_grad = wanted_grad(p);
    return rc < 0 ? rc : run(net, p, 1, &mine, err);
}

/* Waits for all devices, and adds up the times. */
static int settle(leat_net *net, leat_error *err)
{
    leat_step_times *const t = &net->times;
    int rc = LEAT_OK;
    for (int32_t i = 0; i < net->n_places && rc == LEAT_OK; i++)
        if (net->places[i].stream)
            rc = net->places[i].table->stream_sync(net->places[i].stream, err);
    for (int32_t i = 0; i < net->n_parts && rc == LEAT_OK; i++) {
        const leat_split_part *const p = &net->parts[i];
        int64_t *const work = p->on == net->places ? &t->busy_ns : &t->elsewhere_ns;
        *work += leat_span_ns(&p->work[0], net->step) + leat_span_ns(&p->work[1], net->step);
        for (int k = 0; k < LEAT_CARRIES; k++)
            t->crossing_ns += leat_span_ns(&p->carries[k].down, net->step) +
                              leat_span_ns(&p->carries[k].up, net->step);
    }
    return rc;
}

static int step_once(leat_net *net, const leat_net_rows *rows, const leat_net_step *how,
                     leat_error *err)
{
    net->step++;
    int rc = forward(net, rows, how, err);
    for (int32_t i = net->n_parts - 2; i >= 0 && rc == LEAT_OK && how->train; i--)
        rc = backward(net, &net->parts[i], how, err);
    return rc < 0 ? rc : settle(net, err);
}

/* n rows of a batch from `first` on. Of n_valid, evaluation needs only the sum over such pieces. */
static leat_net_rows piece_of(const leat_model *model, const leat_net_rows *all, int64_t first,
                              int64_t n)
{
    const int64_t left = all->n_valid - first > 0 ? all->n_valid - first : 0;
    leat_net_rows rows = *all;
    rows.x.data = (char *)all->x.data + first * leat_shape_bytes(&model->input);
    rows.y.data = (char *)all->y.data + first * leat_shape_bytes(&model->target);
    rows.weights.data = all->weights.data ? (float *)all->weights.data + first : NULL;
    rows.valid = all->valid ? all->valid + first : NULL;
    rows.rows = n;
    rows.n_valid = left < n ? left : n;
    return rows;
}

/* Batches of evaluation may be larger than those of training, for which there is memory. */
static int split_step(leat_net *net, leat_stream *stream, const leat_net_rows *rows,
                      const leat_net_step *how, leat_step_times *times, leat_error *err)
{
    const int64_t most = net->model->batch_size;
    const int64_t n = leat_shape_elements(&net->model->layers[net->model->n_layers - 1].out);
    int rc = LEAT_OK;
    net->places[0].stream = stream ? stream : net->places[0].own;
    net->times = *times;
    for (int64_t at = 0; at < rows->rows && rc == LEAT_OK; at += most) {
        const int64_t here = rows->rows - at < most ? rows->rows - at : most;
        const leat_net_rows piece = piece_of(net->model, rows, at, here);
        leat_net_step mine = *how;
        mine.logits = how->logits ? how->logits + at * n : NULL;
        rc = step_once(net, &piece, &mine, err);
    }
    *times = net->times;
    return rc;
}

/* --- values ---------------------------------------------------------------------------------- */

static const leat_split_part *part_of(const leat_net *net, int32_t layer)
{
    const leat_split_part *p = net->parts;
    while (layer >= p->model.end)
        p++;
    return p;
}

static int split_sums(leat_net *net, bool anew, leat_net_sums *out, leat_error *err)
{
    const leat_split_part *const last = &net->parts[net->n_parts - 1];
    const int rc = last->on->backend->sums(last->net, anew, out, err);
    if (leat_split_describe(net).simulated)
        out->loss = out->right = NAN;
    return rc;
}

static int split_read(leat_net *net, int32_t layer, int32_t param, leat_slot slot, float *to,
                      leat_error *err)
{
    const leat_split_part *const p = part_of(net, layer);
    return p->on->backend->read(p->net, layer, param, slot, to, err);
}

static int split_write(leat_net *net, int32_t layer, int32_t param, leat_slot slot,
                       const float *from, leat_error *err)
{
    const leat_split_part *const p = part_of(net, layer);
    return p->on->backend->write(p->net, layer, param, slot, from, err);
}

static int split_blend(leat_net *net, leat_slot to, leat_slot from, double share, leat_error *err)
{
    int rc = LEAT_OK;
    for (int32_t i = 0; i < net->n_parts && rc == LEAT_OK; i++)
        rc = net->parts[i].on->backend->blend(net->parts[i].net, to, from, share, err);
    return rc;
}

static int split_swap(leat_net *net, leat_slot a, leat_slot b, leat_error *err)
{
    int rc = LEAT_OK;
    for (int32_t i = 0; i < net->n_parts && rc == LEAT_OK; i++)
        rc = net->parts[i].on->backend->swap(net->parts[i].net, a, b, err);
    return rc;
}

static int64_t split_updates(const leat_net *net)
{
    return net->parts[0].on->backend->updates(net->parts[0].net);
}

static void split_set_updates(leat_net *net, int64_t n)
{
    for (int32_t i = 0; i < net->n_parts; i++)
        net->parts[i].on->backend->set_updates(net->parts[i].net, n);
}

leat_split_info leat_split_describe(const leat_net *net)
{
    leat_split_info info = { 0 };
    for (int32_t i = 0; i < net->n_parts; i++) {
        const leat_carry *const all = net->parts[i].carries;
        for (int k = 0; k < LEAT_CARRY_VALID; k++)
            if (leat_carry_crosses(&all[k])) {
                info.crossings++;
                info.bytes += (int64_t)all[k].row_bytes * net->model->batch_size;
            }
        info.simulated |= net->parts[i].on->device->info.simulated != 0;
    }
    return info;
}

/* --- open ------------------------------------------------------------------------------------ */

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

static int carries_open(leat_net *net, int32_t i, leat_error *err)
{
    leat_split_part *const p = &net->parts[i];
    const leat_place *const run_on = net->places, *const before = i ? net->parts[i - 1].on : run_on;
    const int64_t rows = net->model->batch_size;
    const size_t in = (size_t)leat_shape_bytes(&p->model.input);
    const size_t target = (size_t)leat_shape_bytes(&net->model->target);
    leat_carry *const c = p->carries;
    const bool ends = leat_model_ends(&p->model);
    int rc = leat_carry_open(&c[LEAT_CARRY_X], before, p->on, in, rows, i > 0, err);
    p->gives_grad = leat_model_needs_gradient(net->model, p->model.first - 1);
    if (rc == LEAT_OK && p->gives_grad)
        rc = leat_carry_open(&c[LEAT_CARRY_GRAD], p->on, before, in, rows, true, err);
    if (rc == LEAT_OK && ends)
        rc = leat_carry_open(&c[LEAT_CARRY_Y], run_on, p->on, target, rows, false, err);
    if (rc == LEAT_OK && p->model.weighted)
        rc =
            leat_carry_open(&c[LEAT_CARRY_WEIGHTS], run_on, p->on, sizeof(float), rows, false, err);
    if (rc == LEAT_OK)
        rc = leat_carry_open(&c[LEAT_CARRY_VALID], run_on, p->on, 1, rows, false, err);
    for (int k = 0; k < 2 && rc == LEAT_OK; k++)
        rc = leat_span_open(&p->work[k], p->on, err);
    return rc;
}

static int part_open(leat_net *net, int32_t first, leat_error *err)
{
    const leat_model *const model = net->model;
    const int32_t end = leat_split_end(model, first), i = net->n_parts++;
    leat_split_part *const p = &net->parts[i];
    int rc = leat_split_cut(model, first, end, &p->model, err);
    if (rc == LEAT_OK && (rc = find_place(net, leat_split_device(model, first), &p->on, err)) < 0)
        return leat_fail_in(err, rc, "layer '%s': ", model->layers[first].name);
    if (rc == LEAT_OK)
        rc = p->on->backend->open(&p->model, p->on->device, &p->net, err);
    return rc < 0 ? rc : carries_open(net, i, err);
}

/* Copies of a step that failed may still run. */
static void split_close(leat_net *net)
{
    for (int32_t i = 0; i < net->n_places; i++)
        if (net->places[i].stream)
            net->places[i].table->stream_sync(net->places[i].stream, NULL);
    for (int32_t i = 0; i < net->n_parts; i++) {
        leat_split_part *const p = &net->parts[i];
        if (p->net)
            p->on->backend->close(p->net);
        for (int k = 0; k < LEAT_CARRIES; k++)
            leat_carry_close(&p->carries[k]);
        for (int k = 0; k < 2; k++)
            leat_span_close(&p->work[k]);
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
        rc = part_open(net, first, err);
    return rc;
}

static int split_open(const leat_model *model, leat_device *device, leat_net **out, leat_error *err)
{
    leat_net *const net = calloc(1, sizeof *net);
    *out = NULL;
    if (!net)
        return leat_fail(err, LEAT_E_NOMEM, "training: %zu bytes", sizeof *net);
    net->model = model;
    const int rc = open_all(net, device, err);
    if (rc < 0) {
        split_close(net);
        return rc;
    }
    *out = net;
    return LEAT_OK;
}

const leat_backend leat_backend_split = {
    .kind = "split",
    .open = split_open,
    .close = split_close,
    .step = split_step,
    .sums = split_sums,
    .read = split_read,
    .write = split_write,
    .blend = split_blend,
    .swap = split_swap,
    .updates = split_updates,
    .set_updates = split_set_updates,
};
