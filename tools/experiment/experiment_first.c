/* SPDX-License-Identifier: MIT
 *
 * experiment_first.c: first-epoch: `leat train` in new processes, with files that are on disk only or in the page cache,
 * and with a cache that the first epoch fills. What the first one took longer for is what `leat train` says. */
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiment_rows.h"
#include "files.h"
#include "formats/figure.h"

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
static int measure(void *user, int32_t series, int32_t point, double *y, leat_error *err)
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

static void say(const struct first *f, const leat_series *series)
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

static int sweep_device(struct first *f, const leat_experiment_device *device, leat_error *err)
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
    const int rc = leat_sweep(series, 2 * N_JOBS, &how, measure, f, err);
    if (rc == LEAT_OK)
        say(f, series);
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
        rc = sweep_device(f, &run->devices[i], err);
        free(f);
    }
    return rc;
}
