/* SPDX-License-Identifier: MIT
 *
 * doctor.c: leat_doctor() measures the parts of a job and the whole, decides what limits it, and tries changes.
 *
 * DESIGN: the runs of a round are short and follow one another, forwards in even rounds and backwards in odd
 * ones, so that drift affects all of them equally: the loader alone, the whole, the step alone, the loader
 * with the other kind of prefetch, the step without waits for results. diagnose.c decides from the medians.
 * Changes are tried in parts (suggest.c). Public headers only, so it measures what users get. */
#include "leat/doctor.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "doctor_fill.h"
#include "span_cost.h"
#include "study/bootstrap.h"
#include "study/forecast.h"
#include "study/median.h"
#include "study/other_processes.h"
#include "study/rounds.h"
#include "study/suggest/suggest.h"
#include "study/trial.h"

enum {
    DEFAULT_ROUNDS = 6,
    STEPS_LIMIT = 60000,
    PROBE_EVERY = 10, /* batches; one of them is computed twice */
    PROBE_ROUNDS = 4,
    VERIFY_ROUNDS = 7, /* odd: one of them is the median */
};
static const double RIGHT_WITHIN = 0.15;

struct doctor {
    const leat_doctor_options *options;
    leat_doctor_result *result;
    leat_config *config; /* with the device set */
    leat_compare_arm out;
    leat_arm arm;
    leat_trial other;    /* the other kind of prefetch: loader alone */
    leat_trial waitless; /* never waits for results: step alone */
    bool has_other, has_waitless;
    leat_facts facts;
    leat_diagnosis diagnosis;
    leat_doctor_loaders loaders;
    leat_other_processes before, after;
    double span_ns;
    int n_done, n_total;
};

static void report(struct doctor *d, const char *what)
{
    d->n_done++;
    if (d->options->progress)
        d->options->progress(d->options->user, d->n_done, d->n_total, what);
}

/* --- opening ----------------------------------------------------------------------------------- */

/* A variant that the config does not allow is left out. */
static int open_variant(struct doctor *d, leat_trial *trial, const leat_doctor_suggestion *change,
                        bool *has, leat_error *err)
{
    const bool is_other = trial == &d->other;
    const leat_trial_how how = { .change = change,
                                 .rounds = d->result->rounds,
                                 .steps = d->out.steps,
                                 .input_only = is_other,
                                 .step_only = !is_other,
                                 .beside = d->has_other ? &d->other.arm : NULL };
    leat_error why = { 0 };
    const int rc = leat_trial_open(trial, &d->arm, &how, &why);
    *has = rc == LEAT_OK;
    if (rc == LEAT_OK)
        return LEAT_OK;
    leat_trial_close(trial);
    if (rc == LEAT_E_CONFIG || rc == LEAT_E_ARGUMENT || rc == LEAT_E_UNSUPPORTED ||
        rc == LEAT_E_NOMEM)
        return LEAT_OK;
    return leat_fail(err, rc, "with %s: %s", change->n_set ? change->set[0] : change->lines,
                     why.message);
}

static int open_all(struct doctor *d, const leat_config *config, leat_error *err)
{
    leat_arm_room room = { .n = 0 };
    int rc;
    if ((rc = leat_config_copy(config, &d->config, err)) < 0 ||
        (d->options->device &&
         (rc = leat_arm_set_device(d->config, d->options->device, err)) < 0) ||
        (rc = leat_arm_init(&d->arm, &d->out, d->result->rounds, err)) < 0 ||
        (rc = leat_config_copy(d->config, &d->arm.config, err)) < 0 ||
        (rc = leat_arm_room_open(&room, &d->arm, err)) < 0 ||
        (rc = leat_arm_fill(&d->arm, LEAT_ARM_FILL_NS, err)) < 0 ||
        (rc = leat_arm_warm_up(&d->arm, d->options->steps, err)) < 0)
        return rc;
    report(d, "warm-up");
    const char *const note = leat_trainer_get_info(d->arm.trainer)->note;
    snprintf(d->result->note, sizeof d->result->note, "%s", note ? note : "");
    leat_doctor_suggestion change = { .n_set = 0 };
    leat_suggest_prefetch(d->arm.plan, leat_plan_get_info(d->arm.plan)->prefetch > 0 ? 0 : 2,
                          &change);
    rc = open_variant(d, &d->other, &change, &d->has_other, err);
    change = (leat_doctor_suggestion){ .n_set = 1, .set = { "train.sync_every=0" } };
    if (rc == LEAT_OK && d->arm.sync_every > 0 && !d->out.on_host)
        rc = open_variant(d, &d->waitless, &change, &d->has_waitless, err);
    return rc;
}

/* --- rounds ------------------------------------------------------------------------------------ */

static int run_part(struct doctor *d, int part, int32_t round, leat_error *err)
{
    switch (part) {
    case 0:
        return leat_arm_run_loader(&d->arm, round, err);
    case 1:
        return leat_arm_run(&d->arm, round, err);
    case 2:
        return leat_arm_run_step(&d->arm, round, err);
    case 3:
        return d->has_other ? leat_arm_run_loader(&d->other.arm, round, err) : LEAT_OK;
    default:
        return d->has_waitless ? leat_trial_round(&d->waitless, err) : LEAT_OK;
    }
}

static int run_rounds(struct doctor *d, leat_error *err)
{
    enum { N_PARTS = 5 };
    int rc = LEAT_OK;
    leat_other_processes_look("", &d->before);
    for (int32_t round = 0; round < d->result->rounds && rc == LEAT_OK; round++) {
        for (int i = 0; i < N_PARTS && rc == LEAT_OK; i++)
            rc = run_part(d, round % 2 ? N_PARTS - 1 - i : i, round, err);
        report(d, "measuring the parts");
    }
    leat_other_processes_look("", &d->after);
    return rc;
}

/* --- the verdict ------------------------------------------------------------------------------- */

static leat_estimate rate_of_other(struct doctor *d)
{
    const leat_meter *meters = d->other.arm.loader;
    const leat_rounds rounds = { meters, meters, meters };
    leat_rounds_conclude(&rounds, meters, (size_t)d->result->rounds, &d->other.result);
    return d->other.result.loader;
}

static double ms_total(const leat_doctor_result *result)
{
    double ms = 0;
    for (int32_t i = 0; i < result->n_one_time; i++)
        ms += result->one_time[i].ms;
    return ms;
}

static void gather(struct doctor *d)
{
    leat_facts *f = &d->facts;
    const leat_rounds rounds = { d->arm.runs, d->arm.loader, d->arm.step };
    const int64_t n_batches = leat_plan_get_info(d->arm.plan)->n_batches;
    leat_rounds_conclude(&rounds, d->arm.runs, (size_t)d->result->rounds, &d->out);
    leat_facts_of(&d->arm, f);
    f->span_ns = d->span_ns;
    f->cores = d->after.n_cpus;
    f->taken = leat_other_processes_taken(&d->before, &d->after);
    f->throttled = leat_other_processes_throttled(&d->before, &d->after) / f->cores;
    leat_doctor_fill_costs(f, &d->arm.once, d->out.warmup_steps, d->result);
    f->one_time_ns = ms_total(d->result) * 1e6;
    f->steps_of_job =
        n_batches > 0 ? (double)(n_batches * leat_trainer_get_info(d->arm.trainer)->epochs) : 0;
    if (d->has_waitless) {
        leat_facts *free_step = calloc(1, sizeof *free_step);
        if (free_step) {
            leat_trial_facts(&d->waitless, f, free_step);
            f->step_free = free_step->step.value;
            f->step_busy = free_step->step_busy;
        }
        free(free_step);
    }
    d->loaders = (leat_doctor_loaders){ .ahead = f->loader };
    if (d->has_other)
        d->loaders.alone = rate_of_other(d);
    if (leat_plan_get_info(d->arm.plan)->prefetch == 0) {
        d->loaders.ahead = d->loaders.alone;
        d->loaders.alone = f->loader;
    }
}

/* --- the probe --------------------------------------------------------------------------------- */

static double ns_per_batch(const leat_arm *arm, int32_t round)
{
    return (double)arm->runs[round].wall_ns / arm->out->steps;
}

/* Every tenth batch is computed twice: if the step is the limit, the total time rises by the added time. A run of fewer
 * batches shows nothing. */
static int probe(struct doctor *d, leat_error *err)
{
    double plain[PROBE_ROUNDS], more[PROBE_ROUNDS];
    const int32_t last = d->result->rounds - 1, twice = d->out.steps / PROBE_EVERY;
    int rc = LEAT_OK;
    for (int i = 0; i < 2 * PROBE_ROUNDS && rc == LEAT_OK && twice > 0; i++) {
        const bool added = (i / 2 + i) % 2; /* plain, more, more, plain */
        d->arm.repeat_every = added ? PROBE_EVERY : 0;
        rc = leat_arm_run(&d->arm, last, err);
        (added ? more : plain)[i / 2] = ns_per_batch(&d->arm, last);
    }
    d->arm.repeat_every = 0;
    const double step = leat_forecast_of(&d->facts).step;
    if (rc == LEAT_OK && step > 0 && twice > 0)
        d->result->probe =
            leat_doctor_slope(plain, more, PROBE_ROUNDS, step * twice / d->out.steps);
    report(d, "probing which part has slack");
    return rc;
}

/* --- changes ----------------------------------------------------------------------------------- */

static void tried(void *user)
{
    report(user, "trying changes");
}

static int suggest(struct doctor *d, leat_error *err)
{
    int rc = LEAT_OK;
    const leat_plan_info *plan = leat_plan_get_info(d->arm.plan);
    const leat_suggest_about about = {
        .config = d->config,
        .arm = &d->arm,
        .facts = &d->facts,
        .diagnosis = &d->diagnosis,
        .prefetch = plan->prefetch,
        .batch_size = plan->batch_size,
        .steps = d->options->steps,
        .is_cuda = strncmp(d->out.device, "cuda", 4) == 0,
        .progress = tried,
        .user = d,
    };
    if (!d->options->no_trials)
        rc = leat_suggest(&about, d->result, err);
    if (rc == LEAT_OK)
        leat_suggest_advise(&about, d->result);
    return rc;
}

/* The pair of runs whose gain is the median: beside others another program may have run. */
static int32_t middle_pair(const leat_meter *before, const leat_meter *after)
{
    double gains[VERIFY_ROUNDS], sorted[VERIFY_ROUNDS];
    for (int32_t i = 0; i < VERIFY_ROUNDS; i++)
        sorted[i] = gains[i] = after[i].samples_per_s / before[i].samples_per_s;
    leat_median_sort_real(sorted, VERIFY_ROUNDS);
    int32_t i = 0;
    while (i < VERIFY_ROUNDS - 1 && gains[i] != sorted[VERIFY_ROUNDS / 2])
        i++;
    return i;
}

static double step_ms(const leat_meter *run)
{
    return (double)run->wall_ns / (double)run->n_steps * 1e-6;
}

/* Measures the unchanged job and the job with the change, alternately. */
static int run_pair(struct doctor *d, leat_arm *changed, int32_t round, leat_meter *before,
                    leat_error *err)
{
    const int32_t last = d->result->rounds - 1;
    int rc = round % 2 ? leat_arm_run(changed, round, err) : LEAT_OK;
    if (rc == LEAT_OK && (rc = leat_arm_run(&d->arm, last, err)) == LEAT_OK)
        before[round] = d->arm.runs[last];
    return rc == LEAT_OK && round % 2 == 0 ? leat_arm_run(changed, round, err) : rc;
}

static void judge(const struct doctor *d, const leat_meter *before, const leat_meter *after,
                  leat_doctor_suggestion *s)
{
    const int32_t pair = middle_pair(before, after);
    s->is_verified = 1;
    s->verified_step_ms = step_ms(&after[pair]);
    s->before_step_ms = step_ms(&before[pair]);
    s->verified_gain = after[pair].samples_per_s / before[pair].samples_per_s - 1;
    /* The machine's speed may have changed since; the unchanged job shows by how much. */
    s->expected_step_ms = s->predicted_step_ms * s->before_step_ms / d->result->measured_step_ms;
    if (s->expected_step_ms < s->least_step_ms)
        s->expected_step_ms = s->least_step_ms;
    const double off = s->verified_step_ms / s->expected_step_ms - 1;
    s->right = off > -RIGHT_WITHIN && off < RIGHT_WITHIN;
}

static int verify(struct doctor *d, leat_doctor_suggestion *s, leat_error *err)
{
    leat_meter before[VERIFY_ROUNDS];
    const leat_trial_how how = { .change = s, .rounds = VERIFY_ROUNDS };
    leat_trial *trial = calloc(1, sizeof *trial);
    leat_other_processes others_before, others_after;
    int rc = trial ? LEAT_OK : leat_fail(err, LEAT_E_NOMEM, "a trial");
    if (rc == LEAT_OK)
        rc = leat_trial_open(trial, &d->arm, &how, err);
    if (rc == LEAT_OK)
        rc = leat_arm_warm_up(&trial->arm, d->options->steps, err);
    leat_other_processes_look("", &others_before);
    for (int32_t i = 0; i < VERIFY_ROUNDS && rc == LEAT_OK; i++) {
        rc = run_pair(d, &trial->arm, i, before, err);
        report(d, "verifying the first change");
    }
    leat_other_processes_look("", &others_after);
    if (rc == LEAT_OK) {
        s->cores_taken = leat_other_processes_taken(&others_before, &others_after);
        judge(d, before, trial->arm.runs, s);
    }
    if (trial)
        leat_trial_close(trial);
    free(trial);
    return rc;
}

/* The result without it is whole: a change that needs too much memory or time now is told, and no error. */
static int verify_first(struct doctor *d, leat_error *err)
{
    leat_doctor_suggestion *s = d->result->suggestions, *const end = s + d->result->n_suggestions;
    leat_error why = { 0 };
    while (s < end && s->not_tried[0])
        s++;
    const int rc = s < end ? verify(d, s, &why) : LEAT_OK;
    if (rc == LEAT_OK)
        return LEAT_OK;
    if (rc != LEAT_E_NOMEM && rc != LEAT_E_UNSUPPORTED)
        return leat_fail(err, rc, "%s", why.message);
    leat_text(s->not_verified, sizeof s->not_verified, "%s", why.message);
    return LEAT_OK;
}

/* --- the whole --------------------------------------------------------------------------------- */

static int examine(struct doctor *d, const leat_config *config, leat_error *err)
{
    leat_doctor_result *out = d->result;
    int rc;
    if ((rc = open_all(d, config, err)) < 0 || (rc = run_rounds(d, err)) < 0)
        return rc;
    snprintf(out->device, sizeof out->device, "%s", d->out.device);
    out->simulated = d->out.simulated;
    out->uncached = d->out.uncached;
    out->batch_size = leat_plan_get_info(d->arm.plan)->batch_size;
    out->steps = d->out.steps;
    gather(d);
    leat_trial_close(&d->other); /* their memory is for the trials */
    leat_trial_close(&d->waitless);
    leat_diagnose(&d->facts, &d->diagnosis);
    leat_doctor_fill(&d->facts, &d->diagnosis, &d->loaders, out);
    if (d->diagnosis.verdict.kind == LEAT_VERDICT_ENVIRONMENT)
        return LEAT_OK; /* nothing that is measured now would hold */
    if (d->diagnosis.verdict.also && d->facts.overlaps && (rc = probe(d, err)) < 0)
        return rc;
    if ((rc = suggest(d, err)) < 0)
        return rc;
    return d->options->verify ? verify_first(d, err) : LEAT_OK;
}

static int check(const leat_doctor_options *options, leat_error *err)
{
    if (options->rounds < 0 || options->rounds > LEAT_BOOTSTRAP_MAX)
        return leat_fail(err, LEAT_E_ARGUMENT, "rounds must be within 1 … %d", LEAT_BOOTSTRAP_MAX);
    if (options->steps < 0 || options->steps > STEPS_LIMIT)
        return leat_fail(err, LEAT_E_ARGUMENT, "steps must be within 1 … %d", STEPS_LIMIT);
    return LEAT_OK;
}

int leat_doctor(const leat_config *config, const leat_doctor_options *options,
                leat_doctor_result *out, leat_error *err)
{
    static const leat_doctor_options defaults;
    const int64_t from = leat_clock_ns();
    int rc;
    if (!config || !out)
        return leat_fail(err, LEAT_E_ARGUMENT, "leat_doctor: config and out must be given");
    memset(out, 0, sizeof *out);
    out->probe = -1;
    struct doctor *d = calloc(1, sizeof *d);
    if (!d)
        return leat_fail(err, LEAT_E_NOMEM, "%zu bytes", sizeof *d);
    d->span_ns = leat_span_cost_ns();
    d->options = options ? options : &defaults;
    d->result = out;
    if ((rc = check(d->options, err)) == LEAT_OK) {
        out->no_trials = d->options->no_trials;
        out->rounds = d->options->rounds ? d->options->rounds : DEFAULT_ROUNDS;
        d->n_total = 1 + out->rounds + (d->options->no_trials ? 0 : leat_suggest_most()) +
                     (d->options->verify ? VERIFY_ROUNDS : 0);
        rc = examine(d, config, err);
    }
    leat_trial_close(&d->other);
    leat_trial_close(&d->waitless);
    leat_arm_close(&d->arm);
    leat_config_close(&d->config);
    free(d);
    out->seconds = (double)(leat_clock_ns() - from) * 1e-9;
    return rc;
}
