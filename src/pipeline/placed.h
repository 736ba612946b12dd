/* SPDX-License-Identifier: MIT
 *
 * placed.h: plans cut for a device: what `device: auto` comes to. */
#ifndef LEAT_PLACED_H
#define LEAT_PLACED_H

#include "cost.h"
#include "plan_impl.h"

/* Looks whether any op of a plan that is laid out may move; plan->placed stays NULL if none may. */
int leat_placed_open(leat_plan *plan, leat_error *err);
void leat_placed_close(struct leat_placed **placed);

/* The plan that a loader with these options runs: *out is the plan itself, or a copy whose chains are cut
 * for the device, which lives as long as the plan. Measures at the first call for a device. What goes
 * wrong there is no error: then nothing moves, and the placement says why. */
int leat_placed_find(const leat_plan *plan, const leat_loader_options *options,
                     const leat_plan **out, leat_error *err);

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
