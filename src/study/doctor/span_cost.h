/* SPDX-License-Identifier: MIT
 *
 * span_cost.h: what it costs to record a span of a trace, on this machine and now. doctor.c calls it. */
#ifndef LEAT_SPAN_COST_H
#define LEAT_SPAN_COST_H

/* Records spans for about a millisecond, in a ring of the default size. Returns the time of one, ns; 0: no memory. */
double leat_span_cost_ns(void);

#endif
