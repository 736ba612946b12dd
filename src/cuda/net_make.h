/* SPDX-License-Identifier: MIT
 *
 * net_make.h: makes the calls of one primitive of prim.h: a row of functions each. net_plan.c calls them, op by op.
 * net_make.c has what kernels of ours do, net_make_layers.c layers that the libraries may do. */
#ifndef LEAT_NET_MAKE_H
#define LEAT_NET_MAKE_H

#include "net_cuda.h"

/* What is being compiled. */
typedef struct leat_net_maker {
    leat_net *net;
    leat_net_program *p;
    leat_net_plan *plan;
    const leat_prim_op *op;
    const leat_model_layer *layer; /* NULL where op->layer is -1 */
    leat_error *err;
} leat_net_maker;

/* Parameters of layers, in the order of leat_layer.params. */
enum { LEAT_WEIGHT, LEAT_BIAS };
enum { LEAT_SCALE, LEAT_SHIFT, LEAT_MEAN, LEAT_VARIANCE };

static inline const leat_program_tensor *leat_net_make_tensor(const leat_net_maker *m, int32_t t)
{
    return &m->p->program->tensors[t];
}

static inline void *leat_net_make_address(const leat_net_maker *m, int32_t t)
{
    return leat_net_address(m->net, m->p, t);
}

static inline int32_t leat_net_make_channels_of(const leat_shape *shape)
{
    return (int32_t)shape->dims[shape->rank - 1];
}

static inline float *leat_net_make_weight_of(const leat_net_maker *m, int32_t k)
{
    const leat_model_param *const p = &m->net->model->params[m->layer->first_param + k];
    return m->net->arenas[LEAT_VALUES_WEIGHT] + p->at;
}

/* Where the gradient of parameter k of the layer goes; NULL: it is not trained. */
static inline float *leat_net_make_grad_of(const leat_net_maker *m, int32_t k)
{
    const leat_model_param *const p = &m->net->model->params[m->layer->first_param + k];
    return k < m->layer->n_params && m->layer->params[k].trained ? m->net->grads + p->at : NULL;
}

/* What libraries read as the weight: the packed copy, or the arena. */
static inline const void *leat_net_make_copy_of(const leat_net_maker *m, int32_t k)
{
    const leat_train_pack *const p = leat_net_pack_of(m->net, m->layer->first_param + k);
    return p ? m->net->copies + p->at : (void *)leat_net_make_weight_of(m, k);
}

/* Elements of tensor t, of all rows of the plan. */
static inline int64_t leat_net_make_n_elements(const leat_net_maker *m, int32_t t)
{
    return leat_net_make_tensor(m, t)->n * m->plan->rows;
}

static inline int64_t leat_net_make_eights(int64_t n)
{
    return (n + LEAT_EIGHT - 1) / LEAT_EIGHT;
}

/* A kernel call with everything that the op says. NULL: no memory. */
leat_net_call *leat_net_make_add(const leat_net_maker *m, leat_net_kernel kernel, int64_t n);
/* Sums over pixels per channel: two calls, with the arguments of `like`. */
int leat_net_make_add_sums(const leat_net_maker *m, const leat_train_args *like, int32_t mode);
int leat_net_make_bias_grad(const leat_net_maker *m);

/* A row of the table of primitives: what an op of a program becomes. */
typedef struct leat_net_prim {
    int (*make)(const leat_net_maker *m);
    /* What the library compiles for it, to be built with others ahead; false: nothing. */
    bool (*ahead)(const leat_net_maker *m, leat_gpu_lib_spec *spec);
    /* Pairs of floats that it needs in leat_net.fixed, for an input of this many rows; NULL: none. */
    int64_t (*n_fixed)(const leat_program_tensor *in, int64_t rows);
} leat_net_prim;

/* Each row is in the file that has its functions. */
#define LEAT_NET_PRIM_DECLARE(NAME, name, in_place) extern const leat_net_prim leat_net_prim_##name;
LEAT_PRIM_LIST(LEAT_NET_PRIM_DECLARE)
#undef LEAT_NET_PRIM_DECLARE
extern const leat_net_prim *const leat_net_prims[LEAT_N_PRIMS]; /* net_plan.c */

#endif
