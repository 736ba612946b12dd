/* SPDX-License-Identifier: MIT
 *
 * fused.h: functions that do several ops at once and give the same bytes as one op after the other. In
 * a config the ops stay separate, and each draws as before. The plan looks here whether a chain begins
 * with such ops. A new function means a file and a line in fused.c. */
#ifndef LEAT_FUSED_H
#define LEAT_FUSED_H

#include <stdbool.h>

#include "leat/op.h"

#define LEAT_FUSED_MAX 8 /* ops of one function */

/* One op of a chain. */
typedef struct leat_fused_op {
    const leat_op *op;
    const void *options;
} leat_fused_op;

typedef struct leat_fused {
    const char *help;
    /* The number of the chain's first ops that it does, or 0. At open. */
    int (*match)(const leat_fused_op *ops, int n);
    /* Does n ops with their plans, as apply() of an op. Returns the errors of the ops, or
     * LEAT_E_UNSUPPORTED if this sample needs the ops one by one.
     * streams  out->data will leave the CPU's caches before it is read: it may be written around them */
    int (*apply)(const leat_fused_op *ops, int n, const leat_plan64 *plans, const leat_view *in,
                 const leat_view *out, bool streams, leat_scratch *scratch, leat_error *err);
} leat_fused;

/* The first function that does at least two of the ops, and their number. NULL: none. */
const leat_fused *leat_fused_find(const leat_fused_op *ops, int n, int *n_taken);

#endif
