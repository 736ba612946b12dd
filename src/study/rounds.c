/* SPDX-License-Identifier: MIT
 *
 * rounds.c: computes the figures of an arm from its rounds. compare.c calls it once per arm. */
#include "rounds.h"

#include "bootstrap.h"
#include "median.h"

static const double APART = 0.02;

static double idle_of(const void *arg, const size_t *rounds, size_t n)
{
    const leat_meter *meters = arg;
    double busy = 0, wall = 0;
    for (size_t i = 0; i < n; i++) {
        busy += meters[rounds[i]].busy * (double)meters[rounds[i]].wall_ns;
        wall += (double)meters[rounds[i]].wall_ns;
    }
    return 1 - busy / wall;
}

static double rate_of(const void *arg, const size_t *rounds, size_t n)
{
    const leat_meter *meters = arg;
    double samples = 0, wall = 0;
    for (size_t i = 0; i < n; i++) {
        samples += meters[rounds[i]].samples_per_s * (double)meters[rounds[i]].wall_ns;
        wall += (double)meters[rounds[i]].wall_ns;
    }
    return samples / wall;
}

struct pair {
    const leat_meter *arm, *base;
};

static double speedup_of(const void *arg, const size_t *rounds, size_t n)
{
    const struct pair *pair = arg;
    return rate_of(pair->arm, rounds, n) / rate_of(pair->base, rounds, n);
}

/* All rounds as one window: shares of the summed time. */
static leat_meter pool(const leat_meter *rounds, size_t n)
{
    leat_meter all = { 0 };
    int64_t p50[LEAT_BOOTSTRAP_MAX], p95[LEAT_BOOTSTRAP_MAX], launch[LEAT_BOOTSTRAP_MAX];
    for (size_t i = 0; i < n; i++) {
        const double wall = (double)rounds[i].wall_ns, steps = (double)rounds[i].n_steps;
        all.n_steps += rounds[i].n_steps;
        all.wall_ns += rounds[i].wall_ns;
        all.busy += rounds[i].busy * wall;
        all.input_wait += rounds[i].input_wait * wall;
        all.exposed_copy += rounds[i].exposed_copy * wall;
        all.other_host += rounds[i].other_host * wall;
        all.other_send += rounds[i].other_send * wall;
        all.other_start += rounds[i].other_start * wall;
        all.other_inside += rounds[i].other_inside * wall;
        all.samples_per_s += rounds[i].samples_per_s * wall;
        all.launches += rounds[i].launches * steps;
        all.kernels += rounds[i].kernels * steps;
        all.crossings += rounds[i].crossings * steps;
        all.crossed_bytes += rounds[i].crossed_bytes * steps;
        all.crossing_ns += rounds[i].crossing_ns * steps;
        all.elsewhere_ns += rounds[i].elsewhere_ns * steps;
        all.copied_bytes_per_s += rounds[i].copied_bytes_per_s * wall;
        launch[i] = rounds[i].launch_p50_ns;
        p50[i] = rounds[i].step_p50_ns;
        p95[i] = rounds[i].step_p95_ns;
    }
    all.busy /= (double)all.wall_ns;
    all.input_wait /= (double)all.wall_ns;
    all.exposed_copy /= (double)all.wall_ns;
    all.other_host /= (double)all.wall_ns;
    all.other_send /= (double)all.wall_ns;
    all.other_start /= (double)all.wall_ns;
    all.other_inside /= (double)all.wall_ns;
    all.samples_per_s /= (double)all.wall_ns;
    all.copied_bytes_per_s /= (double)all.wall_ns;
    all.launches /= (double)all.n_steps;
    all.kernels /= (double)all.n_steps;
    all.crossings /= (double)all.n_steps;
    all.crossed_bytes /= (double)all.n_steps;
    all.crossing_ns /= (double)all.n_steps;
    all.elsewhere_ns /= (double)all.n_steps;
    all.launch_p50_ns = (int64_t)leat_median_of(launch, n);
    all.other = 1 - all.busy - all.input_wait - all.exposed_copy;
    all.step_p50_ns = (int64_t)leat_median_of(p50, n);
    all.step_p95_ns = (int64_t)leat_median_of(p95, n);
    return all;
}

static leat_estimate rate(const leat_meter *rounds, size_t n)
{
    const leat_interval interval = leat_bootstrap_interval(rate_of, rounds, n);
    return (leat_estimate){ pool(rounds, n).samples_per_s, interval.low, interval.high };
}

/* Ratio of two rates, paired by round. */
static leat_estimate ratio(const leat_meter *arm, const leat_meter *base, size_t n)
{
    const struct pair pair = { arm, base };
    const leat_interval interval = leat_bootstrap_interval(speedup_of, &pair, n);
    return (leat_estimate){ pool(arm, n).samples_per_s / pool(base, n).samples_per_s, interval.low,
                            interval.high };
}

bool leat_rounds_settled(const leat_meter *run, const leat_meter *base, size_t n)
{
    const leat_estimate value = run == base ? rate(run, n) : ratio(run, base, n);
    const double scale = run == base ? value.value : 1;
    if (run != base && (value.low > 1 + APART || value.high < 1 - APART))
        return true;
    return value.high - value.low <= 2 * APART * scale;
}

static void conclude_alone(const leat_rounds *rounds, size_t n, leat_compare_arm *out)
{
    out->loader = rate(rounds->loader, n);
    out->step = rate(rounds->step, n);
    out->of_loader = ratio(rounds->run, rounds->loader, n);
    out->of_step = ratio(rounds->run, rounds->step, n);
    out->loader_of_step = ratio(rounds->loader, rounds->step, n);
    out->copying = pool(rounds->loader, n).exposed_copy;
    const leat_meter step = pool(rounds->step, n);
    out->step_busy = step.busy;
    out->placement_ns = step.elsewhere_ns + step.crossing_ns;
}

void leat_rounds_conclude(const leat_rounds *rounds, const leat_meter *base, size_t n,
                          leat_compare_arm *out)
{
    const leat_interval idle = leat_bootstrap_interval(idle_of, rounds->run, n);
    const leat_estimate samples = rate(rounds->run, n), speedup = ratio(rounds->run, base, n);
    out->meter = pool(rounds->run, n);
    out->idle = 1 - out->meter.busy;
    out->idle_low = idle.low;
    out->idle_high = idle.high;
    out->samples_per_s_low = samples.low;
    out->samples_per_s_high = samples.high;
    out->speedup = speedup.value;
    out->speedup_low = speedup.low;
    out->speedup_high = speedup.high;
    conclude_alone(rounds, n, out);
}
