/* SPDX-License-Identifier: MIT
 *
 * fused.h: runs of ops that can be done in one go, with the same bytes as one after the other. In a
 * config the ops stay separate, and so do their draws; the plan looks here whether a chain begins with
 * such a run. Adding one: a file and a line in fused.c. */
#ifndef LEAT_FUSED_H
#define LEAT_FUSED_H

#include "leat/op.h"

#define LEAT_FUSED_MAX 8 /* ops in a run */

/* An op as it stands in a chain. */
typedef struct leat_fused_op {
    const leat_op *op;
    const void *options;
} leat_fused_op;

typedef struct leat_fused {
    const char *help;
    /* How many of the chain's first ops it takes, 0 if it does not know them. At open. */
    int (*match)(const leat_fused_op *ops, int n);
    /* Does n ops. plans: what each decided. The same errors as the ops themselves, and
     * LEAT_E_UNSUPPORTED: this sample has to go one by one. Otherwise as apply() of an op. */
    int (*apply)(const leat_fused_op *ops, int n, const leat_plan64 *plans, const leat_view *in,
                 const leat_view *out, leat_scratch *scratch, leat_error *err);
} leat_fused;

/* The first fused run that takes at least two of the ops; *n_taken of them. NULL: none. */
const leat_fused *leat_fused_find(const leat_fused_op *ops, int n, int *n_taken);

#endif
