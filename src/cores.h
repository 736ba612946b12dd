/* SPDX-License-Identifier: MIT
 *
 * cores.h: how many CPUs this process may use. */
#ifndef LEAT_CORES_H
#define LEAT_CORES_H

/* The smaller of the CPUs in the affinity mask and the CPU quota of the control group (v2 cpu.max,
 * v1 cpu.cfs_quota_us, rounded up), at least 1. Any thread; reads files, so not for loops. */
int leat_cores_count(void);
/* CPUs that one cpu.max line ("200000 100000", "max 100000") allows, rounded up; 0: no limit or not
 * such a line. */
int leat_cores_quota(const char *line);

#endif
