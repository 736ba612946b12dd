/* SPDX-License-Identifier: MIT
 *
 * op_list.c: finds built-in ops, batch ops and fused functions. Config reading, help and the plan call it. */
#include "op_list.h"

#include "batch_op.h"
#include "fused.h"
#include <string.h>

static const leat_op *const ops[] = {
#define LEAT_OP_ROW(name) &leat_op_##name,
    LEAT_OP_LIST(LEAT_OP_ROW)
#undef LEAT_OP_ROW
        NULL
};

const leat_op *const *leat_ops(void)
{
    return ops;
}

const leat_op *leat_op_find(const char *name)
{
    for (size_t i = 0; name && ops[i]; i++)
        if (!strcmp(ops[i]->name, name))
            return ops[i];
    return NULL;
}

/* --- batch ops ------------------------------------------------------------------------------- */

static const leat_batch_op *const batch_ops[] = {
#define ROW(name) &leat_batch_op_##name,
    LEAT_BATCH_OP_LIST(ROW)
#undef ROW
};

const leat_batch_op *leat_batch_op_at(size_t i)
{
    return i < sizeof batch_ops / sizeof *batch_ops ? batch_ops[i] : NULL;
}

const leat_batch_op *leat_batch_op_find(const char *name)
{
    for (size_t i = 0; leat_batch_op_at(i); i++)
        if (!strcmp(batch_ops[i]->kind.name, name))
            return batch_ops[i];
    return NULL;
}

const leat_kind *leat_batch_op_kind(size_t i)
{
    return leat_batch_op_at(i) ? &batch_ops[i]->kind : NULL;
}

/* --- fused functions ------------------------------------------------------------------------- */

extern const leat_fused leat_fused_jpeg, leat_fused_jpeg_crop;

/* Every fused function, one line each. */
static const leat_fused *const fused[] = {
    &leat_fused_jpeg,
    &leat_fused_jpeg_crop,
};

const leat_fused *leat_fused_find(const leat_fused_op *chain, int n, int *n_taken)
{
    for (size_t i = 0; i < sizeof fused / sizeof *fused; i++) {
        *n_taken = fused[i]->match(chain, n);
        if (*n_taken >= 2)
            return fused[i];
    }
    *n_taken = 0;
    return NULL;
}
