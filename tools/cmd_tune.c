/* SPDX-License-Identifier: MIT
 *
 * leat tune: measures which settings are fastest on this machine, and writes them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "files.h"
#include "report/json.h"
#include "report/progress.h"
#include "report/tune_print.h"
#include "setup.h"

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
        leat_tune_print(result, o->write);
    return leat_json_write(leat_tune_json(result, path), o->json, err);
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
    leat_files_stop_at_once("tune");
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
