/* SPDX-License-Identifier: MIT
 *
 * doctor.c: leat_doctor() measures the parts of a job and the whole, decides what limits it, and tries changes.
 *
 * DESIGN: the runs of a round are short and alternate (rounds.c): the loader alone, the whole, the step alone, the
 * loader with the other kind of prefetch, the step without waits for results. verdict_rules.c decides from the medians.
 * Changes are tried by whole runs (suggest.c). Public headers only, so it measures what users get. */
#include "leat/doctor.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/trace.h"
#include "doctor_fill.h"
#include "study/facts.h"
#include "study/median_bootstrap.h"
#include "study/rounds.h"
#include "study/suggest/suggest.h"
#include "study/trial.h"

enum {
    DEFAULT_ROUNDS = 6,
    LEAST_ROUNDS = 3,
    QUICK_ROUNDS = 2,    /* at least, where no changes are tried */
    WARM_PART = 6,       /* the warm-up ends in that part of the time for all, and in 3 s */
    STEPS_LIMIT = 58000, /* with settling and the probe, a trainer keeps the times of all */
    PROBE_EVERY = 10,    /* batches, or those of a run; one of them is computed twice */
    PROBE_ROUNDS = 4,
    REFILL_PART = 8, /* the cache of a variant is filled in that part of the time for all */
    SPANS = 1024,    /* recorded in each of SPAN_ROUNDS */
    SPAN_ROUNDS = 63,
    VERIFY_ROUNDS = 7, /* odd: one of them is the median */
};
static const double RIGHT_WITHIN = 0.15;
static const double SECONDS = 20,
                    ROUNDS_PART =
                        0.5; /* of the time for all: of `seconds`, or half with no_trials */

struct doctor {
    const leat_doctor_options *options;
    leat_doctor_result *result;
    leat_compare_arm out;
    leat_arm arm;
    leat_trial other;    /* the other kind of prefetch: loader alone; without a plan: left out */
    leat_trial waitless; /* never waits for results: step alone; the same */
    leat_trial trial;    /* of a change, after the rounds */
    leat_facts facts;
    leat_verdict_found diagnosis;
    leat_doctor_loaders loaders;
    leat_alternate rounds;
    double span_ns;
    int64_t from_ns, until_ns; /* of the time for all */
    int64_t rounds_ns;         /* when the rounds began */
    int64_t run_ns;            /* a run as configured takes so long, with its start */
    double epoch_ns;
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
                        leat_error *err)
{
    const bool is_other = trial == &d->other;
    const int64_t part = (d->until_ns - d->from_ns) / REFILL_PART;
    const leat_trial_how how = { .change = change,
                                 .rounds = d->result->rounds,
                                 .steps = d->out.steps,
                                 .input_only = is_other,
                                 .fill_ns = part < LEAT_ARM_REFILL_NS ? part : 0,
                                 .step_only = !is_other,
                                 .beside = d->other.arm.plan ? &d->other.arm : NULL };
    leat_error why = { 0 };
    const int rc = leat_trial_open(trial, &d->arm, &how, &why);
    if (rc == LEAT_OK)
        return LEAT_OK;
    leat_trial_close(trial);
    if (rc == LEAT_E_CONFIG || rc == LEAT_E_ARGUMENT || rc == LEAT_E_UNSUPPORTED ||
        rc == LEAT_E_NOMEM)
        return LEAT_OK;
    return leat_fail(err, rc, "with %s: %s", change->set[0], why.message);
}

static int open_all(struct doctor *d, const leat_config *config, leat_error *err)
{
    leat_arm_total total = { .n = 0 };
    int rc;
    d->arm.step_ns = (int64_t)(d->options->step_ms * 1e6);
    if ((rc = leat_arm_configure(&d->arm, &d->out, d->result->rounds, config, d->options->device,
                                 err)) < 0 ||
        (rc = leat_arm_total_open(&total, &d->arm, err)) < 0 ||
        (rc = leat_arm_fill(&d->arm, LEAT_ARM_FILL_NS, err)) < 0)
        return rc;
    d->from_ns += d->arm.once.fill_ns; /* that has a limit of its own */
    d->until_ns += d->arm.once.fill_ns;
    const int64_t warm = (d->until_ns - d->from_ns) / WARM_PART;
    d->arm.warmup_ns = warm < LEAT_ARM_WARM_NS ? warm : LEAT_ARM_WARM_NS;
    if ((rc = leat_arm_warm_up(&d->arm, d->options->steps, err)) < 0)
        return rc;
    report(d, "warm-up");
    const leat_trainer_info *const training = leat_trainer_get_info(d->arm.trainer);
    snprintf(d->result->note, sizeof d->result->note, "%s",
             training && training->note ? training->note : "");
    leat_doctor_suggestion change = { .n_set = 0 };
    leat_suggest_prefetch(d->arm.plan, leat_plan_get_info(d->arm.plan)->prefetch > 0 ? 0 : 2,
                          &change);
    rc = open_variant(d, &d->other, &change, err);
    change = (leat_doctor_suggestion){ .n_set = 1, .set = { "train.sync_every=0" } };
    if (rc == LEAT_OK && d->arm.sync_every > 0 && !d->out.on_host && !d->arm.step_ns)
        rc = open_variant(d, &d->waitless, &change, err);
    return rc;
}

/* --- rounds ------------------------------------------------------------------------------------ */

enum { PART_LOADER, PART_RUN, PART_STEP, PART_OTHER, PART_WAITLESS, N_PARTS };

static int run_part(void *user, int32_t part, int32_t round, leat_error *err)
{
    struct doctor *const d = user;
    const int64_t from = leat_clock_ns();
    int rc;
    switch (part) {
    case PART_LOADER:
        return leat_arm_run_loader(&d->arm, round, err);
    case PART_RUN:
        rc = leat_arm_run(&d->arm, round, err);
        d->run_ns = leat_clock_ns() - from;
        return rc;
    case PART_STEP:
        return leat_arm_run_step(&d->arm, round, err);
    case PART_OTHER:
        return d->other.arm.plan ? leat_arm_run_loader(&d->other.arm, round, err) : LEAT_OK;
    default:
        return d->waitless.arm.plan ? leat_arm_run_step(&d->waitless.arm, round, err) : LEAT_OK;
    }
}

static bool report_round(void *user, int32_t n_rounds)
{
    struct doctor *const d = user;
    const int64_t now = leat_clock_ns();
    const double left = (double)(d->until_ns - now);
    report(d, "measuring the parts");
    if (d->options->rounds)
        return false;
    if (d->options->no_trials)
        return n_rounds >= QUICK_ROUNDS && left < (double)(now - d->rounds_ns) / n_rounds;
    return n_rounds >= LEAST_ROUNDS &&
           left < (1 - ROUNDS_PART) * (double)(d->until_ns - d->from_ns);
}

static int run_rounds(struct doctor *d, leat_error *err)
{
    d->rounds = (leat_alternate){ .n_cells = N_PARTS,
                                  .n_rounds = d->result->rounds,
                                  .run = run_part,
                                  .enough = report_round,
                                  .user = d };
    d->rounds_ns = leat_clock_ns();
    const int rc = leat_rounds_run(&d->rounds, err);
    if (d->rounds.n_done > 0)
        d->result->rounds = d->rounds.n_done;
    return rc;
}

/* --- the verdict ------------------------------------------------------------------------------- */

/* Of a variant with runs of one kind. */
static const leat_compare_arm *conclude(const struct doctor *d, leat_trial *trial,
                                        const leat_meter *meters)
{
    const leat_rounds rounds = { meters, meters, meters };
    leat_rounds_conclude(&rounds, meters, (size_t)d->result->rounds, &trial->result);
    return &trial->result;
}

static void gather(struct doctor *d)
{
    leat_facts *f = &d->facts;
    const leat_rounds rounds = { d->arm.runs, d->arm.loader, d->arm.step };
    const int64_t n_batches = leat_plan_get_info(d->arm.plan)->n_batches;
    leat_rounds_conclude(&rounds, d->arm.runs, (size_t)d->result->rounds, &d->out);
    leat_facts_of(&d->arm, f);
    f->span_ns = d->span_ns;
    f->cores = d->rounds.cores;
    f->taken = d->rounds.taken;
    f->throttled = d->rounds.throttled / f->cores;
    f->one_time_ns = leat_doctor_fill_costs(f, &d->arm.once, d->out.warmup_steps, d->result) * 1e6;
    if (n_batches > 0 && d->arm.trainer)
        f->steps_of_job = (double)(n_batches * leat_trainer_get_info(d->arm.trainer)->epochs);
    d->epoch_ns = f->run.value > 0 ? (double)n_batches * f->rows / f->run.value * 1e9 : 0;
    if (d->waitless.arm.plan) {
        const leat_compare_arm *const never = conclude(d, &d->waitless, d->waitless.arm.step);
        f->step_free = never->step.value;
        f->step_busy = never->step_busy;
    }
    d->loaders = (leat_doctor_loaders){ .ahead = f->loader };
    if (d->other.arm.plan)
        d->loaders.alone = conclude(d, &d->other, d->other.arm.loader)->loader;
    d->result->no_prefetch = leat_plan_get_info(d->arm.plan)->prefetch == 0;
    if (d->result->no_prefetch) {
        d->loaders.ahead = d->loaders.alone;
        d->loaders.alone = f->loader;
    }
}

/* --- the probe --------------------------------------------------------------------------------- */

static double ns_per_batch(const leat_arm *arm, int32_t round)
{
    return (double)arm->runs[round].wall_ns / arm->out->steps;
}

struct probe {
    struct doctor *doctor;
    int32_t every;
    double ns[2][PROBE_ROUNDS]; /* per batch, without and with the added work */
};

static int run_probe(void *user, int32_t added, int32_t round, leat_error *err)
{
    struct probe *const p = user;
    leat_arm *const arm = &p->doctor->arm;
    const int32_t last = p->doctor->result->rounds - 1;
    arm->repeat_every = added ? p->every : 0;
    const int rc = leat_arm_run(arm, last, err);
    p->ns[added][round] = ns_per_batch(arm, last);
    arm->repeat_every = 0;
    return rc;
}

static bool is_late(void *user, int32_t n_rounds)
{
    const struct doctor *const d = ((struct probe *)user)->doctor;
    return n_rounds > 1 && d->until_ns - leat_clock_ns() < 2 * d->run_ns;
}

/* Every tenth batch is computed twice: if the step is the limit, the total time rises by the added time. A run of fewer
 * batches shows nothing. */
static int probe(struct doctor *d, leat_error *err)
{
    const int32_t every = d->out.steps < PROBE_EVERY ? d->out.steps : PROBE_EVERY;
    struct probe p = { .doctor = d, .every = every };
    const int32_t twice = d->out.steps / every;
    const double step = leat_forecast_of(&d->facts).step;
    const bool in_time = d->until_ns - leat_clock_ns() >= 4 * d->run_ns;
    leat_alternate rounds = {
        .n_cells = 2, .n_rounds = PROBE_ROUNDS, .run = run_probe, .enough = is_late, .user = &p
    };
    const int rc = in_time ? leat_rounds_run(&rounds, err) : LEAT_OK;
    if (rc == LEAT_OK && step > 0 && rounds.n_done > 1)
        d->result->probe =
            leat_doctor_slope(p.ns[0], p.ns[1], rounds.n_done, step * twice / d->out.steps);
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
        .config = d->arm.config,
        .arm = &d->arm,
        .facts = &d->facts,
        .diagnosis = &d->diagnosis,
        .prefetch = d->arm.prefetch,
        .batch_size = plan->batch_size,
        .steps = d->options->steps,
        .until_ns = d->until_ns,
        .run_ns = d->run_ns,
        .anyway = d->result->beside.kind != LEAT_VERDICT_NONE,
        .is_cuda = leat_device_is_gpu(d->out.device),
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

struct verify {
    struct doctor *doctor; /* its trial: the job with the change */
    leat_meter before[VERIFY_ROUNDS];
};

static int run_verify(void *user, int32_t changed, int32_t round, leat_error *err)
{
    struct verify *const v = user;
    struct doctor *const d = v->doctor;
    leat_arm *const job = &d->arm;
    const int32_t last = d->result->rounds - 1;
    const int rc = changed ? leat_arm_run(&d->trial.arm, round, err) : leat_arm_run(job, last, err);
    if (!changed)
        v->before[round] = job->runs[last];
    return rc;
}

static bool report_verified(void *user, int32_t n_rounds)
{
    (void)n_rounds;
    report(((struct verify *)user)->doctor, "verifying the first change");
    return false;
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
    const double off = s->verified_step_ms / s->expected_step_ms - 1;
    s->right = off > -RIGHT_WITHIN && off < RIGHT_WITHIN;
}

static int verify(struct doctor *d, leat_doctor_suggestion *s, leat_error *err)
{
    const leat_trial_how how = { .change = s, .rounds = VERIFY_ROUNDS };
    struct verify v = { .doctor = d };
    leat_alternate rounds = { .n_cells = 2,
                              .n_rounds = VERIFY_ROUNDS,
                              .run = run_verify,
                              .enough = report_verified,
                              .user = &v };
    int rc;
    if ((rc = leat_trial_open(&d->trial, &d->arm, &how, err)) == LEAT_OK &&
        (rc = leat_arm_warm_up(&d->trial.arm, d->options->steps, err)) == LEAT_OK)
        leat_suggest_blocks_outlast(s, &d->trial.arm);
    if (rc == LEAT_OK && (rc = leat_rounds_run(&rounds, err)) == LEAT_OK) {
        s->cores_taken = rounds.taken;
        judge(d, v.before, d->trial.arm.runs, s);
    }
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

/* --- spans -------------------------------------------------------------------------------------- */

static int64_t record_all(leat_trace_ring *ring)
{
    const int64_t from = leat_clock_ns();
    for (int i = 0; i < SPANS; i++)
        leat_trace_put(ring, &(leat_trace_span){ .start_ns = from,
                                                 .end_ns = from + i,
                                                 .batch = i,
                                                 .n = 1,
                                                 .kind = LEAT_TRACE_ROWS });
    return leat_clock_ns() - from;
}

/* What recording one span of a trace takes, ns; 0: no memory. The clock is read whether spans are recorded or not, so it
 * is not part of the cost. */
static double span_cost_ns(void)
{
    leat_trace_ring ring = { 0 };
    int64_t times[SPAN_ROUNDS];
    if (leat_trace_ring_open(&ring, SPANS, NULL) < 0)
        return 0;
    record_all(&ring); /* its pages are committed by the first round */
    for (int i = 0; i < SPAN_ROUNDS; i++)
        times[i] = record_all(&ring);
    leat_trace_ring_close(&ring);
    return leat_median_of(times, SPAN_ROUNDS) / SPANS;
}

/* --- the whole --------------------------------------------------------------------------------- */

/* As if nobody had taken cores: what follows from the rates as they are beside the others. */
static void diagnose_beside(struct doctor *d)
{
    leat_facts *const f = &d->facts;
    const double taken = f->taken, throttled = f->throttled;
    f->taken = f->throttled = 0;
    leat_verdict_decide(f, &d->diagnosis);
    d->result->beside = d->diagnosis.verdict;
    f->taken = taken;
    f->throttled = throttled;
}

/* They take the loader's time like others; a masked one trains nothing. */
static void note_bad(const leat_arm_input *input, leat_doctor_result *out)
{
    const size_t size = strlen(out->note);
    if (input->n_bad)
        leat_text(out->note + size, sizeof out->note - size,
                  "%s%.3g %% of the samples were bad records, which on_error masks or replaces: "
                  "`leat bench CONFIG --errors FILE` lists them",
                  size ? "; " : "", 100.0 * (double)input->n_bad / (double)input->samples);
}

/* What each op of fused ones takes is known from a run of the loader without fusing. If it cannot be made, there is
 * no time for it, or a cache would have to be filled first, they stay one stage. */
static void split_fused(struct doctor *d)
{
    const leat_doctor_suggestion change = { .n_set = 1, .set = { "engine.fuse=false" } };
    const leat_trial_how how = {
        .change = &change, .rounds = 1, .steps = d->out.steps, .input_only = true
    };
    bool any = false;
    for (int32_t i = 0; i < d->facts.n_stages; i++)
        any |= d->facts.stages[i].does == LEAT_DOES_DECODE_AND_OPS;
    const bool in_time = d->until_ns - leat_clock_ns() >= d->run_ns;
    if (any && in_time && !leat_arm_has_cache(d->arm.plan) &&
        leat_trial_open(&d->trial, &d->arm, &how, NULL) == LEAT_OK &&
        leat_arm_run_loader(&d->trial.arm, 0, NULL) == LEAT_OK)
        leat_facts_split(&d->facts, &d->trial.arm.input);
    leat_trial_close(&d->trial);
}

static int examine(struct doctor *d, const leat_config *config, leat_error *err)
{
    leat_doctor_result *out = d->result;
    int rc;
    if ((rc = open_all(d, config, err)) < 0 || (rc = run_rounds(d, err)) < 0)
        return rc;
    snprintf(out->device, sizeof out->device, "%s", d->out.device);
    out->simulated = d->out.simulated;
    out->given_step_ms = d->options->step_ms;
    out->uncached = d->out.uncached;
    out->batch_size = leat_plan_get_info(d->arm.plan)->batch_size;
    out->steps = d->out.steps;
    gather(d);
    leat_trial_close(&d->other); /* their memory is for the trials */
    leat_trial_close(&d->waitless);
    split_fused(d);
    leat_verdict_decide(&d->facts, &d->diagnosis);
    leat_doctor_fill(&d->facts, &d->diagnosis, &d->loaders, out);
    note_bad(&d->arm.input, out);
    if (out->verdict.kind == LEAT_VERDICT_WARM_UP && d->epoch_ns > 0)
        out->least_epochs = (int64_t)(d->facts.one_time_ns / d->epoch_ns) + 1;
    if (out->verdict.kind == LEAT_VERDICT_ENVIRONMENT && d->options->anyway)
        diagnose_beside(d);
    if (d->diagnosis.verdict.kind == LEAT_VERDICT_ENVIRONMENT)
        return LEAT_OK; /* nothing that is measured now would hold */
    if (d->diagnosis.verdict.also && d->diagnosis.verdict.kind != LEAT_VERDICT_WARM_UP &&
        d->facts.overlaps && (rc = probe(d, err)) < 0)
        return rc;
    if ((rc = suggest(d, err)) < 0)
        return rc;
    return d->options->verify ? verify_first(d, err) : LEAT_OK;
}

static int check(const leat_doctor_options *options, leat_error *err)
{
    if (options->rounds < 0 || options->rounds > LEAT_BOOTSTRAP_MAX)
        return leat_fail(err, LEAT_E_ARGUMENT, "rounds must be within 1 … %d", LEAT_BOOTSTRAP_MAX);
    if (!(options->step_ms >= 0 && options->step_ms <= 1e6))
        return leat_fail(err, LEAT_E_ARGUMENT, "step_ms must be within 0 … 1000000");
    if (options->step_ms > 0 && options->device)
        return leat_fail(err, LEAT_E_ARGUMENT,
                         "a step of given time (step_ms) has no device; leave out one of the two");
    if (!(options->seconds >= 0 && options->seconds <= 1e6))
        return leat_fail(err, LEAT_E_ARGUMENT, "seconds must be within 0 … 1000000");
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
    d->span_ns = span_cost_ns();
    d->options = options ? options : &defaults;
    d->result = out;
    d->from_ns = from;
    d->until_ns = from + (int64_t)((d->options->seconds > 0 ? d->options->seconds : SECONDS) *
                                   (d->options->no_trials ? ROUNDS_PART : 1) * 1e9);
    if ((rc = check(d->options, err)) == LEAT_OK) {
        out->no_trials = d->options->no_trials;
        out->rounds = d->options->rounds ? d->options->rounds : DEFAULT_ROUNDS;
        d->n_total = 1 + out->rounds + (d->options->no_trials ? 0 : leat_suggest_most()) +
                     (d->options->verify ? VERIFY_ROUNDS : 0);
        rc = examine(d, config, err);
    }
    leat_trial_close(&d->other);
    leat_trial_close(&d->waitless);
    leat_trial_close(&d->trial);
    leat_arm_close(&d->arm);
    free(d);
    out->seconds = (double)(leat_clock_ns() - from) * 1e-9;
    return rc;
}
