/* SPDX-License-Identifier: MIT
 *
 * experiment_sweep.c: curves of simple work against its size, and what they say. */
#include "experiment_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINES = 32, SHORT_RUNS = 7, QUICK_REPEATS = 10, REPEATS = 20 };
static const int64_t ENOUGH_NS = 60000000, LONG_NS = 300000000;

struct curve {
    const leat_sweep_line *line;
    leat_device *device;
};

struct sweep {
    leat_experiment_run *run;
    struct curve curves[MAX_LINES];
    int32_t n;
    leat_series *series;
};

static leat_work_options options_of(const leat_sweep_line *line, double x)
{
    leat_work_options o = line->work;
    int64_t *const fields[] = { &o.n, &o.parts, &o.repeats, &o.on_host };
    *fields[line->x] = (int64_t)x;
    return o;
}

/* --- measure ------------------------------------------------------------------------------------ */

/* The fastest of a few runs after a first one that is dropped: the time of the undisturbed work. A CPU's
 * threads wait for each other, so on a busy machine most runs are disturbed. On the CPU a long first run
 * counts; on another device the first run may include the start of libraries. */
static int time_work(leat_work *work, bool on_cpu, double *ns, leat_error *err)
{
    int64_t total = 0, one;
    int rc = leat_work_run(work, &one, err);
    if (rc < 0)
        return rc;
    int64_t fastest = one;
    if (on_cpu && one > LONG_NS) {
        *ns = (double)one;
        return LEAT_OK;
    }
    for (int n = 0; n < SHORT_RUNS && total < ENOUGH_NS; n++) {
        if ((rc = leat_work_run(work, &one, err)) < 0)
            return rc;
        total += one;
        fastest = n == 0 || one < fastest ? one : fastest;
    }
    *ns = (double)fastest;
    return LEAT_OK;
}

static int measure(void *user, int32_t series, int32_t point, double *y, leat_error *err)
{
    const struct sweep *sweep = user;
    const struct curve *curve = &sweep->curves[series];
    const leat_work_options o = options_of(curve->line, sweep->series[series].points[point].x);
    leat_work *work = NULL;
    double ns = 0;
    int rc = leat_work_open(curve->device, &o, &work, err);
    if (rc == LEAT_OK)
        rc = time_work(work, !strcmp(leat_device_get_info(curve->device)->name, "cpu"), &ns, err);
    leat_work_close(&work);
    *y = (ns > 1 ? ns : 1) * 1e-6;
    if (curve->line->per_repeat && o.repeats > 1)
        *y /= (double)o.repeats;
    return rc;
}

/* --- lines --------------------------------------------------------------------------------------- */

/* Opens the device and runs its smallest work. LEAT_E_UNSUPPORTED: the device has no such kernel. */
static int try_line(struct sweep *sweep, const leat_sweep_line *line, const char *name,
                    leat_error *err)
{
    struct curve *curve = &sweep->curves[sweep->n];
    const leat_work_options o = options_of(line, line->xs[0]);
    leat_work *work = NULL;
    int64_t ns;
    *curve = (struct curve){ .line = line };
    int rc = leat_device_open(name, &curve->device, err);
    if (rc == LEAT_OK && (rc = leat_work_open(curve->device, &o, &work, err)) == LEAT_OK)
        rc = leat_work_run(work, &ns, err);
    leat_work_close(&work);
    if (rc < 0)
        leat_device_close(&curve->device);
    return rc;
}

static int add_line(struct sweep *sweep, const leat_sweep_line *line, leat_error *err)
{
    const leat_experiment_run *run = sweep->run;
    for (int32_t i = 0; i < run->n_devices; i++) {
        const leat_experiment_device *device = &run->devices[i];
        char name[256];
        if (!(device->kind & line->on) || (line->sim && strchr(device->name, '{')))
            continue;
        if (sweep->n == MAX_LINES)
            return leat_fail(err, LEAT_E_ARGUMENT, "more than %d curves: name fewer devices",
                             MAX_LINES);
        snprintf(name, sizeof name, "%s%s", device->name, line->sim ? line->sim : "");
        const int rc = try_line(sweep, line, name, err);
        if (rc == LEAT_OK)
            sweep->n++;
        else if (rc == LEAT_E_UNSUPPORTED)
            leat_experiment_note(sweep->run, "%s: %s: skipped: %s", name, line->name,
                                 err ? err->message : "not supported");
        else
            return rc;
    }
    return LEAT_OK;
}

static int add_series(struct sweep *sweep, const struct curve *curve, const char *x_unit,
                      leat_error *err)
{
    const leat_device_info *info = leat_device_get_info(curve->device);
    leat_series *const out =
        leat_experiment_add_series(sweep->run, 1, info->name, info->simulated, x_unit, err);
    if (!out)
        return LEAT_E_NOMEM;
    snprintf(out->name, sizeof out->name, "%.60s: %.32s", info->name, curve->line->name);
    for (const double *x = curve->line->xs; *x >= 0 && out->n_points < LEAT_SERIES_MAX_POINTS; x++)
        out->points[out->n_points++].x = *x;
    return LEAT_OK;
}

int leat_sweep_lines(leat_experiment_run *run, const leat_sweep_line *lines, const char *x_unit,
                     leat_error *err)
{
    struct sweep sweep = { .run = run };
    const leat_sweep_options how = leat_experiment_sweep_options(run, QUICK_REPEATS, REPEATS);
    int rc = LEAT_OK;
    for (; lines->name && rc == LEAT_OK; lines++)
        rc = add_line(&sweep, lines, err);
    for (int32_t i = 0; i < sweep.n && rc == LEAT_OK; i++)
        rc = add_series(&sweep, &sweep.curves[i], x_unit, err);
    if (rc == LEAT_OK && sweep.n) {
        sweep.series = &run->series[run->n_series - sweep.n];
        rc = leat_sweep(sweep.series, sweep.n, &how, measure, &sweep, err);
    }
    for (int32_t i = 0; i < sweep.n; i++)
        leat_device_close(&sweep.curves[i].device);
    return rc;
}

/* --- what the curves say ------------------------------------------------------------------------- */

const leat_series *leat_sweep_series(const leat_experiment_run *run, const char *device,
                                     const char *line)
{
    char name[sizeof run->series->name];
    snprintf(name, sizeof name, "%.60s: %.32s", device, line);
    for (int32_t i = 0; i < run->n_series; i++)
        if (!strcmp(run->series[i].name, name))
            return &run->series[i];
    return NULL;
}

const leat_point *leat_sweep_point(const leat_series *series, double x)
{
    for (int32_t i = 0; series && i < series->n_points; i++)
        if (series->points[i].x == x)
            return &series->points[i];
    return NULL;
}

leat_estimate leat_sweep_ratio(const leat_point *a, const leat_point *b)
{
    if (!a || !b)
        return (leat_estimate){ 0, 0, 0 };
    return leat_experiment_ratio((leat_estimate){ a->y, a->low, a->high },
                                 (leat_estimate){ b->y, b->low, b->high });
}

static const char *x_text(double x, char text[32])
{
    snprintf(text, 32, x < 1e6 ? "%.0f" : "%.3g", x);
    return text;
}

void leat_sweep_say_crossing(leat_experiment_run *run, const char *what, const leat_series *device,
                             const leat_series *cpu)
{
    leat_crossing at;
    char x[32], low[32], high[48] = "never";
    if (!device || !cpu || leat_crossing_find(device, cpu, &at, NULL) < 0)
        return;
    const char *const simulated = device->simulated ? " (simulated)" : "";
    const leat_point *const last = &device->points[device->n_points - 1];
    if (isfinite(at.high))
        snprintf(high, sizeof high, "%s", x_text(at.high, low));
    const char *const side = at.above < 0 ? "faster" : "slower";
    const int32_t holds = at.above < 0; /* if the intervals allow no other answer */
    if (at.found)
        leat_experiment_finding(run, isfinite(at.high) ? holds : -1,
                                "%s: %s%s is %s than the CPU beyond %s = %s (%s-%s)", what,
                                device->device, simulated, side, device->x_unit, x_text(at.x, x),
                                x_text(at.low, low), high);
    else
        leat_experiment_finding(run, at.above && at.high == 0 ? holds : -1,
                                "%s: %s%s is %s than the CPU at every size, up to %s = %s", what,
                                device->device, simulated, side, device->x_unit,
                                x_text(last->x, x));
}
