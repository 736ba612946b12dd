/* SPDX-License-Identifier: MIT
 *
 * forecast.c: predicts the whole job from the capacities of its parts. doctor.c and verdict_rules.c call it. */
#include "facts.h"

#include <math.h>

double leat_forecast_cores(const leat_facts *f)
{
    /* Under competition a process gets its share of the time, which may be more than what the others leave. */
    const double left = fmax(f->cores - f->taken, fmax(f->loader_cores, f->run_cores));
    return fmax(1, fmin(left, f->cores));
}

/* How many times as long a step takes while workers run that want w of c cores, if it wants s itself. Each core has a
 * queue of its own: workers that find no free core take turns with the trainer, not with each other. No core gets more
 * threads than an even division gives, and nothing is faster than if all threads shared all cores evenly. */
static double slower_step(double w, double s, double c)
{
    const double even = (w + s) / c, beside = (w + 2 * s - c) / s;
    return fmax(even, fmin(ceil(even), beside));
}

/* On the CPU, workers and trainer want w and s cores while they run. If there are fewer, both are slower while both
 * run. The faster of the two then waits for the other, which goes on as fast as alone. 0: enough cores. */
static double on_shared_cores(const leat_facts *f, const leat_forecast *m)
{
    if (!f->on_host || !f->cores || m->loader <= 0 || m->step <= 0)
        return 0;
    const double c = leat_forecast_cores(f);
    const double w = fmin(c, f->rows * f->loader_cpu_ns / m->loader);
    const double s = fmin(c, f->rows * f->step_cpu_ns / m->step);
    if (s <= 0 || w + s <= c)
        return 0;
    const double slower = slower_step(w, s, c);
    const double step = m->step * slower;
    const double loader = m->loader * fmax(1, w / (c - s / slower));
    return loader < step ? loader + (1 - loader / step) * m->step
                         : step + (1 - step / loader) * m->loader;
}

/* Batches come unevenly where single samples are slow: the loader makes up to `window` in advance, which covers a late
 * one only in part. Simulates the loader's batches, as they came, and steps of equal length. A device with memory of its
 * own has a buffer more, and the host asks for the next batch as soon as it has one. The batches come twice, and the
 * second time counts: the first begins with nothing made. */
static double with_uneven_batches(const leat_facts *f, const leat_forecast *m)
{
    enum { MOST = 64 };
    double asked[MOST] = { 0 }, done[MOST] = { 0 }, made = 0, got = 0, end = 0, sum = 0, first = 0;
    const int window = f->window < MOST ? (int)f->window : MOST - 1;
    const bool copies = f->copy_ns > 0;
    const int buffers = copies ? window + 1 : 1;
    for (int32_t i = 0; i < f->n_gaps; i++)
        sum += (double)f->gap_ns[i];
    if (sum <= 0 || window < 1)
        return 0;
    const double scale = m->loader * f->n_gaps / sum; /* the other runs may have been faster */
    for (int32_t i = 0; i < 2 * f->n_gaps; i++) {
        const double ask = copies ? got : end;
        made = fmax(made, asked[i % window]) + scale * (double)f->gap_ns[i % f->n_gaps];
        asked[i % window] = ask; /* from now on, batch i + window may be made */
        got = fmax(fmax(ask, made), done[i % buffers]);
        end = fmax(end, got) + m->step;
        done[i % buffers] = end;
        first = i < f->n_gaps ? end : first;
    }
    return (end - first) / f->n_gaps;
}

/* Part of the time in which the device idles inside a step. Where rows cross, the host waits for one device before the
 * other goes on, so that all but the launches is due to that. */
static double waits_at_crossings(const leat_facts *f, double idle)
{
    return f->meter.crossings > 0 ? fmax(0, idle - (double)f->meter.launch_p50_ns) : 0;
}

leat_forecast leat_forecast_of(const leat_facts *f)
{
    leat_forecast m = { .step = leat_facts_ns(f, f->step.value),
                        .loader = leat_facts_ns(f, f->loader.value) };
    const double free_step = f->step_free > 0 ? leat_facts_ns(f, f->step_free) : m.step;
    const double busy = f->step_busy > 0 ? f->step_busy : 1;
    m.queued = fmin(m.step, free_step * busy);
    m.placed = fmin(m.step, fmax(f->placement_ns, waits_at_crossings(f, m.step - m.queued)));
    m.queued = f->on_host ? m.step - m.placed : m.queued;
    m.sync = f->on_host ? 0 : fmax(0, m.step - free_step);
    m.copy = f->copy_ns;
    m.shared =
        f->cores ? (f->loader_cpu_ns + f->step_cpu_ns) * f->rows / leat_forecast_cores(f) : 0;
    const double cpu = fmax(m.shared, on_shared_cores(f, &m));
    m.uneven = f->overlaps ? with_uneven_batches(f, &m) : 0;
    m.predicted = f->overlaps ? fmax(fmax(fmax(m.step, m.loader), m.uneven), fmax(m.copy, cpu))
                              : m.step + m.loader;
    return m;
}

/* --- shares ---------------------------------------------------------------------------------- */

static const double ROUNDING =
    1e-12; /* less than any measured share: what sums and differences leave of 0 */

/* On the CPU a step includes the time in which its threads waited for a core. */
static void divide_host(const leat_forecast *m, double wall, double *busy, double *host)
{
    if (m->step <= 0)
        return;
    const double waited = fmax(0, *busy - (m->step - m->placed) / wall);
    *busy -= waited;
    *host += waited;
}

void leat_forecast_shares(const leat_facts *f, double s[LEAT_N_SHARES])
{
    const leat_meter *meter = &f->meter;
    const leat_forecast m = leat_forecast_of(f);
    const double wall = fmax(1, leat_facts_ns(f, f->run.value));
    double start = meter->other_start, inside = meter->other_inside, host = meter->other_host;
    /* If the host was late to enqueue a copy, its start is too early. The batch was late then. */
    const double copy = fmin(meter->exposed_copy, f->copy_ns / wall);
    const double input = meter->input_wait + meter->other_send + meter->exposed_copy - copy;
    double busy = meter->busy, launch = 0, sync = 0;
    const double placed = leat_facts_take(&inside, fmax(meter->elsewhere_ns + meter->crossing_ns,
                                                        waits_at_crossings(f, inside * wall)) /
                                                       wall);
    if (f->on_host) {
        divide_host(&m, wall, &busy, &host);
        host += leat_facts_take(&inside, inside);
    } else {
        const double launching = fmax(0, m.step - m.sync - m.placed - m.queued) / wall,
                     wait = m.sync / wall;
        launch = leat_facts_take(&inside, launching);
        launch += leat_facts_take(&start, launching - launch);
        launch += leat_facts_take(&host, launching - launch);
        sync = leat_facts_take(&host, wait);
        sync += leat_facts_take(&start, wait - sync);
        sync += leat_facts_take(&inside, wait - sync);
        if (leat_facts_fills(f, f->run_cores + f->taken))
            host += leat_facts_take(&inside, inside); /* the launching thread waited for a core */
    }
    s[LEAT_SHARE_BUSY] = busy;
    s[LEAT_SHARE_INPUT_WAIT] = input;
    s[LEAT_SHARE_EXPOSED_COPY] = copy;
    s[LEAT_SHARE_LAUNCH] = launch;
    s[LEAT_SHARE_SYNC] = sync;
    s[LEAT_SHARE_PLACEMENT] = placed;
    s[LEAT_SHARE_OTHER_HOST] = host + start;
    s[LEAT_SHARE_UNKNOWN] = inside;
    for (int i = 0; i < LEAT_N_SHARES; i++)
        s[i] = fabs(s[i]) < ROUNDING ? 0 : s[i];
}
