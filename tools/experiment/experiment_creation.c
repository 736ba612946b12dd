/* SPDX-License-Identifier: MIT
 *
 * experiment_creation.c: model-creation: opening a device, building a model, its first step and a steady step, each
 * measured in new processes. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_rows.h"
#include "files.h"
#include "formats/figure.h"
#include "host.h"

enum { ROWS = 64, WIDTH = 100, HIDDEN = 128, BATCH = 10, STEPS = 50, PROCESSES = 5, N_TIMES = 4 };
static const char *const times[N_TIMES] = { "device_ms", "creation_ms", "first_step_ms",
                                            "steady_step_ms" };
static const char *const time_names[N_TIMES] = { "opening the device", "creation", "first step",
                                                 "steady step" };

/* No data sheet says how long a GPU's context and libraries take to open. */
#define ASSUMED " {open_ns: 250000000}"

/* --- in the new process ----------------------------------------------------------------------------- */

struct cold {
    leat_config *config;
    leat_builder *builder;
    leat_plan *plan;
    leat_device *device;
    leat_trainer *trainer;
    leat_loader *loader;
    float rows[ROWS * WIDTH];
    int64_t labels[ROWS];
};

/* n layers of 128, with relu, before one of 10. */
static int parse_model(struct cold *cold, int64_t n_layers, leat_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    fprintf(memory, "train:\n  input: x\n  sync_every: 1\n  model:\n");
    for (int64_t i = 0; i < n_layers; i++)
        fprintf(memory, "    - dense: {units: %d}\n    - relu\n", HIDDEN);
    fprintf(memory, "    - dense: {units: 10}\n  loss: softmax_cross_entropy\n"
                    "  optimizer: {adam: {learning_rate: 1.0e-3}}\n");
    const int rc = leat_files_close_text(memory, &text)
                       ? leat_config_parse(text, "model-creation", &cold->config, err)
                       : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    free(text);
    return rc;
}

static int open_data(struct cold *cold, leat_error *err)
{
    const leat_rows rows[] = {
        { "x", { .dtype = LEAT_F32, .rank = 1, .dims = { WIDTH } }, cold->rows },
        { "label", { .dtype = LEAT_I64, .rank = 0 }, cold->labels },
    };
    leat_rng rng = leat_rng_make(1, 0, 0, 0);
    for (int i = 0; i < ROWS * WIDTH; i++)
        cold->rows[i] = leat_rng_range(&rng, -1, 1);
    for (int i = 0; i < ROWS; i++)
        cold->labels[i] = i % 10;
    cold->builder = leat_builder_open();
    leat_builder_rows(cold->builder, ROWS, rows, 2);
    leat_builder_stage(cold->builder, "batch", "{size: 10, drop_remainder: true}");
    leat_builder_stage(cold->builder, "prefetch", "2");
    return leat_builder_plan(cold->builder, &cold->plan, err);
}

static int step(struct cold *cold, leat_error *err)
{
    leat_batch *batch;
    int rc = leat_loader_next(cold->loader, &batch, err);
    return rc < 0 ? rc : leat_trainer_step(cold->trainer, batch, err);
}

static double ms_since(int64_t *from)
{
    const int64_t now = leat_host_now_ns();
    const double ms = (double)(now - *from) * 1e-6;
    *from = now;
    return ms;
}

static int run_cold(struct cold *cold, const char *device, double *out, leat_error *err)
{
    int64_t at = leat_host_now_ns();
    int rc = leat_device_open(device, &cold->device, err);
    out[0] = ms_since(&at);
    if (rc < 0 ||
        (rc = leat_trainer_open(cold->config, cold->plan, cold->device, &cold->trainer, err)) < 0)
        return rc;
    out[1] = ms_since(&at);
    const leat_loader_options how = { .device = cold->device, .epochs = -1 };
    if ((rc = leat_loader_open(cold->plan, &how, &cold->loader, err)) < 0)
        return rc;
    at = leat_host_now_ns();
    if ((rc = step(cold, err)) < 0)
        return rc;
    out[2] = ms_since(&at);
    for (int i = 0; i < STEPS && rc == LEAT_OK; i++) {
        if (i == STEPS / 5) /* the first ones still fill caches and slots */
            at = leat_host_now_ns();
        rc = step(cold, err);
    }
    out[3] = ms_since(&at) / (STEPS - STEPS / 5);
    return rc;
}

int leat_experiment_cold(const char *device, int64_t n_layers, leat_error *err)
{
    double ms[N_TIMES] = { 0 };
    struct cold *cold = calloc(1, sizeof *cold);
    if (!cold)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    int rc;
    if ((rc = parse_model(cold, n_layers, err)) == LEAT_OK &&
        (rc = open_data(cold, err)) == LEAT_OK)
        rc = run_cold(cold, device, ms, err);
    leat_loader_close(&cold->loader);
    leat_trainer_close(&cold->trainer);
    leat_device_close(&cold->device);
    leat_plan_close(&cold->plan);
    leat_builder_close(&cold->builder);
    leat_config_close(&cold->config);
    free(cold);
    if (rc < 0)
        return rc;
    printf("{\"%s\": %.6f, \"%s\": %.6f, \"%s\": %.6f, \"%s\": %.6f}\n", times[0], ms[0], times[1],
           ms[1], times[2], ms[2], times[3], ms[3]);
    return LEAT_OK;
}

/* --- in the experiment ------------------------------------------------------------------------------- */

static int start_cold(const char *device, int64_t n_layers, double out[N_TIMES], leat_error *err)
{
    char text[1024], layers[32];
    snprintf(layers, sizeof layers, "%lld", (long long)n_layers);
    const char *const arguments[] = { "experiment", "model-creation", "--cold", layers,
                                      "--device",   device,           NULL };
    int rc = leat_experiment_again(arguments, text, sizeof text, err);
    json_t *json = rc == LEAT_OK ? json_loads(text, 0, NULL) : NULL;
    for (int i = 0; i < N_TIMES && rc == LEAT_OK; i++) {
        const json_t *value = json_object_get(json, times[i]);
        if (!json_is_number(value))
            rc = leat_fail(err, LEAT_E_INTERNAL, "a process of model-creation gave no '%s'",
                           times[i]);
        else
            out[i] = json_number_value(value);
    }
    json_decref(json);
    return rc;
}

/* A series per time: x = hidden layers. One process gives all times of a point, so they are kept until all
 * series have asked for them. */
struct creation {
    const leat_experiment_device *device;
    const leat_series *series;
    double got[LEAT_SERIES_MAX_POINTS][N_TIMES];
    bool has[LEAT_SERIES_MAX_POINTS][N_TIMES];
};

static int measure(void *user, int32_t series, int32_t point, double *y, leat_error *err)
{
    struct creation *c = user;
    if (!c->has[point][series]) {
        const int rc =
            start_cold(c->device->name, (int64_t)c->series->points[point].x, c->got[point], err);
        if (rc < 0)
            return rc;
        memset(c->has[point], true, sizeof c->has[point]);
    }
    c->has[point][series] = false;
    *y = c->got[point][series];
    return LEAT_OK;
}

static int sweep_device(leat_experiment_run *run, const leat_experiment_device *device,
                        leat_error *err)
{
    static const double quick[] = { 1, 10, 100 }, full[] = { 1, 2, 5, 10, 20, 50, 100 };
    const int32_t n = run->quick ? 3 : 7;
    struct creation *c = calloc(1, sizeof *c);
    leat_series *series = leat_experiment_add_series(
        run, N_TIMES, device->name, device->kind == LEAT_ON_SIM, "hidden layers", err);
    if (!c || !series) {
        free(c);
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    }
    c->device = device;
    c->series = series;
    for (int i = 0; i < N_TIMES; i++) {
        snprintf(series[i].name, sizeof series[i].name, "%.60s: %s", device->name, time_names[i]);
        series[i].n_points = n;
        for (int32_t p = 0; p < n; p++)
            series[i].points[p].x = (run->quick ? quick : full)[p];
    }
    const leat_sweep_options how = leat_experiment_sweep_options(run, PROCESSES, 2 * PROCESSES);
    const int rc = leat_sweep(series, N_TIMES, &how, measure, c, err);
    for (int i = 0; i < N_TIMES && rc == LEAT_OK; i++) /* clocks of a nanosecond */
        for (int32_t p = 0; p < n; p++)
            series[i].points[p].low = series[i].points[p].low > 0 ? series[i].points[p].low : 0;
    free(c);
    return rc;
}

/* "TEXT, on DEVICE: A ms and B ms"; holds if a / b is `least` or more. */
static void say_ratio(leat_experiment_run *run, const leat_series *series, const char *text,
                      const leat_point *a, const leat_point *b, double least)
{
    const leat_estimate ratio = leat_sweep_ratio(a, b);
    leat_experiment_finding(run, leat_experiment_holds(ratio.low, ratio.high, least, 0),
                            "%s, on %s%s: %.3g ms and %.3g ms", text, series->device,
                            series->simulated ? " (simulated)" : "", a->y, b->y);
}

static void say(leat_experiment_run *run, const leat_series *series)
{
    say_ratio(run, &series[2], "The first step takes at least twice as long as a steady one",
              &series[2].points[0], &series[3].points[0], 2);
    say_ratio(run, &series[1],
              "A model of 100 layers takes at least 1.5 times as long to create as one of 1",
              &series[1].points[series->n_points - 1], &series[1].points[0], 1.5);
}

int leat_experiment_creation(leat_experiment_run *run, leat_error *err)
{
    int rc = LEAT_OK;
    for (int32_t i = 0; i < run->n_devices && rc == LEAT_OK; i++) {
        leat_experiment_device *const device = &run->devices[i];
        const bool assumes = device->kind == LEAT_ON_SIM && !strchr(device->name, '{');
        if (assumes)
            strncat(device->name, ASSUMED, sizeof device->name - strlen(device->name) - 1);
        if ((rc = sweep_device(run, device, err)) < 0)
            break;
        const leat_series *const series = &run->series[run->n_series - N_TIMES];
        say(run, series);
        if (assumes)
            leat_experiment_note(
                run,
                "%s (simulated): that opening it takes 0.25 s is assumed, not "
                "measured; it is as long as %s of its steps",
                device->name,
                leat_figure_count((uint64_t)(series[0].points[0].y / series[3].points[0].y)).text);
    }
    return rc;
}

int leat_experiment_one_time(const char *device, double *ms, leat_error *err)
{
    double sums[3], got[N_TIMES];
    for (int i = 0; i < 3; i++) {
        const int rc = start_cold(device, 1, got, err);
        if (rc < 0)
            return rc;
        sums[i] = got[0] + got[1] + got[2] - got[3];
    }
    const double low = fmin(sums[0], sums[1]), high = fmax(sums[0], sums[1]);
    *ms = fmax(0, fmax(low, fmin(high, sums[2])));
    return LEAT_OK;
}
