/* SPDX-License-Identifier: MIT
 *
 * eventfd.h: sleeping on an eventfd, which keeps its count: a signal just before a thread falls asleep is not lost.
 * reader.c and its threads use it. One thread at a time sleeps; any thread may signal. */
#ifndef LEAT_EVENTFD_H
#define LEAT_EVENTFD_H

#include <stdbool.h>
#include <stdint.h>

/* Sleeps until the count is not 0, and makes it 0. */
void leat_eventfd_wait(int fd);
/* Sleeps until the count is not 0, and leaves it so; or until a time (CLOCK_MONOTONIC, ns): then false. */
bool leat_eventfd_wait_until(int fd, int64_t until_ns);
void leat_eventfd_signal(int fd);

#endif
