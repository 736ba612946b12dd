/* SPDX-License-Identifier: MIT */
#include "free_memory.h"

#include <stdio.h>
#include <unistd.h>

/* The first number of a file; UINT64_MAX: none ("max"). */
static uint64_t number_in(const char *path)
{
    unsigned long long n = UINT64_MAX;
    FILE *const file = fopen(path, "re");
    if (!file)
        return UINT64_MAX;
    if (fscanf(file, "%llu", &n) != 1)
        n = UINT64_MAX;
    fclose(file);
    return n;
}

static uint64_t left(const char *limit_path, const char *used_path)
{
    const uint64_t limit = number_in(limit_path), used = number_in(used_path);
    if (limit == UINT64_MAX || used == UINT64_MAX)
        return UINT64_MAX;
    return limit > used ? limit - used : 0;
}

static uint64_t available(void)
{
    char line[128];
    unsigned long long kib = 0;
    FILE *const file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib ? (uint64_t)kib << 10
               : (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t leat_free_memory(void)
{
    const uint64_t here[] = {
        available(),
        left("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        left("/sys/fs/cgroup/memory/memory.limit_in_bytes",
             "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    };
    uint64_t least = here[0];
    for (int i = 1; i < 3; i++)
        if (here[i] < least)
            least = here[i];
    return least;
}
