/* SPDX-License-Identifier: MIT
 *
 * cpu_inspect.c: no value that is not finite passes unseen: checks of the input, of convolutions, gradients and
 * updates, and the search for the first layer whose output is not finite, after a step whose loss is not. For that the
 * batch is run again, because tensors share memory and little of the first run is left. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/not_finite.h"
#include "net_cpu.h"

bool leat_cpu_loss_is_finite(const leat_net *net)
{
    for (int32_t i = 0; i < net->job.n_micro; i++)
        if (!isfinite(net->micro_sums[i].loss))
            return false;
    return true;
}

/* Of n elements of a tensor; 0 where they are whole numbers. */
static float largest(const leat_net *net, const void *x, leat_prim_type type, size_t n)
{
    return type == LEAT_PRIM_F32    ? net->loops->largest(x, n)
           : type == LEAT_PRIM_BF16 ? net->loops->largest_bf16(x, n)
                                    : 0;
}

void leat_cpu_inspect(const leat_cpu_call *call, int32_t i)
{
    leat_net *net = call->net;
    const leat_program_tensor *t = call->op->out[0] >= 0 ? call->out_spec[0] : NULL;
    const size_t n = t ? (size_t)(t->n * call->rows) : 0;
    if (i >= net->first_bad[call->micro] || i >= net->job.program->program->n_forward || !t)
        return;
    if (!isfinite(largest(net, call->out[0], t->type, n)))
        net->first_bad[call->micro] = i;
}

/* Of rows [first, first + n) of the batch that count. */
static bool rows_are_finite(const leat_net *net, int64_t first, int64_t n)
{
    const leat_net_rows *batch = net->job.batch;
    const size_t row = (size_t)leat_shape_elements(&net->model->input);
    const float *const x = batch->x.data;
    if (net->model->input.dtype != LEAT_F32)
        return true;
    if (!batch->valid)
        return isfinite(net->loops->largest(x + (size_t)first * row, (size_t)n * row));
    for (int64_t i = first; i < first + n; i++)
        if (batch->valid[i] && !isfinite(net->loops->largest(x + (size_t)i * row, row)))
            return false;
    return true;
}

static const char no_loss[] = "the loss is not a finite number";

static int say_input(const leat_net *net, leat_error *err)
{
    if (net->model->first)
        leat_fail(err, LEAT_E_DATA,
                  "%s, because the output of layer '%s' is not: look at that layer, at those "
                  "before it, and at the model's input",
                  no_loss, net->model->layers[net->model->first - 1].name);
    else
        leat_fail(err, LEAT_E_DATA, "%s, because the model's input is not", no_loss);
    return leat_not_finite(err, true, LEAT_E_DATA);
}

int leat_cpu_check_input(const leat_cpu_call *call)
{
    return rows_are_finite(call->net, call->first_row, call->rows)
               ? LEAT_OK
               : say_input(call->net, call->err);
}

static int say(const leat_net *net, int32_t first, leat_error *err)
{
    const leat_program *program = net->job.program->program;
    const int32_t layer = first < program->n_forward ? program->ops[first].layer : -1;
    if (layer < 0)
        leat_fail(err, LEAT_E_DATA, "%s, although the outputs of all layers are", no_loss);
    else
        leat_fail(err, LEAT_E_DATA, "%s: the first output that is not is that of layer '%s'",
                  no_loss, net->model->layers[layer].name);
    return leat_not_finite(err, true, LEAT_E_DATA);
}

/* --- what a finite loss does not show -------------------------------------------------------- */

/* The products of each sum, as if all had the same sign, stay this far below the largest float: fast convolutions
 * (Winograd's) add and subtract inputs first. */
static const double conv_limit = 1e36;

int leat_cpu_check_conv(const leat_cpu_call *call, const leat_cpu_pack *pack, const float *bias)
{
    const leat_net *net = call->net;
    const size_t n_out = (size_t)call->layer->out.dims[2];
    const double products = (double)net->model->params[pack->param].n / (double)n_out;
    const double x = (double)largest(net, call->in[0], call->in_spec[0]->type,
                                     (size_t)(call->in_spec[0]->n * call->rows));
    const double b = bias ? (double)net->loops->largest(bias, n_out) : 0;
    if (x * (double)pack->largest * products + b < conv_limit)
        return LEAT_OK;
    if (!isfinite(x))
        leat_fail(call->err, LEAT_E_DATA,
                  "its input is not a finite number: look at the layers before it");
    else
        leat_fail(call->err, LEAT_E_DATA,
                  "its output is not a finite number, or nearly so: the input reaches %.3g, the "
                  "weights %.3g, the bias %.3g",
                  x, (double)pack->largest, b);
    return leat_not_finite(call->err, true, LEAT_E_DATA);
}

static size_t bad_gradient(const leat_net *net)
{
    size_t at = SIZE_MAX;
    for (int32_t i = 0; i < net->team.n_at_work; i++)
        at = net->scratch[i].bad_gradient < at ? net->scratch[i].bad_gradient : at;
    return at;
}

bool leat_cpu_gradients_are_finite(const leat_net *net)
{
    return bad_gradient(net) == SIZE_MAX;
}

static const char *layer_of(const leat_net *net, int32_t param)
{
    return net->model->layers[net->model->params[param].layer].name;
}

static void say_gradient(const leat_net *net, size_t at, leat_error *err)
{
    int32_t param = 0;
    for (int32_t i = 0; i < net->model->n_params; i++)
        if (net->model->params[i].spec->trained && net->grad[i].at <= at &&
            at < net->grad[i].at + net->grad[i].n)
            param = i;
    leat_fail(err, LEAT_E_DATA, "the gradient of layer '%s' is not a finite number",
              layer_of(net, param));
}

/* A parameter that is not finite after the update, or its state; -1: all are. */
static int32_t bad_param(const leat_net *net)
{
    int32_t i = 0;
    while (i < net->team.n_at_work && net->scratch[i].bad_param < 0)
        i++;
    return i < net->team.n_at_work ? net->scratch[i].bad_param : -1;
}

int leat_cpu_check_update(const leat_net *net, leat_error *err)
{
    const size_t at = bad_gradient(net);
    const int32_t param = bad_param(net);
    if (net->bad_norm >= 0)
        leat_fail(err, LEAT_E_DATA,
                  "the variance of the values that layer '%s' reads is not a finite number",
                  net->model->layers[net->bad_norm].name);
    else if (at != SIZE_MAX)
        say_gradient(net, at, err);
    else if (param >= 0)
        leat_fail(err, LEAT_E_DATA,
                  "after the update a weight of layer '%s', or the optimizer's state of one, is "
                  "not a finite number",
                  layer_of(net, param));
    else
        return LEAT_OK;
    return leat_not_finite(err, true, LEAT_E_DATA);
}

int leat_cpu_find_bad(leat_net *net, leat_error *err)
{
    const int32_t n = net->job.n_micro, most = net->job.program->program->n_ops;
    int32_t first = most;
    free(net->first_bad);
    net->first_bad = malloc((size_t)n * sizeof *net->first_bad);
    if (!net->first_bad)
        return leat_cpu_no_memory(err, (size_t)n * sizeof *net->first_bad);
    for (int32_t i = 0; i < n; i++)
        net->first_bad[i] = most;
    net->job.inspect = true;
    net->job.overlaps = false;
    net->segment = 0;
    leat_cpu_team_run(&net->team, net->n_own);
    if (net->job.shared)
        leat_cpu_ranks_share(net, net->first_bad, sizeof *net->first_bad);
    if (net->failed < 0)
        return leat_fail_as(err, &net->error);
    for (int32_t i = 0; i < n; i++)
        first = net->first_bad[i] < first ? net->first_bad[i] : first;
    return say(net, first, err);
}
