/* SPDX-License-Identifier: MIT
 *
 * clock.h: the clocks. All times of the library are CLOCK_MONOTONIC nanoseconds. */
#ifndef LEAT_CLOCK_H
#define LEAT_CLOCK_H

#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>

/* CLOCK_MONOTONIC in nanoseconds. */
static inline int64_t leat_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Returns the CPU time of the calling thread, ns. A system call, about ten times as expensive. */
static inline int64_t leat_clock_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Sleeps so long and a few microseconds; nanosleep() alone takes 50 µs more, the thread's timer slack. */
static inline void leat_clock_nap(int64_t ns)
{
    const int slack = prctl(PR_GET_TIMERSLACK);
    prctl(PR_SET_TIMERSLACK, 1UL);
    nanosleep(&(struct timespec){ ns / 1000000000, ns % 1000000000 }, NULL);
    if (slack > 0)
        prctl(PR_SET_TIMERSLACK, (unsigned long)slack);
}

#endif
