/* SPDX-License-Identifier: MIT
 *
 * other_processes.c: CPU time of other processes, from /proc/stat. compare.c calls it. */
#include "other_processes.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, N_TICKS };

static void add_line(const char *line, const cpu_set_t *ours, leat_other_processes *out)
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

/* Both versions of control groups; in a container the root is its own group. */
static int64_t throttled_ns(const char *root)
{
    static const struct {
        const char *file, *format;
        int64_t unit_ns;
    } places[] = { { "/sys/fs/cgroup/cpu.stat", "throttled_usec %lld", 1000 },
                   { "/sys/fs/cgroup/cpu/cpu.stat", "throttled_time %lld", 1 } };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char path[512], line[128] = "";
        long long value = -1;
        snprintf(path, sizeof path, "%s%s", root, places[i].file);
        FILE *file = fopen(path, "re");
        while (file && value < 0 && fgets(line, sizeof line, file))
            sscanf(line, places[i].format, &value);
        if (file)
            fclose(file);
        if (value >= 0)
            return value * places[i].unit_ns;
    }
    return 0;
}

void leat_other_processes_look(const char *root, leat_other_processes *out)
{
    char path[512], line[512] = "";
    struct timespec own;
    cpu_set_t ours;
    *out = (leat_other_processes){ .n_cpus = 1 };
    CPU_ZERO(&ours);
    if (sched_getaffinity(0, sizeof ours, &ours) < 0) /* more CPUs than fit: not known */
        return;
    out->n_cpus = CPU_COUNT(&ours);
    snprintf(path, sizeof path, "%s/proc/stat", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        add_line(line, &ours, out);
    if (file)
        fclose(file);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
    out->own_ns = own.tv_sec * 1000000000LL + own.tv_nsec;
    out->at_ns = leat_clock_ns();
    out->throttled_ns = throttled_ns(root);
}

double leat_other_processes_throttled(const leat_other_processes *from,
                                      const leat_other_processes *to)
{
    const int64_t ns = to->throttled_ns - from->throttled_ns, wall = to->at_ns - from->at_ns;
    return ns > 0 && wall > 0 ? (double)ns / (double)wall : 0;
}

double leat_other_processes_taken(const leat_other_processes *from, const leat_other_processes *to)
{
    const int64_t all = to->all_ns - from->all_ns;
    const int64_t others = to->busy_ns - from->busy_ns - (to->own_ns - from->own_ns);
    return all > 0 && others > 0 ? (double)others / (double)all * to->n_cpus : 0;
}
