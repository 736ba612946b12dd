/* SPDX-License-Identifier: MIT
 *
 * gpu_placement.c: `device: auto`: which ops of a plan run on a GPU, where the loader has one.
 *
 * DESIGN. The decision depends only on the plan. In each chain, the longest run of ops at the end runs on the
 * GPU if all of them have kernels and fixed input shapes. decode_jpeg's output has no fixed shape, so decoding
 * and the crop or resize after it stay on the CPU. Kernels give the CPU's results, so batches are the same.
 * The plan itself is laid out for the CPU; a copy with the ops of the GPU is made beside it. The copy borrows
 * what the plan owns, and lives as long. */
#include <stdlib.h>

#include "plan_impl.h"

static bool is_mixed(const leat_plan *plan, int32_t c)
{
    for (int32_t i = 0; i < plan->n_batch_ops; i++)
        if (plan->batch_ops[i].chain == c || plan->batch_ops[i].label == c)
            return true;
    return false;
}

/* Rows are read or changed in host memory: to be padded, masked, mixed, digested, or cut into parts. */
static bool stays(const leat_plan *plan, int32_t c)
{
    return plan->chains[c].pad.on || plan->on_error == LEAT_ON_ERROR_MASK || is_mixed(plan, c) ||
           plan->engine.digest || plan->unbatches;
}

static bool may_move(const leat_plan *plan, const leat_chain *chain, int32_t i)
{
    const leat_chain_op *const chain_op = &chain->ops[i];
    const leat_shape in = leat_plan_shape_before(plan, chain, i);
    return i >= chain->cache_at && chain_op->asked != LEAT_ASKED_CPU &&
           (chain_op->op->flags & LEAT_OP_KERNEL) &&
           leat_op_find(chain_op->op->name) == chain_op->op && leat_shape_bytes(&in) >= 0;
}

/* Number of ops of chain c that run on the CPU. */
static int32_t count_host_ops(const leat_plan *plan, int32_t c)
{
    int32_t n = plan->chains[c].n_host;
    while (n > 0 && !stays(plan, c) && may_move(plan, &plan->chains[c], n - 1))
        n--;
    return n;
}

int leat_gpu_placement_make(leat_plan *plan, leat_error *err)
{
    leat_plan *const copy = malloc(sizeof *copy);
    bool moves = false;
    if (!copy)
        return leat_fail(err, LEAT_E_NOMEM, "plan: %zu bytes", sizeof *copy);
    *copy = *plan;
    copy->whole = plan;
    for (int32_t c = 0; c < plan->n_chains; c++) {
        leat_chain *const chain = &copy->chains[c];
        chain->n_host = count_host_ops(plan, c);
        chain->host_shape = leat_plan_shape_before(plan, chain, chain->n_host);
        moves |= chain->n_host < plan->chains[c].n_host;
    }
    copy->on_device |= moves;
    /* If the GPU layout is too large, keep the CPU plan only. */
    if (moves && leat_plan_layout_make(copy, NULL, NULL) >= 0)
        plan->gpu = copy;
    else
        free(copy);
    return LEAT_OK;
}
