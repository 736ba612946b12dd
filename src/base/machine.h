/* SPDX-License-Identifier: MIT
 *
 * machine.h: what this machine, its limits and its control groups leave to this process. */
#ifndef LEAT_MACHINE_H
#define LEAT_MACHINE_H

#include <stdint.h>

typedef struct leat_machine {
    int32_t cores;
    char cores_why[200];
    int64_t memory_bytes; /* the least of what the rules below leave */
    char memory_why[200]; /* which rule that is */
    int64_t
        address_bytes; /* private memory that may still be mapped, touched or not; INT64_MAX: any */
    int64_t stack_bytes; /* that a thread maps for its stack */
} leat_machine;

/* Rules for memory: what is available now (MemAvailable, or physical memory), the limit of each level
 * of the memory cgroup, RLIMIT_AS and RLIMIT_DATA less what is in use. Never fails: what cannot be
 * read sets no limit. `root` as in cores.h. Any thread. */
void leat_machine_look(const char *root, leat_machine *out);

#endif
