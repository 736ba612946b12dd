/* SPDX-License-Identifier: MIT
 *
 * placed.c: `device: auto`: which ops may move to a device, what was chosen for it, and why.
 *
 * DESIGN. A plan is made without knowing on which device its loaders will be. What it can tell is which
 * ops might move: the last ones of a chain that are `auto`, as long as each has a kernel that gives
 * exactly what the CPU gives, so that batches are the same wherever the cut is. When a loader asks for
 * a device, the costs are measured once, a place is chosen for every chain, and a copy of the plan that
 * is cut there is kept beside the plan for all later loaders. The copy borrows what the plan owns. */
#include "placed.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget_impl.h"

const leat_costs *leat_placed_planted;

/* What was found for one kind of loader. [const once it is in the list] */
typedef struct placed_entry {
    struct placed_entry *next;
    char device[64];
    int64_t step_ns, hold;
    leat_plan *plan; /* a copy, its `placement` below */
    leat_costs costs;
    leat_placement placement;
} placed_entry;

struct leat_placed {
    pthread_mutex_t lock; /* guards `first` */
    placed_entry *first;
    leat_cost_range range; /* [const] */
};

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
    if (plan->chains[c].pad.on)
        return "its rows are padded, on the CPU";
    if (plan->chains[c].is_files)
        return "it comes before decode_jpeg on the GPU";
    if (is_mixed(plan, c))
        return "a map after batch works on the CPU";
    return NULL;
}

/* The same of link i, where those behind it could. Kernels give what apply gives, but not what decoders
 * give: these take bytes of no fixed size. */
static const char *why_stays(const leat_plan *plan, int32_t c, int32_t i)
{
    const leat_chain *const chain = &plan->chains[c];
    const leat_op *const op = chain->links[i].op;
    leat_shape at = plan->source->features[chain->feature].shape;
    const char *const why = why_chain_stays(plan, c);
    if (chain->links[i].asked == LEAT_ASKED_CPU)
        return "its map says device: cpu";
    if (why)
        return why;
    if (i < chain->cut)
        return "what it gives is kept by the cache";
    if (!(op->flags & LEAT_OP_KERNEL) || leat_op_find(op->name) != op)
        return "it has no kernel";
    for (int32_t k = 0; k < i; k++) {
        leat_shape to = at;
        chain->links[k].op->shape(chain->links[k].options, &at, &to, NULL); /* checked at open */
        at = to;
    }
    return leat_shape_bytes(&at) < 0 ? "the samples that it gets differ in size" : NULL;
}

static int32_t lowest_cut(const leat_plan *plan, int32_t c)
{
    int32_t n = plan->chains[c].n_host;
    while (n > 0 && !why_stays(plan, c, n - 1))
        n--;
    return n;
}

int leat_placed_open(leat_plan *plan, leat_error *err)
{
    leat_cost_range range = { .lowest = { 0 } };
    bool any = false;
    for (int32_t c = 0; c < plan->n_chains; c++) {
        range.lowest[c] = lowest_cut(plan, c);
        any |= range.lowest[c] < plan->chains[c].n_host;
    }
    if (!any)
        return LEAT_OK;
    plan->placed = calloc(1, sizeof *plan->placed);
    if (!plan->placed)
        return leat_fail(err, LEAT_E_NOMEM, "plan: %zu bytes", sizeof *plan->placed);
    pthread_mutex_init(&plan->placed->lock, NULL);
    plan->placed->range = range;
    return LEAT_OK;
}

static void close_entry(placed_entry *entry)
{
    if (entry)
        free(entry->plan);
    free(entry);
}

void leat_placed_close(struct leat_placed **out)
{
    struct leat_placed *const placed = *out;
    *out = NULL;
    if (!placed)
        return;
    for (placed_entry *entry = placed->first, *next; entry; entry = next) {
        next = entry->next;
        close_entry(entry);
    }
    pthread_mutex_destroy(&placed->lock);
    free(placed);
}

/* --- describing ------------------------------------------------------------------------------------- */

/* Why op i of a chain runs where it does. laid: the plan as it is run. */
static void explain(const leat_plan *plan, const leat_plan *laid, int32_t c, int32_t i,
                    const leat_placement *p, char *text, size_t size)
{
    const leat_chain *const chain = &plan->chains[c];
    const char *why = NULL;
    int32_t k = chain->n_host;
    if (i >= laid->chains[c].n_host) {
        snprintf(text, size, "%s",
                 chain->links[i].asked == LEAT_ASKED_GPU ? "its map says device: gpu"
                 : i >= chain->n_host                    ? "after a map with device: gpu"
                                                         : p->reason);
        return;
    }
    while (k > i && !why)
        why = why_stays(plan, c, --k);
    if (why && k > i)
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
    for (int32_t k = 0; k + 1 < chain->n; k++)
        if (chain->at[k].n_host == i && chain->at[k + 1].n_host == i + 1)
            return chain->at[k].device_ns - chain->at[k + 1].device_ns > 0
                       ? chain->at[k].device_ns - chain->at[k + 1].device_ns
                       : 0;
    return -1;
}

/* A line for every op. costs: NULL where nothing was measured. */
static void list_ops(const leat_plan *plan, const leat_plan *laid, const leat_costs *costs,
                     leat_placement *p)
{
    for (int32_t c = 0; c < plan->n_chains; c++)
        for (int32_t i = 0; i < plan->chains[c].n_links && p->n_ops < LEAT_MAX_PLACED; i++) {
            leat_op_placement *const one = &p->ops[p->n_ops++];
            *one = (leat_op_placement){ .op = plan->chains[c].links[i].op->name,
                                        .tensor = c,
                                        .link = i,
                                        .on_device = i >= laid->chains[c].n_host,
                                        .host_ns = costs ? costs->op_host_ns[c][i] : -1,
                                        .device_ns =
                                            costs ? device_ns_of(&costs->split.chains[c], i) : -1,
                                        .bytes = bytes_out(plan, c, i) };
            explain(plan, laid, c, i, p, one->reason, sizeof one->reason);
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

/* All that could have been chosen, chain by chain, with the others as they are. */
static void list_choices(const leat_split_costs *costs, const int32_t *chosen, leat_placement *p)
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
                                         .host_ns = r.host_ns,
                                         .bytes = r.bytes,
                                         .device_ns = r.device_ns,
                                         .host_per_s = r.host,
                                         .wire_per_s = r.wire,
                                         .device_per_s = r.device,
                                         .samples_per_s = r.all };
        }
        at[c] = chosen[c];
    }
}

/* --- choosing ---------------------------------------------------------------------------------------- */

/* Whether a plan that was cut can be opened: in the budget, and in the device's memory as it is now. */
static bool fits(const leat_plan *cut, const leat_loader_options *o, const leat_budget_facts *facts)
{
    const leat_device_table *const t = o->device->table;
    leat_budget *const budget = malloc(sizeof *budget);
    const bool within = budget && leat_budget_make(cut, facts, budget, NULL) >= 0;
    const double batches = (double)cut->prefetch + (double)facts->hold;
    size_t n_free = 0, total = 0;
    free(budget);
    if (!within || !t->memory_info || t->memory_info(o->device, &n_free, &total) < 0)
        return within;
    return (batches + 2) * (double)cut->buffer_bytes <= (double)n_free; /* 2: between its ops */
}

/* Cuts a copy of the plan where the costs say. */
static int choose(const leat_plan *plan, const leat_loader_options *o,
                  const leat_budget_facts *facts, placed_entry *entry)
{
    const leat_split_costs *const costs = &entry->costs.split;
    leat_placement *const p = &entry->placement;
    int32_t chosen[LEAT_MAX_FEATURES], none[LEAT_MAX_FEATURES], n_host[LEAT_MAX_FEATURES];
    int n_moved = 0;
    leat_split_choose(costs, chosen);
    for (int32_t c = 0; c < costs->n_chains; c++) {
        none[c] = costs->chains[c].n - 1;
        n_host[c] = costs->chains[c].at[chosen[c]].n_host;
        n_moved += plan->chains[c].n_host - n_host[c];
    }
    const double rate = leat_split_rate(costs, chosen).all;
    const double without = leat_split_rate(costs, none).all;
    entry->plan = leat_cost_cut(plan, n_host);
    if (n_moved && (!entry->plan || !fits(entry->plan, o, facts))) {
        snprintf(
            p->reason, sizeof p->reason,
            "auto: on the CPU, though by what was measured %d op%s would move: batches then do "
            "not fit in memory",
            n_moved, n_moved == 1 ? "" : "s");
        free(entry->plan);
        entry->plan = NULL;
        memcpy(chosen, none, sizeof chosen);
    } else if (n_moved) {
        snprintf(p->reason, sizeof p->reason,
                 "auto, measured: %d op%s on %s, %.0f samples/s by the model; %.0f with none",
                 n_moved, n_moved == 1 ? "" : "s", entry->device, rate, without);
    } else {
        snprintf(
            p->reason, sizeof p->reason,
            "auto, measured: on the CPU, %.0f samples/s by the model, and no cut has over %.0f "
            "%% more",
            without, 100 * LEAT_SPLIT_MARGIN);
    }
    list_choices(costs, chosen, p);
    return LEAT_OK;
}

/* Costs, measured or planted; false: there are none, and the placement says why. */
static bool find_costs(const leat_plan *plan, const leat_loader_options *o,
                       const leat_budget_facts *facts, placed_entry *entry)
{
    leat_error why = { .message = "" };
    leat_split_costs *const split = &entry->costs.split;
    leat_placement *const p = &entry->placement;
    if (leat_placed_planted) {
        entry->costs = *leat_placed_planted;
    } else if (!leat_look_may_run(plan)) {
        snprintf(p->reason, sizeof p->reason,
                 "auto: on the CPU: an op of the user's, or sleep, is not called to be timed");
        return false;
    } else if (leat_cost_measure(plan, o->device, &plan->placed->range, &entry->costs, &why) < 0) {
        snprintf(p->reason, sizeof p->reason,
                 "auto: on the CPU, as it could not be measured: %.90s", why.message);
        return false;
    } else {
        split->threads =
            plan->engine.threads < 0 ? (double)facts->machine.cores : (double)plan->engine.threads;
        split->step_ns = (double)o->step_ns / (double)leat_order_slot_rows(&plan->order);
    }
    p->measured = 1;
    p->took_ns = entry->costs.took_ns;
    p->threads = split->threads;
    p->step_ns = split->step_ns;
    p->wire_bytes_per_s = split->wire_ns > 0 ? 1e9 / split->wire_ns : 0;
    return true;
}

static int make_entry(const leat_plan *plan, const leat_loader_options *o, placed_entry *entry)
{
    leat_budget_facts facts;
    int32_t n_host[LEAT_MAX_FEATURES];
    leat_placement *const p = &entry->placement;
    leat_budget_look(o, &facts);
    snprintf(p->device, sizeof p->device, "%s", entry->device);
    const bool known = find_costs(plan, o, &facts, entry);
    if (known)
        choose(plan, o, &facts, entry);
    for (int32_t c = 0; c < plan->n_chains; c++)
        n_host[c] = plan->chains[c].n_host;
    if (!entry->plan)
        entry->plan = leat_cost_cut(plan, n_host);
    if (!entry->plan)
        return LEAT_E_NOMEM;
    list_ops(plan, entry->plan, known ? &entry->costs : NULL, p);
    entry->plan->placement = p;
    return LEAT_OK;
}

/* --- finding ---------------------------------------------------------------------------------------- */

static placed_entry *find_locked(const struct leat_placed *placed, const placed_entry *like)
{
    placed_entry *e = placed->first;
    while (e && (strcmp(e->device, like->device) || e->step_ns != like->step_ns ||
                 e->hold != like->hold))
        e = e->next;
    return e;
}

/* Puts an entry into the list, or, if another thread was faster, takes that one's instead. */
static placed_entry *publish(struct leat_placed *placed, placed_entry *entry)
{
    pthread_mutex_lock(&placed->lock);
    placed_entry *const there = find_locked(placed, entry);
    if (!there) {
        entry->next = placed->first;
        placed->first = entry;
    }
    pthread_mutex_unlock(&placed->lock);
    if (there)
        close_entry(entry);
    return there ? there : entry;
}

static bool can_move(const leat_plan *plan, const leat_device *device)
{
    return plan->placed && device && !device->table->host_memory && device->table->map_open;
}

int leat_placed_find(const leat_plan *plan, const leat_loader_options *options,
                     const leat_plan **out, leat_error *err)
{
    *out = plan;
    if (!options || !can_move(plan, options->device))
        return LEAT_OK;
    placed_entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return leat_fail(err, LEAT_E_NOMEM, "placement: %zu bytes", sizeof *entry);
    snprintf(entry->device, sizeof entry->device, "%s", options->device->info.name);
    entry->step_ns = options->step_ns;
    entry->hold = options->hold ? options->hold : 1;
    pthread_mutex_lock(&plan->placed->lock);
    placed_entry *const there = find_locked(plan->placed, entry);
    pthread_mutex_unlock(&plan->placed->lock);
    if (there) {
        close_entry(entry);
        entry = there;
    } else if (make_entry(plan, options, entry) < 0) {
        close_entry(entry);
        return leat_fail(err, LEAT_E_NOMEM, "placement: a copy of the plan");
    } else {
        entry = publish(plan->placed, entry);
    }
    *out = entry->plan;
    return LEAT_OK;
}

int leat_plan_placement(const leat_plan *plan, const leat_loader_options *options,
                        leat_placement *out, leat_error *err)
{
    const leat_device *const device = options ? options->device : NULL;
    const leat_plan *placed;
    const int rc = leat_placed_find(plan, options, &placed, err);
    memset(out, 0, sizeof *out);
    if (rc < 0)
        return rc;
    if (placed->placement) {
        *out = *placed->placement;
        return LEAT_OK;
    }
    if (device && !device->table->host_memory) {
        snprintf(out->device, sizeof out->device, "%s", device->info.name);
        if (!device->table->map_open)
            snprintf(out->reason, sizeof out->reason, "auto: on the CPU, as %s runs no ops",
                     device->info.name);
    } else {
        snprintf(out->reason, sizeof out->reason, "auto: on the CPU: batches stay in host memory");
    }
    list_ops(plan, plan, NULL, out);
    return LEAT_OK;
}
