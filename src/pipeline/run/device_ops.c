/* SPDX-License-Identifier: MIT
 *
 * device_ops.c: tells the device at open which ops of the plan it runs, and with which shapes.
 * upload.c calls it. */
#include <stdlib.h>

#include "engine.h"

/* Describes one op for its kernel. *shape: in: the op's input; out: its output. */
static int describe(const leat_chain_op *chain_op, leat_shape *shape, leat_device_op *out,
                    leat_error *err)
{
    *out = (leat_device_op){ .name = chain_op->op->name, .in = *shape };
    const int rc = chain_op->op->shape(chain_op->options, &out->in, &out->out, err);
    if (rc >= 0 && chain_op->op->constants)
        chain_op->op->constants(chain_op->options, &out->in, &out->constants);
    *shape = out->out;
    return rc;
}

/* Describes the ops of a chain that the device runs; ops has room for LEAT_MAX_CHAIN. */
static int describe_chain(const leat_chain *chain, leat_device_op *ops, int32_t *n, leat_error *err)
{
    const leat_chain_op *const decode = &chain->ops[chain->n_host];
    leat_shape shape = chain->host_shape;
    int rc = LEAT_OK;
    *n = 0;
    if (chain->decodes_on_device)
        rc = decode->op->shape(decode->options, &chain->host_shape, &shape, err);
    for (int32_t i = leat_chain_first_kernel(chain); i < chain->n_ops && rc >= 0; i++)
        rc = describe(&chain->ops[i], &shape, &ops[(*n)++], err);
    return rc;
}

/* Describes all chains of the plan; ops has room for LEAT_MAX_CHAIN per chain. */
static int describe_all(const leat_plan *plan, leat_device_op *ops, leat_device_chain *chains,
                        int32_t *n_chains, leat_error *err)
{
    int rc = LEAT_OK;
    *n_chains = 0;
    for (int32_t c = 0; c < plan->n_chains && rc >= 0; c++) {
        const leat_chain *const chain = &plan->chains[c];
        int32_t n;
        rc = describe_chain(chain, ops, &n, err);
        if (n)
            chains[(*n_chains)++] =
                (leat_device_chain){ .ops = ops,
                                     .n_ops = n,
                                     .files = chain->decodes_on_device ? &chain->files : NULL,
                                     .from = chain->host_offset,
                                     .draws = chain->draws_offset,
                                     .to = chain->offset };
        ops += n;
    }
    return rc;
}

int leat_device_ops_open(leat_loader *loader, leat_error *err)
{
    const leat_plan *const plan = loader->plan;
    const leat_device_table *const t = loader->device->table;
    leat_device_chain chains[LEAT_MAX_FEATURES];
    leat_device_ops_spec spec = { .chains = chains,
                                  .rows = (int64_t)leat_order_most_rows(&plan->order),
                                  .buffer_bytes = plan->buffer_bytes,
                                  .n_buffers = loader->n_buffers };
    leat_device_cache_rows rows = { .index = plan->index_offset };
    if (!plan->on_device)
        return LEAT_OK;
    leat_device_op *const ops = calloc((size_t)plan->n_chains * LEAT_MAX_CHAIN, sizeof *ops);
    if (!ops)
        return leat_fail(err, LEAT_E_NOMEM, "ops of the device");
    int rc;
    if ((rc = describe_all(plan, ops, chains, &spec.n_chains, err)) < 0)
        goto end;
    if (plan->caches_on_device) {
        if ((rc = leat_device_cache_open(&loader->device_cache, plan, loader->device, err)) < 0)
            goto end;
        rows.tensors = loader->device_cache->tensors;
        rows.n_tensors = loader->device_cache->n_tensors;
        spec.device_cache = &rows;
        for (int i = 0; i <= loader->n_threads; i++)
            loader->workers[i].device_cache = loader->device_cache;
    }
    if ((rc = t->ops_open(loader->device, &spec, &loader->ops, err)) >= 0)
        rc = t->stream_open(loader->device, &loader->ops_stream, err);
end:
    free(ops);
    return rc;
}

void leat_device_ops_close(leat_loader *loader)
{
    const leat_device_table *const t = loader->device->table;
    if (loader->ops_stream)
        t->stream_close(loader->ops_stream);
    if (loader->ops)
        t->ops_close(loader->ops);
    leat_device_cache_close(&loader->device_cache, loader->device);
}
