/* SPDX-License-Identifier: MIT
 *
 * experiment_conclude.c: what experiments compute from their arms beyond claims: the batch from which on a device is
 * faster, and what a set that stays on the device would gain. */
#include <stdlib.h>
#include <string.h>

#include "experiment_sweep.h"

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
    leat_series *series = leat_experiment_add_series(run, 1);
    if (!series)
        return leat_fail(err, LEAT_E_NOMEM, "out of memory");
    snprintf(series->name, sizeof series->name, "%.60s: step", device);
    snprintf(series->device, sizeof series->device, "%.63s", device);
    snprintf(series->x_unit, sizeof series->x_unit, "batch");
    snprintf(series->y_unit, sizeof series->y_unit, "ms");
    for (int32_t i = 0; i < run->n_arms && series->n_points < LEAT_SERIES_MAX_POINTS; i++) {
        const leat_compare_arm *arm = &run->arms[i];
        const double batch = (double)batch_of(arm, device);
        if (batch < 1)
            continue;
        series->simulated = arm->simulated;
        series->points[series->n_points++] =
            (leat_point){ batch, batch / arm->meter.samples_per_s * 1e3,
                          batch / arm->samples_per_s_high * 1e3,
                          batch / arm->samples_per_s_low * 1e3 };
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
            leat_sweep_say_crossing(run, "Steps of this MLP",
                                    leat_sweep_series(run, run->devices[i].name, "step"),
                                    leat_sweep_series(run, "cpu", "step"));
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
