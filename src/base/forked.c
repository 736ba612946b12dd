/* SPDX-License-Identifier: MIT */
#include "forked.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_uint count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void in_child(void)
{
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
}

static void install_handler(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

unsigned leat_forked_count(void)
{
    pthread_once(&once, install_handler);
    return atomic_load_explicit(&count, memory_order_relaxed);
}
