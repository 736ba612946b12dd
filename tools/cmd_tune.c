/* SPDX-License-Identifier: MIT
 *
 * leat tune: measures which settings are fastest on this machine, and writes them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "files.h"
#include "formats/figure.h"
#include "print/json.h"
#include "print/progress.h"
#include "print/summary.h"
#include "print/terminal.h"
#include "setup.h"
#include "signals.h"

struct tune_options {
    leat_texts set;
    double seconds;
    const char *device, *write, *json;
    int32_t quiet, progress;
};

static const leat_option options[] = {
    LEAT_OPTION_F64(struct tune_options, seconds, "60", 1, 86400,
                    "limit of time; the last comparison may take a little longer"),
    LEAT_OPTION_STRING(struct tune_options, write, NULL,
                       "write the config with the winning lines to this file, if there are any; "
                       "comments are not kept, and only a file that tune wrote is replaced"),
    LEAT_OPTION_STRING(struct tune_options, device, NULL,
                       "train on this device instead of train.device"),
    LEAT_ROW_SET(struct tune_options),
    LEAT_ROW_QUIET(struct tune_options),
    LEAT_ROW_PROGRESS(struct tune_options),
    LEAT_ROW_JSON(struct tune_options),
    LEAT_OPTION_END
};

/* --- JSON -------------------------------------------------------------------------------------- */

static json_t *lines_json(const char *lines)
{
    json_t *list = json_array();
    while (*lines) {
        const char *end = strstr(lines, "; ");
        const size_t n = end ? (size_t)(end - lines) : strlen(lines);
        json_array_append_new(list, json_stringn(lines, n));
        lines += n + (end ? 2 : 0);
    }
    return list;
}

static json_t *try_json(const leat_tune_try *try)
{
    json_t *one = json_object();
    leat_json_add(one, "set", lines_json(try->set));
    leat_json_real(one, "samples_per_s", try->samples_per_s.value);
    leat_json_interval(one, "interval", &try->samples_per_s);
    leat_json_real(one, "speedup", try->speedup.value);
    leat_json_interval(one, "speedup_interval", &try->speedup);
    leat_json_int(one, "rounds", try->rounds);
    return one;
}

static json_t *best_json(const leat_tune_result *result)
{
    json_t *best = json_object(), *set = json_array();
    for (int32_t i = 0; i < result->n_set; i++)
        json_array_append_new(set, leat_json_string(result->set[i]));
    leat_json_add(best, "set", set);
    leat_json_real(best, "samples_per_s", result->samples_per_s.value);
    leat_json_interval(best, "interval", &result->samples_per_s);
    leat_json_real(best, "speedup", result->speedup.value);
    leat_json_interval(best, "speedup_interval", &result->speedup);
    return best;
}

static json_t *result_json(const leat_tune_result *result, const char *path)
{
    json_t *json = leat_json_open("tune"), *baseline = json_object(), *tried = json_array();
    leat_json_real(baseline, "samples_per_s", result->baseline.value);
    leat_json_interval(baseline, "interval", &result->baseline);
    for (int32_t i = 0; i < result->n_tried; i++)
        json_array_append_new(tried, try_json(&result->tried[i]));
    leat_json_text(json, "config", path);
    leat_json_text(json, "device", result->device);
    leat_json_bool(json, "simulated", result->simulated);
    leat_json_int(json, "cores", result->cores);
    leat_json_real(json, "cores_taken", result->cores_taken);
    leat_json_real(json, "uncached", result->uncached);
    leat_json_add(json, "baseline", baseline);
    leat_json_add(json, "best", best_json(result));
    leat_json_add(json, "tried", tried);
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
    if (!first)
        snprintf(gain, sizeof gain, "%.2f (%.2f-%.2f)", try->speedup.value, try->speedup.low,
                 try->speedup.high);
    printf("%12s %18s %7d  ", leat_figure_rate(try->samples_per_s.value).text, gain, try->rounds);
    leat_terminal_wrap(stdout, try->set[0] ? try->set : "the config as it is", 42, 44);
}

/* A race begins where the best so far is compared with itself. */
static bool begins_race(const leat_tune_try *try)
{
    return try->speedup.low == 1 && try->speedup.high == 1;
}

static void print_result(const leat_tune_result *result, const char *output)
{
    char line[160];
    leat_terminal_say(2, "device %s%s", result->device,
                      result->simulated ? ": simulated; times are modelled, no arithmetic is done"
                                        : "");
    if (result->cores_taken >= 0.1 * result->cores)
        printf("other processes used %.1f of %d CPUs meanwhile\n", result->cores_taken,
               result->cores);
    if (result->uncached > 0)
        leat_terminal_say(2, "%s", leat_summary_uncached_text(result->uncached, line));
    printf("\n%12s %18s %7s\n%12s %18s %7s  %s\n", "", "times the first", "", "samples/s", "(95 %)",
           "rounds", "settings");
    for (int32_t i = 0; i < result->n_tried; i++) {
        const bool first = begins_race(&result->tried[i]);
        if (first && i)
            putchar('\n');
        print_try(&result->tried[i], first);
    }
    putchar('\n');
    leat_terminal_say(0, "%s", result->sentence);
    if (output && !result->n_set)
        printf("nothing was written to %s\n", leat_terminal_name(output));
    if (!result->n_set)
        return;
    printf("\n%s samples/s instead of %s with\n",
           leat_figure_rate(result->samples_per_s.value).text,
           leat_figure_rate(result->baseline.value).text);
    for (int32_t i = 0; i < result->n_set; i++)
        printf("  --set %s\n", result->set[i]);
    if (output)
        printf("written to %s\n", leat_terminal_name(output));
}

static void show_progress(void *user, double seconds, double limit)
{
    leat_progress *progress = user;
    progress->total = (uint64_t)limit;
    leat_progress_show(progress, (uint64_t)fmin(seconds, limit));
}

#define BEGINS "# Written by `leat tune`"

/* The config as a file, with a line that says where it is from. NULL: *err says why. */
static char *tuned_text(const leat_config *config, const char *path, const leat_tune_result *result,
                        leat_error *err)
{
    size_t length = 0;
    char *text = NULL, *whole = NULL;
    if (leat_config_text(config, NULL, 0, &length, err) < 0)
        return NULL;
    text = malloc(length + 1);
    if (text && leat_config_text(config, text, length + 1, &length, err) < 0) {
        free(text);
        return NULL;
    }
    if (text)
        whole = leat_files_text(
            BEGINS " from %s on %s: %.2f times as fast (95 %% interval %.2f to %.2f)%s.\n%s", path,
            result->device, result->speedup.value, result->speedup.low, result->speedup.high,
            result->simulated ? ", simulated" : "", text);
    if (!whole)
        leat_fail(err, LEAT_E_NOMEM, "out of memory");
    free(text);
    return whole;
}

/* Writes the config with the winning lines, if there are any. */
static int write_config(const struct tune_options *o, const char *path, leat_config *config,
                        const leat_tune_result *result, leat_error *err)
{
    if (!o->write || !result->n_set)
        return LEAT_OK;
    int rc = leat_tune_apply(result, config, err);
    if (rc < 0)
        return rc;
    char *text = tuned_text(config, path, result, err);
    if (!text)
        return err->code;
    rc = leat_files_write(o->write, text, strlen(text), err);
    free(text);
    return rc;
}

static int tune(const struct tune_options *o, const char *path, leat_config *config,
                leat_tune_result *result, leat_error *err)
{
    leat_progress progress;
    leat_progress_init(&progress, "tune", "s", 0, o->quiet ? LEAT_PROGRESS_OFF : o->progress);
    const leat_tune_options how = {
        .seconds = o->seconds, .device = o->device, .progress = show_progress, .user = &progress
    };
    int rc = leat_tune(config, &how, result, err);
    leat_progress_fini(&progress);
    if (rc < 0 || (rc = write_config(o, path, config, result, err)) < 0)
        return rc;
    if (!leat_json_to_stdout(o->json))
        print_result(result, o->write);
    return leat_json_write(result_json(result, path), o->json, err);
}

static int check_output(const char *path, leat_error *err)
{
    static const leat_files_kind tuned = { "a config that `leat tune` wrote", BEGINS, 0 };
    const int rc = path ? leat_files_check(path, &tuned, err) : LEAT_OK;
    return rc < 0 ? leat_fail_in(err, rc, "--write: ") : rc;
}

static int run(const leat_call *call)
{
    const struct tune_options *o = call->options;
    const char *path = call->arguments[0];
    leat_error err = { 0 };
    leat_config *config = NULL;
    leat_tune_result *result = calloc(1, sizeof *result);
    leat_signals_stop_at_once("tune");
    int rc = result ? LEAT_OK : leat_fail(&err, LEAT_E_NOMEM, "out of memory");
    if (rc == LEAT_OK && (rc = leat_setup_config(path, &o->set, &config, &err)) == LEAT_OK &&
        (rc = check_output(o->write, &err)) == LEAT_OK &&
        (rc = leat_json_check(o->json, &err)) == LEAT_OK)
        rc = tune(o, path, config, result, &err);
    leat_config_close(&config);
    free(result);
    return rc == LEAT_OK ? LEAT_EXIT_OK : leat_command_fail("tune", &err);
}

const leat_command leat_command_tune = {
    .name = "tune",
    .summary = "measure which settings are fastest on this machine, and write them",
    .arguments = "CONFIG",
    .text =
        "Trains with other threads, prefetch, memory, readers and, on a GPU, other cuts between "
        "CPU and GPU, and prints the config lines that are faster than the config as it is, with "
        "their gain and its 95 % interval. None of these options changes the contents of a "
        "batch. The values of an option alternate; clearly slower ones are dropped early. "
        "Options are tried one after the other, and once more if something changed. A last "
        "comparison of the config with the winner decides: if its interval includes \"no "
        "difference\", nothing is claimed and nothing is written.\n\n"
        "The result holds for this machine in its present state. `leat compare` measures single "
        "values in more detail.",
    .example = "  leat tune examples/cifar10.yaml\n"
               "  leat tune examples/cifar10.yaml --seconds 120 --write tuned.yaml\n"
               "  leat tune examples/cifar10.yaml --device sim:h200",
    .n_min = 1,
    .n_max = 1,
    .options_size = sizeof(struct tune_options),
    .options = options,
    .run = run,
};
