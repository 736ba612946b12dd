/* SPDX-License-Identifier: MIT
 *
 * sweep.c: measures points of several curves in random order: leat/experiment.h. */
#include <stdlib.h>

#include "bootstrap.h"
#include "leat/experiment.h"
#include "leat/rng.h"

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

static void conclude(struct sweep *sweep)
{
    for (int64_t i = 0; i < sweep->n_cells; i++) {
        const struct cell *cell = &sweep->cells[i];
        const leat_estimate all = leat_bootstrap_median(cell->values, (size_t)sweep->repeats);
        leat_point *point = &sweep->series[cell->series].points[cell->point];
        point->y = all.value;
        point->low = all.low;
        point->high = all.high;
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
        conclude(&sweep);
    free(sweep.cells);
    free(sweep.values);
    return rc;
}
