/* SPDX-License-Identifier: MIT
 *
 * arm.c: the runs of one arm of a comparison. compare.c calls it. Every run uses a new loader and measures
 * only after it has settled, so that all runs of an arm do the same work. */
#include "arm.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "median.h"

enum {
    RUN_NS = 300000000, /* long compared to a time slice of the scheduler */
    MIN_STEPS = 20,
    MAX_STEPS = 2000,
    ALONE_NS = 100000000, /* a run of the loader or the step alone */
    ALONE_MIN = 5,
    ALONE_SETTLE = 3,
    WARM_CHUNK = 10,
    WARM_MAX_STEPS = 400,
    COPY_LAG = 4, /* batches after which the times of a copy are read */
    COPIES_KEPT = 100,
};
static const int64_t WARM_MAX_NS = 3000000000;

int leat_arm_init(leat_arm *arm, leat_compare_arm *out, int32_t n, leat_error *err)
{
    arm->out = out;
    arm->runs = calloc(3 * (size_t)n, sizeof(leat_meter));
    if (!arm->runs)
        return leat_fail(err, LEAT_E_NOMEM, "meters of %d rounds", n);
    arm->loader = arm->runs + n;
    arm->step = arm->loader + n;
    return LEAT_OK;
}

int leat_arm_open(leat_arm *arm, leat_error *err)
{
    int rc;
    if ((rc = leat_plan_open(arm->config, NULL, &arm->plan, err)) < 0 ||
        (rc = leat_trainer_open_device(arm->config, &arm->device, err)) < 0 ||
        (rc = leat_trainer_open(arm->config, arm->plan, arm->device, &arm->trainer, err)) < 0)
        return rc;
    const leat_device_info *info = leat_device_get_info(arm->device);
    const int64_t prefetch = leat_plan_get_info(arm->plan)->prefetch;
    snprintf(arm->out->device, sizeof arm->out->device, "%s", info->name);
    arm->out->simulated = info->simulated;
    arm->out->on_host = strcmp(info->name, "cpu") == 0;
    arm->out->overlaps = prefetch > 0;
    arm->settle = prefetch > 2 ? (int32_t)(prefetch < 1000 ? prefetch : 1000) + 3 : 5;
    return LEAT_OK;
}

void leat_arm_close(leat_arm *arm)
{
    leat_trainer_close(&arm->trainer);
    leat_device_close(&arm->device);
    leat_plan_close(&arm->plan);
    leat_config_close(&arm->config);
    free(arm->runs);
    free(arm->times);
}

/* --- as configured --------------------------------------------------------------------------- */

static int open_loader(const leat_arm *arm, leat_loader **out, leat_error *err)
{
    const leat_loader_options options = { .device = arm->device, .epochs = -1 };
    return leat_loader_open(arm->plan, &options, out, err);
}

static int next(leat_loader *loader, leat_batch **out, leat_error *err)
{
    const int rc = leat_loader_next(loader, out, err);
    return rc == LEAT_E_END ? leat_fail(err, LEAT_E_DATA, "the pipeline has no batch to train on")
                            : rc;
}

static int drive(const leat_arm *arm, leat_loader *loader, int32_t n, leat_error *err)
{
    for (int32_t i = 0; i < n; i++) {
        leat_batch *batch;
        int rc = next(loader, &batch, err);
        if (rc < 0 || (rc = leat_trainer_step(arm->trainer, batch, err)) < 0)
            return rc;
    }
    return LEAT_OK;
}

/* Waits for n steps and appends their times. */
static int append_times(leat_arm *arm, int32_t n, leat_error *err)
{
    leat_step_times *larger = realloc(arm->times, (arm->n_times + (size_t)n) * sizeof *larger);
    if (!larger)
        return leat_fail(err, LEAT_E_NOMEM, "times of %d steps", n);
    arm->times = larger;
    const size_t got = leat_trainer_times(arm->trainer, larger + arm->n_times, (size_t)n);
    arm->n_times += got;
    if (got != (size_t)n)
        return leat_fail(err, LEAT_E_INTERNAL, "the trainer measured %zu steps, not %d", got, n);
    return LEAT_OK;
}

/* The meter of all steps after the first `settle`. */
static int account(const leat_arm *arm, int32_t settle, leat_meter *out, leat_error *err)
{
    const int rc = leat_meter_account(arm->times, (size_t)settle, arm->n_times, out);
    return rc < 0 ? leat_fail(err, rc, "the device reported impossible step times: %s",
                              leat_code_text(rc))
                  : LEAT_OK;
}

int leat_arm_run(leat_arm *arm, int32_t round, leat_error *err)
{
    leat_loader *loader = NULL;
    const int32_t n = arm->settle + arm->out->steps;
    int rc;
    arm->n_times = 0;
    if ((rc = open_loader(arm, &loader, err)) < 0 || (rc = drive(arm, loader, n, err)) < 0 ||
        (rc = append_times(arm, n, err)) < 0)
        goto fail;
    rc = account(arm, arm->settle, &arm->runs[round], err);
fail:
    leat_loader_close(&loader);
    return rc;
}

/* --- the loader alone ------------------------------------------------------------------------ */

/* Batches seen by a consumer that does nothing with them. */
struct intake {
    leat_batch *recent[COPY_LAG]; /* ring; only the copy of the oldest is counted */
    int32_t n;                    /* batches since it settled */
    int32_t n_copies;
    int64_t copy_ns[COPIES_KEPT]; /* of the first batches */
    int64_t from_ns, to_ns, rows;
};

/* The info of a batch stays valid after its release. */
static void note_copy(struct intake *intake, leat_batch *batch)
{
    const leat_batch_info *info = batch ? leat_batch_get_info(batch) : NULL;
    if (info && info->copy_end_ns && intake->n_copies < COPIES_KEPT)
        intake->copy_ns[intake->n_copies++] = info->copy_end_ns - info->copy_start_ns;
}

static int take_batch(struct intake *intake, leat_loader *loader, leat_error *err)
{
    leat_batch *batch, **const place = &intake->recent[intake->n % COPY_LAG];
    const int rc = next(loader, &batch, err);
    if (rc < 0)
        return rc;
    const leat_batch_info *info = leat_batch_get_info(batch);
    intake->to_ns = info->got_ns;
    intake->rows += info->rows;
    intake->n++;
    note_copy(intake, *place);
    *place = batch;
    leat_batch_release(batch);
    return LEAT_OK;
}

/* Uses the median copy time for all batches: if the host was delayed while it enqueued a copy, the start of
 * that copy is too early. */
static leat_meter meter_of(struct intake *intake)
{
    const int64_t wall = intake->to_ns - intake->from_ns;
    const double each = leat_median_of(intake->copy_ns, (size_t)intake->n_copies);
    const double copying = each * intake->n / (double)wall;
    return (leat_meter){ .n_steps = (size_t)intake->n,
                         .wall_ns = wall,
                         .exposed_copy = copying < 1 ? copying : 1,
                         .samples_per_s = (double)intake->rows * 1e9 / (double)wall };
}

/* Takes no more batches than a run as configured, so that both read the same ones. */
static int take_all(const leat_arm *arm, leat_loader *loader, struct intake *intake,
                    leat_error *err)
{
    int rc;
    for (int32_t i = 0; i < arm->settle; i++)
        if ((rc = take_batch(intake, loader, err)) < 0)
            return rc;
    *intake = (struct intake){ .from_ns = intake->to_ns, .to_ns = intake->to_ns };
    while (intake->n < arm->out->steps &&
           (intake->n < ALONE_MIN || intake->to_ns - intake->from_ns < ALONE_NS))
        if ((rc = take_batch(intake, loader, err)) < 0)
            return rc;
    return LEAT_OK;
}

int leat_arm_run_loader(leat_arm *arm, int32_t round, leat_error *err)
{
    struct intake intake = { .n = 0 };
    leat_loader *loader = NULL;
    int rc = open_loader(arm, &loader, err);
    if (rc == LEAT_OK)
        rc = take_all(arm, loader, &intake, err);
    leat_loader_close(&loader);
    if (rc < 0)
        return rc;
    if (intake.to_ns <= intake.from_ns)
        return leat_fail(err, LEAT_E_INTERNAL, "%d batches took no measurable time", intake.n);
    arm->loader[round] = meter_of(&intake);
    return LEAT_OK;
}

/* --- the step alone -------------------------------------------------------------------------- */

/* Later batches would keep the workers busy while the step is measured. So this starts at the last full batch
 * of a pass, if the pass has an end. */
static leat_loader_options last_batch(const leat_arm *arm)
{
    const leat_plan_info *info = leat_plan_get_info(arm->plan);
    leat_loader_options options = { .device = arm->device, .epochs = -1 };
    bool alike = true;
    for (int32_t i = 0; i < info->n_tensors; i++)
        alike &= !leat_plan_tensor(arm->plan, i)->varies;
    if (info->n_batches > 1 && alike) {
        options.epochs = 1;
        options.first_batch = info->n_batches - 2;
    }
    return options;
}

static int repeat(leat_arm *arm, int32_t n, leat_error *err)
{
    leat_loader *loader = NULL;
    leat_batch *batch;
    const leat_loader_options options = last_batch(arm);
    int rc;
    arm->n_times = 0;
    if ((rc = leat_loader_open(arm->plan, &options, &loader, err)) == LEAT_OK &&
        (rc = next(loader, &batch, err)) == LEAT_OK &&
        (rc = leat_trainer_repeat(arm->trainer, batch, n, err)) == LEAT_OK)
        rc = append_times(arm, n, err);
    leat_loader_close(&loader);
    return rc;
}

/* If workers still make batches, the run settles as slowly as any other. */
static int32_t settle_alone(const leat_arm *arm)
{
    return last_batch(arm).epochs == 1 ? ALONE_SETTLE : arm->settle;
}

int leat_arm_run_step(leat_arm *arm, int32_t round, leat_error *err)
{
    const int32_t settle = settle_alone(arm);
    const int rc = repeat(arm, settle + arm->steps_alone, err);
    return rc < 0 ? rc : account(arm, settle, &arm->step[round], err);
}

/* --- warm-up --------------------------------------------------------------------------------- */

static int32_t steps_within(int64_t ns, int64_t step_ns, int32_t least, int32_t most)
{
    const int64_t steps = ns / (step_ns > 0 ? step_ns : 1);
    return (int32_t)(steps < least ? least : steps > most ? most : steps);
}

static int32_t choose_steps(const leat_arm *arm, size_t warm)
{
    leat_meter meter;
    const size_t n = arm->n_times, first = warm + 2 < n ? warm : n / 2;
    if (leat_meter_account(arm->times, first, n, &meter) < 0)
        return MAX_STEPS;
    return steps_within(RUN_NS, meter.step_p50_ns, MIN_STEPS, MAX_STEPS);
}

/* True when the warm-up lasted at least one run and step times are steady, or when it reached its limit. */
static bool is_warm(const leat_arm *arm, size_t warm, int64_t limit_ns)
{
    const size_t n = arm->n_times;
    const int64_t ns = arm->times[n - 1].compute_end_ns - arm->times[0].compute_start_ns;
    return (warm + WARM_CHUNK <= n && ns >= RUN_NS) || n >= WARM_MAX_STEPS || ns >= limit_ns;
}

/* Measures the step alone once, to learn how many steps fill a short run. The result is dropped. */
static int warm_alone(leat_arm *arm, leat_error *err)
{
    leat_meter meter;
    int rc;
    if ((rc = repeat(arm, ALONE_SETTLE + ALONE_MIN, err)) < 0 ||
        (rc = account(arm, ALONE_SETTLE, &meter, err)) < 0)
        return rc;
    arm->steps_alone = steps_within(ALONE_NS, meter.step_p50_ns, ALONE_MIN,
                                    arm->out->steps > ALONE_MIN ? arm->out->steps : ALONE_MIN);
    return LEAT_OK;
}

int leat_arm_warm_up(leat_arm *arm, int32_t steps, int32_t limit_ms, leat_error *err)
{
    const int64_t limit_ns = limit_ms > 0 ? (int64_t)limit_ms * 1000000 : WARM_MAX_NS;
    leat_loader *loader = NULL;
    size_t warm = 0;
    int rc = open_loader(arm, &loader, err);
    arm->n_times = 0;
    if (rc < 0)
        return rc;
    do {
        if ((rc = drive(arm, loader, WARM_CHUNK, err)) < 0 ||
            (rc = append_times(arm, WARM_CHUNK, err)) < 0)
            break;
        warm = leat_meter_warm(arm->times, arm->n_times);
    } while (!is_warm(arm, warm, limit_ns));
    leat_loader_close(&loader);
    if (rc < 0)
        return rc;
    arm->out->warmup_steps = (int32_t)warm;
    arm->out->steps = steps ? steps : choose_steps(arm, warm);
    return warm_alone(arm, err);
}
