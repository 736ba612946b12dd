/* SPDX-License-Identifier: MIT
 *
 * arm_consumer.c: the step of a program that is not leat's, of known duration: it keeps a batch for arm->step_ns.
 * arm.c calls it in place of the trainer. Like a device of its own, it uses no cores but for waking up. */
#include <errno.h>
#include <time.h>

#include "arm.h"
#include "base/clock.h"

/* A sleep ends later than asked for; the rest is waited for awake. */
enum { WAKES_LATE_NS = 60000 };

static void wait_until(int64_t ns)
{
    const int64_t wake = ns - WAKES_LATE_NS;
    const struct timespec at = { .tv_sec = wake / 1000000000, .tv_nsec = wake % 1000000000 };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
    while (leat_clock_ns() < ns)
        ;
}

static leat_step_times step_of(const leat_batch_info *info, int64_t from, int64_t to)
{
    return (leat_step_times){ .asked_ns = info->asked_ns < from ? info->asked_ns : from,
                              .ready_ns = info->ready_ns,
                              .compute_start_ns = from,
                              .compute_end_ns = to,
                              .busy_ns = to - from,
                              .rows = info->rows };
}

int leat_arm_consumer_take(leat_arm *arm, leat_batch *batch, int32_t n, leat_error *err)
{
    leat_step_times *const times = leat_arm_more_times(arm, n, err);
    int64_t at = leat_clock_ns();
    for (int32_t i = 0; i < n && times; i++) {
        const int64_t from = at;
        wait_until(from + arm->step_ns);
        at = leat_clock_ns();
        times[i] = step_of(leat_batch_get_info(batch), from, at);
        arm->n_times++;
    }
    leat_batch_release(batch);
    return times ? LEAT_OK : LEAT_E_NOMEM;
}

int leat_arm_consumer_repeat(leat_arm *arm, leat_batch *batch, int32_t n, leat_error *err)
{
    leat_step_times *const times = leat_arm_more_times(arm, n, err);
    const int64_t from = leat_clock_ns(), rows = arm->use_run.rows, steps = arm->span_steps;
    for (int32_t i = 0; i < n && times; i++) {
        times[i] = step_of(leat_batch_get_info(batch), from + i * arm->step_ns,
                           from + (i + 1) * arm->step_ns);
        if (steps > 0)
            times[i].rows = (i + 1) * rows / steps - i * rows / steps;
    }
    arm->n_times += times ? (size_t)n : 0;
    leat_batch_release(batch);
    return times ? LEAT_OK : LEAT_E_NOMEM;
}
