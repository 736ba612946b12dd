/* SPDX-License-Identifier: MIT
 *
 * rounds.c: runs alternating rounds, and computes the figures of an arm from its rounds. */
#include "rounds.h"

#include "median_bootstrap.h"
#include "other_processes.h"

static const double APART = 0.02;

static int run_round(const leat_alternate *a, int32_t round, leat_error *err)
{
    int rc = LEAT_OK;
    for (int32_t i = 0; i < a->n_cells && rc == LEAT_OK; i++)
        rc = a->run(a->user, round % 2 ? a->n_cells - 1 - i : i, round, err);
    return rc;
}

int leat_rounds_run(leat_alternate *a, leat_error *err)
{
    leat_usage before, after;
    bool enough = false;
    int rc = LEAT_OK;
    leat_other_processes_look("", &before);
    for (a->n_done = 0; a->n_done < a->n_rounds && !enough; a->n_done++) {
        if ((rc = run_round(a, a->n_done, err)) < 0)
            break;
        enough = a->enough && a->enough(a->user, a->n_done + 1);
    }
    leat_other_processes_look("", &after);
    a->cores = after.n_cpus;
    a->taken = leat_other_processes_taken(&before, &after);
    a->throttled = leat_other_processes_throttled(&before, &after);
    return rc == LEAT_E_END ? LEAT_OK : rc;
}

/* --- the figures of an arm --------------------------------------------------------------------- */

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

/* All rounds as one window: a round counts by its share of the time, or of the steps. */
static leat_meter pool(const leat_meter *rounds, size_t n)
{
    leat_meter all = { 0 };
    int64_t p50[LEAT_BOOTSTRAP_MAX], p95[LEAT_BOOTSTRAP_MAX], launch[LEAT_BOOTSTRAP_MAX];
    for (size_t i = 0; i < n; i++) {
        all.n_steps += rounds[i].n_steps;
        all.wall_ns += rounds[i].wall_ns;
    }
    for (size_t i = 0; i < n; i++) {
        const leat_meter *const r = &rounds[i];
        const double time = (double)r->wall_ns / (double)all.wall_ns;
        const double steps = (double)r->n_steps / (double)all.n_steps;
        all.busy += r->busy * time;
        all.input_wait += r->input_wait * time;
        all.exposed_copy += r->exposed_copy * time;
        all.other += r->other * time; /* not what the shares leave, which may be -1e-16 */
        all.other_host += r->other_host * time;
        all.other_send += r->other_send * time;
        all.other_start += r->other_start * time;
        all.other_inside += r->other_inside * time;
        all.samples_per_s += r->samples_per_s * time;
        all.copied_bytes_per_s += r->copied_bytes_per_s * time;
        all.launches += r->launches * steps;
        all.kernels += r->kernels * steps;
        all.crossings += r->crossings * steps;
        all.crossed_bytes += r->crossed_bytes * steps;
        all.crossing_ns += r->crossing_ns * steps;
        all.elsewhere_ns += r->elsewhere_ns * steps;
        launch[i] = r->launch_p50_ns;
        p50[i] = r->step_p50_ns;
        p95[i] = r->step_p95_ns;
    }
    all.launch_p50_ns = (int64_t)leat_median_of(launch, n);
    all.step_p50_ns = (int64_t)leat_median_of(p50, n);
    all.step_p95_ns = (int64_t)leat_median_of(p95, n);
    return all;
}

static leat_estimate rate(const leat_meter *rounds, size_t n)
{
    return leat_bootstrap_estimate(rate_of, rounds, n);
}

/* Ratio of two rates, paired by round. */
static leat_estimate ratio(const leat_meter *arm, const leat_meter *base, size_t n)
{
    return leat_bootstrap_estimate(speedup_of, &(struct pair){ arm, base }, n);
}

bool leat_rounds_settled(const leat_meter *run, const leat_meter *base, size_t n)
{
    const leat_estimate value = run == base ? rate(run, n) : ratio(run, base, n);
    const double scale = run == base ? value.value : 1;
    if (run != base && (value.low > 1 + APART || value.high < 1 - APART))
        return true;
    return value.high - value.low <= 2 * APART * scale;
}

void leat_rounds_conclude(const leat_rounds *rounds, const leat_meter *base, size_t n,
                          leat_compare_arm *out)
{
    out->meter = pool(rounds->run, n);
    out->idle = leat_bootstrap_estimate(idle_of, rounds->run, n);
    out->samples_per_s = rate(rounds->run, n);
    out->speedup = ratio(rounds->run, base, n);
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
