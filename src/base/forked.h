/* SPDX-License-Identifier: MIT
 *
 * forked.h: tells whether fork() made this process after something was opened. A child has only one
 * thread, and its parent may have been using the locks, rings and devices. Loaders, devices and caches
 * call it. What a child may go on using, such as a source, has a hook instead. */
#ifndef LEAT_FORKED_H
#define LEAT_FORKED_H

#include <stdbool.h>

/* Something whose locks are taken at a fork, so that the child has it as no thread is changing it. */
typedef struct leat_forked_hook {
    void (*before)(void *arg);               /* takes the locks; may wait for their threads */
    void (*after)(void *arg, bool is_child); /* releases them; a child has no other thread */
    void *arg;
    struct leat_forked_hook *next, **link; /* [lock of the list] */
} leat_forked_hook;

/* hook: borrowed, until leat_forked_forget(), which takes one that was never given (all zero) too. Any thread. */
void leat_forked_watch(leat_forked_hook *hook);
void leat_forked_forget(leat_forked_hook *hook);

/* Returns the number of forks that led to this process since the first call. Store it at open; it
 * differs in every child. Any thread. */
unsigned leat_forked_count(void);

#endif
