/* SPDX-License-Identifier: MIT
 *
 * trainer_record.c: steps by the device's own records (device_busy.h), beside their times by events. */
#include <stdlib.h>

#include "trainer.h"

int leat_trainer_record(leat_trainer *trainer, leat_error *err)
{
    if (!trainer)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_trainer_record: trainer must be given");
    leat_device *device = trainer->device;
    if (!device->table->record_start)
        return leat_fail(err, LEAT_E_UNSUPPORTED, "%s keeps no records", device->info.name);
    int rc = device->table->record_start(device, err);
    if (rc < 0)
        return rc;
    if ((rc = leat_trainer_sync(trainer, err)) < 0) {
        leat_device_record none;
        device->table->record_stop(device, &none, NULL);
        leat_device_record_fini(&none);
        return rc;
    }
    trainer->recorded_from = trainer->n_done + 1;
    return LEAT_OK;
}

/* The steps since the begin; NULL: none, or no memory. */
static leat_step_times *recorded_steps(const leat_trainer *trainer, size_t *n)
{
    *n = (size_t)(trainer->n_done + 1 - trainer->recorded_from);
    if (*n > LEAT_TRAINER_TIMES_KEPT)
        *n = LEAT_TRAINER_TIMES_KEPT;
    leat_step_times *steps = *n ? malloc(*n * sizeof *steps) : NULL;
    for (size_t i = 0; steps && i < *n; i++)
        steps[i] = trainer->times[(trainer->n_done - *n + i) % LEAT_TRAINER_TIMES_KEPT];
    return steps;
}

static void account(const leat_step_times *steps, size_t settle, size_t n,
                    const leat_device_record *record, leat_recorded *out)
{
    leat_meter meter;
    if (!steps || leat_meter_account(steps, settle, n, &meter) < 0) {
        snprintf(out->why, sizeof out->why, "too few steps were recorded");
        return;
    }
    const leat_device_shares s = leat_device_shares_of(record, steps[settle - 1].compute_end_ns,
                                                       steps[n - 1].compute_end_ns);
    if (s.busy_ns == 0) { /* a profiler that missed a graph would else say that the device idled */
        snprintf(out->why, sizeof out->why, "the records have no kernel of these steps");
        return;
    }
    const double wall = (double)meter.wall_ns;
    *out = (leat_recorded){ .n_steps = (int64_t)meter.n_steps,
                            .idle = 1 - (double)s.busy_ns / wall,
                            .idle_by_events = 1 - meter.busy,
                            .copying = (double)s.exposed_copy_ns / wall,
                            .host = (double)s.host_ns / wall,
                            .launch = (double)s.launch_ns / wall,
                            .unknown = (double)s.unknown_ns / wall,
                            .step_p50_ns = meter.step_p50_ns,
                            .dropped = (int64_t)record->dropped };
}

static void keep_kernels(const leat_device_record *record, leat_recorded *out)
{
    leat_device_kernel kernels[LEAT_KERNEL_TIMES];
    for (size_t i = 0; i < record->n; i++)
        if (record->spans[i].kind == LEAT_SPAN_KERNEL)
            out->kernel_seconds +=
                (double)(record->spans[i].end_ns - record->spans[i].start_ns) / 1e9;
    const int32_t n = leat_device_kernels_of(record, kernels, LEAT_KERNEL_TIMES);
    for (int32_t i = 0; i < n; i++) {
        leat_kernel_time *const to = &out->largest[out->n_largest++];
        snprintf(to->name, sizeof to->name, "%s", kernels[i].name);
        to->n = kernels[i].n;
        to->seconds = (double)kernels[i].ns / 1e9;
    }
}

void leat_trainer_recorded(leat_trainer *trainer, int64_t settle, leat_recorded *out)
{
    if (!out)
        return;
    *out = (leat_recorded){ 0 };
    if (!trainer || !trainer->recorded_from) {
        snprintf(out->why, sizeof out->why, "no recording is under way");
        return;
    }
    leat_device_record record;
    leat_error err = { 0 };
    size_t n;
    int rc = leat_trainer_sync(trainer, &err);
    const int stopped =
        trainer->device->table->record_stop(trainer->device, &record, rc < 0 ? NULL : &err);
    rc = rc < 0 ? rc : stopped;
    leat_step_times *steps = recorded_steps(trainer, &n);
    trainer->recorded_from = 0;
    if (rc < 0)
        snprintf(out->why, sizeof out->why, "%.250s", err.message);
    else
        account(steps, settle < 1 ? 1 : (size_t)settle, n, &record, out);
    if (rc == LEAT_OK && out->n_steps)
        keep_kernels(&record, out);
    free(steps);
    leat_device_record_fini(&record);
}
