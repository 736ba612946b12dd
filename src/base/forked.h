/* SPDX-License-Identifier: MIT
 *
 * forked.h: tells whether fork() made this process after something was opened. A child has only one
 * thread, and its parent may have been using the locks, rings and devices. Loaders, devices and caches
 * call it. */
#ifndef LEAT_FORKED_H
#define LEAT_FORKED_H

/* Returns the number of forks that led to this process since the first call. Store it at open; it
 * differs in every child. Any thread. */
unsigned leat_forked_count(void);

#endif
