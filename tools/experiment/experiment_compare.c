/* SPDX-License-Identifier: MIT
 *
 * experiment_compare.c: runs a part of an experiment: leat_compare() on its config, with the devices as the first
 * varied value. */
#include <stdlib.h>
#include <string.h>

#include "experiment_rows.h"
#include "files.h"

enum { QUICK_ROUNDS = 5, ROUNDS = 10, TINY_WARMUP_MS = 10, QUICK_WARMUP_MS = 500 };
static const char device_axis[] = "train.device=";

static void show(void *user, int done, int total)
{
    const leat_experiment_run *run = user;
    if (run->progress)
        run->progress(run->progress_user, done, total);
}

/* "train.device=cpu,sim:h200" with the run's devices of these kinds; returns how many. */
static int name_devices(const leat_experiment_run *run, const leat_experiment_part *part,
                        char *text, size_t size)
{
    int n = 0;
    snprintf(text, size, "%s", device_axis);
    for (int32_t i = 0; i < run->n_devices; i++) {
        const leat_experiment_device *device = &run->devices[i];
        if (!(device->kind & part->on) || (part->sim && strchr(device->name, '{')))
            continue;
        for (int32_t with = !part->plain; with < 2; with++)
            leat_files_append(text, size, "%s%s%s", n++ ? "," : "", device->name,
                              with && part->sim ? part->sim : "");
    }
    return n;
}

/* The config with the run's data folder in place of the one that is written in it. */
static char *config_text(const leat_experiment_run *run, const char *name)
{
    static const char written[] = "data/gpu-vs-cpu/";
    const char *from = leat_experiment_config_text(name), *at;
    char *text = NULL;
    size_t size = 0;
    FILE *memory = from ? open_memstream(&text, &size) : NULL;
    if (!memory)
        return NULL;
    for (; (at = strstr(from, written)); from = at + sizeof written - 1)
        fprintf(memory, "%.*s%s/", (int)(at - from), from, run->data_folder);
    fprintf(memory, "%s", from);
    return leat_files_close_text(memory, &text);
}

int leat_experiment_write_config(const leat_experiment_run *run, const char *name, leat_error *err)
{
    static const leat_output_kind ours = { "a config that `leat experiment` wrote",
                                           "# Written by `leat experiment`.\n", 0 };
    char *const config = config_text(run, name);
    char *const text = config ? leat_files_text("%s%s", ours.begins, config) : NULL;
    char *const path = leat_files_text("%s/%s.yaml", run->data_folder, name);
    int rc = text && path ? leat_files_check(path, &ours, err)
                          : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    if (rc == LEAT_OK)
        rc = leat_files_write(path, text, strlen(text), err);
    free(config);
    free(text);
    free(path);
    return rc;
}

int leat_experiment_open_config(const leat_experiment_run *run, const leat_experiment_part *part,
                                leat_config **out, leat_error *err)
{
    char *text = config_text(run, part->config);
    *out = NULL;
    if (!text)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    int rc = leat_config_parse(text, part->config, out, err);
    free(text);
    for (size_t i = 0; i < 3 && part->set[i] && rc == LEAT_OK; i++)
        rc = leat_config_set(*out, part->set[i], err);
    if (rc < 0)
        leat_config_close(out);
    return rc;
}

/* "LABEL: DEVICE, ..." in place of "train.device=DEVICE, ...". */
static void rename_arm(leat_compare_arm *arm, const char *label)
{
    char name[sizeof arm->name];
    const size_t skip =
        strncmp(arm->name, device_axis, sizeof device_axis - 1) ? 0 : sizeof device_axis - 1;
    snprintf(name, sizeof name, "%.80s%s%.160s", label, *label ? ": " : "", arm->name + skip);
    snprintf(arm->name, sizeof arm->name, "%s", name);
}

static int append(leat_experiment_run *run, const leat_compare_result *result, const char *label,
                  leat_error *err)
{
    const size_t n = (size_t)run->n_arms, more = (size_t)result->n_arms;
    leat_compare_arm *arms = realloc(run->arms, (n + more) * sizeof *arms);
    if (!arms)
        return leat_fail(err, LEAT_E_NOMEM, "%zu arms", n + more);
    run->arms = arms;
    memcpy(arms + n, result->arms, more * sizeof *arms);
    for (size_t i = n; i < n + more; i++)
        rename_arm(&arms[i], label);
    run->n_arms += result->n_arms;
    if (result->cores_taken >= 0.1 * result->cores)
        leat_experiment_note(run, "%s%sother processes used %.1f of %d CPUs meanwhile", label,
                             *label ? ": " : "", result->cores_taken, result->cores);
    return LEAT_OK;
}

int leat_experiment_compare(leat_experiment_run *run, const leat_experiment_part *part,
                            leat_error *err)
{
    char devices[1024];
    const char *const *written = run->quick && part->quick_vary[0] ? part->quick_vary : part->vary;
    const char *vary[4] = { devices };
    size_t n = 1;
    if (!name_devices(run, part, devices, sizeof devices))
        return LEAT_OK;
    for (; n < 4 && written[n - 1]; n++)
        vary[n] = written[n - 1];
    const leat_compare_options how = {
        .rounds = run->rounds  ? run->rounds
                  : run->quick ? QUICK_ROUNDS
                               : ROUNDS,
        .steps = run->steps,
        .warmup_ms = run->steps   ? TINY_WARMUP_MS
                     : run->quick ? QUICK_WARMUP_MS
                                  : 0,
        .progress = show,
        .user = run,
    };
    leat_config *config = NULL;
    leat_compare_result *result = calloc(1, sizeof *result);
    int rc = result ? leat_experiment_open_config(run, part, &config, err)
                    : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    if (rc == LEAT_OK)
        rc = leat_compare(config, vary, n, &how, result, err);
    if (rc == LEAT_OK)
        rc = append(run, result, part->label, err);
    else if (rc == LEAT_E_UNSUPPORTED) { /* such as bfloat16 on a CPU without it */
        leat_experiment_note(run, "%s%sskipped: %s", part->label, *part->label ? ": " : "",
                             err ? err->message : "not supported on this machine");
        rc = LEAT_OK;
    }
    leat_config_close(&config);
    free(result);
    return rc;
}
