/* SPDX-License-Identifier: MIT
 *
 * grow.h: lists that grow by one. Writers, sources and the command call it. */
#ifndef LEAT_GROW_H
#define LEAT_GROW_H

#include <stddef.h>
#include <stdlib.h>

/* Makes room for one more than n entries of `size` bytes.
 *
 * list     from malloc, or NULL; only this function has given it room, which is a power of two
 * returns  the list, perhaps moved. NULL: out of memory, and the list is as it was */
static inline void *leat_grow(void *list, size_t n, size_t size)
{
    return n & (n - 1) ? list : realloc(list, (n ? 2 * n : 1) * size);
}

#endif
