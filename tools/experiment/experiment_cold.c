/* SPDX-License-Identifier: MIT
 *
 * experiment_cold.c: the experiments that start new processes. model-creation: opening a device, building a model, its first
 * step and a steady step. first-epoch: `leat train` with files that are on disk only or in the page cache, and with a cache
 * that the first epoch fills; what the first one took longer for is what `leat train` says. */
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* --- model-creation ------------------------------------------------------------------------------- */

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

/* --- first-epoch ------------------------------------------------------------------------------------- */

enum {
    EPOCHS = 3,
    RATIO = EPOCHS,
    N_VALUES,
    ROUNDS = 9,
    QUICK_ROUNDS = 5,
    FILES = 4,
    MOST_PARTS = 8
};

static const struct job {
    const char *name, *config;
    bool cold;
    double least, most; /* claimed, of the first epoch over the second; 0: any */
} jobs[] = {
    { "files on disk only", "first-epoch", true, 1.05, 0 },
    { "files in the page cache", "first-epoch", false, 0, 1.1 },
    { "files in the page cache, `cache`", "first-epoch-cache", false, 1.1, 0 },
};
enum { N_JOBS = sizeof jobs / sizeof *jobs };

struct first {
    leat_experiment_run *run;
    const char *device;
    double got[N_JOBS][N_VALUES]; /* ms of the epochs; the first over the second */
    bool has[N_JOBS][N_VALUES];
    /* Sums over the processes of a job. */
    double more[N_JOBS], parts[N_JOBS][MOST_PARTS], disk[N_JOBS];
    char names[MOST_PARTS][32];
};

/* Takes the pictures out of the page cache, where the file system lets go of them. */
static void forget_files(const leat_experiment_run *run)
{
    for (int i = 0; i < FILES; i++) {
        char *const path =
            leat_files_text("%s/images-256px-%05d-of-%05d.tfrecord", run->data_folder, i, FILES);
        const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (fd >= 0 && !fdatasync(fd))
            posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        if (fd >= 0)
            close(fd);
        free(path);
    }
}

/* What the process said of its first epoch; nothing, if that was not the longest. */
static void take_parts(struct first *f, int32_t j, const json_t *said)
{
    const json_t *row;
    size_t i;
    f->disk[j] += json_number_value(json_object_get(said, "disk_bytes"));
    json_array_foreach(json_object_get(said, "parts"), i, row)
    {
        const double s = json_number_value(json_object_get(row, "seconds"));
        if (i == MOST_PARTS)
            break;
        snprintf(f->names[i], sizeof f->names[i], "%s",
                 json_string_value(json_object_get(row, "name")));
        f->parts[j][i] += s;
        f->more[j] += s;
    }
}

static int train(struct first *f, int32_t j, leat_error *err)
{
    char text[1 << 15];
    char *const path = leat_files_text("%s/%s.yaml", f->run->data_folder, jobs[j].config);
    const char *const arguments[] = { "train", path,     "--device", f->device, "--epochs",
                                      "3",     "--json", "-q",       NULL };
    if (jobs[j].cold)
        forget_files(f->run);
    int rc = path ? leat_experiment_again(arguments, text, sizeof text, err)
                  : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    json_t *const json = rc == LEAT_OK ? json_loads(text, 0, NULL) : NULL;
    const json_t *const epochs = json_object_get(json, "epochs");
    if (rc == LEAT_OK && json_array_size(epochs) != EPOCHS)
        rc = leat_fail(err, LEAT_E_INTERNAL, "leat train gave no %d epochs", EPOCHS);
    for (size_t i = 0; i < N_VALUES && rc == LEAT_OK; i++) {
        const json_t *const s = json_object_get(json_array_get(epochs, i), "seconds");
        f->got[j][i] = i == RATIO ? f->got[j][0] / f->got[j][1] : json_number_value(s) * 1e3;
        f->has[j][i] = true;
    }
    if (rc == LEAT_OK)
        take_parts(f, j, json_object_get(json, "first_epoch"));
    json_decref(json);
    free(path);
    return rc;
}

/* One process gives all values, which are kept until they were asked for. */
static int measure_epoch(void *user, int32_t series, int32_t point, double *y, leat_error *err)
{
    struct first *const f = user;
    const int32_t j = series % N_JOBS, value = series < N_JOBS ? point : RATIO;
    const int rc = f->has[j][value] ? LEAT_OK : train(f, j, err);
    f->has[j][value] = false;
    *y = f->got[j][value];
    return rc;
}

/* "files on disk only, cpu: of what the first epoch takes longer, storage 61 %, first step 30 %" */
static void say_parts(const struct first *f, int32_t j)
{
    char text[400] = "";
    for (int i = 0; i < MOST_PARTS && f->more[j] > 0; i++)
        if (f->parts[j][i] >= 0.02 * f->more[j])
            leat_files_append(text, sizeof text, ", %s %s", f->names[i],
                              leat_figure_percent(f->parts[j][i] / f->more[j]).text);
    if (*text)
        leat_experiment_note(f->run, "%s: %s: of what the first epoch takes longer%s", f->device,
                             jobs[j].name, text);
    if (jobs[j].cold && f->disk[j] <= 0)
        leat_experiment_note(f->run, "%s: %s: nothing came from disks, so they stayed in memory",
                             f->device, jobs[j].name);
}

static void say_epochs(const struct first *f, const leat_series *series)
{
    for (int32_t j = 0; j < N_JOBS; j++) {
        const leat_point *const ratio = series[N_JOBS + j].points;
        leat_experiment_finding(
            f->run, leat_experiment_holds(ratio->low, ratio->high, jobs[j].least, jobs[j].most),
            "The first epoch takes at %s %.3g times as long as the second, on %s, %s%s: %.3g "
            "times (%.3g-%.3g)",
            jobs[j].most > 0 ? "most" : "least", jobs[j].most + jobs[j].least, f->device,
            jobs[j].name, series[j].simulated ? " (simulated)" : "", ratio->y, ratio->low,
            ratio->high);
        say_parts(f, j);
    }
}

static int sweep_jobs(struct first *f, const leat_experiment_device *device, leat_error *err)
{
    leat_experiment_run *const run = f->run;
    leat_series *const series = leat_experiment_add_series(
        run, 2 * N_JOBS, device->name, device->kind == LEAT_ON_SIM, "epoch", err);
    if (!series)
        return LEAT_E_NOMEM;
    for (int j = 0; j < N_JOBS; j++) {
        snprintf(series[j].name, sizeof series[j].name, "%.40s: %s", device->name, jobs[j].name);
        series[j].n_points = EPOCHS;
        for (int e = 0; e < EPOCHS; e++)
            series[j].points[e].x = e + 1;
        series[N_JOBS + j].n_points = 1; /* paired by process; not shown as curves */
    }
    const leat_sweep_options how = leat_experiment_sweep_options(run, QUICK_ROUNDS, ROUNDS);
    const int rc = leat_sweep(series, 2 * N_JOBS, &how, measure_epoch, f, err);
    if (rc == LEAT_OK)
        say_epochs(f, series);
    run->n_series -= N_JOBS;
    return rc;
}

int leat_experiment_first(leat_experiment_run *run, leat_error *err)
{
    int rc = LEAT_OK;
    for (int j = 0; j < N_JOBS && rc == LEAT_OK; j++)
        rc = leat_experiment_write_config(run, jobs[j].config, err);
    for (int32_t i = 0; i < run->n_devices && rc == LEAT_OK; i++) {
        struct first *const f = calloc(1, sizeof *f);
        if (!f)
            return leat_fail(err, LEAT_E_NOMEM, "out of memory");
        f->run = run;
        f->device = run->devices[i].name;
        rc = sweep_jobs(f, &run->devices[i], err);
        free(f);
    }
    return rc;
}
