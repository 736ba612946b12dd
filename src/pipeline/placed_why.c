/* SPDX-License-Identifier: MIT
 *
 * placed_why.c: which ops may move to a device, and what stays where and why: a line per op, and what was
 * chosen from. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "device_decode.h"
#include "placed.h"

/* --- what may move ---------------------------------------------------------------------------------- */

static bool is_mixed(const leat_plan *plan, int32_t c)
{
    for (int32_t i = 0; i < plan->n_batch_links; i++)
        if (plan->batch_links[i].chain == c || plan->batch_links[i].label == c)
            return true;
    return false;
}

/* Why no op of a chain may move; NULL: some may. */
static const char *why_chain_stays(const leat_plan *plan, int32_t c)
{
    if (plan->on_error == LEAT_ON_ERROR_MASK)
        return "on_error: mask leaves rows of zeros, which a device would change";
    if (plan->engine.digest)
        return "engine.digest reads batches in host memory";
    if (plan->unbatches)
        return "with unbatch nothing is moved";
    if (plan->has_files) /* which cut would be best there is not measured */
        return "where the device decodes files nothing is moved";
    if (plan->chains[c].pad.on)
        return "its rows are padded, on the CPU";
    if (is_mixed(plan, c))
        return "a map after batch works on the CPU";
    return NULL;
}

/* Link i decodes files, and the device may do that, with the link behind it. */
static bool may_decode(const leat_plan *plan, const leat_chain *chain, int32_t i)
{
    if (i < chain->cut || i + 1 >= chain->n_host || chain->links[i].asked == LEAT_ASKED_CPU ||
        !leat_device_decode_may(&chain->links[i]) ||
        !(chain->links[i + 1].op->flags & LEAT_OP_KERNEL))
        return false;
    const leat_shape row = leat_plan_shape_before(plan, chain, i + 2);
    return leat_shape_bytes(&row) >= 0;
}

/* Why link i, which decodes files, stays by what it was told. */
static const char *why_decoding_stays(const leat_chain *chain, int32_t i)
{
    const leat_link *const link = &chain->links[i];
    if (!leat_device_decode_is(link->op) || leat_device_decode_may(link))
        return NULL;
    return leat_device_decode_is_exact(link)
               ? "the device's pixels would differ a little; exact: false allows that"
               : "the device has no lenient decoding, and no channels: 0";
}

/* Why link i stays, whose samples come in sizes of their own. */
static const char *why_sizes_stay(const leat_plan *plan, const leat_chain *chain, int32_t i)
{
    return i > 0 && may_decode(plan, chain, i - 1) ? NULL
                                                   : "the samples that it gets differ in size";
}

/* The same of link i, where those behind it could. Kernels give what apply gives; decoding on the device
 * does not quite. */
static const char *why_stays(const leat_plan *plan, int32_t c, int32_t i)
{
    const leat_chain *const chain = &plan->chains[c];
    const leat_op *const op = chain->links[i].op;
    const char *const why = why_chain_stays(plan, c);
    if (chain->links[i].asked == LEAT_ASKED_CPU)
        return "its map says device: cpu";
    if (why)
        return why;
    if (i < chain->cut)
        return "what it gives is kept by the cache";
    if (may_decode(plan, chain, i))
        return NULL;
    if (why_decoding_stays(chain, i))
        return why_decoding_stays(chain, i);
    if (!(op->flags & LEAT_OP_KERNEL) || leat_op_find(op->name) != op)
        return "it has no kernel";
    const leat_shape at = leat_plan_shape_before(plan, chain, i);
    return leat_shape_bytes(&at) < 0 ? why_sizes_stay(plan, chain, i) : NULL;
}

int32_t leat_placed_why_lowest(const leat_plan *plan, int32_t c)
{
    int32_t n = plan->chains[c].n_host;
    while (n > 0 && !why_stays(plan, c, n - 1))
        n--;
    return n;
}

/* --- describing ------------------------------------------------------------------------------------- */

/* Op i decodes files, or gets what they were decoded to. */
static bool is_of_files(const leat_plan *plan, const leat_chain *chain, int32_t i)
{
    const leat_shape at = leat_plan_shape_before(plan, chain, i);
    return leat_device_decode_is(chain->links[i].op) || leat_shape_bytes(&at) < 0;
}

/* Why op i of a chain runs where it does. laid: the plan as it is run. */
static void explain(const leat_plan *plan, const leat_plan *laid, int32_t c, int32_t i,
                    const leat_costs *costs, const leat_placement *p, char *text, size_t size)
{
    const leat_chain *const chain = &plan->chains[c];
    const char *why = why_decoding_stays(chain, i);
    int32_t k = chain->n_host;
    if (chain->links[i].asked == LEAT_ASKED_CPU) {
        snprintf(text, size, "its map says device: cpu");
        return;
    }
    /* Where no device could run it, what it would be there is beside the point. */
    if (laid == plan && p->reason[0] && is_of_files(plan, chain, i)) {
        snprintf(text, size, "%s", p->reason);
        return;
    }
    if (i >= laid->chains[c].n_host) {
        snprintf(text, size, "%s",
                 chain->links[i].asked == LEAT_ASKED_GPU ? "its map says device: gpu"
                 : i >= chain->n_host && plan->keeps     ? "after cache: device"
                 : i >= chain->n_host                    ? "after a map with device: gpu"
                                                         : p->reason);
        return;
    }
    if (costs && costs->no_decoding[0] && may_decode(plan, chain, i)) {
        snprintf(text, size, "%s", costs->no_decoding);
        return;
    }
    while (k > i && !why)
        why = why_stays(plan, c, --k);
    if (why && k > i && k < chain->n_host)
        snprintf(text, size, "%s after it stays on the CPU: %s", chain->links[k].op->name, why);
    else
        snprintf(text, size, "%s", why ? why : p->reason);
}

static int64_t bytes_out(const leat_plan *plan, int32_t c, int32_t i)
{
    leat_link_info link;
    return leat_plan_link(plan, c, i, &link) < 0 ? -1 : leat_shape_bytes(&link.shape);
}

/* Device time of op i by itself: what its cut adds to the next one's. -1: one of them is not known. */
static double device_ns_of(const leat_split_chain *chain, int32_t i)
{
    const leat_split *const all = &chain->at[0];
    if (all->share > 0 && all[1].share > 0 && all->n_host == i) /* with the op behind it */
        return fmax(0, all->decoder_ns + all->device_ns - all[LEAT_SPLIT_SHARES].device_ns);
    for (int32_t k = 0; k + 1 < chain->n; k++)
        if (chain->at[k].n_host == i && chain->at[k + 1].n_host == i + 1)
            return chain->at[k].device_ns - chain->at[k + 1].device_ns > 0
                       ? chain->at[k].device_ns - chain->at[k + 1].device_ns
                       : 0;
    return -1;
}

/* Of the rows, where op i of a chain is done by the device. */
static double share_of(const leat_chain *laid, int32_t i)
{
    if (i < laid->n_host)
        return 0;
    return laid->is_files && i < laid->n_host + 2 ? leat_device_decode_share(laid) : 1;
}

void leat_placed_why_list_ops(const leat_plan *plan, const leat_plan *laid, const leat_costs *costs,
                              leat_placement *p)
{
    for (int32_t c = 0; c < plan->n_chains; c++)
        for (int32_t i = 0; i < plan->chains[c].n_links && p->n_ops < LEAT_MAX_PLACED; i++) {
            leat_op_placement *const one = &p->ops[p->n_ops++];
            *one = (leat_op_placement){ .op = plan->chains[c].links[i].op->name,
                                        .tensor = c,
                                        .link = i,
                                        .on_device = i >= laid->chains[c].n_host,
                                        .share = share_of(&laid->chains[c], i),
                                        .host_ns = costs ? costs->op_host_ns[c][i] : -1,
                                        .device_ns =
                                            costs ? device_ns_of(&costs->split.chains[c], i) : -1,
                                        .bytes = bytes_out(plan, c, i) };
            explain(plan, laid, c, i, costs, p, one->reason, sizeof one->reason);
        }
    for (int32_t i = 0; i < plan->n_batch_links && p->n_ops < LEAT_MAX_PLACED; i++) {
        const leat_batch_link *const link = &plan->batch_links[i];
        leat_op_placement *const one = &p->ops[p->n_ops++];
        *one = (leat_op_placement){ .op = link->op->kind.name,
                                    .tensor = link->chain,
                                    .link = -1,
                                    .host_ns = -1,
                                    .device_ns = -1,
                                    .bytes = (int64_t)plan->chains[link->chain].row_bytes };
        snprintf(one->reason, sizeof one->reason, "a map after batch works on the CPU");
    }
}

void leat_placed_why_list_choices(const leat_split_costs *costs, const int32_t *chosen,
                                  leat_placement *p)
{
    int32_t at[LEAT_MAX_FEATURES];
    memcpy(at, chosen, (size_t)costs->n_chains * sizeof *at);
    for (int32_t c = 0; c < costs->n_chains; c++) {
        if (costs->chains[c].n < 2)
            continue;
        for (at[c] = 0; at[c] < costs->chains[c].n && p->n_choices < LEAT_MAX_CHOICES; at[c]++) {
            const leat_split_rates r = leat_split_rate(costs, at);
            p->choices[p->n_choices++] =
                (leat_placement_choice){ .tensor = c,
                                         .link = costs->chains[c].at[at[c]].n_host,
                                         .chosen = at[c] == chosen[c],
                                         .share = costs->chains[c].at[at[c]].share,
                                         .host_ns = r.host_ns,
                                         .bytes = r.bytes,
                                         .device_ns = r.device_ns,
                                         .decoder_ns = r.decoder_ns,
                                         .host_per_s = r.host,
                                         .wire_per_s = r.wire,
                                         .device_per_s = r.device,
                                         .decoder_per_s = r.decoder,
                                         .samples_per_s = r.all };
        }
        at[c] = chosen[c];
    }
}
