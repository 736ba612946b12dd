/* SPDX-License-Identifier: MIT
 *
 * cores.h: the number of CPUs that this process can use. Pools, the budget and reports call it. */
#ifndef LEAT_CORES_H
#define LEAT_CORES_H

#include <stddef.h>

/* Returns the number of CPUs, at least 1: those of the affinity mask, or the rounded-up quota of a
 * cgroup (v1 or v2, at any level) if that is less. Reads a few files. Any thread. */
int leat_cores_count(void);
/* Also writes a line with the reason. root: prefix of /proc and /sys; "" outside of tests.
 * n_affinity: CPUs of the mask; 0: use the mask of the calling thread. */
int leat_cores_count_why(const char *root, int n_affinity, char *why, size_t size);

/* Returns the number of NUMA nodes with CPUs of the calling thread's mask; 1 if it cannot be read. */
int leat_cores_nodes(const char *root);

#endif
