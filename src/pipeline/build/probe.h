/* SPDX-License-Identifier: MIT
 *
 * probe.h: measures at open how large records are, and how much scratch a sample needs. build.c calls it; the
 * budget of a loader uses the result. */
#ifndef LEAT_PROBE_H
#define LEAT_PROBE_H

#include "pipeline/plan/plan_impl.h"

/* Looks up record sizes all over the source. If shapes depend on the data, it also runs the largest records
 * and one of average size through the ops, unless an op is a user's. That takes no more memory than
 * engine.memory, or than the machine has; for a record that needs more, the bytes it asked for count. Never
 * fails: damaged records only give less information. The plan must be laid out. */
void leat_probe_run(const leat_plan *plan, leat_probe *out);

#endif
