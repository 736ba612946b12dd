/* SPDX-License-Identifier: MIT
 *
 * combined.h: several sources that give their elements one after another or in turn. A kind
 * of combination is an option table and how it settles the order. */
#ifndef LEAT_COMBINED_H
#define LEAT_COMBINED_H

#include "pipeline/order/combine.h"
#include "source.h"

/* Settles the order of a combination by its options, with one of leat_combine_concat, _mix,
 * _interleave. An error LEAT_E_CONFIG is about child *culprit, if that is set, else about *bad. */
typedef int leat_combined_settle(leat_combine *combine, const void *options, const leat_node **bad,
                                 size_t *culprit, leat_error *err);

/* kind: name and options of the combination; what its parts can do is added to a copy of it. */
int leat_combined_open(const leat_source_table *kind, const leat_node *sources,
                       const leat_node *where, const leat_source_setting *setting,
                       leat_combined_settle *settle, const void *options, leat_source **out,
                       leat_error *err);

/* The first row of each such table. */
#define LEAT_SOURCES_ROW(struct_)                                                                  \
    LEAT_OPTION_NODE(struct_, sources, NULL,                                                       \
                     "list of sources; each may have its own `pipeline` of stages that select or " \
                     "order elements")

#endif
