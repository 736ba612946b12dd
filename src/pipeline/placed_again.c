/* SPDX-License-Identifier: MIT
 *
 * placed_again.c: where the ops of a running loader should go, now that it is known what a step takes.
 *
 * DESIGN. What a step was seen to take may hold work of the ops that the device does now: they share it.
 * How much, nobody can tell. So the step by itself takes between all of what was seen and that less the
 * ops' time, and only a cut that is better by the margin at both ends is taken. A cut that made its own
 * measure look bad would else be left and come back to, epoch after epoch. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "placed.h"
#include "text.h"

/* By less than this nothing is changed: the work that was done ahead is lost, and costs are estimates. */
#define MARGIN 0.05

static double rate_at(const leat_split_costs *costs, double step_ns, const int32_t *chosen)
{
    leat_split_costs at = *costs;
    at.step_ns = step_ns;
    return leat_split_rate(&at, chosen).all;
}

static bool is_better(const leat_split_costs *costs, double step_ns, const int32_t *now,
                      const int32_t *then)
{
    return rate_at(costs, step_ns, then) > (1 + MARGIN) * rate_at(costs, step_ns, now);
}

/* The step's least and most time, by what was seen while the chains were cut as they are now. */
static void bound(const leat_placed_ask *ask, double ns[2])
{
    const double ops = leat_split_rate(&ask->now->costs.split, ask->now->chosen).device_ns;
    ns[0] = ask->step_ns > ops ? ask->step_ns - ops : 0;
    ns[1] = ask->step_ns;
}

/* Only places where the device decodes as many files as it does now: it does not quite give the CPU's
 * pixels, and a run's are not to change. */
static void keep_shares(const leat_placed_ask *ask, leat_split_costs *costs)
{
    for (int32_t c = 0; c < costs->n_chains; c++) {
        leat_split_chain *const chain = &costs->chains[c];
        const double share = chain->at[ask->now->chosen[c]].share;
        for (int32_t k = 0; k < chain->n; k++)
            if (chain->at[k].share < share || chain->at[k].share > share)
                chain->at[k].host_ns = INFINITY;
    }
}

/* Fills entry->chosen with what is better at both ends; false: nothing is. The costs are then those of the
 * end at which it was found. */
static bool find(const leat_placed_ask *ask, leat_placed_entry *entry)
{
    leat_split_costs *const costs = &entry->costs.split;
    leat_split_costs allowed = *costs;
    double ns[2];
    bound(ask, ns);
    keep_shares(ask, &allowed);
    for (int i = 0; i < 2; i++) {
        allowed.step_ns = costs->step_ns = ns[i];
        leat_split_choose(&allowed, entry->chosen);
        if (is_better(costs, ns[0], ask->now->chosen, entry->chosen) &&
            is_better(costs, ns[1], ask->now->chosen, entry->chosen))
            return true;
    }
    return false;
}

static void say_why(const leat_placed_ask *ask, leat_placed_entry *entry)
{
    const leat_split_costs *const costs = &entry->costs.split;
    leat_placement *const p = &entry->placement;
    char where[80] = "on the CPU";
    int n_moved = 0;
    for (int32_t c = 0; c < ask->plan->n_chains; c++)
        n_moved += ask->plan->chains[c].n_host - entry->plan->chains[c].n_host;
    if (n_moved)
        snprintf(where, sizeof where, "%d op%s on %s", n_moved, n_moved == 1 ? "" : "s",
                 entry->device);
    leat_text(
        p->reason, sizeof p->reason,
        "auto, chosen again at epoch %lld, as a step took %.4g us a sample: %s, %.0f samples/s "
        "by the model; %.0f as it was",
        (long long)ask->epoch, ask->step_ns / 1e3, where, leat_split_rate(costs, entry->chosen).all,
        leat_split_rate(costs, ask->now->chosen).all);
    p->n_again = ask->n_changed + 1;
    p->epoch = ask->epoch;
}

leat_placed_entry *leat_placed_again(const leat_placed_ask *ask)
{
    leat_placed_entry *const entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    memcpy(entry->device, ask->now->device, sizeof entry->device);
    entry->known = true;
    entry->costs = ask->now->costs;
    if (!find(ask, entry) ||
        !leat_placed_cut(ask->plan, ask->options, ask->returned_bytes, entry)) {
        leat_placed_close_entry(entry);
        return NULL;
    }
    say_why(ask, entry);
    leat_placed_list(ask->plan, entry);
    return entry;
}
