/* SPDX-License-Identifier: MIT */
#include "host.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int leat_host_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

int32_t leat_host_run(int32_t n, void *(*work)(void *), void *argument)
{
    pthread_t *const threads = calloc((size_t)n, sizeof *threads);
    int32_t started = 0;
    while (threads && started + 1 < n && !pthread_create(&threads[started], NULL, work, argument))
        started++;
    work(argument);
    for (int32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return started + 1;
}

int64_t leat_host_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
