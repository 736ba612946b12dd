/* SPDX-License-Identifier: MIT
 *
 * host.h: the cores and the clock of this machine, and threads for its cores. */
#ifndef LEAT_HOST_H
#define LEAT_HOST_H

#include <stdint.h>

/* Cores this process may use. */
int leat_host_cores(void);
/* Runs work(argument) in n threads, this one among them. Returns how many there were: fewer than n are slower, but
 * correct. */
int32_t leat_host_run(int32_t n, void *(*work)(void *), void *argument);
/* CLOCK_MONOTONIC. */
int64_t leat_host_now_ns(void);

#endif
