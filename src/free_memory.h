/* SPDX-License-Identifier: MIT
 *
 * free_memory.h: how much memory may still be taken. */
#ifndef LEAT_FREE_MEMORY_H
#define LEAT_FREE_MEMORY_H

#include <stdint.h>

/* Bytes that this process can take before the machine, or its cgroup, runs out: an estimate, at
 * least 0. Reads a few files. Any thread. */
uint64_t leat_free_memory(void);

#endif
