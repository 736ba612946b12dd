/* SPDX-License-Identifier: MIT
 *
 * forked.h: whether this process is a child that fork() has made since something was opened. A child has
 * one thread and whatever locks, rings and devices its parent was in the middle of using. */
#ifndef LEAT_FORKED_H
#define LEAT_FORKED_H

/* Forks on the way to this process since it was first asked: noted when something is opened, it is
 * another number in every child. Any thread. */
unsigned leat_forked_count(void);

#endif
