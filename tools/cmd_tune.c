/* SPDX-License-Identifier: MIT
 *
 * leat tune: measures which settings are fastest on this machine, and writes them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "doctor/doctor_report.h"
#include "files.h"
#include "formats/figure.h"
#include "formats/utf8.h"
#include "formats/whole_file.h"
#include "print/json.h"
#include "print/patch.h"
#include "print/progress.h"
#include "print/summary.h"
#include "print/terminal.h"
#include "setup.h"
#include "signals.h"

struct tune_options {
    leat_texts set;
    double seconds;
    const char *device, *write, *json;
    int32_t diff, quiet, progress;
};

static const leat_option options[] = {
    LEAT_OPTION_F64(struct tune_options, seconds, "60", 1, 86400,
                    "limit of time; the last comparison may take a little longer"),
    LEAT_OPTION_STRING(
        struct tune_options, write, NULL,
        "write the config with the winning lines to this file, if there are any: CONFIG itself, "
        "whose other lines stay as they are, or another file, if it is new or tune wrote it"),
    LEAT_OPTION_BOOL(struct tune_options, diff, "false",
                     "print what --write CONFIG would change, as a patch"),
    LEAT_OPTION_STRING(struct tune_options, device, NULL,
                       "train on this device instead of train.device"),
    LEAT_ROW_SET(struct tune_options),
    LEAT_ROW_PROGRESS(struct tune_options),
    LEAT_ROW_JSON(struct tune_options),
    LEAT_OPTION_END
};

/* --- JSON -------------------------------------------------------------------------------------- */

static void add_lines(json_t *object, const char *lines)
{
    json_t *list = leat_json_list(object, "set");
    while (*lines) {
        const char *end = strstr(lines, "; ");
        const size_t n = end ? (size_t)(end - lines) : strlen(lines);
        json_array_append_new(list, json_stringn(lines, n));
        lines += n + (end ? 2 : 0);
    }
}

static void add_try(json_t *list, const leat_tune_try *try)
{
    json_t *one = leat_json_row(list);
    add_lines(one, try->set);
    leat_json_estimate(one, "samples_per_s", "interval", &try->samples_per_s);
    leat_json_estimate(one, "speedup", "speedup_interval", &try->speedup);
    leat_json_int(one, "rounds", try->rounds);
}

static void add_best(json_t *json, const leat_tune_result *result)
{
    json_t *best = leat_json_object(json, "best"), *set = leat_json_list(best, "set");
    for (int32_t i = 0; i < result->n_set; i++)
        leat_json_append(set, result->set[i]);
    leat_json_estimate(best, "samples_per_s", "interval", &result->samples_per_s);
    leat_json_estimate(best, "speedup", "speedup_interval", &result->speedup);
}

static json_t *result_json(const leat_tune_result *result, const char *path, const char *patch)
{
    json_t *json = leat_json_open("tune");
    leat_json_text(json, "config", path);
    leat_json_text(json, "device", result->device);
    leat_json_bool(json, "simulated", result->simulated);
    leat_json_int(json, "cores", result->cores);
    leat_json_real(json, "cores_taken", result->cores_taken);
    leat_json_real(json, "uncached", result->uncached);
    leat_json_estimate(leat_json_object(json, "baseline"), "samples_per_s", "interval",
                       &result->baseline);
    add_best(json, result);
    json_t *tried = leat_json_list(json, "tried");
    for (int32_t i = 0; i < result->n_tried; i++)
        add_try(tried, &result->tried[i]);
    leat_json_text(json, "patch", patch);
    leat_json_real(json, "seconds", result->seconds);
    leat_json_bool(json, "complete", result->complete);
    leat_json_text(json, "sentence", result->sentence);
    return json;
}

/* --- text -------------------------------------------------------------------------------------- */

/* The values of one race: the first is what was best before. */
static void print_try(const leat_tune_try *try, bool first)
{
    char gain[48] = "";
    if (!first && try->rounds == 1)
        snprintf(gain, sizeof gain, "%.2f", try->speedup.value);
    else if (!first)
        snprintf(gain, sizeof gain, "%.2f (%.2f-%.2f)", try->speedup.value, try->speedup.low,
                 try->speedup.high);
    printf("%12s %18s %6d%s  ", leat_figure_rate(try->samples_per_s.value).text, gain, try->rounds,
           try->rounds == 1 ? "*" : " ");
    leat_terminal_wrap(stdout, try->set[0] ? try->set : "the config as it is", 42, 44);
}

/* A race begins where the best so far is compared with itself. */
static bool begins_race(const leat_tune_try *try)
{
    return try->speedup.low == 1 && try->speedup.high == 1;
}

static void print_tries(const leat_tune_result *result)
{
    bool once = false;
    printf("\n%12s %18s %7s\n%12s %18s %7s  %s\n", "", "times the first", "", "samples/s", "(95 %)",
           "rounds", "settings");
    for (int32_t i = 0; i < result->n_tried; i++) {
        const bool first = begins_race(&result->tried[i]);
        if (first && i)
            putchar('\n');
        print_try(&result->tried[i], first);
        once |= result->tried[i].rounds == 1;
    }
    if (once)
        leat_terminal_say(2, "* measured in one round: no interval, and nothing follows from it");
    putchar('\n');
}

static void print_result(const leat_tune_result *result)
{
    char line[160];
    leat_terminal_say(2, "device %s%s", result->device,
                      result->simulated ? ": simulated; times are modelled, no arithmetic is done"
                                        : "");
    leat_summary_print_others(result->cores_taken, result->cores, "");
    if (result->uncached > 0)
        leat_terminal_say(2, "%s", leat_summary_uncached_text(result->uncached, line));
    print_tries(result);
    leat_terminal_say(0, "%s", result->sentence);
    if (result->n_set)
        printf("\n%s samples/s instead of %s with\n",
               leat_figure_rate(result->samples_per_s.value).text,
               leat_figure_rate(result->baseline.value).text);
    for (int32_t i = 0; i < result->n_set; i++) {
        char text[LEAT_DOCTOR_CHANGE_SHELL(sizeof result->set[0])] = "";
        leat_doctor_change_shell(result->set[i], text, sizeof text);
        printf(" %s\n", text);
    }
    leat_terminal_say(
        0, "\nnot tried: what changes the batches or needs more memory or disk, such as a `cache`, "
           "`batch.size` or stored pixels; `leat doctor` tells which of them would help");
}

static void show_progress(void *user, double seconds, double limit)
{
    leat_progress *progress = user;
    progress->total = (uint64_t)limit;
    leat_progress_show(progress, (uint64_t)fmin(seconds, limit));
}

/* --- the file ---------------------------------------------------------------------------------- */

#define BEGINS "# Written by `leat tune`"

struct job {
    const struct tune_options *o;
    const char *path;
    char *before;        /* the text of CONFIG; NULL: it is a pipe */
    char *after, *patch; /* with the winning lines, and what differs; NULL: there are none */
    leat_config *config;
    leat_tune_result result;
};

static int edit(struct job *job, leat_error *err)
{
    if (!job->result.n_set)
        return LEAT_OK;
    int rc = leat_tune_apply(&job->result, job->config, err);
    if (rc < 0 ||
        (rc = leat_setup_write(job->config, job->before, job->path, &job->after, err)) < 0)
        return rc;
    if (job->before)
        job->patch = leat_patch_text(job->before, job->after, job->path);
    return job->patch || !job->before ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "out of memory");
}

/* Somebody may have changed the file while the measurement ran. */
static int check_unchanged(const struct job *job, leat_error *err)
{
    char *now = NULL;
    int rc = leat_setup_text(job->path, &now, err);
    if (rc == LEAT_OK && (!now || strcmp(now, job->before) != 0))
        rc = leat_fail(
            err, LEAT_E_IO,
            "%s: changed while tune measured, so it was not written; write the lines above into it",
            job->path);
    free(now);
    return rc;
}

/* Another file says in its first line where it is from. CONFIG itself has such a line only if tune wrote it. */
static int write_config(const struct job *job, leat_error *err)
{
    const leat_tune_result *const result = &job->result;
    const char *const after = job->after + leat_utf8_mark(job->after, strlen(job->after));
    const bool begins = !strncmp(after, BEGINS, strlen(BEGINS));
    const bool in_place = leat_files_same(job->o->write, job->path);
    const char *const first = begins ? strchr(after, '\n') : NULL;
    int rc = in_place ? check_unchanged(job, err) : LEAT_OK;
    if (rc < 0)
        return rc;
    char *const text =
        in_place && !begins
            ? leat_files_text("%s", job->after)
            : leat_files_text(
                  BEGINS " from %s on %s: %.2f times as fast (95 %% interval %.2f to %.2f)%s.\n%s",
                  job->path, result->device, result->speedup.value, result->speedup.low,
                  result->speedup.high, result->simulated ? ", simulated" : "",
                  first ? first + 1 : after);
    rc = text ? leat_files_write(job->o->write, text, strlen(text), err)
              : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    free(text);
    return rc;
}

/* The result comes first: it took long, and the rest can fail. */
static int report(struct job *job, leat_error *err)
{
    leat_error why = { 0 };
    const struct tune_options *const o = job->o;
    const bool talks = !leat_json_to_stdout(o->json);
    const int edited = edit(job, &why);
    if (talks)
        print_result(&job->result);
    if (talks && o->diff && job->patch) {
        putchar('\n');
        leat_terminal_lines(stdout, job->patch);
    }
    int rc = leat_json_write(result_json(&job->result, job->path, job->patch), o->json, err);
    if (rc < 0 || !(o->write || o->diff))
        return rc;
    if (edited < 0) {
        *err = why;
        return leat_fail_in(err, edited, "%s was not written; write the lines above into it: ",
                            o->write ? o->write : "a patch");
    }
    if (job->after && o->write && (rc = write_config(job, err)) < 0)
        return rc;
    if (talks && o->write)
        leat_terminal_say(0, "\n%s %s", job->after ? "written to" : "nothing was written to",
                          leat_terminal_name(o->write));
    return rc;
}

static int tune(struct job *job, leat_error *err)
{
    leat_progress progress;
    leat_progress_init(&progress, "tune", "s", 0,
                       job->o->quiet ? LEAT_PROGRESS_OFF : job->o->progress);
    const leat_tune_options how = { .seconds = job->o->seconds,
                                    .device = job->o->device,
                                    .progress = show_progress,
                                    .user = &progress };
    const int rc = leat_tune(job->config, &how, &job->result, err);
    leat_progress_fini(&progress);
    return rc < 0 ? rc : report(job, err);
}

static int check_output(const struct job *job, leat_error *err)
{
    static const leat_output_kind tuned = { "a config that `leat tune` wrote", BEGINS, 0 };
    const char *const path = job->o->write;
    if (path && job->o->diff)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "--diff prints a patch in place of writing; leave out --write or --diff");
    if (job->o->diff && !job->before)
        return leat_fail(err, LEAT_E_ARGUMENT, "%s: --diff needs a config that is a file",
                         job->path);
    const int rc =
        path ? leat_files_check(path, leat_files_same(path, job->path) ? NULL : &tuned, err)
             : LEAT_OK;
    return rc < 0 ? leat_fail_in(err, rc, "--write: ") : rc;
}

static int run(const leat_call *call, leat_error *err)
{
    struct job *const job = calloc(1, sizeof *job);
    leat_signals_stop_at_once("tune");
    int rc = job ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    if (job) {
        const struct tune_options *const o = job->o = call->options;
        job->path = call->arguments[0];
        if ((rc = leat_setup_config(call, job->path, &o->set, &job->config, err)) == LEAT_OK &&
            (rc = leat_setup_text(job->path, &job->before, err)) == LEAT_OK &&
            (rc = check_output(job, err)) == LEAT_OK &&
            (rc = leat_json_check(o->json, err)) == LEAT_OK)
            rc = tune(job, err);
        leat_config_close(&job->config);
        free(job->before);
        free(job->after);
        free(job->patch);
    }
    free(job);
    return rc;
}

const leat_command leat_command_tune = {
    .name = "tune",
    .summary = "measure which settings are fastest on this machine, and write them",
    .arguments = "CONFIG",
    .text =
        "Trains with other threads, prefetch, memory, readers and, on a GPU, other cuts between "
        "CPU and GPU, and prints the config lines that are faster than the config as it is, with "
        "their gain and its 95 % interval. None of these options changes the contents of a batch. "
        "The values of an option alternate; clearly slower ones are dropped early. Options are "
        "tried one after the other, and once more if something changed. A last comparison of the "
        "config with the winner decides: if its interval includes \"no difference\", nothing is "
        "claimed and nothing is written.\n\n"
        "--write CONFIG changes the config in place: values are replaced where they stand, and "
        "comments, order and layout stay. The new text is read and compared before it is written. "
        "--diff prints the same change as a patch. Values of --set are written too.\n\n"
        "Not tried is what changes the batches or needs more memory or disk: `cache`, "
        "`batch.size`, stored pixels. `leat doctor` tells which of them would help.\n\n"
        "The result holds for this machine in its present state. `leat compare` measures single "
        "values in more detail.",
    .example = "  leat tune examples/cifar10.yaml\n"
               "  leat tune examples/cifar10.yaml --seconds 120 --write examples/cifar10.yaml\n"
               "  leat tune examples/cifar10.yaml --diff\n"
               "  leat tune examples/cifar10.yaml --device sim:h200",
    .n_min = 1,
    .n_max = 1,
    LEAT_COMMAND_OPTIONS(struct tune_options),
    .run = run,
};
