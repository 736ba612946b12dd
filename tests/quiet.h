/* SPDX-License-Identifier: MIT
 *
 * quiet.h: can this machine measure times at the moment? On one that runs more than it has cores
 * for, threads wake up milliseconds late, and what they measure is the neighbours. */
#ifndef LEAT_QUIET_H
#define LEAT_QUIET_H

#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"

static int quiet_compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Do 9 of 10 short sleeps end within 0.3 ms of their time? */
static bool quiet_sleeps(void)
{
    enum { N = 100, PAUSE_NS = 500000 };
    int64_t late[N];
    for (int i = 0; i < N; i++) {
        const int64_t until = leat_clock_ns() + PAUSE_NS;
        nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
        late[i] = leat_clock_ns() - until;
    }
    qsort(late, N, sizeof *late, quiet_compare);
    return late[N * 9 / 10] < 300000;
}

/* Does a thread that wants to compute get 9/10 of a core? */
static bool quiet_core(void)
{
    enum { WALL_NS = 50000000 };
    struct timespec from, to;
    const int64_t until = leat_clock_ns() + WALL_NS;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    while (leat_clock_ns() < until) {
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    return (to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec >= WALL_NS / 10 * 9;
}

static inline bool machine_is_quiet(void)
{
    return quiet_core() && quiet_sleeps();
}

#endif
