/* SPDX-License-Identifier: MIT
 *
 * cpu_fold.c: in evaluation in bfloat16 a batch_norm is part of the convolution before it. See net_cpu.h.
 *
 * DESIGN. Running statistics do not change between updates, so batch_norm is then a factor and an addend per
 * channel, f x + a. Where nothing else reads the convolution's output, its weights are multiplied by f and its bias
 * becomes f bias + a. Both are made anew for the first evaluation after a training step; training never sees them.
 * It saves a pass over the images with two conversions. In float32 the pass costs less than bias and relu cost in
 * oneDNN's convolution (Zen 5, oneDNN 2.6), so there layers stay apart. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net_cpu.h"

enum { WEIGHT, BIAS };
enum { SCALE, SHIFT, MEAN, VARIANCE };

/* --- the program ----------------------------------------------------------------------------- */

static int32_t count_readers(const leat_program *p, int32_t tensor)
{
    int32_t n = p->logits == tensor;
    for (int32_t i = 0; i < p->n_ops; i++)
        for (int k = 0; k < LEAT_PRIM_MAX_IN; k++)
            n += p->ops[i].in[k] == tensor;
    return n;
}

/* The convolution whose output only op `norm` reads, and that has folded no other; NULL: there is none. Behind flatten, which
 * is no op, each pixel has channels of its own. */
static leat_prim_op *conv_before(const leat_program *p, const leat_prim_op *norm)
{
    for (leat_prim_op *op = p->ops; op < norm; op++)
        if (op->out[0] == norm->in[0])
            return op->prim == LEAT_PRIM_CONV && op->act == LEAT_ACT_NONE && op->norm < 0 &&
                           p->model->layers[norm->layer].in.rank == 3 &&
                           count_readers(p, norm->in[0]) == 1
                       ? op
                       : NULL;
    return NULL;
}

static void remove_op(leat_program *p, leat_prim_op *op)
{
    p->n_ops--;
    p->n_forward--;
    memmove(op, op + 1, (size_t)(p->ops + p->n_ops - op) * sizeof *op);
}

/* The convolution computes relu, too; another activation stays as an op of its own. */
static void fold(leat_program *p, leat_prim_op *conv, leat_prim_op *norm)
{
    conv->norm = norm->layer;
    if (norm->act == LEAT_ACT_NONE || norm->act == LEAT_ACT_relu) {
        conv->act = norm->act;
        conv->out[0] = norm->out[0];
        remove_op(p, norm);
    } else {
        norm->prim = LEAT_PRIM_ACT;
    }
}

void leat_cpu_fold(leat_program *p)
{
    for (int32_t i = 0; i < p->n_ops; i++) {
        leat_prim_op *norm = &p->ops[i];
        leat_prim_op *conv = norm->prim == LEAT_PRIM_NORM_FIXED ? conv_before(p, norm) : NULL;
        if (conv) {
            fold(p, conv, norm);
            i--;
        }
    }
}

/* --- its weights ----------------------------------------------------------------------------- */

static const float *values_of(const leat_net *net, const leat_model_layer *l, int32_t k)
{
    return net->arenas[LEAT_VALUES_WEIGHT] + net->model->params[l->first_param + k].at;
}

void leat_cpu_fold_weights(const leat_net *net, const leat_cpu_pack *pack, float *weights)
{
    const leat_model_layer *conv = &net->model->layers[net->model->params[pack->param].layer];
    const leat_model_layer *norm = &net->model->layers[pack->norm];
    const leat_batch_norm_options *o = norm->options;
    const size_t n_out = (size_t)conv->out.dims[2], n = net->model->params[pack->param].n;
    const float *from = values_of(net, conv, WEIGHT);
    float *factor = pack->factor;
    for (size_t c = 0; c < n_out; c++) {
        const double f = (double)values_of(net, norm, SCALE)[c] /
                         sqrt((double)values_of(net, norm, VARIANCE)[c] + (double)o->epsilon);
        const double bias = conv->n_params > 1 ? (double)values_of(net, conv, BIAS)[c] : 0;
        factor[c] = (float)f;
        pack->bias[c] = (float)((bias - (double)values_of(net, norm, MEAN)[c]) * f +
                                (double)values_of(net, norm, SHIFT)[c]);
    }
    for (size_t i = 0; i < n; i += n_out)
        for (size_t c = 0; c < n_out; c++)
            weights[i + c] = from[i + c] * factor[c];
}
