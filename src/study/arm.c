/* SPDX-License-Identifier: MIT
 *
 * arm.c: the runs of one arm of a comparison. compare.c calls it. Every run uses a new loader and measures
 * only after it has settled, so that all runs of an arm do the same work. */
#include "arm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"

enum {
    RUN_NS = 300000000,      /* long compared to a time slice of the scheduler */
    LONG_RUN_NS = 500000000, /* of slow steps: not longer for the sake of MIN_STEPS */
    MIN_STEPS = 20,
    LEAST_STEPS = 5, /* of the slowest */
    MAX_STEPS = 20000,
    ALONE_SETTLE = 3,
    WARM_CHUNK = 10,
    WARM_STEPS = 400, /* are enough if they took RUN_NS, steady or not */
    AUTO_STEPS = 64,  /* at least, in which `prefetch: auto` finds its number */
};

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

int leat_arm_configure(leat_arm *arm, leat_compare_arm *out, int32_t n, const leat_config *config,
                       const char *device, leat_error *err)
{
    int rc = leat_arm_init(arm, out, n, err);
    if (rc == LEAT_OK)
        rc = leat_config_copy(config, &arm->config, err);
    return rc == LEAT_OK && device ? leat_arm_set_device(arm->config, device, err) : rc;
}

/* Where the config is read, the name would be reported as that of a --set. The number of a GPU is not checked here,
 * because opening one takes long and is measured later. */
static int check_device(const char *name, leat_error *err)
{
    leat_device *device = NULL;
    if (leat_device_is_gpu(name))
        return LEAT_OK;
    const int rc = leat_device_open(name, &device, err);
    leat_device_close(&device);
    return rc < 0 ? leat_fail_in(err, rc, "--device %s: ", name) : LEAT_OK;
}

int leat_arm_set_device(leat_config *config, const char *device, leat_error *err)
{
    char text[512];
    if (leat_config_get(config, "train", text, sizeof text, NULL) < 0)
        return leat_fail(err, LEAT_E_CONFIG,
                         "the config has no `train` part with a model and a loss");
    if ((size_t)snprintf(text, sizeof text, "train.device=%s", device) >= sizeof text)
        return leat_fail(err, LEAT_E_CONFIG, "the name of the device is too long");
    const int rc = check_device(device, err);
    return rc < 0 ? rc : leat_config_set_as(config, text, "--device", err);
}

bool leat_arm_says(const leat_config *config, const char *path, const char *value, bool if_absent)
{
    char text[32];
    return leat_config_get(config, path, text, sizeof text, NULL) < 0 ? if_absent
                                                                      : !strcmp(text, value);
}

static void read_config(leat_arm *arm)
{
    char text[32] = "0";
    leat_config_get(arm->config, "train.sync_every", text, sizeof text, NULL);
    arm->sync_every = (int32_t)strtol(text, NULL, 10);
    strcpy(text, "1");
    leat_config_get(arm->config, "train.accumulate", text, sizeof text, NULL);
    arm->accumulate = (int32_t)strtol(text, NULL, 10);
    arm->pageable =
        !arm->step_ns && leat_arm_says(arm->config, "pipeline.prefetch.pinned", "false", false);
    arm->no_threads = leat_arm_says(arm->config, "engine.threads", "0", false);
    arm->is_auto = leat_arm_has_stage(arm->plan, "prefetch") &&
                   leat_arm_says(arm->config, "pipeline.prefetch.batches", "auto", true);
}

static int open_parts(leat_arm *arm, leat_error *err)
{
    int64_t at = leat_clock_ns(), now;
    int rc;
    if ((rc = leat_plan_open(arm->config, NULL, &arm->plan, err)) < 0)
        return rc;
    arm->once.plan_ns = (now = leat_clock_ns()) - at;
    rc = arm->step_ns ? leat_device_open("cpu", &arm->device, err)
                      : leat_trainer_open_device(arm->config, &arm->device, err);
    if (rc < 0)
        return rc;
    arm->once.device_ns = (at = leat_clock_ns()) - now;
    if (arm->input_only || arm->step_ns)
        return LEAT_OK;
    if ((rc = leat_trainer_open(arm->config, arm->plan, arm->device, &arm->trainer, err)) < 0)
        return rc;
    arm->once.trainer_ns = leat_clock_ns() - at;
    return LEAT_OK;
}

int leat_arm_open(leat_arm *arm, leat_error *err)
{
    int rc = open_parts(arm, err);
    if (rc == LEAT_OK)
        rc = leat_arm_count_memory(arm, err);
    if (rc < 0)
        return rc;
    read_config(arm);
    leat_arm_set_prefetch(arm, leat_plan_get_info(arm->plan)->prefetch);
    const leat_device_info *info = leat_device_get_info(arm->device);
    const leat_trainer_info *const training = leat_trainer_get_info(arm->trainer);
    snprintf(arm->out->device, sizeof arm->out->device, "%.63s", info->name);
    arm->out->simulated = info->simulated || (training && training->simulated); /* a layer's */
    arm->out->flops_per_sample = training ? training->flops_per_sample : 0;
    arm->out->on_host = strcmp(info->name, "cpu") == 0;
    arm->out->overlaps = arm->prefetch > 0 && !(arm->no_threads && arm->out->on_host);
    if (arm->step_ns) {
        leat_text(arm->out->device, sizeof arm->out->device, "a consumer of %.6g ms per step",
                  (double)arm->step_ns * 1e-6);
        arm->out->on_host = 0;
    }
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
    *arm = (leat_arm){ 0 };
}

/* Room for the times of n more steps behind arm->times; NULL: out of memory, and *err says so. */
static leat_step_times *more_times(leat_arm *arm, int32_t n, leat_error *err)
{
    leat_step_times *const larger =
        realloc(arm->times, (arm->n_times + (size_t)n) * sizeof *larger);
    if (!larger) {
        leat_fail(err, LEAT_E_NOMEM, "times of %d steps", n);
        return NULL;
    }
    arm->times = larger;
    return larger + arm->n_times;
}

/* --- the step of a program that is not leat's, of known duration: it keeps a batch for arm->step_ns. Like a device of its
 * own, it uses no cores but for waking up --- */

/* A sleep ends later than asked for; the rest is waited for awake. */
enum { WAKES_LATE_NS = 60000 };

static void wait_until(int64_t ns)
{
    const int64_t wake = ns - WAKES_LATE_NS;
    const struct timespec at = { .tv_sec = wake / 1000000000, .tv_nsec = wake % 1000000000 };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
    while (leat_clock_ns() < ns)
        ;
}

static leat_step_times step_of(const leat_batch_info *info, int64_t from, int64_t to)
{
    return (leat_step_times){ .asked_ns = info->asked_ns < from ? info->asked_ns : from,
                              .ready_ns = info->ready_ns,
                              .compute_start_ns = from,
                              .compute_end_ns = to,
                              .busy_ns = to - from,
                              .rows = info->rows };
}

/* n steps on a batch, which is then released; their times are appended to arm->times. */
static int consumer_take(leat_arm *arm, leat_batch *batch, int32_t n, leat_error *err)
{
    leat_step_times *const times = more_times(arm, n, err);
    int64_t at = leat_clock_ns();
    for (int32_t i = 0; i < n && times; i++) {
        const int64_t from = at;
        wait_until(from + arm->step_ns);
        at = leat_clock_ns();
        times[i] = step_of(leat_batch_get_info(batch), from, at);
        arm->n_times++;
    }
    leat_batch_release(batch);
    return times ? LEAT_OK : LEAT_E_NOMEM;
}

/* The same without waiting: the step alone is known, whatever the batch; it counts as many rows as steps of the runs so far
 * had on average. */
static int consumer_repeat(leat_arm *arm, leat_batch *batch, int32_t n, leat_error *err)
{
    leat_step_times *const times = more_times(arm, n, err);
    const int64_t from = leat_clock_ns(), rows = arm->use_run.rows, steps = arm->span_steps;
    for (int32_t i = 0; i < n && times; i++) {
        times[i] = step_of(leat_batch_get_info(batch), from + i * arm->step_ns,
                           from + (i + 1) * arm->step_ns);
        if (steps > 0)
            times[i].rows = (i + 1) * rows / steps - i * rows / steps;
    }
    arm->n_times += times ? (size_t)n : 0;
    leat_batch_release(batch);
    return times ? LEAT_OK : LEAT_E_NOMEM;
}

/* --- as configured --------------------------------------------------------------------------- */

/* Steps that the i-th batch gets: usually one. */
static int32_t steps_of(const leat_arm *arm, int32_t i)
{
    return arm->repeat_every && (i + 1) % arm->repeat_every == 0 ? 2 : 1;
}

static int make_steps(leat_arm *arm, leat_batch *batch, int32_t n, leat_error *err)
{
    return arm->step_ns ? consumer_take(arm, batch, n, err)
                        : leat_trainer_repeat(arm->trainer, batch, n, err);
}

/* Makes the steps of n batches, which train nothing: a measurement is longer than the run for which the learning
 * rate was chosen, and must not fail because the loss diverges. *n_steps: all steps made. */
static int drive(leat_arm *arm, leat_loader *loader, int32_t n, int32_t *n_steps, leat_error *err)
{
    *n_steps = 0;
    for (int32_t i = 0; i < n; i++) {
        leat_batch *batch;
        const int32_t times = steps_of(arm, i);
        int rc = leat_arm_next(loader, &batch, err);
        if (rc < 0 || (rc = make_steps(arm, batch, times, err)) < 0)
            return rc;
        *n_steps += times;
    }
    return LEAT_OK;
}

/* Waits for n steps and appends their times. */
static int append_times(leat_arm *arm, int32_t n, leat_error *err)
{
    if (arm->step_ns)
        return LEAT_OK; /* they are appended when they are made */
    leat_step_times *const times = more_times(arm, n, err);
    if (!times)
        return LEAT_E_NOMEM;
    const size_t got = leat_trainer_times(arm->trainer, times, (size_t)n);
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

static int64_t rows_after(const leat_arm *arm, int32_t settled)
{
    int64_t rows = 0;
    for (size_t i = (size_t)settled; i < arm->n_times; i++)
        rows += arm->times[i].rows;
    return rows;
}

/* Spans that the loader has recorded. */
static uint64_t spans_of(leat_loader *loader)
{
    leat_loader_stats_info stats;
    leat_loader_stats(loader, &stats);
    return stats.spans;
}

int leat_arm_run(leat_arm *arm, int32_t round, leat_error *err)
{
    leat_loader *loader = NULL;
    int32_t settled = 0, n = 0;
    leat_arm_use from;
    uint64_t spans;
    int rc;
    arm->n_times = 0;
    if ((rc = leat_arm_loader_open(arm, &loader, err)) < 0 ||
        (rc = drive(arm, loader, arm->settle, &settled, err)) < 0)
        goto fail;
    spans = spans_of(loader);
    from = leat_arm_use_now();
    if ((rc = drive(arm, loader, arm->out->steps, &n, err)) < 0 ||
        (rc = append_times(arm, settled + n, err)) < 0)
        goto fail;
    if ((rc = account(arm, settled, &arm->runs[round], err)) == LEAT_OK)
        leat_arm_use_add(&arm->use_run, from, rows_after(arm, settled));
    arm->spans += spans_of(loader) - spans;
    arm->span_steps += n;
fail:
    leat_arm_loader_close(arm, &loader);
    return rc;
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
    leat_arm_use from = { .rows = 0 };
    arm->n_times = 0;
    if ((rc = leat_loader_open(arm->plan, &options, &loader, err)) == LEAT_OK &&
        (rc = leat_arm_next(loader, &batch, err)) == LEAT_OK) {
        from = leat_arm_use_now();
        rc = arm->step_ns ? consumer_repeat(arm, batch, n, err)
                          : leat_trainer_repeat(arm->trainer, batch, n, err);
        if (rc == LEAT_OK)
            rc = append_times(arm, n, err);
        leat_arm_use_add(&arm->use_step, from, rows_after(arm, 0));
    }
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
    int rc = arm->steps_alone ? LEAT_OK : leat_arm_warm_step(arm, err);
    if (rc == LEAT_OK)
        rc = repeat(arm, settle + arm->steps_alone, err);
    return rc < 0 ? rc : account(arm, settle, &arm->step[round], err);
}

double leat_arm_step_ns(const leat_arm *arm, int32_t round)
{
    const leat_meter *const run = &arm->step[round];
    const bool has_updates = arm->accumulate > 1 && run->n_steps % (size_t)arm->accumulate == 0;
    return has_updates || arm->sync_every > 1 ? (double)run->wall_ns / (double)run->n_steps
                                              : (double)run->step_p50_ns;
}

void leat_arm_whole_updates(leat_arm *arm)
{
    enum { LONGER = 4 }; /* runs, at most, for that */
    const int32_t n = arm->accumulate > 1 ? arm->accumulate : 1;
    if (n > LONGER * arm->steps_alone)
        return;
    arm->steps_alone = arm->steps_alone > n ? arm->steps_alone - arm->steps_alone % n : n;
}

/* --- warm-up --------------------------------------------------------------------------------- */

static int32_t steps_within(int64_t ns, int64_t step_ns, int32_t least, int32_t most)
{
    const int64_t steps = ns / (step_ns > 0 ? step_ns : 1);
    return (int32_t)(steps < least ? least : steps > most ? most : steps);
}

/* Of a round: as many as take RUN_NS, by the mean time (where batches come in bursts, most steps are shorter); but MIN_STEPS
 * of slow ones, or what LONG_RUN_NS allows of even slower ones. */
static int32_t choose_steps(leat_arm *arm, size_t warm)
{
    leat_meter meter;
    const size_t n = arm->n_times, first = warm + 2 < n ? warm : n / 2;
    if (leat_meter_account(arm->times, first, n, &meter) < 0)
        return MAX_STEPS;
    const int64_t step_ns = meter.wall_ns / (int64_t)meter.n_steps;
    const int32_t least = steps_within(LONG_RUN_NS, step_ns, LEAST_STEPS, MIN_STEPS);
    arm->warm_step_ns = step_ns;
    return steps_within(RUN_NS, step_ns, least, MAX_STEPS);
}

/* True when the warm-up lasted at least one run and step times are steady, or when it reached a limit. */
static bool is_warm(const leat_arm *arm, size_t warm)
{
    const size_t n = arm->n_times;
    const int64_t ns = arm->times[n - 1].compute_end_ns - arm->times[0].compute_start_ns;
    return (ns >= RUN_NS && n >= (arm->is_auto ? AUTO_STEPS : 0) &&
            (warm + WARM_CHUNK <= n || n >= WARM_STEPS)) ||
           n >= MAX_STEPS || ns >= (arm->warmup_ns ? arm->warmup_ns : LEAT_ARM_WARM_NS);
}

/* Steps until the next look, which sorts all times: more of many. */
static int32_t warm_chunk(size_t n)
{
    return (int32_t)(n < 8 * WARM_CHUNK ? WARM_CHUNK - n % WARM_CHUNK : n / 8);
}

/* Measures the step alone once, to learn how many steps fill a short run. The result is dropped. */
int leat_arm_warm_step(leat_arm *arm, leat_error *err)
{
    leat_meter meter;
    int rc;
    if ((rc = repeat(arm, ALONE_SETTLE + LEAT_ARM_ALONE_MIN, err)) < 0 ||
        (rc = account(arm, ALONE_SETTLE, &meter, err)) < 0)
        return rc;
    arm->steps_alone =
        steps_within(LEAT_ARM_ALONE_NS, meter.step_p50_ns, LEAT_ARM_ALONE_MIN,
                     arm->out->steps > LEAT_ARM_ALONE_MIN ? arm->out->steps : LEAT_ARM_ALONE_MIN);
    arm->use_step = (leat_arm_use){ 0 };
    return LEAT_OK;
}

int leat_arm_first_step(leat_arm *arm, leat_loader *loader, leat_error *err)
{
    const int64_t from = leat_clock_ns();
    leat_batch *batch;
    int rc = leat_arm_next(loader, &batch, err);
    const int64_t got = leat_clock_ns();
    if (rc < 0 || (rc = make_steps(arm, batch, 1, err)) < 0)
        return rc;
    rc = append_times(arm, 1, err);
    arm->once.batch_ns = got - from;
    arm->once.step_ns = leat_clock_ns() - got;
    return rc;
}

static int warm_steps(leat_arm *arm, leat_loader *loader, size_t *warm, leat_error *err)
{
    int32_t n = 0;
    int rc = leat_arm_first_step(arm, loader, err);
    while (rc == LEAT_OK) {
        if ((rc = drive(arm, loader, warm_chunk(arm->n_times), &n, err)) < 0 ||
            (rc = append_times(arm, n, err)) < 0)
            return rc;
        *warm = leat_meter_warm(arm->times, arm->n_times);
        if (is_warm(arm, *warm))
            break;
    }
    return rc;
}

int leat_arm_warm_up(leat_arm *arm, int32_t steps, leat_error *err)
{
    leat_loader *loader = NULL;
    size_t warm = 0;
    const int64_t from = leat_clock_ns();
    int rc = leat_arm_loader_open(arm, &loader, err);
    arm->once.loader_ns = leat_clock_ns() - from;
    arm->n_times = 0;
    if (rc == LEAT_OK)
        rc = warm_steps(arm, loader, &warm, err);
    leat_arm_loader_close(arm, &loader);
    if (rc < 0)
        return rc;
    /* If the run never became steady, its warm-up cannot be told from the rest. */
    if (warm > 1 && warm < arm->n_times)
        arm->once.warm_ns = arm->times[warm - 1].compute_end_ns - arm->times[0].compute_end_ns;
    arm->out->warmup_steps = (int32_t)warm;
    const int32_t chosen = choose_steps(arm, warm);
    arm->out->steps = steps ? steps : chosen;
    return LEAT_OK;
}

/* --- what compare.c asks about the device after the rounds ------------------------------------- */

/* Steps by the device's own records, and the most that it reaches. */

enum { RECORDED = 50 }; /* steps; a record takes 32 bytes for each kernel and launch */

static int run_recorded(leat_arm *arm, leat_error *why)
{
    const int32_t n = arm->out->steps < RECORDED ? arm->out->steps : RECORDED;
    leat_loader *loader = NULL;
    leat_metrics metrics;
    int32_t made;
    int rc = leat_trainer_record(arm->trainer, why);
    if (rc < 0)
        return rc;
    if ((rc = leat_arm_loader_open(arm, &loader, why)) == LEAT_OK)
        rc = drive(arm, loader, arm->settle + n, &made, why);
    if (rc == LEAT_OK) /* waits, and so sees what fails late */
        rc = leat_trainer_metrics(arm->trainer, &metrics, why);
    leat_trainer_recorded(arm->trainer, arm->settle, &arm->out->recorded);
    leat_loader_close(&loader);
    return rc;
}

int leat_arm_run_recorded(leat_arm *arm, leat_error *err)
{
    leat_recorded *const out = &arm->out->recorded;
    leat_error why = { 0 };
    *out = (leat_recorded){ 0 };
    const int rc = run_recorded(arm, &why);
    if (rc == LEAT_E_DEVICE)
        return leat_fail(err, rc, "%s", why.message);
    if (rc < 0) { /* the rounds are measured, and this is an extra */
        *out = (leat_recorded){ 0 };
        snprintf(out->why, sizeof out->why, "%.250s", why.message);
    }
    return LEAT_OK;
}

void leat_arm_measure_ceiling(leat_arm *arm, const leat_arm *like)
{
    const leat_trainer_info *const info = leat_trainer_get_info(arm->trainer);
    const leat_precision precision = info->precision;
    if (info->crossings > 0) /* FLOP/s of several devices are no share of one */
        arm->out->ceiling =
            (leat_ceiling){ .precision = precision, .why = "layers run on several devices" };
    else if (like && leat_trainer_get_info(like->trainer)->crossings == 0 &&
             like->out->ceiling.precision == precision &&
             !strcmp(leat_device_get_info(like->device)->name,
                     leat_device_get_info(arm->device)->name))
        arm->out->ceiling = like->out->ceiling;
    else
        leat_ceiling_measure(arm->device, precision, &arm->out->ceiling);
}
