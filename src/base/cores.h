/* SPDX-License-Identifier: MIT
 *
 * cores.h: how many CPUs there are to use. */
#ifndef LEAT_CORES_H
#define LEAT_CORES_H

#include <stddef.h>

/* CPUs this process may use: those of its affinity mask, fewer where a cgroup (v1 or v2, at any
 * level) has a quota, which is rounded up; at least 1. Reads a few files. Any thread. */
int leat_cores_count(void);
/* The same with a line that says what decided; `root` stands before /proc and /sys ("" but for
 * tests), `n_affinity` is 0 for the mask of the calling thread. */
int leat_cores_count_why(const char *root, int n_affinity, char *why, size_t size);

/* NUMA nodes that have CPUs of the calling thread's affinity mask; 1 where that cannot be read. */
int leat_cores_nodes(const char *root);

#endif
