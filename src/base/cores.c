/* SPDX-License-Identifier: MIT */
#include "cores.h"

#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "cgroup.h"
#include "text.h"

#define NODES_MOST 64

/* Returns the quota of one level in CPUs; INFINITY: none. */
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

/* Returns the affinity mask, and its size in bytes; NULL: it cannot be read. */
static cpu_set_t *take_affinity(size_t *size)
{
    for (int n = 1024; n <= 1 << 20; n *= 4) { /* the kernel refuses a mask that is too small */
        cpu_set_t *set = CPU_ALLOC((size_t)n);
        if (!set)
            return NULL;
        *size = CPU_ALLOC_SIZE((size_t)n);
        if (sched_getaffinity(0, *size, set) == 0 && CPU_COUNT_S(*size, set) > 0)
            return set;
        CPU_FREE(set);
    }
    return NULL;
}

static int affinity(void)
{
    size_t size;
    cpu_set_t *const set = take_affinity(&size);
    if (!set)
        return 1;
    const int count = CPU_COUNT_S(size, set);
    CPU_FREE(set);
    return count;
}

/* True: a list of sysfs such as "0-3,8-11" has a CPU of the mask. */
static bool names_one(const char *list, const cpu_set_t *set, size_t size)
{
    for (const char *p = list; *p >= '0' && *p <= '9';) {
        char *end;
        const unsigned long first = strtoul(p, &end, 10);
        const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        for (unsigned long cpu = first; cpu <= last && cpu < 8 * size; cpu++)
            if (CPU_ISSET_S(cpu, size, set))
                return true;
        p = *end == ',' ? end + 1 : end;
    }
    return false;
}

int leat_cores_nodes(const char *root)
{
    size_t size;
    int n = 0;
    cpu_set_t *const set = take_affinity(&size);
    for (int node = 0; set && node < NODES_MOST; node++) {
        char path[512], list[4096] = "";
        snprintf(path, sizeof path, "%s/sys/devices/system/node/node%d/cpulist", root, node);
        FILE *const file = fopen(path, "re");
        if (!file) /* node numbers can have gaps */
            continue;
        n += fgets(list, sizeof list, file) && names_one(list, set, size);
        fclose(file);
    }
    if (set)
        CPU_FREE(set);
    return n > 1 ? n : 1;
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
    leat_text(why, size, "%d by the quota of %.2f CPUs in %s (the affinity mask has %d)", n_quota,
              quota, folder, n);
    return n_quota;
}

int leat_cores_count(void)
{
    char why[1024];
    return leat_cores_count_why("", 0, why, sizeof why);
}
