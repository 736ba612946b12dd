/* SPDX-License-Identifier: MIT
 *
 * cores.c: DESIGN: /proc/self/cgroup gives the path of this process in each hierarchy,
 * /proc/self/mountinfo where hierarchies are mounted and which path is their top there. From the
 * process's folder up to the mount, each level may have a quota; the least one counts. A file that
 * is missing or strange sets no limit. */
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cores.h"

#define PATH_BYTES 4096

typedef struct hierarchy {
    bool v2;
    char path[PATH_BYTES];  /* of this process */
    char top[PATH_BYTES];   /* path that is mounted … */
    char mount[PATH_BYTES]; /* … here */
} hierarchy;

static FILE *open_in(const char *root, const char *path)
{
    char name[2 * PATH_BYTES];
    const int n = snprintf(name, sizeof name, "%s%s", root, path);
    return n > 0 && (size_t)n < sizeof name ? fopen(name, "re") : NULL;
}

/* Is `word` in a list such as "cpu,cpuacct"? */
static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = list; p; p = strchr(p, ','), p = p ? p + 1 : NULL)
        if (!strncmp(p, word, n) && (!p[n] || p[n] == ','))
            return true;
    return false;
}

static void copy(char *to, const char *from)
{
    snprintf(to, PATH_BYTES, "%s", from);
}

/* "0::/path" is v2, "4:cpu,cpuacct:/path" is v1. */
static bool find_path(const char *root, hierarchy *h)
{
    char line[PATH_BYTES];
    bool found = false;
    FILE *file = open_in(root, "/proc/self/cgroup");
    while (file && !found && fgets(line, sizeof line, file)) {
        char *list = strchr(line, ':');
        char *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        found = h->v2 ? !strcmp(line, "0:") : has_word(list + 1, "cpu");
        if (found)
            copy(h->path, path);
    }
    if (file)
        fclose(file);
    return found;
}

/* "ID PARENT DEV TOP MOUNT OPTIONS… - TYPE SOURCE SUPER_OPTIONS" */
static bool parse_mount(char *line, hierarchy *h)
{
    char *rest = strstr(line, " - ");
    char *fields[5], *type, *options = NULL, *save = NULL;
    if (!rest)
        return false;
    *rest = 0;
    for (int i = 0; i < 5; i++)
        if (!(fields[i] = strtok_r(i ? NULL : line, " ", &save)))
            return false;
    type = strtok_r(rest + 3, " \n", &save);
    if (type && strtok_r(NULL, " \n", &save))
        options = strtok_r(NULL, " \n", &save);
    if (!type || strcmp(type, h->v2 ? "cgroup2" : "cgroup"))
        return false;
    if (!h->v2 && (!options || !has_word(options, "cpu")))
        return false;
    copy(h->top, fields[3]);
    copy(h->mount, fields[4]);
    return true;
}

static bool find_mount(const char *root, hierarchy *h)
{
    char line[3 * PATH_BYTES];
    bool found = false;
    FILE *file = open_in(root, "/proc/self/mountinfo");
    while (file && !found && fgets(line, sizeof line, file))
        found = parse_mount(line, h);
    if (file)
        fclose(file);
    return found;
}

static bool read_line(const char *root, const char *folder, const char *name, char *line, int size)
{
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = open_in(root, path);
    if (!file)
        return false;
    const bool read = fgets(line, size, file);
    fclose(file);
    return read;
}

/* CPUs that one level allows; INFINITY: no quota. */
static double level_quota(const char *root, const hierarchy *h, const char *folder)
{
    char line[64];
    long long quota = -1, period = 0;
    if (h->v2) {
        if (read_line(root, folder, "cpu.max", line, sizeof line) &&
            sscanf(line, "%lld %lld", &quota, &period) != 2) /* "max 100000" */
            return INFINITY;
    } else {
        if (read_line(root, folder, "cpu.cfs_quota_us", line, sizeof line))
            quota = atoll(line);
        if (read_line(root, folder, "cpu.cfs_period_us", line, sizeof line))
            period = atoll(line);
    }
    return quota > 0 && period > 0 ? (double)quota / (double)period : INFINITY;
}

/* The least quota of all levels, and the folder that has it. */
static double least_quota(const char *root, bool v2, char *folder, size_t size)
{
    double least = INFINITY;
    char here[2 * PATH_BYTES];
    hierarchy *h = calloc(1, sizeof *h);
    if (!h)
        return least;
    h->v2 = v2;
    if (find_path(root, h) && find_mount(root, h)) {
        const size_t n_top = strcmp(h->top, "/") ? strlen(h->top) : 0;
        const char *inner = h->path + n_top;
        if (strncmp(h->path, h->top, n_top) || *inner != '/' || !inner[1])
            inner = "";
        snprintf(here, sizeof here, "%s%s", h->mount, inner);
        for (char *end = here + strlen(here); end; end = strrchr(here, '/')) {
            *end = 0;
            const double quota = level_quota(root, h, here);
            if (quota < least) {
                least = quota;
                snprintf(folder, size, "%s", here);
            }
            if (strlen(here) <= strlen(h->mount))
                break;
        }
    }
    free(h);
    return least;
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
    char folder[512] = "", folder_v1[512] = "";
    const int n = n_affinity > 0 ? n_affinity : affinity();
    double quota = least_quota(root, true, folder, sizeof folder);
    const double quota_v1 = least_quota(root, false, folder_v1, sizeof folder_v1);
    if (quota_v1 < quota) {
        quota = quota_v1;
        memcpy(folder, folder_v1, sizeof folder);
    }
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
