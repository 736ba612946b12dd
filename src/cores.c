/* SPDX-License-Identifier: MIT */
#include "cores.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "cgroup.h"

/* CPUs that one level allows; INFINITY: no quota. */
static double level_quota(const char *root, bool v2, const char *folder)
{
    char line[64];
    long long quota = -1, period = 0;
    if (v2) {
        if (leat_cgroup_read(root, folder, "cpu.max", line, sizeof line) &&
            sscanf(line, "%lld %lld", &quota, &period) != 2) /* "max 100000" */
            return INFINITY;
    } else {
        if (leat_cgroup_read(root, folder, "cpu.cfs_quota_us", line, sizeof line))
            quota = atoll(line);
        if (leat_cgroup_read(root, folder, "cpu.cfs_period_us", line, sizeof line))
            period = atoll(line);
    }
    return quota > 0 && period > 0 ? (double)quota / (double)period : INFINITY;
}

static int affinity(void)
{
    for (int n = 1024; n <= 1 << 20; n *= 4) { /* a mask that is too small is refused */
        cpu_set_t *set = CPU_ALLOC((size_t)n);
        if (!set)
            return 1;
        const size_t size = CPU_ALLOC_SIZE((size_t)n);
        const int count = sched_getaffinity(0, size, set) ? 0 : CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (count > 0)
            return count;
    }
    return 1;
}

int leat_cores_count_why(const char *root, int n_affinity, char *why, size_t size)
{
    char folder[512] = "";
    const int n = n_affinity > 0 ? n_affinity : affinity();
    const double quota = leat_cgroup_least(root, "cpu", level_quota, folder, sizeof folder);
    if (quota >= n) {
        snprintf(why, size, "%d by the affinity mask", n);
        return n;
    }
    const int n_quota = (int)ceil(quota);
    snprintf(why, size, "%d by the quota of %.2f CPUs in %s (the affinity mask has %d)", n_quota,
             quota, folder, n);
    return n_quota;
}

int leat_cores_count(void)
{
    char why[1024];
    return leat_cores_count_why("", 0, why, sizeof why);
}
