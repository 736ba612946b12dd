/* SPDX-License-Identifier: MIT
 *
 * meter.c: divides the time of steps into shares. Trainer reports and comparisons call it. The four shares
 * always sum to 1. */
#include "leat/meter.h"

#include <stdbool.h>
#include <stdlib.h>

#include "median_bootstrap.h"

enum { MEDIAN_OF = 10 };
#define STEADY_WITHIN 0.05

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The value that a share p of sorted values does not exceed (nearest rank). */
static int64_t quantile(const int64_t *sorted, size_t n, double p)
{
    const size_t rank = (size_t)(p * (double)n + 0.999999);
    return sorted[rank ? rank - 1 : 0];
}

/* Times between ends of consecutive steps, out[0] of steps[first]. NULL: out of memory. */
static int64_t *step_times(const leat_step_times *steps, size_t first, size_t n)
{
    int64_t *times = malloc((n - first) * sizeof *times);
    for (size_t i = first; times && i < n; i++)
        times[i - first] = most(0, steps[i].compute_end_ns - steps[i - 1].compute_end_ns);
    return times;
}

/* Time of the window so far, ns, and its counts. */
struct account {
    int64_t at; /* end of the last step */
    int64_t busy, input_wait, exposed_copy;
    int64_t host, send, start, inside; /* other */
    int64_t rows, copied_bytes, launches, kernels;
    int64_t crossings, crossed_bytes, crossing_ns, elsewhere_ns;
};

static void add_step(struct account *account, const leat_step_times *step)
{
    const int64_t start = most(account->at, step->compute_start_ns);
    const int64_t asked = least(start, most(account->at, step->asked_ns));
    const int64_t ready = least(start, most(asked, step->ready_ns));
    const int64_t sent = least(start, most(ready, step->copy_start_ns));
    const int64_t copied = least(start, most(sent, step->copy_end_ns));
    const int64_t end = most(start, step->compute_end_ns);
    account->input_wait += ready - asked;
    account->exposed_copy += copied - sent;
    const int64_t busy = least(end - start, most(0, step->busy_ns));
    account->busy += busy;
    account->host += asked - account->at;
    account->send += sent - ready;
    account->start += start - copied;
    account->inside += end - start - busy;
    account->rows += step->rows;
    account->copied_bytes += step->copied_bytes;
    account->launches += step->launches;
    account->kernels += step->kernels;
    account->crossings += step->crossings;
    account->crossed_bytes += step->crossed_bytes;
    account->crossing_ns += step->crossing_ns;
    account->elsewhere_ns += step->elsewhere_ns;
    account->at = end;
}

/* Sorts and gives what is usual and what is rare. */
static void add_quantiles(const leat_step_times *steps, size_t first, size_t n, int64_t *times,
                          leat_meter *out)
{
    leat_median_sort(times, n - first);
    out->step_p50_ns = quantile(times, n - first, 0.5);
    out->step_p95_ns = quantile(times, n - first, 0.95);
    for (size_t i = first; i < n; i++)
        times[i - first] = steps[i].launch_ns;
    leat_median_sort(times, n - first);
    out->launch_p50_ns = quantile(times, n - first, 0.5);
}

int leat_meter_account(const leat_step_times *steps, size_t first, size_t n, leat_meter *out)
{
    if (!steps || !out || first < 1 || n <= first)
        return LEAT_E_ARGUMENT;
    struct account account = { .at = steps[first - 1].compute_end_ns };
    const int64_t from = account.at;
    for (size_t i = first; i < n; i++)
        add_step(&account, &steps[i]);
    const int64_t wall = account.at - from;
    if (wall <= 0)
        return LEAT_E_ARGUMENT;
    int64_t *times = step_times(steps, first, n);
    if (!times)
        return LEAT_E_NOMEM;
    *out = (leat_meter){
        .n_steps = n - first,
        .wall_ns = wall,
        .busy = (double)account.busy / (double)wall,
        .input_wait = (double)account.input_wait / (double)wall,
        .exposed_copy = (double)account.exposed_copy / (double)wall,
        .other =
            (double)(account.host + account.send + account.start + account.inside) / (double)wall,
        .other_host = (double)account.host / (double)wall,
        .other_send = (double)account.send / (double)wall,
        .other_start = (double)account.start / (double)wall,
        .other_inside = (double)account.inside / (double)wall,
        .samples_per_s = (double)account.rows * 1e9 / (double)wall,
        .launches = (double)account.launches / (double)(n - first),
        .kernels = (double)account.kernels / (double)(n - first),
        .copied_bytes_per_s = (double)account.copied_bytes * 1e9 / (double)wall,
        .crossings = (double)account.crossings / (double)(n - first),
        .crossed_bytes = (double)account.crossed_bytes / (double)(n - first),
        .crossing_ns = (double)account.crossing_ns / (double)(n - first),
        .elsewhere_ns = (double)account.elsewhere_ns / (double)(n - first),
    };
    add_quantiles(steps, first, n, times, out);
    free(times);
    return LEAT_OK;
}

/* True if the median of the MEDIAN_OF times up to times[last] is near the goal. */
static bool near(const int64_t *times, size_t last, double goal)
{
    int64_t window[MEDIAN_OF];
    for (size_t i = 0; i < MEDIAN_OF; i++)
        window[i] = times[last - i];
    const double away = leat_median_of(window, MEDIAN_OF) - goal;
    return (away < 0 ? -away : away) <= STEADY_WITHIN * goal;
}

size_t leat_meter_warm(const leat_step_times *steps, size_t n)
{
    if (!steps || n <= MEDIAN_OF)
        return n;
    const size_t n_times = n - 1; /* times[i] is of steps[i + 1] */
    int64_t *times = step_times(steps, 1, n), *half = step_times(steps, 1 + n_times / 2, n);
    size_t steady = n;
    if (times && half) {
        const double goal = leat_median_of(half, n_times - n_times / 2);
        while (steady > MEDIAN_OF && near(times, steady - 2, goal))
            steady--;
    }
    free(times);
    free(half);
    return steady;
}
