/* SPDX-License-Identifier: MIT
 *
 * explain.h: prints the memory plan of a loader, its decisions and their reasons. */
#ifndef LEAT_EXPLAIN_H
#define LEAT_EXPLAIN_H

#include "json.h"
#include "leat/budget.h"

/* Prints the table of memory and the decisions at open. */
void leat_explain_budget(const leat_budget *budget);
json_t *leat_explain_budget_json(const leat_budget *budget);

/* Adds `notes`: those of a plan, and one more; "": none. */
void leat_explain_add_notes(json_t *object, const leat_plan *plan, const char *more);

/* Prints the changes since the loader was opened. */
void leat_explain_changes(leat_loader *loader);
json_t *leat_explain_changes_json(leat_loader *loader);

/* Prints what came of indexes of JPEG files, and of JPEG files for a device, in a loader's run, one line each; nothing where
 * there are none. */
void leat_explain_jpeg(const leat_loader_stats_info *stats);

#endif
