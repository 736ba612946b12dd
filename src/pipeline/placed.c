/* SPDX-License-Identifier: MIT
 *
 * placed.c: `device: auto`: what was chosen for a device, and where it is kept.
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

/* --- open and close ---------------------------------------------------------------------------------- */

int leat_placed_open(leat_plan *plan, leat_error *err)
{
    leat_cost_range range = { .lowest = { 0 } };
    bool any = false;
    for (int32_t c = 0; c < plan->n_chains; c++) {
        range.lowest[c] = leat_placed_why_lowest(plan, c);
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

/* ", 75 % of the files decoded"; "" where it decodes none. */
static void say_decoding(const leat_split_costs *costs, const double *shares, char *text,
                         size_t size)
{
    text[0] = 0;
    for (int32_t c = 0; c < costs->n_chains; c++)
        if (shares[c] > 0)
            snprintf(text, size, ", %.0f %% of the files decoded", 100 * shares[c]);
}

/* Cuts a copy of the plan where the costs say. */
static void choose(const leat_plan *plan, const leat_loader_options *o,
                   const leat_budget_facts *facts, placed_entry *entry)
{
    const leat_split_costs *const costs = &entry->costs.split;
    leat_placement *const p = &entry->placement;
    int32_t chosen[LEAT_MAX_FEATURES], none[LEAT_MAX_FEATURES], n_host[LEAT_MAX_FEATURES];
    double shares[LEAT_MAX_FEATURES];
    char decoding[48];
    int n_moved = 0;
    leat_split_choose(costs, chosen);
    for (int32_t c = 0; c < costs->n_chains; c++) {
        none[c] = costs->chains[c].n - 1;
        n_host[c] = costs->chains[c].at[chosen[c]].n_host;
        shares[c] = costs->chains[c].at[chosen[c]].share;
        n_moved += plan->chains[c].n_host - n_host[c];
    }
    const double rate = leat_split_rate(costs, chosen).all;
    const double without = leat_split_rate(costs, none).all;
    say_decoding(costs, shares, decoding, sizeof decoding);
    entry->plan = leat_cost_cut(plan, n_host, shares);
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
                 "auto, measured: %d op%s on %s%s, %.0f samples/s by the model; %.0f with none",
                 n_moved, n_moved == 1 ? "" : "s", entry->device, decoding, rate, without);
    } else {
        snprintf(
            p->reason, sizeof p->reason,
            "auto, measured: on the CPU, %.0f samples/s by the model, and no cut has over %.0f "
            "%% more",
            without, 100 * LEAT_SPLIT_MARGIN);
    }
    leat_placed_why_list_choices(costs, chosen, p);
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
        entry->plan = leat_cost_cut(plan, n_host, NULL);
    if (!entry->plan)
        return LEAT_E_NOMEM;
    leat_placed_why_list_ops(plan, entry->plan, known ? &entry->costs : NULL, p);
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
    leat_placed_why_list_ops(plan, plan, NULL, out);
    return LEAT_OK;
}
