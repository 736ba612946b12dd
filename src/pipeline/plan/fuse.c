/* SPDX-License-Identifier: MIT
 *
 * fuse.c: finds ops of a chain that run as one step. A fused run never crosses a border of the chain: `cache`,
 * `unbatch`, or the device. Called when a plan is laid out, and by chain.c for each sample. */
#include "plan_impl.h"

int leat_fuse_ops(const leat_chain *chain, int32_t from, int32_t to,
                  leat_fused_op out[LEAT_FUSED_MAX])
{
    int n = 0;
    for (int32_t i = from; i < to && n < LEAT_FUSED_MAX; i++)
        out[n++] = (leat_fused_op){ chain->ops[i].op, chain->ops[i].options };
    return n;
}

void leat_fuse_chain(leat_chain *chain)
{
    leat_fused_op ops[LEAT_FUSED_MAX];
    const int32_t ends[] = { 0, chain->cache_at, chain->unbatch_at, chain->n_host,
                             chain->n_host + 2 * chain->decodes_on_device };
    for (int i = 0; i < 4 && !chain->fused; i++) {
        chain->fused_from = ends[i];
        chain->fused =
            leat_fused_find(ops, leat_fuse_ops(chain, ends[i], ends[i + 1], ops), &chain->n_fused);
    }
}
