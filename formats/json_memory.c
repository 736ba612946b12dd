/* SPDX-License-Identifier: MIT */
#include "json_memory.h"

#include <jansson.h>
#include <stdlib.h>

static _Thread_local int failed;

static void *allocate(size_t n)
{
    void *const out = malloc(n);
    failed |= !out;
    return out;
}

void leat_json_memory_watch(void)
{
    json_set_alloc_funcs(allocate, free);
}

void leat_json_memory_begin(void)
{
    failed = 0;
}

int leat_json_memory_failed(void)
{
    return failed;
}
