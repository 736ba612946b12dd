/* SPDX-License-Identifier: MIT
 *
 * combined.h: the common part of the sources concat, mix and interleave. Each of them adds an option
 * table and a function that sets up the order. */
#ifndef LEAT_COMBINED_H
#define LEAT_COMBINED_H

#include "pipeline/order/combine.h"
#include "source.h"

/* Sets up the order of a combination with leat_combine_concat, _mix or _interleave. On LEAT_E_CONFIG,
 * *culprit is the child at fault, or *bad the config node. */
typedef int leat_combined_settle(leat_combine *combine, const void *options, const leat_node **bad,
                                 size_t *culprit, leat_error *err);

/* Opens a combined source. kind: its name and options; the functions are added to a copy of it. */
int leat_combined_open(const leat_source_table *kind, const leat_node *sources,
                       const leat_node *where, const leat_source_setting *setting,
                       leat_combined_settle *settle, const void *options, leat_source **out,
                       leat_error *err);

/* First row of each option table. */
#define LEAT_SOURCES_ROW(struct_)                                                                  \
    LEAT_OPTION_NODE(struct_, sources, NULL,                                                       \
                     "list of sources; each may have its own `pipeline` of stages that select or " \
                     "order elements")

#endif
