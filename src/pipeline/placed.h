/* SPDX-License-Identifier: MIT
 *
 * placed.h: plans cut for a device: what `device: auto` comes to. */
#ifndef LEAT_PLACED_H
#define LEAT_PLACED_H

#include "budget_impl.h"
#include "cost.h"
#include "leat/placement.h"
#include "plan_impl.h"

/* A plan that is cut for a device. [const once a loader has it] */
typedef struct leat_placed_entry {
    struct leat_placed_entry *next;
    char device[64];
    int64_t step_ns, hold;
    leat_plan *plan;                   /* a copy, whose `entry` this is */
    bool known;                        /* there were costs, … */
    leat_costs costs;                  /* … these, … */
    int32_t chosen[LEAT_MAX_FEATURES]; /* … and each chain is cut at this one of its places */
    leat_placement placement;
} leat_placed_entry;

/* Looks whether any op of a plan that is laid out may move; plan->placed stays NULL if none may. */
int leat_placed_open(leat_plan *plan, leat_error *err);
void leat_placed_close(struct leat_placed **placed);

/* The plan that a loader with these options runs: *out is the plan itself, or a copy whose chains are cut
 * for the device, which lives as long as the plan. Measures at the first call for a device. What goes
 * wrong there is no error: then nothing moves, and the placement says why. */
int leat_placed_find(const leat_plan *plan, const leat_loader_options *options,
                     const leat_plan **out, leat_error *err);

/* A copy for costs->split, cut at entry->chosen, into entry->plan. returned_bytes: of the device's memory,
 * that come free before it is opened. False: it does not fit, or there is no memory. */
bool leat_placed_cut(const leat_plan *plan, const leat_loader_options *options,
                     size_t returned_bytes, leat_placed_entry *entry);
/* Fills in what the placement says of ops and choices. plan: the one that entry->plan is a copy of. */
void leat_placed_list(const leat_plan *plan, leat_placed_entry *entry);
/* Where the ops of a plan run that was not cut. */
void leat_placed_describe(const leat_plan *plan, const leat_device *device, leat_placement *out);
void leat_placed_close_entry(leat_placed_entry *entry);

/* --- placed_again.c -------------------------------------------------------------------------------- */
/* What a loader has learned, that runs. */
typedef struct leat_placed_ask {
    const leat_plan *plan; /* not cut */
    const leat_loader_options *options;
    const leat_placed_entry *now; /* what it runs */
    double step_ns;               /* what its consumer's step took of a sample */
    int64_t epoch;                /* that begins */
    int32_t n_changed;            /* times that it has changed already */
    size_t returned_bytes;        /* as above */
} leat_placed_ask;

/* A better cut, for the caller to close; NULL: it stays as it is. */
leat_placed_entry *leat_placed_again(const leat_placed_ask *ask);

/* --- placed_why.c ---------------------------------------------------------------------------------- */
/* Chain c may be cut before its links from this one on. */
int32_t leat_placed_why_lowest(const leat_plan *plan, int32_t c);
/* Adds a line for every op to *p. laid: the plan as it is run. costs: NULL where nothing was measured. */
void leat_placed_why_list_ops(const leat_plan *plan, const leat_plan *laid, const leat_costs *costs,
                              leat_placement *p);
/* Adds all that could have been chosen, chain by chain, with the others as they are. */
void leat_placed_why_list_choices(const leat_split_costs *costs, const int32_t *chosen,
                                  leat_placement *p);

/* For tests: costs to be taken instead of measuring; their chains must be those that may move. NULL:
 * none. */
extern const leat_costs *leat_placed_planted;

#endif
