/* SPDX-License-Identifier: MIT
 *
 * probe.h: what only the data know: how large records are, and how much scratch a sample needs. */
#ifndef LEAT_PROBE_H
#define LEAT_PROBE_H

#include "pipeline/plan/plan_impl.h"

/* Looks up sizes spread over the source, and, where shapes are unknown before the data are seen,
 * carries the largest records and one of mean size through the ops, unless one of these is a user's. That
 * takes no more memory than engine.memory, or than the machine has; of a record that needs more it is known
 * how much it asked for when there was no more. Never fails: records that are damaged just tell less. Needs
 * a plan that is laid out. */
void leat_probe_run(const leat_plan *plan, leat_probe *out);

#endif
