/* SPDX-License-Identifier: MIT
 *
 * fused.c: finds the fused function for the first ops of a chain. The plan calls it at open. */
#include "fused.h"

extern const leat_fused leat_fused_jpeg;

/* Every fused function, one line each. */
static const leat_fused *const list[] = {
    &leat_fused_jpeg,
};

const leat_fused *leat_fused_find(const leat_fused_op *ops, int n, int *n_taken)
{
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        *n_taken = list[i]->match(ops, n);
        if (*n_taken >= 2)
            return list[i];
    }
    *n_taken = 0;
    return NULL;
}
