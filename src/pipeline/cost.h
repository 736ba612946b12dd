/* SPDX-License-Identifier: MIT
 *
 * cost.h: measures what leat_split_choose() weighs: a thread's time for some real samples with the
 * chains cut at every place, the device's time for the ops behind each cut, and a copy. */
#ifndef LEAT_COST_H
#define LEAT_COST_H

#include "device_impl.h"
#include "plan_impl.h"
#include "scratch.h"
#include "split.h"

enum { LEAT_COST_RECORDS = 3 }; /* samples that are tried */

/* Which cuts are legal: of chain c those from lowest[c] to its n_host. */
typedef struct leat_cost_range {
    int32_t lowest[LEAT_MAX_FEATURES];
} leat_cost_range;

typedef struct leat_costs {
    leat_split_costs split;
    double op_host_ns[LEAT_MAX_FEATURES][LEAT_MAX_CHAIN]; /* one by one; -1: not measured */
    char no_decoding
        [120]; /* why the device could not decode files; "": it could, or was not asked */
    int64_t took_ns;
} leat_costs;

/* What a device does for a sample. */
typedef struct leat_cost_work {
    double ns;
    bool decodes_apart; /* the decoding in it, by a part of the chip that does nothing else */
    double file_bytes;  /* that go there beside what the plan counts */
} leat_cost_work;

/* A plan cut at one place, and what its samples came to. */
typedef struct leat_cost_try {
    int32_t chain, n_host;        /* which chain is cut where; chain -1: none is */
    leat_plan *plan;              /* owned: a copy */
    leat_scratch *room;           /* of slot */
    uint8_t *slot;                /* LEAT_COST_RECORDS rows of it are used */
    double ns[LEAT_COST_RECORDS]; /* the least of several runs; INFINITY: not run, or it failed */
    double host_ns;               /* of a sample; INFINITY: not known */
} leat_cost_try;

/* A copy of a plan, of whose chains the CPU does the first n_host[c] ops; free(). NULL: there is no memory,
 * or it would be too large.
 * shares  of the rows whose files the device decodes, where a chain is cut before that; NULL: all */
leat_plan *leat_cost_cut(const leat_plan *plan, const int32_t n_host[LEAT_MAX_FEATURES],
                         const double *shares);

/* cost_host.c: fills in the times of all tries, and of single ops. rows: which of LEAT_COST_RECORDS rows of
 * every slot hold a sample then. */
int leat_cost_host(const leat_plan *plan, leat_cost_try *tries, int32_t n, leat_costs *out,
                   bool rows[LEAT_COST_RECORDS], leat_error *err);

/* cost_device.c: what the device does for the ops that a cut plan leaves it of chain c, per sample, on
 * copies of the rows of a slot. */
int leat_cost_device(leat_device *device, const leat_plan *cut, int32_t c, const uint8_t *slot,
                     const bool rows[LEAT_COST_RECORDS], leat_cost_work *out, leat_error *err);
/* Time to copy a byte in a piece as large as a batch, or as is of use. */
int leat_cost_wire(leat_device *device, size_t wire_bytes, bool pinned, double *ns,
                   leat_error *err);

/* All of it. A cut that cannot be measured is left out. */
int leat_cost_measure(const leat_plan *plan, leat_device *device, const leat_cost_range *range,
                      leat_costs *out, leat_error *err);

#endif
