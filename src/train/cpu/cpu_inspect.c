/* SPDX-License-Identifier: MIT
 *
 * cpu_inspect.c: finds the first layer whose output is not finite, after a step whose loss is not finite.
 * The batch is run again, because tensors share memory and little of the first run is left. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net_cpu.h"

bool leat_cpu_loss_is_finite(const leat_net *net)
{
    for (int32_t i = 0; i < net->job.n_shards; i++)
        if (!isfinite(net->shard_sums[i].loss))
            return false;
    return true;
}

static bool floats_are_finite(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

/* All bits of the exponent are set: infinite or no number. */
static bool halves_are_finite(const uint16_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((x[i] & 0x7F80) == 0x7F80)
            return false;
    return true;
}

void leat_cpu_inspect(const leat_cpu_call *call, int32_t i)
{
    leat_net *net = call->net;
    const leat_program_tensor *t = call->op->out[0] >= 0 ? call->out_spec[0] : NULL;
    const size_t n = t ? (size_t)(t->n * call->rows) : 0;
    if (i >= net->first_bad[call->shard] || i >= net->job.program->program->n_forward || !t)
        return;
    if ((t->type == LEAT_PRIM_F32 && !floats_are_finite(call->out[0], n)) ||
        (t->type == LEAT_PRIM_BF16 && !halves_are_finite(call->out[0], n)))
        net->first_bad[call->shard] = i;
}

static bool input_is_finite(const leat_net *net)
{
    const leat_net_rows *batch = net->job.batch;
    const size_t row = (size_t)leat_shape_elements(&net->model->input);
    for (int64_t i = 0; net->model->input.dtype == LEAT_F32 && i < batch->rows; i++)
        if ((!batch->valid || batch->valid[i]) &&
            !floats_are_finite((const float *)batch->x.data + (size_t)i * row, row))
            return false;
    return true;
}

static int say(const leat_net *net, int32_t first, leat_error *err)
{
    static const char text[] = "the loss is not a finite number";
    const leat_program *program = net->job.program->program;
    const int32_t layer = first < program->n_forward ? program->ops[first].layer : -1;
    if (!input_is_finite(net) && net->model->first)
        return leat_fail(err, LEAT_E_DATA,
                         "%s, because the output of layer '%s' is not: look at that layer, at "
                         "those before it, and at the model's input",
                         text, net->model->layers[net->model->first - 1].name);
    if (!input_is_finite(net))
        return leat_fail(err, LEAT_E_DATA, "%s, because the model's input is not", text);
    if (layer < 0)
        return leat_fail(err, LEAT_E_DATA, "%s, although the outputs of all layers are", text);
    return leat_fail(err, LEAT_E_DATA, "%s: the first output that is not is that of layer '%s'",
                     text, net->model->layers[layer].name);
}

int leat_cpu_find_bad(leat_net *net, leat_error *err)
{
    const int32_t n = net->job.n_shards, most = net->job.program->program->n_ops;
    int32_t first = most;
    free(net->first_bad);
    net->first_bad = malloc((size_t)n * sizeof *net->first_bad);
    if (!net->first_bad)
        return leat_cpu_no_memory(err, (size_t)n * sizeof *net->first_bad);
    for (int32_t i = 0; i < n; i++)
        net->first_bad[i] = most;
    net->job.inspect = true;
    net->segment = 0;
    leat_cpu_team_run(&net->team, n);
    for (int32_t i = 0; i < n; i++)
        first = net->first_bad[i] < first ? net->first_bad[i] : first;
    return say(net, first, err);
}
