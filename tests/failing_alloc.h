/* SPDX-License-Identifier: MIT
 *
 * failing_alloc.h: include it, then the .c file under test: its allocations fail once
 * allocations_left have been granted (-1: never). The test's own are written (malloc)(n) to be spared. */
#ifndef LEAT_FAILING_ALLOC_H
#define LEAT_FAILING_ALLOC_H

#include <stdlib.h>
#include <string.h>

static long allocations_left = -1;

static int refuse_allocation(void)
{
    if (allocations_left > 0)
        allocations_left--;
    else if (allocations_left == 0)
        return 1;
    return 0;
}

__attribute__((unused)) static void *failing_malloc(size_t size)
{
    return refuse_allocation() ? NULL : malloc(size);
}

__attribute__((unused)) static void *failing_calloc(size_t n, size_t size)
{
    return refuse_allocation() ? NULL : calloc(n, size);
}

__attribute__((unused)) static void *failing_realloc(void *old, size_t size)
{
    return refuse_allocation() ? NULL : realloc(old, size);
}

__attribute__((unused)) static char *failing_strdup(const char *text)
{
    return refuse_allocation() ? NULL : strdup(text);
}

__attribute__((unused)) static char *failing_strndup(const char *text, size_t most)
{
    return refuse_allocation() ? NULL : strndup(text, most);
}

#undef strdup
#undef strndup
#define malloc(size)        failing_malloc(size)
#define calloc(n, size)     failing_calloc(n, size)
#define realloc(old, size)  failing_realloc(old, size)
#define strdup(text)        failing_strdup(text)
#define strndup(text, most) failing_strndup(text, most)

#endif
