/* SPDX-License-Identifier: MIT
 *
 * experiment_arms.c: what experiments compute from their arms beyond claims: the batch from which on a device is faster,
 * what a set that stays on the device would gain, and whether `leat whatif` predicts the rate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_rows.h"
#include "formats/figure.h"
#include "host.h"

/* Batch of an arm "DEVICE, pipeline.batch.size=N"; 0: it is none of this device. */
static int64_t batch_of(const leat_compare_arm *arm, const char *device)
{
    static const char axis[] = ", pipeline.batch.size=";
    const size_t n = strlen(device);
    if (strncmp(arm->name, device, n) || strncmp(arm->name + n, axis, sizeof axis - 1))
        return 0;
    return atoll(arm->name + n + sizeof axis - 1);
}

/* Time of a step by batch, of the arms of one device. */
static int add_steps(leat_experiment_run *run, const char *device, leat_error *err)
{
    leat_series *series = leat_experiment_add_series(run, 1, device, false, "batch", err);
    if (!series)
        return LEAT_E_NOMEM;
    snprintf(series->name, sizeof series->name, "%.60s: step", device);
    for (int32_t i = 0; i < run->n_arms && series->n_points < LEAT_SERIES_MAX_POINTS; i++) {
        const leat_compare_arm *arm = &run->arms[i];
        const double batch = (double)batch_of(arm, device);
        if (batch < 1)
            continue;
        series->simulated = arm->simulated;
        series->points[series->n_points++] =
            (leat_point){ batch, batch / arm->meter.samples_per_s * 1e3,
                          batch / arm->samples_per_s.high * 1e3,
                          batch / arm->samples_per_s.low * 1e3 };
    }
    return LEAT_OK;
}

int leat_experiment_batch_crossing(leat_experiment_run *run, leat_error *err)
{
    int rc = LEAT_OK;
    for (int32_t i = 0; i < run->n_devices && rc == LEAT_OK; i++)
        rc = add_steps(run, run->devices[i].name, err);
    for (int32_t i = 0; i < run->n_devices && rc == LEAT_OK; i++)
        if (run->devices[i].kind != LEAT_ON_CPU)
            leat_sweep_say_crossing(run, "Steps of this MLP", run->devices[i].name, "step", "step");
    return rc;
}

/* The step alone runs on a batch that stays on the device: no set that stays there can be faster. */
int leat_experiment_resident(leat_experiment_run *run, leat_error *err)
{
    (void)err;
    for (int32_t i = 0; i < run->n_arms; i++) {
        const leat_compare_arm *arm = &run->arms[i];
        const leat_estimate share = arm->of_step;
        if (arm->on_host)
            continue;
        leat_experiment_finding(
            run, leat_experiment_holds(share.low, share.high, 0, 0.95),
            "Data that stay on the device would make this arm faster, by at most %.3g times "
            "(%.3g-%.3g): %s%s",
            1 / share.value, 1 / share.high, 1 / share.low, arm->name,
            arm->simulated ? " (simulated)" : "");
    }
    return LEAT_OK;
}

static void say_predicted(leat_experiment_run *run, const leat_compare_arm *arm,
                          const leat_whatif_row *row)
{
    const double rate = fmin(row->loader.value, fmin(row->step, row->copy));
    const leat_estimate of = { arm->meter.samples_per_s / rate, arm->samples_per_s.low / rate,
                               arm->samples_per_s.high / rate };
    leat_experiment_finding(run, leat_experiment_holds(of.low, of.high, 0.85, 1.15),
                            "Within 15 %% of the %s samples/s that `leat whatif` predicts, %s%s: "
                            "%.3g times (%.3g-%.3g)",
                            leat_figure_rate(rate).text, arm->name,
                            arm->simulated ? " (simulated)" : "", of.value, of.low, of.high);
}

/* Of the arms "LABEL: DEVICE" of a part: the slowest of loader (with as many threads as there are cores), step and
 * copy. */
static int predict(leat_experiment_run *run, const leat_experiment_part *part, leat_error *err)
{
    const leat_compare_arm *arms[LEAT_EXPERIMENT_MAX_DEVICES];
    const char *devices[LEAT_EXPERIMENT_MAX_DEVICES];
    const int32_t cores = leat_host_cores();
    const size_t length = strlen(part->label);
    leat_whatif_options how = { .devices = devices, .threads = &cores, .n_threads = 1 };
    leat_config *config = NULL;
    for (int32_t i = 0; i < run->n_arms && how.n_devices < LEAT_EXPERIMENT_MAX_DEVICES; i++)
        if (!strncmp(run->arms[i].name, part->label, length)) {
            arms[how.n_devices] = &run->arms[i];
            devices[how.n_devices++] = run->arms[i].name + length + 2;
        }
    how.rounds = run->quick ? 3 : 0;
    if (!how.n_devices)
        return LEAT_OK;
    leat_whatif_result *const result = calloc(1, sizeof *result);
    int rc = result ? leat_experiment_open_config(run, part, &config, err)
                    : leat_fail(err, LEAT_E_NOMEM, "out of memory");
    if (rc == LEAT_OK)
        rc = leat_whatif(config, &how, result, err);
    for (int32_t i = 0; rc == LEAT_OK && i < result->n_rows; i++)
        say_predicted(run, arms[i], &result->rows[i]);
    leat_config_close(&config);
    free(result);
    return rc;
}

int leat_experiment_faster(leat_experiment_run *run, leat_error *err)
{
    int rc = LEAT_OK;
    const char *done = "";
    for (const leat_experiment_part *part = run->experiment->parts; part->config && rc == LEAT_OK;
         done = part++->label)
        if (strcmp(part->label, done) != 0) /* neighbours of one label have one config */
            rc = predict(run, part, err);
    return rc;
}
