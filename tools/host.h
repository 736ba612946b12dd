/* SPDX-License-Identifier: MIT
 *
 * host.h: the cores and the clock of this machine. */
#ifndef LEAT_HOST_H
#define LEAT_HOST_H

#include <stdint.h>

/* Cores this process may use. */
int leat_host_cores(void);
/* CLOCK_MONOTONIC. */
int64_t leat_host_now_ns(void);

#endif
