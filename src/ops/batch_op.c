/* SPDX-License-Identifier: MIT
 *
 * batch_op.c: finds batch ops by index and by name. Config reading and help call it. */
#include "batch_op.h"

#include <string.h>

static const leat_batch_op *const list[] = {
#define ROW(name) &leat_batch_op_##name,
    LEAT_BATCH_OP_LIST(ROW)
#undef ROW
};

const leat_batch_op *leat_batch_op_at(size_t i)
{
    return i < sizeof list / sizeof *list ? list[i] : NULL;
}

const leat_batch_op *leat_batch_op_find(const char *name)
{
    for (size_t i = 0; leat_batch_op_at(i); i++)
        if (!strcmp(list[i]->kind.name, name))
            return list[i];
    return NULL;
}

const leat_kind *leat_batch_op_kind(size_t i)
{
    return leat_batch_op_at(i) ? &list[i]->kind : NULL;
}
