/* SPDX-License-Identifier: MIT
 *
 * axes.h: what the ops of a chain say about the order of an image's dimensions. Stages that add ops ask here. */
#ifndef LEAT_AXES_H
#define LEAT_AXES_H

#include "plan_impl.h"

/* Where the channels are, as far as it is known: leat_chain.axes. */
enum { LEAT_AXES_UNKNOWN, LEAT_AXES_LAST, LEAT_AXES_FIRST };

/* Whether the rows are images whose channels an op has put first. */
bool leat_axes_are_first(const leat_chain *chain);
/* Whether the rows are images of which the ops tell that their channels are last. */
bool leat_axes_are_last(const leat_chain *chain);
/* Refuses an op that would take the dimensions of the chain's rows for others. */
int leat_axes_check(const leat_chain *chain, const leat_chain_op *op, leat_error *err);
/* Call it before chain->shape becomes the op's output. */
void leat_axes_follow(leat_chain *chain, const leat_chain_op *op, const leat_shape *out);

#endif
