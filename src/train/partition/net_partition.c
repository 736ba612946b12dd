/* SPDX-License-Identifier: MIT
 *
 * net_partition.c: makes steps of a model whose layers run on several devices, and reads and writes its values. It fills
 * leat_backend as a device does, so the trainer knows nothing of it. See partition.h for the design. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "partition.h"
#include "train/losses.h"

/* --- steps ----------------------------------------------------------------------------------- */

/* pass: index in work. */
static int run(leat_net *net, leat_partition_part *p, int pass, const leat_net_step *how,
               leat_error *err)
{
    leat_step_times t = { 0 };
    leat_partition_span *const s = &p->work[pass];
    const int64_t from_ns = leat_clock_ns();
    int rc = leat_partition_span_begin(s, err);
    if (rc == LEAT_OK)
        rc = p->on->backend->step(p->net, p->on->stream, &p->rows, how, &t, err);
    if (rc == LEAT_OK)
        rc = leat_partition_span_end(s, net->step, err);
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
static int bring(leat_net *net, leat_partition_part *p, const leat_net_rows *rows, const void **x,
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

static float *wanted_grad(const leat_partition_part *p)
{
    return p->gives_grad ? leat_carry_buffer(&p->carries[LEAT_CARRY_GRAD]) : NULL;
}

static int forward(leat_net *net, const leat_net_rows *rows, const leat_net_step *how,
                   leat_error *err)
{
    const void *x = rows->x.data;
    int rc = LEAT_OK;
    for (int32_t i = 0; i < net->n_parts && rc == LEAT_OK; i++) {
        leat_partition_part *const p = &net->parts[i];
        const bool last = i + 1 == net->n_parts;
        leat_net_step mine = *how;
        mine.phase = last || !how->train ? LEAT_NET_WHOLE : LEAT_NET_FORWARD;
        mine.logits = last ? how->logits : NULL;
        mine.output = last ? NULL : leat_carry_buffer(&p[1].carries[LEAT_CARRY_X]);
        mine.input_grad = last && how->train ? wanted_grad(p) : NULL;
        if ((rc = bring(net, p, rows, &x, err)) == LEAT_OK)
            rc = run(net, p, 0, &mine, err);
        x = mine.output;
    }
    return rc;
}

static int backward(leat_net *net, leat_partition_part *p, const leat_net_step *how,
                    leat_error *err)
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

static void add_times(leat_net *net)
{
    leat_step_times *const t = &net->times;
    for (int32_t i = 0; i < net->n_parts; i++) {
        const leat_partition_part *const p = &net->parts[i];
        int64_t *const work = p->on == net->places ? &t->busy_ns : &t->elsewhere_ns;
        *work += leat_partition_span_ns(&p->work[0], net->step) +
                 leat_partition_span_ns(&p->work[1], net->step);
        for (int k = 0; k < LEAT_CARRIES; k++)
            t->crossing_ns += leat_partition_span_ns(&p->carries[k].down, net->step) +
                              leat_partition_span_ns(&p->carries[k].up, net->step);
    }
}

static int step_once(leat_net *net, const leat_net_rows *rows, const leat_net_step *how,
                     leat_error *err)
{
    net->step++;
    int rc = forward(net, rows, how, err);
    for (int32_t i = net->n_parts - 2; i >= 0 && rc == LEAT_OK && how->train; i--)
        rc = backward(net, &net->parts[i], how, err);
    const int waited = leat_partition_wait(net, rc < 0 ? NULL : err); /* after failures, too */
    if (rc == LEAT_OK && (rc = waited) == LEAT_OK)
        add_times(net);
    return rc;
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

/* Where the host can see them, impossible targets are refused before any layer computes. */
static int check_targets(const leat_net *net, const leat_net_rows *rows, leat_error *err)
{
    const leat_loss_rows targets = leat_loss_targets(rows);
    const bool simulated = leat_partition_describe(net).ends_simulated;
    return net->places[0].table->host_memory && !simulated
               ? leat_model_check_rows(net->model, &targets, err)
               : LEAT_OK;
}

/* Batches of evaluation may be larger than those of training, for which there is memory. They are cut at whole
 * micro-batches, as a model in one part cuts them, so that both give the same bits. */
static int64_t piece_rows(const leat_model *model, const leat_net_step *how)
{
    const int64_t micro = (model->batch_size + model->n_micro - 1) / model->n_micro;
    return how->train ? model->batch_size : model->batch_size / micro * micro;
}

static int partition_step(leat_net *net, leat_stream *stream, const leat_net_rows *rows,
                          const leat_net_step *how, leat_step_times *times, leat_error *err)
{
    const int64_t most = piece_rows(net->model, how);
    const int64_t n = leat_shape_elements(&net->model->layers[net->model->n_layers - 1].out);
    int rc = check_targets(net, rows, err);
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

static const leat_partition_part *part_of(const leat_net *net, int32_t layer)
{
    const leat_partition_part *p = net->parts;
    while (layer >= p->model.end)
        p++;
    return p;
}

static int partition_sums(leat_net *net, bool anew, leat_net_sums *out, leat_error *err)
{
    const leat_partition_part *const last = &net->parts[net->n_parts - 1];
    const int rc = last->on->backend->sums(last->net, anew, out, err);
    if (leat_partition_describe(net).simulated)
        out->loss = out->right = NAN;
    return rc;
}

static int partition_read(leat_net *net, int32_t layer, int32_t param, leat_param_values which,
                          float *to, leat_error *err)
{
    const leat_partition_part *const p = part_of(net, layer);
    return p->on->backend->read(p->net, layer, param, which, to, err);
}

static const float *partition_values(leat_net *net, int32_t layer, int32_t param,
                                     leat_param_values which)
{
    const leat_partition_part *const p = part_of(net, layer);
    const leat_backend *const on = p->on->backend;
    return on->values ? on->values(p->net, layer, param, which) : NULL;
}

static int partition_write(leat_net *net, int32_t layer, int32_t param, leat_param_values which,
                           const float *from, leat_error *err)
{
    const leat_partition_part *const p = part_of(net, layer);
    return p->on->backend->write(p->net, layer, param, which, from, err);
}

static int partition_blend(leat_net *net, leat_param_values to, leat_param_values from,
                           double share, leat_error *err)
{
    int rc = LEAT_OK;
    for (int32_t i = 0; i < net->n_parts && rc == LEAT_OK; i++)
        rc = net->parts[i].on->backend->blend(net->parts[i].net, to, from, share, err);
    return rc;
}

static int partition_swap(leat_net *net, leat_param_values a, leat_param_values b, leat_error *err)
{
    int rc = LEAT_OK;
    for (int32_t i = 0; i < net->n_parts && rc == LEAT_OK; i++)
        rc = net->parts[i].on->backend->swap(net->parts[i].net, a, b, err);
    return rc;
}

static int64_t partition_updates(const leat_net *net)
{
    return net->parts[0].on->backend->updates(net->parts[0].net);
}

static void partition_set_updates(leat_net *net, int64_t n)
{
    for (int32_t i = 0; i < net->n_parts; i++)
        net->parts[i].on->backend->set_updates(net->parts[i].net, n);
}

static const char *partition_graph_failure(const leat_net *net)
{
    const char *text = "";
    for (int32_t i = 0; i < net->n_parts && !*text; i++)
        if (net->parts[i].on->backend->graph_failure)
            text = net->parts[i].on->backend->graph_failure(net->parts[i].net);
    return text;
}

static void partition_memory(const leat_net *net, leat_train_memory *out)
{
    *out = net->memory;
}

leat_partition_info leat_partition_describe(const leat_net *net)
{
    leat_partition_info info = { .in_host_memory = true };
    for (int32_t i = 0; i < net->n_parts; i++) {
        const leat_carry *const all = net->parts[i].carries;
        for (int k = 0; k < LEAT_CARRY_VALID; k++)
            if (leat_carry_crosses(&all[k])) {
                info.crossings++;
                info.bytes += (int64_t)all[k].row_bytes * net->model->batch_size;
            }
        info.ends_simulated = net->parts[i].on->device->info.simulated != 0;
        info.simulated |= info.ends_simulated;
        if (info.ends_simulated && !info.simulated_layer) {
            info.simulated_layer = net->model->layers[net->parts[i].model.first].name;
            info.simulated_device = net->parts[i].on->device->info.name;
        }
        info.in_host_memory &= net->parts[i].on->table->host_memory;
    }
    return info;
}

const leat_backend leat_backend_partition = {
    .kind = "split",
    .open = leat_partition_open,
    .close = leat_partition_close,
    .step = partition_step,
    .sums = partition_sums,
    .read = partition_read,
    .values = partition_values,
    .write = partition_write,
    .blend = partition_blend,
    .swap = partition_swap,
    .memory = partition_memory,
    .updates = partition_updates,
    .set_updates = partition_set_updates,
    .graph_failure = partition_graph_failure,
};
