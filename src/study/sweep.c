/* SPDX-License-Identifier: MIT
 *
 * sweep.c: measures points of several curves in random order, and finds where two of them cross: leat/experiment.h. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "leat/experiment.h"
#include "leat/rng.h"
#include "median_bootstrap.h"

enum { DEFAULT_REPEATS = 10 };

/* A point of a series, and where its measurements are. */
struct cell {
    int32_t series, point;
    double *values;
};

struct sweep {
    leat_series *series;
    struct cell *cells;
    double *values;
    int64_t n_cells;
    int32_t repeats;
};

static int check(const leat_series *series, int32_t n_series, int32_t repeats, leat_error *err)
{
    if (!series || n_series < 1 || repeats < 1 || repeats > LEAT_BOOTSTRAP_MAX)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "leat_sweep: series must be given, repeats within 1 … %d",
                         LEAT_BOOTSTRAP_MAX);
    for (int32_t s = 0; s < n_series; s++)
        if (series[s].n_points < 0 || series[s].n_points > LEAT_SERIES_MAX_POINTS)
            return leat_fail(err, LEAT_E_ARGUMENT, "leat_sweep: at most %d points per series",
                             LEAT_SERIES_MAX_POINTS);
    return LEAT_OK;
}

static int list_cells(struct sweep *sweep, int32_t n_series, leat_error *err)
{
    for (int32_t s = 0; s < n_series; s++)
        sweep->n_cells += sweep->series[s].n_points;
    const size_t n = (size_t)sweep->n_cells;
    sweep->cells = malloc((n + !n) * sizeof *sweep->cells);
    sweep->values = malloc((n + !n) * (size_t)sweep->repeats * sizeof *sweep->values);
    if (!sweep->cells || !sweep->values)
        return leat_fail(err, LEAT_E_NOMEM, "leat_sweep: %zu points", n);
    size_t i = 0;
    for (int32_t s = 0; s < n_series; s++)
        for (int32_t p = 0; p < sweep->series[s].n_points; p++, i++)
            sweep->cells[i] = (struct cell){ s, p, sweep->values + i * (size_t)sweep->repeats };
    return LEAT_OK;
}

/* Fisher–Yates. */
static void shuffle(struct sweep *sweep, uint64_t seed, int32_t repeat)
{
    leat_rng rng = leat_rng_make(seed, (uint64_t)repeat, 0, 0);
    for (int64_t i = sweep->n_cells - 1; i > 0; i--) {
        const int64_t j = leat_rng_below(&rng, (uint32_t)(i + 1));
        const struct cell swapped = sweep->cells[i];
        sweep->cells[i] = sweep->cells[j];
        sweep->cells[j] = swapped;
    }
}

/* Gives every point the median of its measurements, and the interval. */
static void estimate_points(struct sweep *sweep)
{
    for (int64_t i = 0; i < sweep->n_cells; i++) {
        const struct cell *cell = &sweep->cells[i];
        const leat_estimate median = leat_bootstrap_median(cell->values, (size_t)sweep->repeats);
        leat_point *point = &sweep->series[cell->series].points[cell->point];
        point->y = median.value;
        point->low = median.low;
        point->high = median.high;
    }
}

int leat_sweep(leat_series *series, int32_t n_series, const leat_sweep_options *options,
               leat_sweep_measure *measure, void *user, leat_error *err)
{
    const leat_sweep_options o = options ? *options : (leat_sweep_options){ 0 };
    struct sweep sweep = { .series = series, .repeats = o.repeats ? o.repeats : DEFAULT_REPEATS };
    int rc = measure ? check(series, n_series, sweep.repeats, err)
                     : leat_fail(err, LEAT_E_ARGUMENT, "leat_sweep: measure must be given");
    if (rc == LEAT_OK)
        rc = list_cells(&sweep, n_series, err);
    for (int32_t repeat = 0; repeat < sweep.repeats && rc == LEAT_OK; repeat++) {
        shuffle(&sweep, o.seed, repeat);
        for (int64_t i = 0; i < sweep.n_cells && rc == LEAT_OK; i++) {
            const struct cell *cell = &sweep.cells[i];
            rc = measure(user, cell->series, cell->point, &cell->values[repeat], err);
            if (rc == LEAT_OK && o.progress)
                o.progress(o.progress_user, repeat * sweep.n_cells + i + 1,
                           sweep.repeats * sweep.n_cells);
        }
    }
    if (rc == LEAT_OK)
        estimate_points(&sweep);
    free(sweep.cells);
    free(sweep.values);
    return rc;
}

/* --- where two curves are equal: between two points each is a power of x ------------------------ */

/* ln a - ln b at the x that both series have. */
struct gaps {
    int32_t n;
    double x[LEAT_SERIES_MAX_POINTS];
    double mid[LEAT_SERIES_MAX_POINTS], low[LEAT_SERIES_MAX_POINTS], high[LEAT_SERIES_MAX_POINTS];
};

static bool is_above_0(const leat_point *p)
{
    return p->x > 0 && p->y > 0 && p->low > 0 && p->high > 0;
}

static int gaps_of(const leat_series *a, const leat_series *b, struct gaps *out, leat_error *err)
{
    out->n = 0;
    for (int32_t i = 0, j = 0; i < a->n_points && j < b->n_points;) {
        const leat_point *p = &a->points[i], *q = &b->points[j];
        if (!is_above_0(p) || !is_above_0(q))
            return leat_fail(err, LEAT_E_ARGUMENT, "leat_crossing_find: x and y must be above 0");
        if (p->x == q->x) {
            out->x[out->n] = p->x;
            out->mid[out->n] = log(p->y / q->y);
            out->low[out->n] = log(p->low / q->high);
            out->high[out->n++] = log(p->high / q->low);
        }
        i += p->x <= q->x;
        j += q->x <= p->x;
    }
    return LEAT_OK;
}

/* Last change of sign; 0: there is none. */
static double last_zero(const struct gaps *gaps, const double *gap)
{
    for (int32_t i = gaps->n - 1; i > 0; i--) {
        if ((gap[i] > 0) == (gap[i - 1] > 0))
            continue;
        const double share = gap[i - 1] / (gap[i - 1] - gap[i]);
        return gaps->x[i - 1] * pow(gaps->x[i] / gaps->x[i - 1], share);
    }
    return 0;
}

static double sign_at_end(const struct gaps *gaps, const double *gap)
{
    return gaps->n ? (double)((gap[gaps->n - 1] > 0) - (gap[gaps->n - 1] < 0)) : 0;
}

/* A bound that never changes sign has its zero before the first point if its sign is that of the end, else
 * beyond the last. */
static double bound(const struct gaps *gaps, const double *gap, double sign)
{
    const double zero = last_zero(gaps, gap);
    return zero > 0 ? zero : sign_at_end(gaps, gap) == sign ? 0 : INFINITY;
}

int leat_crossing_find(const leat_series *a, const leat_series *b, leat_crossing *out,
                       leat_error *err)
{
    struct gaps gaps;
    if (!a || !b || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_crossing_find: a, b and out must be given");
    *out = (leat_crossing){ 0 };
    for (const leat_series *s = a; s; s = s == a && b != a ? b : NULL)
        if (s->n_points < 0 || s->n_points > LEAT_SERIES_MAX_POINTS)
            return leat_fail(err, LEAT_E_ARGUMENT,
                             "leat_crossing_find: at most %d points per series",
                             LEAT_SERIES_MAX_POINTS);
    const int rc = gaps_of(a, b, &gaps, err);
    if (rc < 0)
        return rc;
    const double sign = sign_at_end(&gaps, gaps.mid);
    out->above = (int32_t)sign;
    out->x = last_zero(&gaps, gaps.mid);
    out->found = out->x > 0;
    const double one = bound(&gaps, gaps.low, sign), other = bound(&gaps, gaps.high, sign);
    out->low = one < other ? one : other;
    out->high = one < other ? other : one;
    return LEAT_OK;
}
