/* SPDX-License-Identifier: MIT
 *
 * machine.h: the cores and memory that this process can use, by the machine, its limits and its control
 * groups. The memory budget and reports call it. */
#ifndef LEAT_MACHINE_H
#define LEAT_MACHINE_H

#include <stdint.h>

typedef struct leat_machine {
    int32_t cores;
    char cores_why[200];
    int64_t memory_bytes;  /* the least of all rules below */
    char memory_why[200];  /* names that rule */
    int64_t address_bytes; /* private memory that can still be mapped; INT64_MAX: no limit */
    int64_t stack_bytes;   /* of a new thread */
} leat_machine;

/* Finds all limits. Rules for memory: what is available now (MemAvailable, or physical memory), the
 * limit of each level of the memory cgroup, and RLIMIT_AS and RLIMIT_DATA, each less its use (1: nothing is
 * left). Never fails: a limit that cannot be read does not count. root: see cores.h. Any thread. */
void leat_machine_read(const char *root, leat_machine *out);

/* Bytes of the CPU's level 3 cache; 0: it has none, or it is unknown. Linux's own figure: cpuid also counts
 * the cores that a virtual machine does not have. root: see cores.h. Any thread. */
int64_t leat_machine_cache_bytes(const char *root);

#endif
