/* SPDX-License-Identifier: MIT */
#include "cores.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

int leat_cores_quota(const char *line)
{
    long long quota, period;
    if (sscanf(line, "%lld %lld", &quota, &period) != 2 || quota <= 0 || period <= 0)
        return 0;
    const long long n = (quota + period - 1) / period;
    return n < 1 << 20 ? (int)n : 0;
}

static int read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    char *const got = fgets(line, (int)size, file);
    fclose(file);
    return got != NULL;
}

/* Least quota on the way from this process's group to the root. */
static int quota_v2(void)
{
    char line[4096], path[4400], text[128];
    int least = 0;
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "0::", 3))
            continue;
        line[strcspn(line, "\n")] = 0;
        for (char *end = line + strlen(line); end;) {
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", line + 3);
            const int n = read_line(path, text, sizeof text) ? leat_cores_quota(text) : 0;
            if (n && (!least || n < least))
                least = n;
            end = strrchr(line + 3, '/');
            if (end)
                *end = 0;
        }
    }
    fclose(file);
    return least;
}

static int quota_v1(void)
{
    char quota[64], period[64], both[140];
    if (!read_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", quota, sizeof quota) ||
        !read_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period, sizeof period))
        return 0;
    quota[strcspn(quota, "\n")] = 0;
    snprintf(both, sizeof both, "%s %s", quota, period);
    return leat_cores_quota(both);
}

int leat_cores_count(void)
{
    cpu_set_t mask;
    int n = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
    const int quotas[] = { quota_v2(), quota_v1() };
    for (int i = 0; i < 2; i++)
        if (quotas[i] && quotas[i] < n)
            n = quotas[i];
    return n < 1 ? 1 : n;
}
