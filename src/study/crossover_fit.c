/* SPDX-License-Identifier: MIT
 *
 * crossover_fit.c: the arithmetic of a crossover. crossover.c measures and calls it.
 *
 * DESIGN: the step time is not linear in the batch size: launches and the shortest kernel make it flat for
 * small batches. So the lines go only through the sizes around the place where the order of the devices
 * changes, two on either side. If these lines do not cross there, they go through the nearest two. */
#include "crossover_fit.h"

#include <math.h>
#include <string.h>

#include "median_bootstrap.h"

enum {
    BESIDE = 1,  /* sizes on either side of the nearest two */
    PASSES = 12, /* of a fit, each with less weight for points far off */
};

/* --- lines ------------------------------------------------------------------------------------- */

struct line {
    double alpha, beta; /* y = alpha + beta * x */
};

static struct line weighted(const double *x, const double *y, const double *w, size_t n)
{
    double sw = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (size_t i = 0; i < n; i++) {
        sw += w[i];
        sx += w[i] * x[i];
        sy += w[i] * y[i];
    }
    const double mx = sx / sw, my = sy / sw;
    for (size_t i = 0; i < n; i++) {
        sxx += w[i] * (x[i] - mx) * (x[i] - mx);
        sxy += w[i] * (x[i] - mx) * (y[i] - my);
    }
    const double beta = sxx > 0 ? sxy / sxx : 0;
    return (struct line){ my - beta * mx, beta };
}

static double median_of_points(const double *values, size_t n)
{
    double sorted[LEAT_CROSSOVER_POINTS];
    memcpy(sorted, values, n * sizeof *values);
    return leat_median_of_real(sorted, n);
}

/* Errors count relative to y, so that small sizes decide alpha and large ones beta. A point far off the others counts
 * little (Huber weights). n: 2 or more; y > 0. */
static struct line fit_line(const double *x, const double *y, size_t n)
{
    double w[LEAT_CROSSOVER_POINTS], off[LEAT_CROSSOVER_POINTS];
    struct line line = { 0, 0 };
    for (size_t i = 0; i < n; i++)
        w[i] = 1 / (y[i] * y[i]);
    for (int pass = 0; pass < PASSES; pass++) {
        line = weighted(x, y, w, n);
        for (size_t i = 0; i < n; i++)
            off[i] = fabs(line.alpha + line.beta * x[i] - y[i]) / y[i];
        /* 1.5 standard deviations, from the median; at least 0.1 %, because exact points have none. */
        const double usual = fmax(1.5 * 1.4826 * median_of_points(off, n), 1e-3);
        for (size_t i = 0; i < n; i++)
            w[i] = fmin(1, usual / fmax(off[i], 1e-12)) / (y[i] * y[i]);
    }
    return line;
}

/* x where both are equal; NaN if they are parallel. */
static double crossing(struct line a, struct line b)
{
    const double slope = a.beta - b.beta;
    const double scale = fmax(fabs(a.beta), fabs(b.beta));
    return fabs(slope) <= 1e-9 * scale ? (double)NAN : (b.alpha - a.alpha) / slope;
}

/* --- windows ----------------------------------------------------------------------------------- */

struct window {
    const leat_crossover_times *times;
    size_t first, end; /* sizes that the lines go through */
    int device;        /* that a statistic is of */
};

/* The times of a device at a size, one per round. */
static const double *times_of(const leat_crossover_times *t, int device, size_t size)
{
    return &t->ms[((size_t)device * t->n_sizes + size) * t->n_rounds];
}

/* Median over drawn rounds. */
static double median_of(const double *ms, const size_t *rounds, size_t n)
{
    double values[LEAT_BOOTSTRAP_MAX];
    for (size_t i = 0; i < n; i++)
        values[i] = ms[rounds[i]];
    return leat_median_of_real(values, n);
}

static struct line line_of(const struct window *w, int device, const size_t *rounds, size_t n)
{
    double x[LEAT_CROSSOVER_POINTS], y[LEAT_CROSSOVER_POINTS];
    for (size_t i = w->first; i < w->end; i++) {
        x[i - w->first] = (double)w->times->batches[i];
        y[i - w->first] = median_of(times_of(w->times, device, i), rounds, n);
    }
    return fit_line(x, y, w->end - w->first);
}

/* --- statistics, as leat_bootstrap_estimate() takes them ---------------------------------------- */

static double alpha_of(const void *arg, const size_t *rounds, size_t n)
{
    const struct window *w = arg;
    return line_of(w, w->device, rounds, n).alpha;
}

static double beta_of(const void *arg, const size_t *rounds, size_t n)
{
    const struct window *w = arg;
    return line_of(w, w->device, rounds, n).beta;
}

/* If the lines of a draw do not cross, or only below 0, the crossing counts as beyond all sizes. */
static double crossing_of(const void *arg, const size_t *rounds, size_t n)
{
    const struct window *w = arg;
    const double at = crossing(line_of(w, 0, rounds, n), line_of(w, 1, rounds, n));
    return at > 0 ? at : (double)INFINITY;
}

static leat_estimate estimate(leat_statistic *statistic, const struct window *w)
{
    return leat_bootstrap_estimate(statistic, w, w->times->n_rounds);
}

/* --- the result --------------------------------------------------------------------------------- */

/* Compares the devices round by round. */
int32_t leat_crossover_faster(const leat_crossover_times *times, size_t i)
{
    const double *a = times_of(times, 0, i), *b = times_of(times, 1, i);
    double ratios[LEAT_BOOTSTRAP_MAX];
    for (size_t r = 0; r < times->n_rounds; r++)
        ratios[r] = b[r] / a[r];
    const leat_estimate ratio = leat_bootstrap_median(ratios, times->n_rounds);
    return ratio.low > 1 ? 0 : ratio.high < 1 ? 1 : -1;
}

/* The last size at which device `below` is faster beyond noise while the other one is faster at a later size;
 * n_sizes: there is none. */
static size_t find_change(const int32_t *faster, size_t n)
{
    size_t last = n;
    for (size_t i = 0; i < n; i++) {
        if (faster[i] < 0)
            continue;
        if (last < n && faster[i] != faster[last])
            return last;
        last = i;
    }
    return n;
}

/* Sizes around a change of order between size `at` and the next one at which the other device is faster. */
static void place_window(struct window *w, size_t at, const int32_t *faster)
{
    size_t next = at + 1;
    while (faster[next] < 0)
        next++;
    w->first = at > BESIDE ? at - BESIDE : 0;
    w->end = next + 1 + BESIDE < w->times->n_sizes ? next + 1 + BESIDE : w->times->n_sizes;
    const double found = estimate(crossing_of, w).value;
    if (found >= (double)w->times->batches[at] && found <= (double)w->times->batches[next])
        return;
    w->first = at;
    w->end = next + 1;
}

static void conclude_device(const struct window *window, int device, leat_crossover_device *out)
{
    struct window w = *window;
    w.device = device;
    out->n_points = (int32_t)w.times->n_sizes;
    for (size_t i = 0; i < w.times->n_sizes; i++)
        out->points[i] = (leat_crossover_point){ w.times->batches[i],
                                                 leat_bootstrap_median(times_of(w.times, device, i),
                                                                       w.times->n_rounds) };
    if (w.end - w.first < 2) {
        out->alpha_ms = out->points[0].step_ms;
        return;
    }
    out->alpha_ms = estimate(alpha_of, &w);
    out->beta_ms_per_sample = estimate(beta_of, &w);
}

void leat_crossover_conclude(const leat_crossover_times *times, leat_crossover_result *out)
{
    struct window w = { .times = times, .end = times->n_sizes };
    int32_t faster[LEAT_CROSSOVER_POINTS];
    for (size_t i = 0; i < times->n_sizes; i++)
        faster[i] = leat_crossover_faster(times, i);
    const size_t change = find_change(faster, times->n_sizes);
    out->crosses = change < times->n_sizes;
    out->crossover = (leat_estimate){ (double)NAN, (double)NAN, (double)NAN };
    out->faster_below = -1;
    for (size_t i = times->n_sizes; i-- > 0;)
        if (faster[i] >= 0)
            out->faster_below = faster[i];
    if (out->crosses) {
        out->faster_below = faster[change];
        place_window(&w, change, faster);
        out->crossover = estimate(crossing_of, &w);
    }
    for (int d = 0; d < 2; d++)
        conclude_device(&w, d, &out->devices[d]);
}

double leat_crossover_steps_to_pay(const double one_time_ms[2], const double ms[2], int32_t faster)
{
    if (faster < 0 || ms[faster] >= ms[!faster])
        return (double)NAN;
    const double more = one_time_ms[faster] - one_time_ms[!faster];
    return more > 0 ? ceil(more / (ms[!faster] - ms[faster])) : 0;
}
