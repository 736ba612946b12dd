/* SPDX-License-Identifier: MIT
 *
 * cgroup.c: reads the limits of control groups.
 *
 * DESIGN. /proc/self/cgroup has the path of this process in each hierarchy. /proc/self/mountinfo has the
 * mount point of each hierarchy and the path that is mounted there. Each level from the folder of the
 * process up to the mount point can have a limit; the least one counts. A file that is missing or
 * malformed sets no limit. */
#include "cgroup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096

typedef struct hierarchy {
    bool v2;
    const char *controller;
    char path[PATH_BYTES];  /* of this process */
    char top[PATH_BYTES];   /* path that is mounted */
    char mount[PATH_BYTES]; /* mount point */
} hierarchy;

static FILE *open_in(const char *root, const char *path)
{
    char name[2 * PATH_BYTES];
    const int n = snprintf(name, sizeof name, "%s%s", root, path);
    return n > 0 && (size_t)n < sizeof name ? fopen(name, "re") : NULL;
}

/* True: `word` is in a list such as "cpu,cpuacct". */
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

/* Finds a line such as "0::/path" (v2) or "4:cpu,cpuacct:/path" (v1). */
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
        found = h->v2 ? !strcmp(line, "0:") : has_word(list + 1, h->controller);
        if (found)
            copy(h->path, path);
    }
    if (file)
        fclose(file);
    return found;
}

/* Parses "ID PARENT DEV TOP MOUNT OPTIONS… - TYPE SOURCE SUPER_OPTIONS". */
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
    if (!h->v2 && (!options || !has_word(options, h->controller)))
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

bool leat_cgroup_read(const char *root, const char *folder, const char *name, char *line, int size)
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

typedef void visitor(void *owner, const char *folder, double figure);

/* Visits each level of one hierarchy, the innermost first. */
static void walk(const char *root, bool v2, const char *controller, leat_cgroup_level *level,
                 visitor *visit, void *owner)
{
    char here[2 * PATH_BYTES];
    hierarchy *h = calloc(1, sizeof *h);
    if (!h)
        return;
    h->v2 = v2;
    h->controller = controller;
    if (find_path(root, h) && find_mount(root, h)) {
        const size_t n_top = strcmp(h->top, "/") ? strlen(h->top) : 0;
        const char *inner = h->path + n_top;
        if (strncmp(h->path, h->top, n_top) || *inner != '/' || !inner[1])
            inner = "";
        snprintf(here, sizeof here, "%s%s", h->mount, inner);
        for (char *end = here + strlen(here); end; end = strrchr(here, '/')) {
            *end = 0;
            visit(owner, here, level(root, v2, here));
            if (strlen(here) <= strlen(h->mount))
                break;
        }
    }
    free(h);
}

struct least {
    double figure;
    char *folder;
    size_t size;
};

static void take_least(void *owner, const char *folder, double figure)
{
    struct least *const least = owner;
    if (figure >= least->figure)
        return;
    least->figure = figure;
    snprintf(least->folder, least->size, "%s", folder);
}

double leat_cgroup_least(const char *root, const char *controller, leat_cgroup_level *level,
                         char *folder, size_t size)
{
    struct least least = { INFINITY, folder, size };
    walk(root, true, controller, level, take_least, &least);
    walk(root, false, controller, level, take_least, &least);
    return least.figure;
}

static void add(void *owner, const char *folder, double figure)
{
    (void)folder;
    *(double *)owner += figure;
}

double leat_cgroup_sum(const char *root, const char *controller, leat_cgroup_level *level)
{
    double sum = 0;
    walk(root, true, controller, level, add, &sum);
    walk(root, false, controller, level, add, &sum);
    return sum;
}
