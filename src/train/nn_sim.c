/* SPDX-License-Identifier: MIT
 *
 * nn_sim.c: training on the simulated accelerator: every layer is kernels of known work, nothing is
 * computed. Forward, loss, backward (gradient of the data where it is needed, then of the weights)
 * and one update kernel per layer with parameters. */
#include <math.h>
#include <stdlib.h>

#include "device/device_sim.h"
#include "nn.h"

struct leat_net {
    const leat_model *model;
    uint64_t samples; /* since the sums were last reset */
    int64_t updates;
};

static int sim_open(const leat_model *model, leat_device *device, leat_net **out, leat_error *err)
{
    (void)device;
    *out = calloc(1, sizeof **out);
    if (!*out)
        return leat_fail(err, LEAT_E_NOMEM, "training: %zu bytes", sizeof **out);
    (*out)->model = model;
    return LEAT_OK;
}

static void sim_close(leat_net *net)
{
    free(net);
}

static int launch(leat_stream *stream, leat_cost cost)
{
    return cost.flops > 0 || cost.bytes > 0 ? leat_device_sim_kernel(stream, cost.flops, cost.bytes)
                                            : LEAT_OK;
}

static leat_layer_cost cost_of(const leat_model *model, int32_t i, int64_t rows)
{
    const leat_model_layer *l = &model->layers[i];
    leat_layer_cost cost;
    leat_layer_cost_of(l, rows, &cost);
    return cost;
}

static int forward(const leat_model *model, leat_stream *stream, int64_t rows)
{
    int rc = LEAT_OK;
    for (int32_t i = model->first; i < model->end && rc == LEAT_OK; i++)
        rc = launch(stream, cost_of(model, i, rows).forward);
    return rc;
}

/* Reads logits and writes their gradient. */
static int loss(const leat_model *model, leat_stream *stream, int64_t rows)
{
    const double bytes = leat_layer_bytes(&model->layers[model->n_layers - 1].out, rows);
    return leat_device_sim_kernel(stream, 2 * bytes, 2 * bytes);
}

static int backward(const leat_model *model, leat_stream *stream, int64_t rows)
{
    int rc = LEAT_OK;
    for (int32_t i = model->end - 1; i >= model->first && rc == LEAT_OK; i--) {
        const leat_layer_cost cost = cost_of(model, i, rows);
        rc = launch(stream, cost.backward_weights);
        if (rc == LEAT_OK && leat_model_takes_backward_data(model, i))
            rc = launch(stream, cost.backward_data);
    }
    return rc;
}

static int update(const leat_model *model, leat_stream *stream)
{
    const double bytes_each = 4.0 * (3 + 2 * model->optimizer->n_states);
    int rc = LEAT_OK;
    for (int32_t i = model->first; i < model->end && rc == LEAT_OK; i++) {
        const leat_model_layer *l = &model->layers[i];
        double n = 0;
        for (int32_t k = 0; k < l->n_params; k++)
            n += l->params[k].trained ? (double)leat_shape_elements(&l->params[k].shape) : 0;
        rc = launch(stream, (leat_cost){ n * model->optimizer->flops, n * bytes_each });
    }
    return rc;
}

static int sim_step(leat_net *net, leat_stream *stream, const leat_net_rows *batch,
                    const leat_net_step *how, leat_step_times *times, leat_error *err)
{
    const leat_sim_work before = leat_device_sim_work(stream);
    const int64_t rows = batch->rows;
    const bool goes_back = how->train && how->phase != LEAT_NET_FORWARD;
    int rc = how->phase == LEAT_NET_BACKWARD ? LEAT_OK : forward(net->model, stream, rows);
    if (rc == LEAT_OK && leat_model_ends(net->model))
        rc = loss(net->model, stream, rows);
    if (rc == LEAT_OK && goes_back && (rc = backward(net->model, stream, rows)) == LEAT_OK &&
        how->last)
        rc = update(net->model, stream);
    if (rc < 0)
        return leat_fail(err, rc, "sim: cannot enqueue a step: %s", leat_code_text(rc));
    const leat_sim_work after = leat_device_sim_work(stream);
    times->busy_ns = after.work_ns - before.work_ns;
    times->launches = times->kernels = after.n_launches - before.n_launches;
    times->launch_ns = after.launch_ns - before.launch_ns;
    net->samples += (uint64_t)batch->n_valid;
    net->updates += goes_back && how->last;
    return LEAT_OK;
}

static int sim_sums(leat_net *net, bool anew, leat_net_sums *out, leat_error *err)
{
    (void)err;
    *out = (leat_net_sums){ net->samples, NAN, NAN };
    if (anew)
        net->samples = 0;
    return LEAT_OK;
}

static int no_weights(leat_error *err)
{
    return leat_fail(
        err, LEAT_E_UNSUPPORTED,
        "a simulated device computes nothing, so it has no weights to save or restore");
}

static int sim_read(leat_net *net, int32_t layer, int32_t param, leat_param_values which, float *to,
                    leat_error *err)
{
    (void)net;
    (void)layer;
    (void)param;
    (void)which;
    (void)to;
    return no_weights(err);
}

static int sim_write(leat_net *net, int32_t layer, int32_t param, leat_param_values which,
                     const float *from, leat_error *err)
{
    (void)from;
    return sim_read(net, layer, param, which, NULL, err);
}

/* There are no weights to average: a run with averages is simulated without them. */
static int sim_blend(leat_net *net, leat_param_values to, leat_param_values from, double share,
                     leat_error *err)
{
    (void)net;
    (void)to;
    (void)from;
    (void)share;
    (void)err;
    return LEAT_OK;
}

static int sim_swap(leat_net *net, leat_param_values a, leat_param_values b, leat_error *err)
{
    return sim_blend(net, a, b, 1, err);
}

static int64_t sim_updates(const leat_net *net)
{
    return net->updates;
}

static void sim_set_updates(leat_net *net, int64_t n)
{
    net->updates = n;
}

const leat_backend leat_backend_sim = {
    .kind = "sim",
    .open = sim_open,
    .close = sim_close,
    .step = sim_step,
    .sums = sim_sums,
    .read = sim_read,
    .write = sim_write,
    .blend = sim_blend,
    .swap = sim_swap,
    .updates = sim_updates,
    .set_updates = sim_set_updates,
};
