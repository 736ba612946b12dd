/* SPDX-License-Identifier: MIT
 *
 * cpu_plan.c: compiles programs for a number of rows, and owns the packed copies of weights. See net_cpu.h. */
#include <stdlib.h>
#include <string.h>

#include "net_cpu.h"

int leat_cpu_no_memory(leat_error *err, size_t bytes)
{
    return leat_fail(err, LEAT_E_NOMEM,
                     "training: cannot allocate %zu bytes; make the model or the batch smaller",
                     bytes);
}

void *leat_cpu_alloc(size_t bytes, leat_error *err)
{
    bytes = (bytes + 63) / 64 * 64;
    void *memory = aligned_alloc(64, bytes ? bytes : 64);
    if (memory)
        memset(memory, 0, bytes);
    else
        leat_cpu_no_memory(err, bytes);
    return memory;
}

/* --- packed weights -------------------------------------------------------------------------- */

leat_cpu_pack *leat_cpu_pack_find(const leat_net *net, int32_t param, int32_t norm,
                                  const leat_dn_layout *layout)
{
    for (int32_t i = 0; i < net->n_packs; i++)
        if (net->packs[i].param == param && net->packs[i].norm == norm &&
            net->packs[i].layout == layout)
            return &net->packs[i];
    return NULL;
}

static int64_t groups_of(const leat_net *net, int32_t param)
{
    const leat_conv2d_options *o = net->model->layers[net->model->params[param].layer].options;
    return o->groups;
}

static void want_scratch(leat_net *net, size_t bytes)
{
    if (net->dn_bytes < bytes)
        net->dn_bytes = bytes;
}

void leat_cpu_pack_close(leat_cpu_pack *pack)
{
    leat_dn_primitive_close(&pack->copy);
    free(pack->data);
    free(pack->factor);
    free(pack->bias);
}

size_t leat_cpu_pack_bytes(const leat_net *net, const leat_cpu_pack *pack)
{
    return pack->layout ? leat_dn_ops->layout_bytes(pack->layout)
                        : net->model->params[pack->param].n * sizeof(uint16_t);
}

/* Of a convolution: what copies, and room for the batch_norm. */
static int pack_open_conv(leat_net *net, leat_cpu_pack *pack, leat_error *err)
{
    const leat_shape *shape = &net->model->params[pack->param].spec->shape;
    const size_t bytes = (size_t)shape->dims[3] * sizeof *pack->bias;
    const leat_dn_layout *plain =
        leat_dn_ops->layout_plain(net->dn, shape, groups_of(net, pack->param));
    if (!plain)
        return leat_cpu_no_memory(err, 0);
    const int rc = leat_dn_ops->copy_open(net->dn, plain, pack->layout, &pack->copy, err);
    if (rc < 0)
        return rc;
    want_scratch(net, leat_dn_ops->primitive_scratch(pack->copy));
    if (pack->norm >= 0 && (!(pack->factor = leat_cpu_alloc(bytes, err)) ||
                            !(pack->bias = leat_cpu_alloc(bytes, err))))
        return LEAT_E_NOMEM;
    return LEAT_OK;
}

/* Lists the copy of a parameter in a layout, if there is none yet. */
static int add_pack(leat_net *net, int32_t param, int32_t norm, const leat_dn_layout *layout,
                    leat_error *err)
{
    if (leat_cpu_pack_find(net, param, norm, layout))
        return LEAT_OK;
    leat_cpu_pack *packs = realloc(net->packs, (size_t)(net->n_packs + 1) * sizeof *packs);
    if (!packs)
        return leat_cpu_no_memory(err, sizeof *packs);
    net->packs = packs;
    leat_cpu_pack *pack = &packs[net->n_packs];
    *pack = (leat_cpu_pack){ .param = param, .norm = norm, .layout = layout };
    const int rc = layout ? pack_open_conv(net, pack, err) : LEAT_OK;
    if (rc < 0) {
        leat_cpu_pack_close(pack);
        return rc;
    }
    net->n_packs++;
    net->packs_stale = net->folds_stale = true;
    return LEAT_OK;
}

/* --- plans ----------------------------------------------------------------------------------- */

static leat_dn_pass pass_of(leat_prim prim)
{
    return prim == LEAT_PRIM_CONV             ? LEAT_DN_FORWARD
           : prim == LEAT_PRIM_CONV_GRAD_DATA ? LEAT_DN_GRAD_DATA
                                              : LEAT_DN_GRAD_WEIGHTS;
}

/* The layout in which a gradient is summed; the first plan decides it. */
static int place_grad(leat_net *net, int32_t param, const leat_dn_layout *layout, leat_error *err)
{
    leat_cpu_grad *grad = &net->grad[param];
    if (grad->layout)
        return LEAT_OK;
    const leat_dn_layout *plain = leat_dn_ops->layout_plain(
        net->dn, &net->model->params[param].spec->shape, groups_of(net, param));
    if (!plain)
        return leat_cpu_no_memory(err, 0);
    const int rc = leat_dn_ops->copy_open(net->dn, layout, plain, &grad->copy, err);
    if (rc < 0)
        return rc;
    grad->layout = layout;
    want_scratch(net, leat_dn_ops->primitive_scratch(grad->copy));
    return LEAT_OK;
}

static int make_conv(leat_net *net, const leat_prim_op *op, int64_t rows, leat_dn_primitive **out,
                     leat_error *err)
{
    const leat_model_layer *l = &net->model->layers[op->layer];
    const leat_conv2d_options *o = l->options;
    const leat_dn_pass pass = pass_of(op->prim);
    const int32_t param = l->first_param;
    if (pass == LEAT_DN_GRAD_WEIGHTS && !l->params[0].trained)
        return LEAT_OK; /* only the gradient of the bias is wanted */
    const leat_dn_conv_spec spec = {
        .pass = pass,
        .rows = rows,
        .in_channels = l->in.dims[2],
        .out_channels = l->out.dims[2],
        .groups = o->groups,
        .window = op->window,
        .bias = pass == LEAT_DN_GRAD_WEIGHTS ? o->bias && l->params[1].trained
                : pass == LEAT_DN_FORWARD    ? o->bias || op->norm >= 0
                                             : false,
        .relu = op->act == LEAT_ACT_relu,
        .bf16 = net->model->precision == LEAT_PRECISION_BF16,
        .weights = pass == LEAT_DN_GRAD_WEIGHTS ? net->grad[param].layout : NULL,
    };
    const int rc = leat_dn_ops->conv_open(net->dn, &spec, out, err);
    if (rc < 0)
        return leat_fail_in(err, rc, "%s: ", l->name);
    want_scratch(net, leat_dn_ops->primitive_scratch(*out));
    return pass == LEAT_DN_GRAD_WEIGHTS
               ? place_grad(net, param, leat_dn_ops->conv_weights_layout(*out), err)
               : add_pack(net, param, op->norm, leat_dn_ops->conv_weights_layout(*out), err);
}

/* A product of a dense layer in bfloat16; those in float32 need no plan. */
static int make_product(leat_net *net, const leat_prim_op *op, int64_t rows,
                        leat_dn_primitive **out, leat_error *err)
{
    const leat_model_layer *l = &net->model->layers[op->layer];
    const int64_t n_in = l->in.dims[0], n_out = l->out.dims[0];
    const leat_dn_product_spec spec =
        op->prim == LEAT_PRIM_DENSE ? (leat_dn_product_spec){ .m = rows, .n = n_out, .k = n_in }
        : op->prim == LEAT_PRIM_DENSE_GRAD_DATA
            ? (leat_dn_product_spec){ .transpose_b = true, .m = rows, .n = n_in, .k = n_out }
            : (leat_dn_product_spec){ .transpose_a = true, .m = n_in, .n = n_out, .k = rows };
    const int rc = leat_dn_ops->product_open(net->dn, &spec, out, err);
    if (rc < 0)
        return leat_fail_in(err, rc, "%s: ", l->name);
    want_scratch(net, leat_dn_ops->primitive_scratch(*out));
    return op->prim == LEAT_PRIM_DENSE_GRAD_WEIGHTS ? LEAT_OK
                                                    : add_pack(net, l->first_param, -1, NULL, err);
}

/* The oneDNN primitive of op i, and what its weights need. Other ops, and dense layers in float32, have none. */
static int make_primitive(leat_net *net, const leat_prim_op *op, int64_t rows, leat_cpu_plan *plan,
                          int32_t i, leat_error *err)
{
    switch (op->prim) {
    case LEAT_PRIM_CONV:
    case LEAT_PRIM_CONV_GRAD_DATA:
    case LEAT_PRIM_CONV_GRAD_WEIGHTS:
        return make_conv(net, op, rows, &plan->primitives[i], err);
    case LEAT_PRIM_DENSE:
    case LEAT_PRIM_DENSE_GRAD_DATA:
    case LEAT_PRIM_DENSE_GRAD_WEIGHTS:
        return net->model->precision == LEAT_PRECISION_BF16
                   ? make_product(net, op, rows, &plan->primitives[i], err)
                   : LEAT_OK;
    default:
        return LEAT_OK;
    }
}

static void plan_close(leat_cpu_plan *plan, int32_t n_ops)
{
    for (int32_t i = 0; plan->primitives && i < n_ops; i++)
        leat_dn_primitive_close(&plan->primitives[i]);
    free(plan->primitives);
    *plan = (leat_cpu_plan){ 0 };
}

static int plan_open(leat_net *net, const leat_program *program, int64_t rows, leat_cpu_plan *plan,
                     leat_error *err)
{
    plan->primitives = calloc((size_t)program->n_ops + 1, sizeof(leat_dn_primitive *));
    int rc = plan->primitives ? LEAT_OK : leat_cpu_no_memory(err, 0);
    for (int32_t i = 0; i < program->n_ops && rc == LEAT_OK; i++)
        rc = make_primitive(net, &program->ops[i], rows, plan, i, err);
    if (rc < 0)
        plan_close(plan, program->n_ops);
    else
        plan->rows = rows;
    return rc;
}

int leat_cpu_plan_memory(leat_net *net, leat_error *err)
{
    for (int32_t i = 0; i < net->n_packs && !net->counts; i++) {
        leat_cpu_pack *pack = &net->packs[i];
        if (!pack->data && !(pack->data = leat_cpu_alloc(leat_cpu_pack_bytes(net, pack), err)))
            return LEAT_E_NOMEM;
    }
    for (int32_t i = 0; i < net->team.n_threads && !net->counts; i++) {
        leat_cpu_scratch *scratch = &net->scratch[i];
        if (scratch->dn && scratch->dn_bytes >= net->dn_bytes)
            continue;
        free(scratch->dn);
        scratch->dn_bytes = net->dn_bytes;
        if (!(scratch->dn = leat_cpu_alloc(net->dn_bytes, err)))
            return LEAT_E_NOMEM;
    }
    return LEAT_OK;
}

int leat_cpu_plan_for(leat_net *net, leat_cpu_program *p, int64_t rows, leat_cpu_plan **out,
                      leat_error *err)
{
    leat_cpu_plan *plan = &p->plans[0];
    for (int i = 0; i < LEAT_CPU_MAX_PLANS; i++) {
        if (p->plans[i].rows == rows) {
            *out = &p->plans[i];
            p->plans[i].last_use = ++p->uses;
            return leat_cpu_plan_memory(net, err);
        }
        if (p->plans[i].last_use < plan->last_use)
            plan = &p->plans[i];
    }
    plan_close(plan, p->program->n_ops);
    int rc = plan_open(net, p->program, rows, plan, err);
    if (rc == LEAT_OK)
        rc = leat_cpu_plan_memory(net, err);
    plan->last_use = ++p->uses;
    *out = plan;
    return rc;
}

/* --- programs -------------------------------------------------------------------------------- */

static int find_segments(leat_cpu_program *p, leat_error *err)
{
    const leat_program *program = p->program;
    p->segments = calloc((size_t)program->n_ops + 2, sizeof *p->segments);
    if (!p->segments)
        return leat_cpu_no_memory(err, 0);
    p->segments[p->n_segments++] = (leat_cpu_segment){ 0, -1 };
    for (int32_t i = 0; i < program->n_ops; i++) {
        const bool meets = leat_cpu_prims[program->ops[i].prim]->combine;
        if (meets)
            p->segments[p->n_segments - 1].meets = i;
        else if (program->ops[i].prim == LEAT_PRIM_LOSS && !leat_model_ends(program->model))
            p->n_forward = p->n_segments;
        else
            continue;
        p->segments[p->n_segments++] = (leat_cpu_segment){ i, -1 };
    }
    p->n_forward = p->n_forward ? p->n_forward : p->n_segments;
    return LEAT_OK;
}

int leat_cpu_program_open(leat_net *net, leat_cpu_program *p, bool training, int64_t most_rows,
                          leat_error *err)
{
    int rc = leat_program_open(net->model, training, &p->program, err);
    p->most_rows = most_rows;
    if (rc == LEAT_OK && !training && net->model->precision == LEAT_PRECISION_BF16)
        leat_cpu_fold(p->program);
    if (rc == LEAT_OK && (rc = leat_program_place(p->program, most_rows, err)) == LEAT_OK)
        rc = find_segments(p, err);
    return rc;
}

void leat_cpu_program_close(leat_cpu_program *p)
{
    for (int i = 0; i < LEAT_CPU_MAX_PLANS && p->program; i++)
        plan_close(&p->plans[i], p->program->n_ops);
    leat_program_close(&p->program);
    free(p->segments);
}
