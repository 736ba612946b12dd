/* SPDX-License-Identifier: MIT
 *
 * op_list.c: finds built-in ops by index and by name. Config reading and help call it. */
#include "op_list.h"

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
