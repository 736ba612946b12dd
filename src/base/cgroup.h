/* SPDX-License-Identifier: MIT
 *
 * cgroup.h: the limits that control groups (v1 or v2, at any level) set for this process. cores.c and
 * machine.c call it, and other_processes.c for what they have cost. */
#ifndef LEAT_CGROUP_H
#define LEAT_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

/* Returns a figure that the files in one folder hold: for leat_cgroup_least() a limit, INFINITY: none. */
typedef double leat_cgroup_level(const char *root, bool v2, const char *folder);

/* Returns the least limit for a controller ("cpu", "memory") over all levels and both versions;
 * INFINITY: none. Reads a few files. Any thread.
 * folder   gets the folder with this limit
 * root     prefix of /proc and /sys; "" outside of tests */
double leat_cgroup_least(const char *root, const char *controller, leat_cgroup_level *level,
                         char *folder, size_t size);

/* Returns the sum of what `level` returns for all levels and both versions: time for which two levels stopped the
 * process at once counts twice. Reads a few files. Any thread. */
double leat_cgroup_sum(const char *root, const char *controller, leat_cgroup_level *level);

/* Reads the first line of a file; false: there is none. */
bool leat_cgroup_read(const char *root, const char *folder, const char *name, char *line, int size);

#endif
