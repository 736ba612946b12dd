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
#include "text.h"

const leat_costs *leat_placed_planted;

/* What was measured on one device. [const once it is in the list] */
typedef struct placed_costs {
    struct placed_costs *next;
    char device[64];
    bool known;
    char why[160]; /* it is not */
    leat_costs costs;
} placed_costs;

struct leat_placed {
    pthread_mutex_t lock; /* guards both lists */
    leat_placed_entry *first;
    placed_costs *costs;
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

void leat_placed_close_entry(leat_placed_entry *entry)
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
    for (leat_placed_entry *entry = placed->first, *next; entry; entry = next) {
        next = entry->next;
        leat_placed_close_entry(entry);
    }
    for (placed_costs *costs = placed->costs, *next; costs; costs = next) {
        next = costs->next;
        free(costs);
    }
    pthread_mutex_destroy(&placed->lock);
    free(placed);
}

/* --- choosing ---------------------------------------------------------------------------------------- */

/* Whether a plan that was cut can be opened: in the budget, and in the device's memory as it is now. */
static bool fits(const leat_plan *cut, const leat_loader_options *o, size_t returned_bytes)
{
    const leat_device_table *const t = o->device->table;
    leat_budget *const budget = malloc(sizeof *budget);
    leat_budget_facts facts;
    leat_budget_look(o, &facts);
    const bool within = budget && leat_budget_make(cut, &facts, budget, NULL) >= 0;
    const double batches = (double)cut->prefetch + (double)facts.hold;
    size_t n_free = 0, total = 0;
    free(budget);
    if (!within || !t->memory_info || t->memory_info(o->device, &n_free, &total) < 0)
        return within;
    return (batches + 2) * (double)cut->buffer_bytes <= /* 2: between its ops */
           (double)n_free + (double)returned_bytes;
}

/* A copy of a plan whose stages have the plan's numbers. */
static leat_plan *copy_cut(const leat_plan *plan, const int32_t *n_host, const double *shares,
                           leat_placed_entry *entry)
{
    leat_plan *const copy = leat_cost_cut(plan, n_host, shares);
    if (copy) {
        copy->whole = plan;
        copy->entry = entry;
    }
    return copy;
}

bool leat_placed_cut(const leat_plan *plan, const leat_loader_options *options,
                     size_t returned_bytes, leat_placed_entry *entry)
{
    int32_t n_host[LEAT_MAX_FEATURES];
    double shares[LEAT_MAX_FEATURES];
    for (int32_t c = 0; c < plan->n_chains; c++) {
        const leat_split *const at = &entry->costs.split.chains[c].at[entry->chosen[c]];
        n_host[c] = at->n_host;
        shares[c] = at->share;
    }
    entry->plan = copy_cut(plan, n_host, shares, entry);
    if (entry->plan && fits(entry->plan, options, returned_bytes))
        return true;
    free(entry->plan);
    entry->plan = NULL;
    return false;
}

void leat_placed_list(const leat_plan *plan, leat_placed_entry *entry)
{
    const leat_costs *const costs = entry->known ? &entry->costs : NULL;
    leat_placement *const p = &entry->placement;
    snprintf(p->device, sizeof p->device, "%s", entry->device);
    if (costs) {
        p->measured = 1;
        p->took_ns = costs->took_ns;
        p->threads = costs->split.threads;
        p->step_ns = costs->split.step_ns;
        p->wire_bytes_per_s = costs->split.wire_ns > 0 ? 1e9 / costs->split.wire_ns : 0;
        leat_placed_why_list_choices(&costs->split, entry->chosen, p);
    }
    leat_placed_why_list_ops(plan, entry->plan, costs, p);
}

/* ", 75 % of the files decoded"; "" where it decodes none. */
static void say_decoding(const leat_split_costs *costs, const int32_t *chosen, char *text,
                         size_t size)
{
    text[0] = 0;
    for (int32_t c = 0; c < costs->n_chains; c++)
        if (costs->chains[c].at[chosen[c]].share > 0)
            leat_text(text, size, ", %.0f %% of the files decoded",
                      100 * costs->chains[c].at[chosen[c]].share);
}

/* Whether any chain has more than the one place that it has anyway. */
static bool has_choice(const leat_split_costs *costs)
{
    for (int32_t c = 0; c < costs->n_chains; c++)
        if (costs->chains[c].n > 1)
            return true;
    return false;
}

/* Cuts a copy of the plan where the costs say. */
static void choose(const leat_plan *plan, const leat_loader_options *o, leat_placed_entry *entry)
{
    const leat_split_costs *const costs = &entry->costs.split;
    leat_placement *const p = &entry->placement;
    int32_t none[LEAT_MAX_FEATURES] = { 0 };
    char decoding[48];
    int n_moved = 0;
    leat_split_choose(costs, entry->chosen);
    for (int32_t c = 0; c < costs->n_chains; c++) {
        none[c] = costs->chains[c].n - 1;
        n_moved += plan->chains[c].n_host - costs->chains[c].at[entry->chosen[c]].n_host;
    }
    const double rate = leat_split_rate(costs, entry->chosen).all;
    const double without = leat_split_rate(costs, none).all;
    say_decoding(costs, entry->chosen, decoding, sizeof decoding);
    if (n_moved && !leat_placed_cut(plan, o, 0, entry)) {
        snprintf(
            p->reason, sizeof p->reason,
            "auto: on the CPU, though by what was measured %d op%s would move: batches then do "
            "not fit in memory",
            n_moved, n_moved == 1 ? "" : "s");
        memcpy(entry->chosen, none, sizeof none);
    } else if (n_moved) {
        leat_text(p->reason, sizeof p->reason,
                  "auto, measured: %d op%s on %s%s, %.0f samples/s by the model; %.0f with none",
                  n_moved, n_moved == 1 ? "" : "s", entry->device, decoding, rate, without);
    } else if (!has_choice(costs)) {
        snprintf(p->reason, sizeof p->reason,
                 "auto: on the CPU: no other place could be timed before the time for it was over");
    } else {
        leat_text(
            p->reason, sizeof p->reason,
            "auto, measured: on the CPU, %.0f samples/s by the model, and no cut has over %.0f "
            "%% more",
            without, 100 * LEAT_SPLIT_MARGIN);
    }
}

/* Measures on a device, or says why not. */
static void measure(const leat_plan *plan, leat_device *device, placed_costs *out)
{
    leat_error why = { .message = "" };
    snprintf(out->device, sizeof out->device, "%s", device->info.name);
    if (!leat_look_may_run(plan))
        snprintf(out->why, sizeof out->why,
                 "auto: on the CPU: an op of the user's, or sleep, is not called to be timed");
    else if (leat_cost_measure(plan, device, &plan->placed->range, &out->costs, &why) < 0)
        snprintf(out->why, sizeof out->why, "auto: on the CPU, as it could not be measured: %.90s",
                 why.message);
    else
        out->known = true;
}

static placed_costs *find_costs_locked(const struct leat_placed *placed, const char *device)
{
    placed_costs *c = placed->costs;
    while (c && strcmp(c->device, device))
        c = c->next;
    return c;
}

/* What was measured on a device, by whoever came first; NULL: there is no memory. */
static const placed_costs *costs_of(const leat_plan *plan, leat_device *device)
{
    struct leat_placed *const placed = plan->placed;
    pthread_mutex_lock(&placed->lock);
    placed_costs *there = find_costs_locked(placed, device->info.name);
    pthread_mutex_unlock(&placed->lock);
    placed_costs *const own = there ? NULL : calloc(1, sizeof *own);
    if (!own)
        return there;
    measure(plan, device, own);
    pthread_mutex_lock(&placed->lock);
    there = find_costs_locked(placed, device->info.name);
    if (!there) {
        own->next = placed->costs;
        placed->costs = own;
    }
    pthread_mutex_unlock(&placed->lock);
    if (there)
        free(own);
    return there ? there : own;
}

/* Costs, measured or planted; where there are none the placement says why. */
static int find_costs(const leat_plan *plan, const leat_loader_options *o, leat_placed_entry *entry)
{
    leat_budget_facts facts;
    entry->known = true;
    if (leat_placed_planted) {
        entry->costs = *leat_placed_planted;
        return LEAT_OK;
    }
    const placed_costs *const found = costs_of(plan, o->device);
    if (!found)
        return LEAT_E_NOMEM;
    entry->known = found->known;
    entry->costs = found->costs;
    memcpy(entry->placement.reason, found->why, sizeof found->why);
    leat_budget_look(o, &facts);
    entry->costs.split.threads =
        plan->engine.threads < 0 ? (double)facts.machine.cores : (double)plan->engine.threads;
    entry->costs.split.step_ns = (double)o->step_ns / (double)leat_order_slot_rows(&plan->order);
    return LEAT_OK;
}

static int make_entry(const leat_plan *plan, const leat_loader_options *o, leat_placed_entry *entry)
{
    int32_t n_host[LEAT_MAX_FEATURES];
    if (find_costs(plan, o, entry) < 0)
        return LEAT_E_NOMEM;
    if (entry->known)
        choose(plan, o, entry);
    for (int32_t c = 0; c < plan->n_chains; c++)
        n_host[c] = plan->chains[c].n_host;
    if (!entry->plan)
        entry->plan = copy_cut(plan, n_host, NULL, entry);
    if (!entry->plan)
        return LEAT_E_NOMEM;
    leat_placed_list(plan, entry);
    return LEAT_OK;
}

/* --- finding ---------------------------------------------------------------------------------------- */

static leat_placed_entry *find_locked(const struct leat_placed *placed,
                                      const leat_placed_entry *like)
{
    leat_placed_entry *e = placed->first;
    while (e && (strcmp(e->device, like->device) || e->step_ns != like->step_ns ||
                 e->hold != like->hold))
        e = e->next;
    return e;
}

/* Puts an entry into the list, or, if another thread was faster, takes that one's instead. */
static leat_placed_entry *publish(struct leat_placed *placed, leat_placed_entry *entry)
{
    pthread_mutex_lock(&placed->lock);
    leat_placed_entry *const there = find_locked(placed, entry);
    if (!there) {
        entry->next = placed->first;
        placed->first = entry;
    }
    pthread_mutex_unlock(&placed->lock);
    if (there)
        leat_placed_close_entry(entry);
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
    leat_placed_entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return leat_fail(err, LEAT_E_NOMEM, "placement: %zu bytes", sizeof *entry);
    snprintf(entry->device, sizeof entry->device, "%s", options->device->info.name);
    entry->step_ns = options->step_ns;
    entry->hold = options->hold ? options->hold : 1;
    pthread_mutex_lock(&plan->placed->lock);
    leat_placed_entry *const there = find_locked(plan->placed, entry);
    pthread_mutex_unlock(&plan->placed->lock);
    if (there) {
        leat_placed_close_entry(entry);
        entry = there;
    } else if (make_entry(plan, options, entry) < 0) {
        leat_placed_close_entry(entry);
        return leat_fail(err, LEAT_E_NOMEM, "placement: a copy of the plan");
    } else {
        entry = publish(plan->placed, entry);
    }
    *out = entry->plan;
    return LEAT_OK;
}

void leat_placed_describe(const leat_plan *plan, const leat_device *device, leat_placement *out)
{
    memset(out, 0, sizeof *out);
    if (device && !device->table->host_memory) {
        snprintf(out->device, sizeof out->device, "%s", device->info.name);
        if (!device->table->map_open)
            snprintf(out->reason, sizeof out->reason, "auto: on the CPU, as %s runs no ops",
                     device->info.name);
    } else {
        snprintf(out->reason, sizeof out->reason, "auto: on the CPU: batches stay in host memory");
    }
    leat_placed_why_list_ops(plan, plan, NULL, out);
}

int leat_plan_placement(const leat_plan *plan, const leat_loader_options *options,
                        leat_placement *out, leat_error *err)
{
    const leat_plan *placed;
    const int rc = leat_placed_find(plan, options, &placed, err);
    memset(out, 0, sizeof *out);
    if (rc < 0)
        return rc;
    if (placed->entry)
        *out = placed->entry->placement;
    else
        leat_placed_describe(plan, options ? options->device : NULL, out);
    return LEAT_OK;
}
