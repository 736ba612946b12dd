/* SPDX-License-Identifier: MIT
 *
 * experiment_sizes.c: the experiments whose x is a size of simple work: products, sums, copies, launches, crossings
 * between host and device. */
#include <string.h>

#include "experiment_rows.h"

enum { DEVICES = LEAT_ON_SIM | LEAT_ON_CUDA };

/* Calls say(run, device name) for each device that is not the CPU. */
static void each_device(leat_experiment_run *run, void (*say)(leat_experiment_run *, const char *))
{
    for (int32_t i = 0; i < run->n_devices; i++)
        if (run->devices[i].kind != LEAT_ON_CPU)
            say(run, run->devices[i].name);
}

/* Measures lines and says something about each device. */
static int sweep(leat_experiment_run *run, const leat_sweep_line *lines, const char *x_unit,
                 void (*say)(leat_experiment_run *, const char *), leat_error *err)
{
    const int rc = leat_sweep_lines(run, lines, x_unit, err);
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
    if (!leat_sweep_series(run, device, line))
        return LEAT_OK;
    leat_series *const raised = leat_experiment_add_series(run, 1, device, false, "", err);
    if (!raised)
        return LEAT_E_NOMEM;
    *raised = *leat_sweep_series(run, device, line);
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
    const leat_series *const cpu = leat_sweep_series(run, "cpu", "kernel");
    leat_sweep_say_crossing(run, "Kernel alone", leat_sweep_series(run, device, "kernel"), cpu);
    leat_sweep_say_crossing(run, "With copies", leat_sweep_series(run, device, "with copies"), cpu);
    if (!is_simulated(run, device))
        leat_sweep_say_crossing(run, "With copies and one-time cost",
                                leat_sweep_series(run, device, "with copies, first time"),
                                leat_sweep_series(run, "cpu", "with copies, first time"));
}

int leat_experiment_matmul(leat_experiment_run *run, leat_error *err)
{
    static const double quick[] = { 1, 3, 10, 30, 100, 200, 500, 1000, -1 };
    static const double full[] = { 1, 10, 30, 100, 200, 500, 1000, 2000, 5000, 10000, -1 };
    const double *const xs = run->quick ? quick : full;
    const leat_sweep_line lines[] = {
        { "kernel", LEAT_ON_ALL, .work = { .kind = LEAT_WORK_MATMUL }, .xs = xs },
        { "with copies", DEVICES, .work = { .kind = LEAT_WORK_MATMUL, .copies = 1 }, .xs = xs },
        { 0 },
    };
    int rc = leat_sweep_lines(run, lines, "n", err);
    if (rc == LEAT_OK)
        rc = add_one_time(run, err);
    if (rc == LEAT_OK)
        each_device(run, say_matmul);
    return rc;
}

/* --- elementwise-sweep ------------------------------------------------------------------------------ */

static void say_add(leat_experiment_run *run, const char *device)
{
    const leat_series *const cpu = leat_sweep_series(run, "cpu", "kernel");
    leat_sweep_say_crossing(run, "Kernel alone", leat_sweep_series(run, device, "kernel"), cpu);
    leat_sweep_say_crossing(run, "With pinned copies",
                            leat_sweep_series(run, device, "pinned copies"), cpu);
    leat_sweep_say_crossing(run, "With pageable copies",
                            leat_sweep_series(run, device, "pageable copies"), cpu);
}

int leat_experiment_elementwise(leat_experiment_run *run, leat_error *err)
{
    static const double quick[] = { 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, -1 };
    static const double full[] = { 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, -1 };
    const double *const xs = run->quick ? quick : full;
    const leat_sweep_line lines[] = {
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
    const leat_series *const pinned = leat_sweep_series(run, device, "pinned");
    const leat_series *const pageable = leat_sweep_series(run, device, "pageable");
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
    const leat_sweep_line lines[] = {
        { "memcpy", LEAT_ON_CPU, .work = { .kind = LEAT_WORK_COPY }, .xs = xs },
        { "pinned", DEVICES, .work = { .kind = LEAT_WORK_COPY }, .xs = xs },
        { "pageable", DEVICES, .work = { .kind = LEAT_WORK_COPY, .pageable = 1 }, .xs = xs },
        { 0 },
    };
    const int rc = leat_sweep_lines(run, lines, "bytes", err);
    const leat_series *const cpu = leat_sweep_series(run, "cpu", "memcpy");
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
    const leat_series *const parts = leat_sweep_series(run, device, "the same work in parts");
    snprintf(graph, sizeof graph, "%s {launch_ns: 1000}", device);
    say_ratio(run, "A product of 10 x 10 costs the same as an addition, among many", device,
              last_point(leat_sweep_series(run, device, "10 x 10 products")),
              last_point(leat_sweep_series(run, device, "10 x 10 additions")), 0.9, 1.1);
    say_ratio(run, "512 launches take at least 10 times as long as one, for the same work", device,
              leat_sweep_point(parts, most_launches), leat_sweep_point(parts, 1), 10, 0);
    say_ratio(
        run, "Launches of 1 us instead of 4 us make 512 of them at least 1.5 times as fast", device,
        leat_sweep_point(parts, most_launches),
        leat_sweep_point(leat_sweep_series(run, graph, "the same work in parts"), most_launches),
        1.5, 0);
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
    const leat_sweep_line many[] = {
        { "10 x 10 products", LEAT_ON_ALL, NULL, product, LEAT_SWEEP_REPEATS, counts, true },
        { "10 x 10 additions", LEAT_ON_ALL, NULL, sum, LEAT_SWEEP_REPEATS, counts, true },
        { 0 },
    };
    const leat_sweep_line cut[] = {
        { "the same work in parts", LEAT_ON_ALL, NULL, large, LEAT_SWEEP_PARTS, parts, false },
        { "the same work in parts", LEAT_ON_SIM, " {launch_ns: 1000}", large, LEAT_SWEEP_PARTS,
          parts, false },
        { 0 },
    };
    int rc = leat_sweep_lines(run, many, "operations", err);
    if (rc == LEAT_OK)
        rc = leat_sweep_lines(run, cut, "launches", err);
    if (rc < 0)
        return rc;
    say_ratio(run, "A product of 10 x 10 costs more than an addition", "cpu",
              last_point(leat_sweep_series(run, "cpu", "10 x 10 products")),
              last_point(leat_sweep_series(run, "cpu", "10 x 10 additions")), 1.1, 0);
    each_device(run, say_launches);
    return LEAT_OK;
}

/* --- placement ------------------------------------------------------------------------------------------ */

static const char layers[] = "8 products of 256 x 256", sums[] = "8 additions of 65,536";

static void say_crossings(leat_experiment_run *run, const char *device)
{
    const leat_series *const products = leat_sweep_series(run, device, layers);
    const leat_series *const additions = leat_sweep_series(run, device, sums);
    say_ratio(run, "One of 8 products on the CPU makes the step slower", device,
              leat_sweep_point(products, 1), leat_sweep_point(products, 0), 1.1, 0);
    say_ratio(run, "So does one of 8 additions, which costs the CPU next to nothing", device,
              leat_sweep_point(additions, 1), leat_sweep_point(additions, 0), 1.1, 0);
    say_ratio(run, "Four crossings cost more than one", device, leat_sweep_point(additions, 4),
              leat_sweep_point(additions, 1), 1.5, 0);
}

int leat_experiment_placement(leat_experiment_run *run, leat_error *err)
{
    static const double crossings[] = { 0, 1, 2, 4, -1 };
    const leat_work_options product = { .kind = LEAT_WORK_MATMUL, .n = 256, .repeats = 8 };
    const leat_work_options sum = { .kind = LEAT_WORK_ADD, .n = 65536, .repeats = 8 };
    const leat_sweep_line lines[] = {
        { layers, LEAT_ON_ALL, NULL, product, LEAT_SWEEP_ON_HOST, crossings, false },
        { sums, LEAT_ON_ALL, NULL, sum, LEAT_SWEEP_ON_HOST, crossings, false },
        { 0 },
    };
    return sweep(run, lines, "layers on the CPU", say_crossings, err);
}
