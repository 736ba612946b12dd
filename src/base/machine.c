/* SPDX-License-Identifier: MIT */
#include "machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cgroup.h"
#include "cores.h"
#include "pool.h"

/* Applies a limit if it is the lowest so far. */
static void lower(leat_machine *m, double bytes, const char *why)
{
    if (bytes < (double)m->memory_bytes) {
        m->memory_bytes = bytes > 1 ? (int64_t)bytes : 1;
        snprintf(m->memory_why, sizeof m->memory_why, "%.190s", why);
    }
}

/* Returns the number behind `name` at the begin of a line of a file; 0: there is no such line. */
static double read_number(const char *root, const char *path, const char *name)
{
    char file_name[2048], line[256];
    double number = 0;
    snprintf(file_name, sizeof file_name, "%s%s", root, path);
    FILE *file = fopen(file_name, "re");
    while (file && number <= 0 && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)))
            number = (double)strtoull(line + strlen(name), NULL, 10);
    if (file)
        fclose(file);
    return number;
}

/* The same of "NAME:   123 kB", in bytes. */
static double read_kb(const char *root, const char *path, const char *name)
{
    return read_number(root, path, name) * 1024;
}

/* What the processes of a group have in use, and the kernel cannot take back as it can files: their memory, and files in
 * memory (tmpfs). */
static double group_in_use(const char *root, bool v2, const char *folder)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    return read_number(root, path, v2 ? "anon " : "total_rss ") +
           read_number(root, path, v2 ? "shmem " : "total_shmem ");
}

/* What is left of memory.max and memory.high of v2 or memory.limit_in_bytes of v1, where almost 2^63 means none. */
static double level_memory(const char *root, bool v2, const char *folder)
{
    static const char *const files[2][2] = { { "memory.limit_in_bytes", NULL },
                                             { "memory.max", "memory.high" } };
    double least = INFINITY;
    char line[64];
    for (int i = 0; i < 2; i++) {
        if (!files[v2][i] || !leat_cgroup_read(root, folder, files[v2][i], line, sizeof line))
            continue;
        char *end;
        const double bytes = (double)strtoull(line, &end, 10);
        if (end != line && bytes > 0 && bytes < 0x1p60 && bytes < least) /* "max" is not a number */
            least = bytes;
    }
    if (least == INFINITY)
        return least;
    const double left = least - group_in_use(root, v2, folder);
    return left > 0 ? left : 0;
}

/* Returns a limit less its current use. */
static double left_of(const struct rlimit *limit, const char *root, const char *in_use)
{
    if (limit->rlim_cur == RLIM_INFINITY)
        return INFINITY;
    const double left = (double)limit->rlim_cur - read_kb(root, "/proc/self/status", in_use);
    return left > 0 ? left : 0;
}

void leat_machine_read(const char *root, leat_machine *out)
{
    char folder[512] = "", why[700], cores[1024];
    const double available = read_kb(root, "/proc/meminfo", "MemAvailable:");
    struct rlimit mapped = { .rlim_cur = RLIM_INFINITY }, data = mapped;
    getrlimit(RLIMIT_AS, &mapped);
    getrlimit(RLIMIT_DATA, &data);
    const double mappable = left_of(&mapped, root, "VmSize:");
    const double private = left_of(&data, root, "VmData:");
    const double address = mappable < private ? mappable : private;
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    *out = (leat_machine){ .memory_bytes = INT64_MAX, .address_bytes = INT64_MAX };
    out->cores = leat_cores_count_why(root, 0, cores, sizeof cores);
    const int n_nodes = leat_cores_nodes(root);
    if (n_nodes > 1)
        snprintf(
            out->cores_why, sizeof out->cores_why,
            "%.90s; they are on %d NUMA nodes: `numactl --cpunodebind=N --membind=N` uses only one",
            cores, n_nodes);
    else
        snprintf(out->cores_why, sizeof out->cores_why, "%.190s", cores);
    if (pages > 0 && page > 0)
        lower(out, (double)pages * (double)page, "physical memory");
    if (available > 0)
        lower(out, available, "memory that is available now");
    const double group = leat_cgroup_least(root, "memory", level_memory, folder, sizeof folder);
    snprintf(why, sizeof why, "the memory limit of %s, less what is in use", folder);
    lower(out, group, why);
    lower(out, mappable, "RLIMIT_AS, less what is mapped");
    lower(out, private, "RLIMIT_DATA, less what is in use");
    if (address < 0x1p62)
        out->address_bytes = (int64_t)address;
    out->stack_bytes = (int64_t)leat_pool_stack_bytes();
}

int64_t leat_machine_cache_bytes(const char *root)
{
    char path[512];
    long long kb = 0;
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu0/cache/index3/size", root);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    const bool is_read = fscanf(file, "%lldK", &kb) == 1;
    fclose(file);
    return is_read && kb > 0 ? kb << 10 : 0;
}
