/* SPDX-License-Identifier: MIT
 *
 * probe.h: what only the data know: how large records are, and how much scratch a sample needs. */
#ifndef LEAT_PROBE_H
#define LEAT_PROBE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct leat_plan leat_plan;

typedef struct leat_probe {
    uint64_t mean_bytes;    /* of a record as stored; 0: unknown */
    uint64_t most_bytes;    /* the largest of those looked at */
    uint64_t n_looked;      /* records whose size was looked up */
    uint64_t scratch_bytes; /* what a sample takes of a worker's scratch, all ops one by one */
    uint64_t usual_bytes;   /* the same of the one tried that takes least: others are rare, maybe */
    uint64_t most_record;   /* which of those tried took scratch_bytes */
    uint64_t n_run; /* records that were carried through all ops to know that; 0: by shapes */
} leat_probe;

/* Looks up sizes spread over the source, and, where shapes are unknown before the data are seen,
 * carries the largest records and one of mean size through the ops, unless one of these is a user's. That
 * takes no more memory than engine.memory, or than the machine has; of a record that needs more it is known
 * how much it asked for when there was no more. Never fails: records that are damaged just tell less. Needs
 * a plan that is laid out. */
void leat_probe_run(const leat_plan *plan, leat_probe *out);

#endif
