/* SPDX-License-Identifier: MIT
 *
 * other_processes.c: CPU time of other processes, from /proc/stat. Whoever measures calls it before and after. */
#include "other_processes.h"

#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/text.h"

enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, N_TICKS };

static void add_line(const char *line, const cpu_set_t *ours, leat_usage *out)
{
    unsigned cpu;
    long long t[N_TICKS];
    const int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    if (line[3] == ' ' || /* all CPUs together */
        sscanf(line, "cpu%u %lld %lld %lld %lld %lld %lld %lld %lld", &cpu, &t[USER], &t[NICE],
               &t[SYSTEM], &t[IDLE], &t[IOWAIT], &t[IRQ], &t[SOFTIRQ], &t[STEAL]) != N_TICKS + 1 ||
        cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, ours))
        return;
    for (int i = 0; i < N_TICKS; i++) {
        out->all_ns += t[i] * tick_ns;
        out->busy_ns += i == IDLE || i == IOWAIT ? 0 : t[i] * tick_ns;
    }
}

/* Returns how long the limit of one control group stopped it, ns; 0: it has none. */
static double level_throttled(const char *root, bool v2, const char *folder)
{
    char path[1024], line[128] = "";
    long long value = 0;
    leat_text(path, sizeof path, "%s%s/cpu.stat", root, folder);
    FILE *file = fopen(path, "re");
    while (file && value <= 0 && fgets(line, sizeof line, file))
        sscanf(line, v2 ? "throttled_usec %lld" : "throttled_time %lld", &value);
    if (file)
        fclose(file);
    return (double)value * (v2 ? 1000 : 1);
}

void leat_other_processes_look(const char *root, leat_usage *out)
{
    char path[512], line[1024] = "";
    struct timespec own;
    cpu_set_t ours;
    *out = (leat_usage){ .n_cpus = 1 };
    /* first: what reading it costs lies before the clocks are read */
    const int64_t throttled_ns = (int64_t)leat_cgroup_sum(root, "cpu", level_throttled);
    CPU_ZERO(&ours);
    if (sched_getaffinity(0, sizeof ours, &ours) < 0) /* more CPUs than fit: not known */
        return;
    out->throttled_ns = throttled_ns;
    const int n = CPU_COUNT(&ours);
    out->n_cpus = leat_cores_count_why(root, n, line, sizeof line);
    out->n_beyond = n - out->n_cpus;
    snprintf(path, sizeof path, "%s/proc/stat", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        add_line(line, &ours, out);
    if (file)
        fclose(file);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
    out->own_ns = own.tv_sec * 1000000000LL + own.tv_nsec;
    out->at_ns = leat_clock_ns();
}

/* --- descendants ------------------------------------------------------------------------------- */

/* ticks: its own and those of children that it has waited for */
struct process {
    long pid, parent;
    long long own, waited;
    bool is_ours;
};

struct processes {
    struct process *items;
    size_t n, room;
};

/* The name in parentheses may hold anything, so fields are counted from the last ')'. */
static bool read_process(const char *path, struct process *out)
{
    char line[1024];
    long long own[2], waited[2];
    FILE *file = fopen(path, "re");
    const size_t n = file ? fread(line, 1, sizeof line - 1, file) : 0;
    if (file)
        fclose(file);
    line[n] = 0;
    const char *const end = strrchr(line, ')');
    if (!end || sscanf(line, "%ld", &out->pid) != 1 ||
        sscanf(end + 1, " %*c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld",
               &out->parent, &own[0], &own[1], &waited[0], &waited[1]) != 5)
        return false;
    out->own = own[0] + own[1];
    out->waited = waited[0] + waited[1];
    return true;
}

static void list_processes(const char *root, struct processes *list)
{
    char path[512];
    struct dirent *entry;
    snprintf(path, sizeof path, "%s/proc", root);
    DIR *const folder = opendir(path);
    while (folder && (entry = readdir(folder))) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        if (list->n == list->room) {
            const size_t room = list->room ? 2 * list->room : 256;
            struct process *const more = realloc(list->items, room * sizeof *more);
            if (!more)
                break;
            list->items = more;
            list->room = room;
        }
        struct process one = { 0 };
        snprintf(path, sizeof path, "%.200s/proc/%.32s/stat", root, entry->d_name);
        if (read_process(path, &one))
            list->items[list->n++] = one;
    }
    if (folder)
        closedir(folder);
}

static int by_pid(const void *a, const void *b)
{
    const long one = ((const struct process *)a)->pid, other = ((const struct process *)b)->pid;
    return one < other ? -1 : one > other;
}

static bool is_ours(const struct processes *list, long pid)
{
    const struct process key = { .pid = pid }, *const found = bsearch(&key, list->items, list->n,
                                                                      sizeof key, by_pid);
    return found && found->is_ours;
}

int64_t leat_other_processes_descendants_ns(const char *root)
{
    const int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    struct processes list = { 0 };
    long long ticks = 0;
    bool found = true;
    list_processes(root, &list);
    if (list.n == 0)
        return 0;
    qsort(list.items, list.n, sizeof *list.items, by_pid);
    for (size_t i = 0; i < list.n; i++)
        if ((list.items[i].is_ours = list.items[i].pid == getpid()))
            ticks += list.items[i].waited;
    while (found) { /* a child may be listed before its parent */
        found = false;
        for (size_t i = 0; i < list.n; i++) {
            struct process *const p = &list.items[i];
            if (p->is_ours || !is_ours(&list, p->parent))
                continue;
            p->is_ours = found = true;
            ticks += p->own + p->waited;
        }
    }
    free(list.items);
    return ticks * tick_ns;
}

/* --- between two looks ------------------------------------------------------------------------- */

double leat_other_processes_throttled(const leat_usage *from, const leat_usage *to)
{
    const int64_t ns = to->throttled_ns - from->throttled_ns, wall = to->at_ns - from->at_ns;
    const double cpus = ns > 0 && wall > 0 ? (double)ns / (double)wall : 0;
    return cpus < to->n_cpus ? cpus : to->n_cpus; /* two levels that stop at once count twice */
}

double leat_other_processes_taken(const leat_usage *from, const leat_usage *to)
{
    const int64_t all = to->all_ns - from->all_ns;
    const int64_t others = to->busy_ns - from->busy_ns - (to->own_ns - from->own_ns);
    const double cpus =
        all > 0 ? (double)others / (double)all * (to->n_cpus + to->n_beyond) - to->n_beyond : 0;
    return cpus > 0 ? cpus : 0;
}
