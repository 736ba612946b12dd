/* SPDX-License-Identifier: MIT */
#include "forked.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_uint count;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* comes before the locks of hooks */
static leat_forked_hook *hooks;                          /* [lock] */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
    for (leat_forked_hook *hook = hooks; hook; hook = hook->next)
        hook->before(hook->arg);
}

static void after_fork(bool is_child)
{
    for (leat_forked_hook *hook = hooks; hook; hook = hook->next)
        hook->after(hook->arg, is_child);
    pthread_mutex_unlock(&lock);
}

static void in_parent(void)
{
    after_fork(false);
}

static void in_child(void)
{
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    after_fork(true);
}

static void install_handlers(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}

unsigned leat_forked_count(void)
{
    pthread_once(&once, install_handlers);
    return atomic_load_explicit(&count, memory_order_relaxed);
}

void leat_forked_watch(leat_forked_hook *hook)
{
    pthread_once(&once, install_handlers);
    pthread_mutex_lock(&lock);
    hook->next = hooks;
    hook->link = &hooks;
    if (hooks)
        hooks->link = &hook->next;
    hooks = hook;
    pthread_mutex_unlock(&lock);
}

void leat_forked_forget(leat_forked_hook *hook)
{
    pthread_mutex_lock(&lock);
    if (hook->link)
        *hook->link = hook->next;
    if (hook->next)
        hook->next->link = hook->link;
    hook->next = NULL;
    hook->link = NULL;
    pthread_mutex_unlock(&lock);
}
