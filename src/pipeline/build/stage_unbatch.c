/* SPDX-License-Identifier: MIT
 *
 * stage_unbatch.c: the stage `unbatch`: a record whose tensors have m rows each becomes m samples. Position p
 * is part p mod m of record p / m (order.c). sample.c runs the ops before it once per record. */
#include "stage.h"

#define PARTS_MAX (1 << 24)

static const leat_option table[] = { LEAT_OPTION_END };

static int fail_rows(const leat_plan *plan, int32_t c, const leat_node *where, leat_error *err)
{
    char text[96];
    const leat_chain *const chain = &plan->chains[c];
    leat_shape_text(&chain->shape, text, sizeof text);
    if (chain->shape.rank < 1 || chain->shape.dims[0] == LEAT_UNKNOWN_DIM)
        return leat_node_fail(
            where, err, LEAT_E_CONFIG,
            "unbatch needs tensors with a known first dimension, the same for all; '%s' is %s",
            plan->source->features[c].name, text);
    return leat_node_fail(where, err, LEAT_E_CONFIG,
                          "unbatch splits the first dimension of all tensors: it must be from 1 to "
                          "%d, the same for all; '%s' is %s, '%s' has %lld",
                          PARTS_MAX, plan->source->features[c].name, text,
                          plan->source->features[0].name, (long long)plan->chains[0].shape.dims[0]);
}

static int add_unbatch(leat_build *build, const void *options, const leat_node *where,
                       leat_error *err)
{
    leat_plan *const plan = build->plan;
    (void)options;
    if (build->unbatch)
        return leat_stage_fail_second(build->unbatch, where, "unbatch", err);
    if (build->batch)
        return leat_node_fail(where, err, LEAT_E_CONFIG,
                              "unbatch makes samples of records: put it before batch");
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const leat_shape *const shape = &plan->chains[c].shape;
        if (plan->chains[c].n_host < plan->chains[c].n_ops)
            return leat_node_fail(where, err, LEAT_E_UNSUPPORTED,
                                  "unbatch works on the host, and '%s' has a map with device: gpu "
                                  "before it: write device: cpu",
                                  plan->source->features[c].name);
        if (shape->rank < 1 || shape->dims[0] < 1 || shape->dims[0] > PARTS_MAX ||
            shape->dims[0] != plan->chains[0].shape.dims[0])
            return fail_rows(plan, c, where, err);
    }
    build->unbatch = where;
    plan->unbatches = true;
    leat_order_unbatch(&plan->order, (uint64_t)plan->chains[0].shape.dims[0]);
    for (int32_t c = 0; c < plan->n_chains; c++) {
        plan->chains[c].unbatch_at = plan->chains[c].n_ops;
        plan->chains[c].shape = leat_shape_part(&plan->chains[c].shape);
        plan->chains[c].host_shape = plan->chains[c].shape;
    }
    return LEAT_OK;
}

const leat_stage_table leat_stage_unbatch = {
    { "unbatch", "make one sample of each row of a record's tensors", table },
    sizeof(int),
    add_unbatch,
    0
};
