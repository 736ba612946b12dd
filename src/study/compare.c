/* SPDX-License-Identifier: MIT
 *
 * compare.c: runs a config in several arms and says what differs.
 *
 * DESIGN: what drifts (clock rates, page cache, neighbours) drifts slowly, so arms take turns: each
 * round runs every arm once, there and back (ABBA), and arms are compared within rounds. Each run
 * reads the same batches from a new loader, so that every arm does the same work from the same
 * state; its first steps only fill the pipeline. What is paid once (plan, device, model, warm-up)
 * is paid before the first round. It uses public headers only: it measures what a user gets. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap.h"
#include "leat/loader.h"
#include "leat/train.h"
#include "rounds.h"
#include "vary.h"
#include "verdict.h"

enum {
    DEFAULT_ROUNDS = 6,
    RUN_NS = 300000000, /* a run that is long against a time slice */
    MIN_STEPS = 20,
    MAX_STEPS = 2000,
    WARM_CHUNK = 10,
    WARM_MAX_STEPS = 400,
    STEPS_LIMIT = 60000, /* times a trainer keeps, less what settling takes */
};
static const int64_t WARM_MAX_NS = 3000000000;

struct arm {
    leat_compare_arm *out;
    leat_config *config;
    leat_plan *plan;
    leat_device *device;
    leat_trainer *trainer;
    int32_t settle;     /* steps before the measured ones of a run */
    leat_meter *rounds; /* one per round */
};

struct study {
    leat_compare_options options;
    leat_compare_result *result;
    struct arm arms[LEAT_COMPARE_MAX_ARMS];
    leat_vary varies[LEAT_COMPARE_MAX_ARMS]; /* more would make too many arms, or vary nothing */
    size_t n_varies;
    leat_step_times *times; /* of one run */
    size_t n_times;
    int n_done;
};

/* --- arms ------------------------------------------------------------------------------------ */

static int set(struct arm *arm, const char *path, size_t path_length, const char *value,
               size_t length, leat_error *err)
{
    char text[2048];
    if (path_length + length + 2 > sizeof text)
        return leat_fail(err, LEAT_E_ARGUMENT, "the value of %.*s is too long", (int)path_length,
                         path);
    snprintf(text, sizeof text, "%.*s=%.*s", (int)path_length, path, (int)length, value);
    return leat_config_set(arm->config, text, err);
}

static void name_value(leat_compare_arm *out, const leat_vary *vary, leat_vary_slice value)
{
    const size_t n = strlen(out->name);
    snprintf(out->name + n, sizeof out->name - n, "%s%.*s=%.*s", n ? ", " : "",
             (int)vary->path.length, vary->path.text, (int)value.length, value.text);
}

static int configure(struct study *study, size_t i, const leat_config *config, leat_error *err)
{
    struct arm *arm = &study->arms[i];
    const char *device = study->options.device, *path = "train.device";
    int rc = leat_config_copy(config, &arm->config, err);
    if (rc == LEAT_OK && device)
        rc = set(arm, path, strlen(path), device, strlen(device), err);
    for (size_t v = 0; v < study->n_varies && rc == LEAT_OK; v++) {
        const leat_vary *vary = &study->varies[v];
        const leat_vary_slice value = leat_vary_value(study->varies, study->n_varies, i, v);
        name_value(arm->out, vary, value);
        rc = set(arm, vary->path.text, vary->path.length, value.text, value.length, err);
    }
    if (!study->n_varies)
        snprintf(arm->out->name, sizeof arm->out->name, "as configured");
    return rc;
}

static int open_arm(struct arm *arm, leat_error *err)
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
    arm->settle = prefetch > 2 ? (int32_t)(prefetch < 1000 ? prefetch : 1000) + 3 : 5;
    return LEAT_OK;
}

static void close_arm(struct arm *arm)
{
    leat_trainer_close(&arm->trainer);
    leat_device_close(&arm->device);
    leat_plan_close(&arm->plan);
    leat_config_close(&arm->config);
    free(arm->rounds);
}

/* --- runs ------------------------------------------------------------------------------------ */

static int open_loader(const struct arm *arm, leat_loader **out, leat_error *err)
{
    const leat_loader_options options = { .device = arm->device, .epochs = -1 };
    return leat_loader_open(arm->plan, &options, out, err);
}

static int drive(const struct arm *arm, leat_loader *loader, int32_t n, leat_error *err)
{
    for (int32_t i = 0; i < n; i++) {
        leat_batch *batch;
        int rc = leat_loader_next(loader, &batch, err);
        if (rc == LEAT_E_END)
            return leat_fail(err, LEAT_E_DATA, "the pipeline has no batch to train on");
        if (rc < 0 || (rc = leat_trainer_step(arm->trainer, batch, err)) < 0)
            return rc;
    }
    return LEAT_OK;
}

/* Waits for n steps and appends their times. */
static int take_times(struct study *study, const struct arm *arm, int32_t n, leat_error *err)
{
    leat_step_times *larger =
        realloc(study->times, (study->n_times + (size_t)n) * sizeof *study->times);
    if (!larger)
        return leat_fail(err, LEAT_E_NOMEM, "times of %d steps", n);
    study->times = larger;
    const size_t got = leat_trainer_times(arm->trainer, larger + study->n_times, (size_t)n);
    study->n_times += got;
    if (got != (size_t)n)
        return leat_fail(err, LEAT_E_INTERNAL, "the trainer gave times of %zu steps, not %d", got,
                         n);
    return LEAT_OK;
}

static void report(struct study *study)
{
    const leat_compare_result *result = study->result;
    study->n_done++;
    if (study->options.progress)
        study->options.progress(study->options.user, study->n_done,
                                result->n_arms * (result->rounds + 1));
}

static int32_t choose_steps(const struct study *study, size_t warm)
{
    leat_meter meter;
    const size_t n = study->n_times, first = warm + 2 < n ? warm : n / 2;
    if (study->options.steps)
        return study->options.steps;
    if (leat_meter_account(study->times, first, n, &meter) < 0)
        return MAX_STEPS;
    const int64_t steps = RUN_NS / (meter.step_p50_ns > 0 ? meter.step_p50_ns : 1);
    return (int32_t)(steps < MIN_STEPS ? MIN_STEPS : steps > MAX_STEPS ? MAX_STEPS : steps);
}

/* Is it enough? As long as a run at least, and until step times stay; but not for ever. */
static bool is_warm(const struct study *study, size_t warm)
{
    const size_t n = study->n_times;
    const int64_t ns = study->times[n - 1].compute_end_ns - study->times[0].compute_start_ns;
    return (warm + WARM_CHUNK <= n && ns >= RUN_NS) || n >= WARM_MAX_STEPS || ns >= WARM_MAX_NS;
}

static int warm_up(struct study *study, struct arm *arm, leat_error *err)
{
    leat_loader *loader = NULL;
    size_t warm = 0;
    int rc = open_loader(arm, &loader, err);
    study->n_times = 0;
    do {
        if (rc == LEAT_OK)
            rc = drive(arm, loader, WARM_CHUNK, err);
        if (rc == LEAT_OK)
            rc = take_times(study, arm, WARM_CHUNK, err);
        if (rc == LEAT_OK)
            warm = leat_meter_warm(study->times, study->n_times);
    } while (rc == LEAT_OK && !is_warm(study, warm));
    leat_loader_close(&loader);
    if (rc < 0)
        return rc;
    arm->out->warmup_steps = (int32_t)warm;
    arm->out->steps = choose_steps(study, warm);
    report(study);
    return LEAT_OK;
}

static int run(struct study *study, struct arm *arm, int32_t round, leat_error *err)
{
    leat_loader *loader = NULL;
    const int32_t n = arm->settle + arm->out->steps;
    int rc = open_loader(arm, &loader, err);
    study->n_times = 0;
    if (rc == LEAT_OK)
        rc = drive(arm, loader, n, err);
    if (rc == LEAT_OK)
        rc = take_times(study, arm, n, err);
    leat_loader_close(&loader);
    if (rc < 0)
        return rc;
    rc = leat_meter_account(study->times, (size_t)arm->settle, (size_t)n, &arm->rounds[round]);
    if (rc < 0)
        return leat_fail(err, rc, "the times of its steps make no sense: %s", leat_code_text(rc));
    report(study);
    return LEAT_OK;
}

static void conclude(struct study *study, const struct arm *arm)
{
    leat_compare_result *result = study->result;
    leat_rounds_conclude(arm->rounds, study->arms[0].rounds, (size_t)result->rounds, arm->out);
    leat_verdict_arm(arm->out);
    if (arm->out->steps > result->steps)
        result->steps = arm->out->steps;
    if (arm->out->warmup_steps > result->warmup_steps)
        result->warmup_steps = arm->out->warmup_steps;
}

/* --- the whole ------------------------------------------------------------------------------- */

static int check(const leat_compare_options *options, leat_error *err)
{
    if (options->rounds < 0 || options->rounds > LEAT_BOOTSTRAP_MAX)
        return leat_fail(err, LEAT_E_ARGUMENT, "rounds must be within 1 … %d", LEAT_BOOTSTRAP_MAX);
    if (options->steps < 0 || options->steps > STEPS_LIMIT)
        return leat_fail(err, LEAT_E_ARGUMENT, "steps must be within 1 … %d", STEPS_LIMIT);
    return LEAT_OK;
}

static int plan_arms(struct study *study, const char *const *vary, size_t n_vary, leat_error *err)
{
    size_t n_arms;
    int rc;
    if (n_vary > LEAT_COMPARE_MAX_ARMS)
        return leat_fail(err, LEAT_E_ARGUMENT, "more than %d things to vary",
                         LEAT_COMPARE_MAX_ARMS);
    study->n_varies = n_vary;
    for (size_t v = 0; v < n_vary; v++)
        if ((rc = leat_vary_parse(vary[v], &study->varies[v], err)) < 0)
            return rc;
    if ((rc = leat_vary_count(study->varies, n_vary, LEAT_COMPARE_MAX_ARMS, &n_arms, err)) < 0)
        return rc;
    study->result->n_arms = (int32_t)n_arms;
    study->result->rounds = study->options.rounds ? study->options.rounds : DEFAULT_ROUNDS;
    for (size_t i = 0; i < n_arms; i++) {
        study->arms[i].out = &study->result->arms[i];
        study->arms[i].rounds = calloc((size_t)study->result->rounds, sizeof(leat_meter));
        if (!study->arms[i].rounds)
            return leat_fail(err, LEAT_E_NOMEM, "meters of %d rounds", study->result->rounds);
    }
    return LEAT_OK;
}

/* Puts the arm's name before the message where there are several. */
static int in_arm(const struct study *study, size_t i, int rc, leat_error *err)
{
    return rc < 0 && study->n_varies
               ? leat_fail_in(err, rc, "arm '%s': ", study->result->arms[i].name)
               : rc;
}

static int prepare(struct study *study, const leat_config *config, leat_error *err)
{
    const size_t n = (size_t)study->result->n_arms;
    int rc = LEAT_OK;
    for (size_t i = 0; i < n && rc == LEAT_OK; i++) { /* what is wrong shows before anything runs */
        if ((rc = configure(study, i, config, err)) == LEAT_OK)
            rc = open_arm(&study->arms[i], err);
        rc = in_arm(study, i, rc, err);
    }
    for (size_t i = 0; i < n && rc == LEAT_OK; i++)
        rc = in_arm(study, i, warm_up(study, &study->arms[i], err), err);
    return rc;
}

static int run_rounds(struct study *study, leat_error *err)
{
    const size_t n = (size_t)study->result->n_arms;
    int rc = LEAT_OK;
    for (int32_t round = 0; round < study->result->rounds; round++)
        for (size_t turn = 0; turn < n && rc == LEAT_OK; turn++) {
            const size_t i = round % 2 ? n - 1 - turn : turn;
            rc = in_arm(study, i, run(study, &study->arms[i], round, err), err);
        }
    return rc;
}

int leat_compare(const leat_config *config, const char *const *vary, size_t n_vary,
                 const leat_compare_options *options, leat_compare_result *out, leat_error *err)
{
    if (!config || !out || (n_vary && !vary))
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_compare: config and out must be given");
    memset(out, 0, sizeof *out);
    struct study *study = calloc(1, sizeof *study);
    if (!study)
        return leat_fail(err, LEAT_E_NOMEM, "%zu bytes", sizeof *study);
    study->result = out;
    if (options)
        study->options = *options;
    int rc = check(&study->options, err);
    if (rc == LEAT_OK)
        rc = plan_arms(study, vary, n_vary, err);
    if (rc == LEAT_OK)
        rc = prepare(study, config, err);
    if (rc == LEAT_OK)
        rc = run_rounds(study, err);
    for (int32_t i = 0; i < out->n_arms && rc == LEAT_OK; i++)
        conclude(study, &study->arms[i]);
    if (rc == LEAT_OK)
        leat_verdict_summary(out);
    for (size_t i = 0; i < LEAT_COMPARE_MAX_ARMS; i++)
        close_arm(&study->arms[i]);
    free(study->times);
    free(study);
    return rc;
}
