/* SPDX-License-Identifier: MIT
 *
 * suggest_try.c: measures a job with a change, alternately with the unchanged job. suggest.c calls it. */
#include <stdio.h>
#include <stdlib.h>

#include "study/alternate.h"
#include "study/forecast.h"
#include "study/median.h"
#include "study/trial.h"
#include "suggest.h"

enum {
    TRIAL_ROUNDS = 3,
    WARM_NS = 1000000000, /* longest warm-up of a trial */
};

/* Rates of the job and of its variant, measured alternately. On the CPU loader and step share the cores, so both run
 * together at their split; elsewhere each part runs alone. */
struct pair {
    const leat_suggest_about *about;
    leat_trial *trial;
    bool whole;                                                 /* runs together in any case */
    double before_rate[TRIAL_ROUNDS], after_rate[TRIAL_ROUNDS]; /* together, samples/s */
    double after_rows;                                          /* per step; 0: not run together */
    double loader[TRIAL_ROUNDS], step[TRIAL_ROUNDS];            /* of the job, samples/s */
};

enum { JOB, VARIANT };

static int run_together(struct pair *p, int32_t cell, int32_t round, leat_error *err)
{
    leat_arm *const arm = cell == JOB ? p->about->arm : &p->trial->arm;
    const int rc = leat_arm_run(arm, 0, err);
    if (rc < 0)
        return rc;
    const leat_meter *run = &arm->runs[0];
    (cell == JOB ? p->before_rate : p->after_rate)[round] = run->samples_per_s;
    if (cell == VARIANT)
        p->after_rows = run->samples_per_s * (double)run->wall_ns * 1e-9 / (double)run->n_steps;
    return LEAT_OK;
}

static int run_parts(struct pair *p, int32_t cell, int32_t round, leat_error *err)
{
    leat_arm *const job = p->about->arm;
    int rc;
    if (cell == VARIANT)
        return leat_trial_round(p->trial, err);
    if ((rc = leat_arm_run_loader(job, 0, err)) < 0 || (rc = leat_arm_run_step(job, 0, err)) < 0)
        return rc;
    p->loader[round] = job->loader[0].samples_per_s;
    p->step[round] = job->step[0].samples_per_s;
    return LEAT_OK;
}

static int run_cell(void *user, int32_t cell, int32_t round, leat_error *err)
{
    struct pair *const p = user;
    return p->whole || (p->trial->result.on_host && p->trial->result.overlaps)
               ? run_together(p, cell, round, err)
               : run_parts(p, cell, round, err);
}

/* A forecast from the rates of the parts in one round. */
static double forecast_at(const leat_facts *facts, double loader, double step)
{
    leat_facts now = *facts;
    const double faster = step / facts->step.value;
    now.loader.value = loader;
    now.step.value = step;
    now.step_free *= faster;
    return leat_forecast_of(&now).predicted / facts->rows;
}

/* The median over n rounds, of two the larger: a round in which other processes had the machine, or the page cache
 * was cold, says nothing. */
static double median(double *values, int n)
{
    leat_median_sort_real(values, (size_t)n);
    return values[n / 2];
}

/* The speed-up of the variant by the forecasts. */
static double faster_by_parts(const leat_facts *before, const struct pair *p,
                              const leat_facts *after, int n)
{
    double faster[TRIAL_ROUNDS];
    const leat_arm *arm = &p->trial->arm;
    for (int i = 0; i < n; i++)
        faster[i] = forecast_at(before, p->loader[i], p->step[i]) /
                    forecast_at(after, arm->loader[i].samples_per_s, arm->step[i].samples_per_s);
    return median(faster, n);
}

static double faster_together(const struct pair *p, int n)
{
    double faster[TRIAL_ROUNDS];
    for (int i = 0; i < n; i++)
        faster[i] = p->after_rate[i] / p->before_rate[i];
    return median(faster, n);
}

/* The speed-up by n rounds, and the facts of the variant that the prediction needs. */
static double speed_up(const struct pair *p, int n, leat_facts *after)
{
    if (p->after_rows > 0) {
        after->rows = p->after_rows;
        return faster_together(p, n);
    }
    leat_trial_facts(p->trial, p->about->facts, after);
    return faster_by_parts(p->about->facts, p, after, n);
}

/* Predicts the variant's step time: the measured time of the job, scaled by the forecasts. A change of the input alone
 * cannot make the job faster than its step. */
static void predict(const struct pair *p, int n, bool input_only, leat_doctor_suggestion *s)
{
    const leat_facts *before = p->about->facts;
    leat_facts after;
    double faster = speed_up(p, n, &after);
    if (input_only && faster * before->run.value > before->step.value)
        faster = before->step.value / before->run.value;
    if (p->after_rows == 0)
        s->least_step_ms = after.on_host ? 0 : leat_forecast_of(&after).step * 1e-6;
    const double least = after.rows > 0 ? s->least_step_ms / after.rows : 0;
    if (least > 0 && faster * before->run.value > 1e3 / least)
        faster = 1e3 / least / before->run.value;
    s->gain = faster - 1;
    s->predicted_samples_per_s = before->run.value * faster;
    s->predicted_step_ms = after.rows / s->predicted_samples_per_s * 1e3;
}

/* If two of three rounds gain too little, so does the median. */
static bool gains_too_little(void *user, int32_t n)
{
    leat_facts after;
    return n == 2 && speed_up(user, n, &after) < 1 + LEAT_SUGGEST_LEAST;
}

int leat_suggest_try(const leat_suggest_about *about, bool input_only, bool whole,
                     leat_doctor_suggestion *s, leat_error *err)
{
    struct pair pair = { .about = about, .trial = calloc(1, sizeof *pair.trial), .whole = whole };
    const leat_trial_how how = { .change = s, .rounds = TRIAL_ROUNDS };
    leat_alternate rounds = { .n_cells = 2,
                              .n_rounds = TRIAL_ROUNDS,
                              .run = run_cell,
                              .enough = gains_too_little,
                              .user = &pair };
    if (!pair.trial)
        return leat_fail(err, LEAT_E_NOMEM, "a trial");
    int rc = leat_trial_open(pair.trial, about->arm, &how, err);
    pair.trial->arm.warmup_ns = WARM_NS;
    /* A faster variant needs more steps to fill a run, and other caches. */
    if (rc == LEAT_OK && (rc = leat_arm_warm_up(&pair.trial->arm, about->steps, err)) == LEAT_OK &&
        (rc = leat_alternate_run(&rounds, err)) == LEAT_OK)
        predict(&pair, rounds.n_done, input_only, s);
    if (pair.trial->is_unfilled)
        snprintf(s->not_tried, sizeof s->not_tried, "its cache is not filled in 5 s");
    leat_trial_close(pair.trial);
    free(pair.trial);
    return rc;
}
