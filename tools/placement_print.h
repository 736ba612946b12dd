/* SPDX-License-Identifier: MIT
 *
 * placement_print.h: prints where ops run, and what `device: auto` chose from. */
#ifndef LEAT_PLACEMENT_PRINT_H
#define LEAT_PLACEMENT_PRINT_H

#include "command.h"
#include "json.h"
#include "leat/placement.h"

#define LEAT_ROW_LOG_PLACEMENT(s)                                                                  \
    LEAT_OPTION_BOOL(                                                                              \
        s, log_placement, "false",                                                                 \
        "print a line per op: stage, op, device, and why it runs there, with what was "            \
        "measured")

/* The placement that a loader with these options has; free(). NULL: *err says why. */
leat_placement *leat_placement_print_find(const leat_plan *plan, const leat_loader_options *options,
                                          leat_error *err);

/* A line per op. */
void leat_placement_print_ops(const leat_plan *plan, const leat_placement *placement);
/* When an epoch has begun: looks again, and prints it (talk) if ops were put elsewhere. placement may be
 * NULL. */
void leat_placement_print_again(const leat_plan *plan, leat_loader *loader,
                                leat_placement *placement, bool talk);
/* What it was chosen from; nothing where nothing was measured. */
void leat_placement_print_choices(const leat_plan *plan, const leat_placement *placement);
json_t *leat_placement_print_json(const leat_plan *plan, const leat_placement *placement);

#endif
