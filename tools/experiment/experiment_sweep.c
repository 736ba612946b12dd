/* SPDX-License-Identifier: MIT
 *
 * experiment_sweep.c: the experiments whose x is a size of simple work: products, sums, copies, launches, crossings
 * between host and device. First how their curves are measured, and what two of them say. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_rows.h"

enum { MAX_LINES = 32, SHORT_RUNS = 7, QUICK_REPEATS = 10, REPEATS = 20 };
static const int64_t ENOUGH_NS = 60000000, LONG_NS = 300000000;

/* What x stands for in the options of the work. */
enum axis { BY_SIZE, BY_PARTS, BY_REPEATS, BY_ON_HOST };

/* One curve on each device of some kinds. */
struct line {
    const char *name; /* the series is "DEVICE: NAME" */
    int32_t on;       /* LEAT_ON_* */
    const char *sim;  /* as in leat_experiment_part */
    leat_work_options work;
    enum axis x;
    const double *xs; /* ends with -1 */
    bool per_repeat;  /* y is the time of one repeat */
};

struct curve {
    const struct line *line;
    leat_device *device;
};

struct sweep {
    leat_experiment_run *run;
    struct curve curves[MAX_LINES];
    int32_t n;
    leat_series *series;
};

static leat_work_options options_of(const struct line *line, double x)
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
static int try_line(struct sweep *sweep, const struct line *line, const char *name, leat_error *err)
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

static int add_line(struct sweep *sweep, const struct line *line, leat_error *err)
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

/* Measures all lines (name NULL ends the list) on the devices of the run, and appends their series, y in ms.
 * A line that a device cannot run is left out, with a note. */
static int sweep_lines(leat_experiment_run *run, const struct line *lines, const char *x_unit,
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

/* The series of that device and line; NULL: it was left out. */
static const leat_series *series_of(const leat_experiment_run *run, const char *device,
                                    const char *line)
{
    char name[sizeof run->series->name];
    snprintf(name, sizeof name, "%.60s: %.32s", device, line);
    for (int32_t i = 0; i < run->n_series; i++)
        if (!strcmp(run->series[i].name, name))
            return &run->series[i];
    return NULL;
}

/* NULL if there is none. */
static const leat_point *point_at(const leat_series *series, double x)
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

void leat_sweep_say_crossing(leat_experiment_run *run, const char *what, const char *name,
                             const char *line, const char *cpu_line)
{
    const leat_series *const device = series_of(run, name, line);
    const leat_series *const cpu = series_of(run, "cpu", cpu_line);
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

/* --- what the experiments have in common ------------------------------------------------------------ */

enum { DEVICES = LEAT_ON_SIM | LEAT_ON_CUDA };

/* Calls say(run, device name) for each device that is not the CPU. */
static void each_device(leat_experiment_run *run, void (*say)(leat_experiment_run *, const char *))
{
    for (int32_t i = 0; i < run->n_devices; i++)
        if (run->devices[i].kind != LEAT_ON_CPU)
            say(run, run->devices[i].name);
}

/* Measures lines and says something about each device. */
static int sweep(leat_experiment_run *run, const struct line *lines, const char *x_unit,
                 void (*say)(leat_experiment_run *, const char *), leat_error *err)
{
    const int rc = sweep_lines(run, lines, x_unit, err);
    if (rc == LEAT_OK)
        each_device(run, say);
    return rc;
}

static bool is_simulated(const leat_experiment_run *run, const char *device)
{
    for (int32_t i = 0; i < run->n_devices; i++)
        if (!strcmp(run->devices[i].name, device))
            return run->devices[i].kind == LEAT_ON_SIM;
    return false;
}

/* Holds if a / b is within least … most. */
static void say_ratio(leat_experiment_run *run, const char *text, const char *device,
                      const leat_point *a, const leat_point *b, double least, double most)
{
    const leat_estimate ratio = leat_sweep_ratio(a, b);
    if (!a || !b)
        return;
    leat_experiment_finding(run, leat_experiment_holds(ratio.low, ratio.high, least, most),
                            "%s, on %s%s: %.3g times (%.3g-%.3g)", text, device,
                            is_simulated(run, device) ? " (simulated)" : "", ratio.value, ratio.low,
                            ratio.high);
}

static const leat_point *last_point(const leat_series *series)
{
    return series ? &series->points[series->n_points - 1] : NULL;
}

/* --- matmul-sweep --------------------------------------------------------------------------------- */

/* The curve, moved up by a constant. */
static int add_raised(leat_experiment_run *run, const char *device, const char *line,
                      const char *name, double ms, leat_error *err)
{
    if (!series_of(run, device, line))
        return LEAT_OK;
    leat_series *const raised = leat_experiment_add_series(run, 1, device, false, "", err);
    if (!raised)
        return LEAT_E_NOMEM;
    *raised = *series_of(run, device, line);
    snprintf(raised->name, sizeof raised->name, "%.60s: %.32s", device, name);
    for (int32_t i = 0; i < raised->n_points; i++) {
        raised->points[i].y += ms;
        raised->points[i].low += ms;
        raised->points[i].high += ms;
    }
    return LEAT_OK;
}

/* The extra cost of the first product of a process over later ones, measured in new processes. */
static int add_one_time(leat_experiment_run *run, leat_error *err)
{
    int rc = LEAT_OK;
    for (int32_t i = 0; i < run->n_devices && rc == LEAT_OK; i++) {
        const leat_experiment_device *device = &run->devices[i];
        double ms;
        if (device->kind == LEAT_ON_SIM) {
            leat_experiment_note(run, "%s (simulated) has no one-time cost to measure",
                                 device->name);
            continue;
        }
        if ((rc = leat_experiment_one_time(device->name, &ms, err)) < 0)
            return rc;
        leat_experiment_note(run, "one-time cost of a process on %s: %.1f ms", device->name, ms);
        rc = add_raised(run, device->name, device->kind == LEAT_ON_CPU ? "kernel" : "with copies",
                        "with copies, first time", ms, err);
    }
    return rc;
}

static void say_matmul(leat_experiment_run *run, const char *device)
{
    static const char first[] = "with copies, first time";
    leat_sweep_say_crossing(run, "Kernel alone", device, "kernel", "kernel");
    leat_sweep_say_crossing(run, "With copies", device, "with copies", "kernel");
    if (!is_simulated(run, device))
        leat_sweep_say_crossing(run, "With copies and one-time cost", device, first, first);
}

int leat_experiment_matmul(leat_experiment_run *run, leat_error *err)
{
    static const double quick[] = { 1, 3, 10, 30, 100, 200, 500, 1000, -1 };
    static const double full[] = { 1, 10, 30, 100, 200, 500, 1000, 2000, 5000, 10000, -1 };
    const double *const xs = run->quick ? quick : full;
    const struct line lines[] = {
        { "kernel", LEAT_ON_ALL, .work = { .kind = LEAT_WORK_MATMUL }, .xs = xs },
        { "with copies", DEVICES, .work = { .kind = LEAT_WORK_MATMUL, .copies = 1 }, .xs = xs },
        { 0 },
    };
    int rc = sweep_lines(run, lines, "n", err);
    if (rc == LEAT_OK)
        rc = add_one_time(run, err);
    if (rc == LEAT_OK)
        each_device(run, say_matmul);
    return rc;
}

/* --- elementwise-sweep ------------------------------------------------------------------------------ */

static void say_add(leat_experiment_run *run, const char *device)
{
    leat_sweep_say_crossing(run, "Kernel alone", device, "kernel", "kernel");
    leat_sweep_say_crossing(run, "With pinned copies", device, "pinned copies", "kernel");
    leat_sweep_say_crossing(run, "With pageable copies", device, "pageable copies", "kernel");
}

int leat_experiment_elementwise(leat_experiment_run *run, leat_error *err)
{
    static const double quick[] = { 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, -1 };
    static const double full[] = { 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, -1 };
    const double *const xs = run->quick ? quick : full;
    const struct line lines[] = {
        { "kernel", LEAT_ON_ALL, .work = { .kind = LEAT_WORK_ADD }, .xs = xs },
        { "pinned copies", DEVICES, .work = { .kind = LEAT_WORK_ADD, .copies = 1 }, .xs = xs },
        { "pageable copies", DEVICES, .xs = xs,
          .work = { .kind = LEAT_WORK_ADD, .copies = 1, .pageable = 1 } },
        { 0 },
    };
    return sweep(run, lines, "elements", say_add, err);
}

/* --- copy-size-sweep --------------------------------------------------------------------------------- */

/* Where a copy reaches half of the rate of the largest one. */
static void say_half(leat_experiment_run *run, const leat_series *series)
{
    leat_series half = *series;
    leat_crossing at;
    const leat_point *const last = &series->points[series->n_points - 1];
    const leat_point *const first = &series->points[0];
    for (int32_t i = 0; i < half.n_points; i++)
        half.points[i].y = half.points[i].low = half.points[i].high =
            2 * half.points[i].x * last->y / last->x;
    if (leat_crossing_find(series, &half, &at, NULL) < 0)
        return;
    const leat_estimate share = leat_sweep_ratio(last, first);
    const double scale = first->x / last->x;
    char text[48];
    snprintf(text, sizeof text, "%.3g bytes on", at.x);
    leat_experiment_finding(
        run, leat_experiment_holds(share.low * scale, share.high * scale, 0, 0.5),
        "Small copies are slow, %s%s: %.0f bytes reach %.3g %% of the %.3g GB/s of the largest "
        "copy%s%s",
        series->name, series->simulated ? " (simulated)" : "", first->x, share.value * scale * 100,
        last->x / last->y * 1e-6, at.found ? ", half of it from " : "", at.found ? text : "");
}

static void say_copies(leat_experiment_run *run, const char *device)
{
    const leat_series *const pinned = series_of(run, device, "pinned");
    const leat_series *const pageable = series_of(run, device, "pageable");
    if (!pinned || !pageable)
        return;
    say_half(run, pinned);
    say_half(run, pageable);
    say_ratio(run, "Large copies from pinned memory are faster than from pageable memory", device,
              last_point(pageable), last_point(pinned), 1.2, 0);
}

int leat_experiment_copy_size(leat_experiment_run *run, leat_error *err)
{
    static const double quick[] = { 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18,
                                    1 << 20, 1 << 22, 1 << 24, 1 << 26, -1 };
    static const double full[] = { 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20,
                                   1 << 22, 1 << 24, 1 << 26, 1 << 28, 1 << 30, -1 };
    const double *const xs = run->quick ? quick : full;
    const struct line lines[] = {
        { "memcpy", LEAT_ON_CPU, .work = { .kind = LEAT_WORK_COPY }, .xs = xs },
        { "pinned", DEVICES, .work = { .kind = LEAT_WORK_COPY }, .xs = xs },
        { "pageable", DEVICES, .work = { .kind = LEAT_WORK_COPY, .pageable = 1 }, .xs = xs },
        { 0 },
    };
    const int rc = sweep_lines(run, lines, "bytes", err);
    const leat_series *const cpu = series_of(run, "cpu", "memcpy");
    if (rc == LEAT_OK && cpu)
        say_half(run, cpu);
    if (rc == LEAT_OK)
        each_device(run, say_copies);
    return rc;
}

/* --- fine-grained -------------------------------------------------------------------------------------- */

/* Parts of 512 x 512 begin at multiples of 64 bytes, as GPU libraries want it. */
static const double most_launches = 512;

static void say_launches(leat_experiment_run *run, const char *device)
{
    char graph[160];
    const leat_series *const parts = series_of(run, device, "the same work in parts");
    snprintf(graph, sizeof graph, "%s {launch_ns: 1000}", device);
    say_ratio(run, "A product of 10 x 10 costs the same as an addition, among many", device,
              last_point(series_of(run, device, "10 x 10 products")),
              last_point(series_of(run, device, "10 x 10 additions")), 0.9, 1.1);
    say_ratio(run, "512 launches take at least 10 times as long as one, for the same work", device,
              point_at(parts, most_launches), point_at(parts, 1), 10, 0);
    say_ratio(run, "Launches of 1 us instead of 4 us make 512 of them at least 1.5 times as fast",
              device, point_at(parts, most_launches),
              point_at(series_of(run, graph, "the same work in parts"), most_launches), 1.5, 0);
}

int leat_experiment_fine_grained(leat_experiment_run *run, leat_error *err)
{
    static const double quick[] = { 1, 10, 100, 1000, 10000, -1 };
    static const double full[] = { 1, 10, 100, 1000, 1e4, 1e5, 1e6, -1 };
    static const double parts[] = { 1, 4, 32, 512, -1 };
    const double *const counts = run->quick ? quick : full;
    const leat_work_options product = { .kind = LEAT_WORK_MATMUL, .n = 10 },
                            sum = { .kind = LEAT_WORK_ADD, .n = 100 };
    const leat_work_options large = { .kind = LEAT_WORK_MATMUL, .n = 512 };
    const struct line many[] = {
        { "10 x 10 products", LEAT_ON_ALL, NULL, product, BY_REPEATS, counts, true },
        { "10 x 10 additions", LEAT_ON_ALL, NULL, sum, BY_REPEATS, counts, true },
        { 0 },
    };
    const struct line cut[] = {
        { "the same work in parts", LEAT_ON_ALL, NULL, large, BY_PARTS, parts, false },
        { "the same work in parts", LEAT_ON_SIM, " {launch_ns: 1000}", large, BY_PARTS, parts,
          false },
        { 0 },
    };
    int rc = sweep_lines(run, many, "operations", err);
    if (rc == LEAT_OK)
        rc = sweep_lines(run, cut, "launches", err);
    if (rc < 0)
        return rc;
    say_ratio(run, "A product of 10 x 10 costs more than an addition", "cpu",
              last_point(series_of(run, "cpu", "10 x 10 products")),
              last_point(series_of(run, "cpu", "10 x 10 additions")), 1.1, 0);
    each_device(run, say_launches);
    return LEAT_OK;
}

/* --- placement ------------------------------------------------------------------------------------------ */

static const char layers[] = "8 products of 256 x 256", sums[] = "8 additions of 65,536";

static void say_crossings(leat_experiment_run *run, const char *device)
{
    const leat_series *const products = series_of(run, device, layers);
    const leat_series *const additions = series_of(run, device, sums);
    say_ratio(run, "One of 8 products on the CPU makes the step slower", device,
              point_at(products, 1), point_at(products, 0), 1.1, 0);
    say_ratio(run, "So does one of 8 additions, which costs the CPU next to nothing", device,
              point_at(additions, 1), point_at(additions, 0), 1.1, 0);
    say_ratio(run, "Four crossings cost more than one", device, point_at(additions, 4),
              point_at(additions, 1), 1.5, 0);
}

int leat_experiment_placement(leat_experiment_run *run, leat_error *err)
{
    static const double crossings[] = { 0, 1, 2, 4, -1 };
    const leat_work_options product = { .kind = LEAT_WORK_MATMUL, .n = 256, .repeats = 8 };
    const leat_work_options sum = { .kind = LEAT_WORK_ADD, .n = 65536, .repeats = 8 };
    const struct line lines[] = {
        { layers, LEAT_ON_ALL, NULL, product, BY_ON_HOST, crossings, false },
        { sums, LEAT_ON_ALL, NULL, sum, BY_ON_HOST, crossings, false },
        { 0 },
    };
    return sweep(run, lines, "layers on the CPU", say_crossings, err);
}
