/* SPDX-License-Identifier: MIT
 *
 * leat experiment: runs the experiments that explain when and why a GPU is slower than a CPU. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "command.h"
#include "experiment/experiment_rows.h"
#include "files.h"
#include "host.h"
#include "print/json.h"
#include "print/progress.h"
#include "print/terminal.h"
#include "signals.h"

enum { STEPS_MOST = 60000 }; /* as leat_compare() */

struct experiment_options {
    leat_texts device;
    int32_t quick, quiet, progress;
    int64_t rounds, steps, cold;
    const char *data, *results, *json;
};

static const leat_option options[] = {
    LEAT_OPTION_BOOL(struct experiment_options, quick, "false",
                     "fewer sizes, smaller sets, fewer rounds"),
    LEAT_OPTION_STRINGS(struct experiment_options, device, NULL,
                        "run on this device (may be given many times); default: cpu, sim:h200, and "
                        "cuda:0 if it opens"),
    LEAT_ROW_AUTO(
        struct experiment_options, rounds, 1, 1000,
        "number of rounds; every arm runs once per round; auto: 10, with --quick 5 (10 for sizes)"),
    LEAT_ROW_STEPS(struct experiment_options),
    LEAT_OPTION_STRING(struct experiment_options, data, "data/gpu-vs-cpu",
                       "folder for the data sets, which are made when they are missing"),
    LEAT_OPTION_STRING(
        struct experiment_options, results, NULL,
        "write NAME.json of each experiment into this folder; default with all: runs/gpu-vs-cpu"),
    LEAT_ROW_AUTO(struct experiment_options, cold, 1, 1000,
                  "number of layers of a model to measure once in this process, printed as JSON: "
                  "how model-creation starts its processes; auto: do not"),
    LEAT_ROW_PROGRESS(struct experiment_options),
    LEAT_ROW_JSON(struct experiment_options),
    LEAT_OPTION_END
};

/* --- devices --------------------------------------------------------------------------------------- */

static int32_t kind_of(const char *name)
{
    return leat_device_is_gpu(name)   ? LEAT_ON_CUDA
           : !strncmp(name, "sim", 3) ? LEAT_ON_SIM
                                      : LEAT_ON_CPU;
}

static void add_device(leat_experiment_run *run, const char *name)
{
    leat_experiment_device *device = &run->devices[run->n_devices++];
    snprintf(device->name, sizeof device->name, "%s", name);
    device->kind = kind_of(name);
}

/* A device named by the user must open; cuda:0 is used if it opens. */
static int choose_devices(leat_experiment_run *run, const leat_texts *named, leat_error *err)
{
    leat_device *device;
    int rc = LEAT_OK;
    if (named->n > LEAT_EXPERIMENT_MAX_DEVICES)
        return leat_fail(err, LEAT_E_ARGUMENT, "--device: at most %d", LEAT_EXPERIMENT_MAX_DEVICES);
    for (int32_t i = 0; i < named->n && rc == LEAT_OK; i++) {
        if ((rc = leat_device_open(named->values[i], &device, err)) == LEAT_OK)
            add_device(run, named->values[i]);
        leat_device_close(&device);
    }
    if (named->n)
        return rc;
    leat_error why = { 0 };
    add_device(run, "cpu");
    add_device(run, "sim:h200");
    if (leat_device_open("cuda:0", &device, &why) == LEAT_OK)
        add_device(run, "cuda:0");
    else
        leat_experiment_note(run, "cuda:0 skipped: %s", why.message);
    leat_device_close(&device);
    return LEAT_OK;
}

/* --- runs ------------------------------------------------------------------------------------------ */

static void show_progress(void *user, int64_t done, int64_t total)
{
    leat_progress *progress = user;
    progress->total = (uint64_t)total;
    leat_progress_show(progress, (uint64_t)done);
}

static void print_head(const leat_experiment_run *run)
{
    const leat_experiment *experiment = run->experiment;
    printf("%s%s\n", experiment->name, run->quick ? " (quick)" : "");
    leat_terminal_say(0, "%s", experiment->title);
    leat_terminal_say(0, "Expected: %s", experiment->expect);
    fflush(stdout);
}

static int run_one(const struct experiment_options *o, const leat_experiment *experiment,
                   const char *folder, leat_error *err)
{
    leat_experiment_run *run = calloc(1, sizeof *run);
    leat_progress progress;
    if (!run)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    *run = (leat_experiment_run){ .experiment = experiment,
                                  .data_folder = o->data,
                                  .quick = o->quick,
                                  .rounds = o->rounds > 0 ? (int32_t)o->rounds : 0,
                                  .steps = o->steps > 0 ? (int32_t)o->steps : 0,
                                  .progress = show_progress,
                                  .progress_user = &progress };
    char *const path = folder ? leat_files_text("%s/%s.json", folder, experiment->name) : NULL;
    const bool talks = !leat_json_to_stdout(o->json);
    int rc = folder && !path ? leat_fail(err, LEAT_E_NOMEM, "out of memory")
                             : choose_devices(run, &o->device, err);
    if (rc == LEAT_OK && (rc = leat_json_check(path, err)) == LEAT_OK &&
        (rc = leat_json_check(o->json, err)) == LEAT_OK) {
        if (talks)
            print_head(run);
        leat_progress_init(&progress, experiment->name, "runs", 0,
                           o->quiet ? LEAT_PROGRESS_OFF : o->progress);
        rc = leat_experiment_run_all(run, err);
        leat_progress_fini(&progress);
    }
    if (rc == LEAT_OK && talks)
        leat_experiment_print(run);
    json_t *const json = rc == LEAT_OK ? leat_experiment_json(run) : NULL;
    if (rc == LEAT_OK && (rc = leat_json_write(json_incref(json), path, err)) == LEAT_OK)
        rc = leat_json_write(json_incref(json), o->json, err);
    json_decref(json);
    free(path);
    free(run->arms);
    free(run->series);
    free(run);
    return rc;
}

/* Runs all experiments; one that fails does not stop the others. */
static int run_each(const struct experiment_options *o)
{
    const char *const folder = o->results ? o->results : "runs/gpu-vs-cpu";
    const int64_t start_ns = leat_host_now_ns();
    int code = LEAT_EXIT_OK, n = 0;
    for (size_t i = 0; leat_experiment_at(i); i++) {
        leat_error err = { 0 };
        if (run_one(o, leat_experiment_at(i), folder, &err) < 0)
            code = leat_command_fail("experiment", &err);
        else
            n++;
        putchar('\n');
    }
    leat_terminal_say(0, "%d experiments in %.0f s; results: %s", n,
                      (double)(leat_host_now_ns() - start_ns) * 1e-9, folder);
    if (leat_command_find("report"))
        leat_terminal_say(0, "leat report %s/*.json -o report.html makes one page of them", folder);
    return code;
}

static int list(const char *json, leat_error *err)
{
    json_t *all = leat_json_open("experiment"), *rows = leat_json_list(all, "experiments");
    for (size_t i = 0; leat_experiment_at(i); i++) {
        const leat_experiment *experiment = leat_experiment_at(i);
        json_t *row = leat_json_row(rows);
        leat_json_text(row, "name", experiment->name);
        leat_json_text(row, "title", experiment->title);
        leat_json_text(row, "expect", experiment->expect);
        if (!leat_json_to_stdout(json))
            leat_terminal_entry(stdout, experiment->name, 20, experiment->title);
    }
    return leat_json_write(all, json, err);
}

static int no_such_experiment(const char *name)
{
    const char *names[64];
    size_t n = 0;
    for (; n < 64 && leat_experiment_at(n); n++)
        names[n] = leat_experiment_at(n)->name;
    const char *near = leat_nearest(name, names, n);
    return leat_command_misuse(
        "experiment", "there is no experiment '%s'%s%s%s; leat experiment list lists them", name,
        near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int run(const leat_call *call, leat_error *err)
{
    static const char *const of_runs[] = { "quick", "device",  "rounds", "steps",
                                           "data",  "results", "cold",   NULL };
    const struct experiment_options *o = call->options;
    const char *const name = call->arguments[0];
    leat_signals_stop_at_once("experiment");
    if (o->steps > STEPS_MOST)
        return leat_command_misuse("experiment", "--steps is %d at most", STEPS_MOST);
    if (!strcmp(name, "list") && leat_cli_has_any(call, of_runs))
        return leat_command_misuse("experiment",
                                   "list runs nothing: of the options only --json goes with it");
    if (!strcmp(name, "all") && o->json)
        return leat_command_misuse("experiment",
                                   "all writes a file for each: use --results DIR, not --json");
    if (!strcmp(name, "all"))
        return run_each(o);
    const leat_experiment *experiment = leat_experiment_find(name);
    if (!experiment && strcmp(name, "list") != 0)
        return no_such_experiment(name);
    int rc;
    if (!experiment)
        rc = list(o->json, err);
    else if (o->cold > 0)
        rc = leat_experiment_cold(o->device.n ? o->device.values[0] : "cpu", o->cold, err);
    else
        rc = run_one(o, experiment, o->results, err);
    return rc;
}

const leat_command leat_command_experiment = {
    .name = "experiment",
    .summary = "run the experiments that explain when a GPU is slower than a CPU",
    .arguments = "NAME|all|list",
    .text =
        "Runs one of the experiments behind \"why is my GPU slower than my CPU?\", or all of them: "
        "trains small models with some values varied, or measures simple work of growing size, on "
        "each device. Data sets are made when they are missing. Each finding is checked against "
        "the measurement: yes, no, or ? where the noise is larger than the effect.\n\n"
        "Without a GPU the devices are this machine's CPU and a simulated accelerator, whose times "
        "are modelled; every figure of it says \"simulated\". docs/why-is-my-gpu-slower has a page "
        "about each experiment.",
    .example = "  leat experiment list\n"
               "  leat experiment mlp-1000x100-b10 --quick\n"
               "  leat experiment all --quick --results runs/gpu-vs-cpu\n"
               "  leat experiment matmul-sweep --device cpu --device sim:l4 --json matmul.json",
    .n_min = 1,
    .n_max = 1,
    LEAT_COMMAND_OPTIONS(struct experiment_options),
    .run = run,
};
