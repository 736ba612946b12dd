/* SPDX-License-Identifier: MIT
 *
 * golden_plant.c: implements golden_plant.h. */
#include "study/golden_plant.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    N_NEIGHBOURS = 2,
    EACH = 16,
    READ_NS = 4000000,
    STRAGGLER_NS = 60000000,
    START_NS = 300000000
};

static _Atomic unsigned planted;
static _Atomic unsigned n_sleeps;
static pid_t neighbours[N_NEIGHBOURS];

static int64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int pause_until(clockid_t clock, int64_t until)
{
    const struct timespec at = { until / 1000000000, until % 1000000000 };
    return syscall(SYS_clock_nanosleep, clock, TIMER_ABSTIME, &at, NULL) == 0 ? 0 : errno;
}

/* CPU time, so that it does not shrink when others have the core. */
static void burn(int64_t ns)
{
    const int64_t until = now_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until) {
    }
}

/* The trainer's thread sleeps until the simulated device is done: that is no work of the pipeline. */
static bool is_worker(void)
{
    char name[16] = "";
    return pthread_getname_np(pthread_self(), name, sizeof name) == 0 && !strncmp(name, "leat-", 5);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                    struct timespec *remain)
{
    const unsigned plants = planted & (PLANT_BURN | PLANT_STRAGGLERS | PLANT_SLOW_START);
    if (clock != CLOCK_MONOTONIC || flags != TIMER_ABSTIME || !plants || !is_worker())
        return syscall(SYS_clock_nanosleep, clock, flags, time, remain) == 0 ? 0 : errno;
    const int64_t until = time->tv_sec * 1000000000LL + time->tv_nsec;
    const unsigned n = ++n_sleeps;
    if (plants & PLANT_BURN) {
        burn(until - now_ns(clock));
        return 0;
    }
    if (plants & PLANT_STRAGGLERS && n % EACH == 0)
        return pause_until(clock, now_ns(clock) + STRAGGLER_NS);
    if (plants & PLANT_SLOW_START && n == 1)
        return pause_until(clock, now_ns(clock) + START_NS);
    return pause_until(clock, until);
}

ssize_t pread(int fd, void *to, size_t size, off_t offset)
{
    if (planted & PLANT_SLOW_READS)
        pause_until(CLOCK_MONOTONIC, now_ns(CLOCK_MONOTONIC) + READ_NS);
    return syscall(SYS_pread64, fd, to, size, offset);
}

/* Nothing is in the page cache. */
ssize_t preadv2(int fd, const struct iovec *parts, int n, off_t offset, int flags)
{
    if (planted & PLANT_SLOW_READS) {
        errno = EAGAIN;
        return -1;
    }
    return syscall(SYS_preadv2, fd, parts, n, offset, 0L, flags);
}

/* --- neighbours -------------------------------------------------------------------------------- */

static void start_neighbours(void)
{
    const pid_t parent = getpid();
    for (int i = 0; i < N_NEIGHBOURS; i++) {
        neighbours[i] = fork();
        while (neighbours[i] == 0)
            if (getppid() != parent)
                _exit(0);
    }
}

static void end_neighbours(void)
{
    for (int i = 0; i < N_NEIGHBOURS; i++)
        if (neighbours[i] > 0) {
            kill(neighbours[i], SIGKILL);
            waitpid(neighbours[i], NULL, 0);
            neighbours[i] = 0;
        }
}

void golden_plant(unsigned plants)
{
    end_neighbours();
    n_sleeps = 0;
    planted = plants;
    if (plants & PLANT_NEIGHBOURS)
        start_neighbours();
}

int golden_two_cpus(void)
{
    cpu_set_t all, two;
    if (sched_getaffinity(0, sizeof all, &all) < 0)
        return 1;
    CPU_ZERO(&two);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &two);
    sched_setaffinity(0, sizeof two, &two);
    return CPU_COUNT(&two);
}
