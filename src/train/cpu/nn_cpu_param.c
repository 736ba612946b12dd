/* SPDX-License-Identifier: MIT
 *
 * nn_cpu_param.c: parameters: their layout in the CPU backend and the plain one. See nn_cpu.h. */
#include <stdlib.h>

#include "nn_cpu.h"

static size_t index_of(int32_t layer, int32_t param)
{
    return (size_t)layer * LEAT_LAYER_MAX_PARAMS + (size_t)param;
}

leat_cpu_memory *leat_cpu_param_grad(leat_cpu_lane *lane, int32_t layer, int32_t param)
{
    return &lane->param_grads[index_of(layer, param)];
}

leat_cpu_param *leat_cpu_param_at(leat_net *net, int32_t layer, int32_t param)
{
    return &net->params[index_of(layer, param)];
}

/* Logical order as oneDNN has it, plain order as leat_param has it. */
static const leat_onednn_layout *plain_param(leat_onednn *dn, const leat_shape *shape)
{
    const int64_t *d = shape->dims;
    switch (shape->rank) {
    case 4:
        return leat_onednn_dense_layout(dn, LEAT_F32, 4, (int64_t[]){ d[3], d[2], d[0], d[1] },
                                        (int32_t[]){ 2, 3, 1, 0 });
    case 2:
        return leat_onednn_dense_layout(dn, LEAT_F32, 2, (int64_t[]){ d[1], d[0] },
                                        (int32_t[]){ 1, 0 });
    default:
        return leat_onednn_dense_layout(dn, LEAT_F32, 1, d, (int32_t[]){ 0 });
    }
}

static int copy_param(leat_net *net, const leat_onednn_layout *from, void *source,
                      const leat_onednn_layout *to, void *target, leat_error *err)
{
    leat_onednn_prim *prim = NULL;
    leat_cpu_memory scratch = { 0 };
    int rc = leat_onednn_reorder(net->lanes[0].dn, from, to, &prim, err);
    if (rc < 0)
        return rc;
    if (leat_onednn_wants(prim, LEAT_DN_SCRATCH)) {
        scratch.bytes = leat_onednn_layout_bytes(leat_onednn_wants(prim, LEAT_DN_SCRATCH));
        rc = leat_cpu_memory_allocate(&scratch, err);
    }
    if (rc == LEAT_OK && (rc = leat_onednn_bind(prim, LEAT_DN_SRC, source, err)) == LEAT_OK &&
        (rc = leat_onednn_bind(prim, LEAT_DN_DST, target, err)) == LEAT_OK &&
        (rc = leat_onednn_bind(prim, LEAT_DN_SCRATCH, scratch.data, err)) == LEAT_OK)
        rc = leat_onednn_run(prim, err);
    leat_onednn_free(&prim);
    free(scratch.data);
    return rc;
}

int leat_cpu_param_read(leat_net *net, int32_t layer, int32_t param, float *to, leat_error *err)
{
    leat_cpu_param *p = leat_cpu_param_at(net, layer, param);
    leat_onednn_enter(net->lanes[0].dn);
    const int rc = copy_param(net, p->layout, p->value.data, p->plain, to, err);
    leat_onednn_leave(net->lanes[0].dn);
    return rc;
}

int leat_cpu_param_write(leat_net *net, int32_t layer, int32_t param, const float *from,
                         leat_error *err)
{
    leat_cpu_param *p = leat_cpu_param_at(net, layer, param);
    leat_onednn_enter(net->lanes[0].dn);
    const int rc =
        copy_param(net, p->plain, (void *)(uintptr_t)from, p->layout, p->value.data, err);
    leat_onednn_leave(net->lanes[0].dn);
    return rc;
}

static int draw(leat_net *net, int32_t layer, int32_t param, leat_error *err)
{
    leat_cpu_param *p = leat_cpu_param_at(net, layer, param);
    const int64_t bytes = leat_shape_bytes(&net->model->layers[layer].params[param].shape);
    float *values = malloc((size_t)bytes);
    if (!values)
        return leat_cpu_no_memory(err, (size_t)bytes);
    leat_model_draw(net->model, layer, param, values);
    const int rc = copy_param(net, p->plain, values, p->layout, p->value.data, err);
    free(values);
    return rc;
}

static int place(leat_net *net, int32_t layer, int32_t param, const leat_onednn_layout *layout,
                 leat_error *err)
{
    leat_cpu_param *p = leat_cpu_param_at(net, layer, param);
    const leat_param *spec = &net->model->layers[layer].params[param];
    const int32_t n_states = spec->trained ? net->model->optimizer->n_states : 0;
    int rc;
    p->plain = plain_param(net->lanes[0].dn, &spec->shape);
    p->layout = layout ? layout : p->plain;
    if (!p->layout || !p->plain)
        return leat_cpu_no_memory(err, 0);
    p->value.bytes = (leat_onednn_layout_bytes(p->layout) + 63) / 64 * 64;
    p->n = p->value.bytes / sizeof(float);
    if ((rc = leat_cpu_memory_allocate(&p->value, err)) < 0)
        return rc;
    for (int32_t i = 0; i < n_states; i++) {
        p->states[i].bytes = p->value.bytes;
        if ((rc = leat_cpu_memory_allocate(&p->states[i], err)) < 0)
            return rc;
    }
    return draw(net, layer, param, err);
}

int leat_cpu_param_place(leat_cpu_lane *lane, int32_t layer, int32_t param,
                         const leat_onednn_layout *layout, leat_error *err)
{
    leat_cpu_param *p = leat_cpu_param_at(lane->net, layer, param);
    leat_cpu_memory *grad = leat_cpu_param_grad(lane, layer, param);
    const int rc = p->layout ? LEAT_OK : place(lane->net, layer, param, layout, err);
    if (rc < 0 || grad->data)
        return rc;
    grad->bytes = p->value.bytes;
    return leat_cpu_memory_allocate(grad, err);
}

void leat_cpu_param_free(leat_cpu_param *p)
{
    free(p->value.data);
    for (int i = 0; i < LEAT_OPTIMIZER_MAX_STATES; i++)
        free(p->states[i].data);
}
