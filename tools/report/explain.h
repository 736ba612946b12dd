/* SPDX-License-Identifier: MIT
 *
 * explain.h: prints what a loader takes, what was decided and why. */
#ifndef LEAT_EXPLAIN_H
#define LEAT_EXPLAIN_H

#include "json.h"
#include "leat/budget.h"

/* The table of memory, and the decisions at open. */
void leat_explain_budget(const leat_budget *budget);
json_t *leat_explain_budget_json(const leat_budget *budget);

/* What an open loader has changed so far. */
void leat_explain_changes(leat_loader *loader);
json_t *leat_explain_changes_json(leat_loader *loader);

#endif
