/* SPDX-License-Identifier: MIT
 *
 * cgroup.h: what control groups (v1 or v2, at any level) allow this process. */
#ifndef LEAT_CGROUP_H
#define LEAT_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

/* What the files in one folder of a hierarchy allow; INFINITY: they set no limit. */
typedef double leat_cgroup_level(const char *root, bool v2, const char *folder);

/* The least limit of this process for a controller ("cpu", "memory") over all levels and both
 * versions; INFINITY: none. `folder` gets the one that sets it. `root` stands before /proc and /sys
 * ("" but for tests). Reads a few files. Any thread. */
double leat_cgroup_least(const char *root, const char *controller, leat_cgroup_level *level,
                         char *folder, size_t size);

/* First line of a file in a folder; false: there is none. */
bool leat_cgroup_read(const char *root, const char *folder, const char *name, char *line, int size);

#endif
